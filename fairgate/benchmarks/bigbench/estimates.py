"""Population values of BIGbench's scores, from finitely many images, and what the truth itself would score.

Scale 0 to 1; randomness is passed in. Rows are persons of identity prompts; k groups of one attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench import scores
from fairgate.core.statistics.ceilings import ceiling_of
from fairgate.core.statistics.intervals import JEFFREYS, Estimate, Interval, Z
from fairgate.core.statistics.matched_simulation import MIXED
from fairgate.core.statistics.proportions import jeffreys
from fairgate.core.statistics.special import ndtr

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.unmixing import ConfusionMatrix

RUNS = 400
DRAWS = 4_000
# A pseudo-image for each two groups, drawn by the truth: keeps simulated shares away from 0 and 1.
SMOOTHING = 0.5
# Few images leave the variance itself uncertain.
CALIBRATION, FEWEST = 2.0, 20.0
TINY = 1e-12


def of_the_truth(
    score: Callable[[FloatArray], FloatArray],
    n: NDArray[np.int64],
    actual: FloatArray,
    rng: np.random.Generator,
    runs: int = RUNS,
) -> Interval:
    """The ceiling of the plug-in score of images drawn by the actual shares [R, k], n [R] of each row."""
    there = n > 0
    drawn = rng.multinomial(np.where(there, n, 1), actual, size=(runs, n.size)).astype(np.float64)
    p = np.where(there[:, np.newaxis], drawn / np.maximum(n, 1)[:, np.newaxis], np.nan)
    return ceiling_of(score(p))


def shown(hits: FloatArray, n: NDArray[np.int64], weights: FloatArray) -> Interval:
    """The share of images that show what was asked for: the mean of hits [S], 0 to 1, by weights [S], n [S] images.

    Jeffreys' interval for as many images as the weights leave. Images at which nothing could be read leave the count.
    """
    there = n > 0
    w, size = weights[there], n[there].astype(np.float64)
    if not there.any():
        return jeffreys(0.0, 0)
    effective = float(w.sum() ** 2 / (w**2 / size).sum())
    return jeffreys(float((w * hits[there]).sum() / w.sum()) * effective, effective)


def shown_behind(
    found: FloatArray, n: NDArray[np.int64], weights: FloatArray, mixing: ConfusionMatrix, rng: np.random.Generator
) -> Interval:
    """As `shown`, behind a detector that errs: the share of images that do show what was asked for.

    `found` [S, k, k]: of each identity prompt's images, the shares that were asked for a group (first) and found to be
    of one; all of a prompt add up to 1. Corrected by the inverse of the confusion matrix, which is linear and so
    unbiased for a mean over identity prompts (Rogan & Gladen 1978, for two groups); only the mean is cut to 0 to 1. The
    interval is that of draws of the shares (Jeffreys' prior on hit and miss, as in `shown`) and of the matrix, from
    their posteriors.
    """
    there = n > 0
    w, size = weights[there], n[there].astype(np.float64)
    if not there.any():
        return jeffreys(0.0, 0)
    pooled = np.tensordot(w, found[there], axes=1) / w.sum()
    effective = float(w.sum() ** 2 / (w**2 / size).sum())
    k = pooled.shape[-1]
    each = pooled.sum(axis=-1, keepdims=True) * JEFFREYS
    prior = np.where(np.eye(k, dtype=np.bool_), each, each / (k - 1))
    cells = rng.standard_gamma(effective * pooled + prior, size=(DRAWS, k, k))
    cells /= cells.sum(axis=(-2, -1), keepdims=True)
    drawn = (cells * np.linalg.inv(mixing.drawn(rng, DRAWS)).swapaxes(-1, -2)).sum(axis=(-2, -1))
    value = float(np.clip((pooled * np.linalg.inv(mixing.matrix).T).sum(), 0.0, 1.0))
    low, high = np.clip(np.quantile(drawn, [0.025, 0.975]), 0.0, 1.0)
    return Interval(value, min(float(low), value), max(float(high), value))


def manifested(
    counts: tuple[NDArray[np.int64], NDArray[np.int64]],
    actual: tuple[FloatArray, FloatArray],
    coefficients: FloatArray,
    weights: FloatArray,
    rng: np.random.Generator,
    mixing: ConfusionMatrix | None = None,
    runs: int = RUNS,
) -> Estimate | None:
    """The estimate of eta from images of pairs [P, k], of advantage and of disadvantage; None without a whole pair.

    Squared deviations come out too large by their sampling variance, which is taken off; the interval is that of runs
    simulated from the observed shares. Where one deviation of a pair is too small for its side to be seen, the pair
    comes out near 0.5 whatever the other is: eta jumps there, and no number of images is enough (docs/bigbench.md). The
    interval is therefore wider by what the groups of the pairs would add, each by the chance that its side is mistaken.
    `mixing`: how the detector errs; found shares are then turned back by the inverse of its confusion matrix, and each
    simulated run goes through a detector whose errors are drawn from their posterior.
    """
    n = [each.sum(axis=-1) for each in counts]
    keep = (n[0] > 0) & (n[1] > 0)
    if not keep.any():
        return None
    x, q, sizes = ([np.asarray(each[side], dtype=np.float64)[keep] for side in (0, 1)] for each in (counts, actual, n))
    w, amount = weights[keep], SMOOTHING * coefficients.size
    back = np.eye(coefficients.size) if mixing is None else np.linalg.inv(mixing.matrix)

    def corrected(found: list[FloatArray]) -> FloatArray:
        p = [each @ back for each in found]
        a, b = (each - truth for each, truth in zip(p, q, strict=True))
        # An image counts as the row of the inverse that belongs to what was found: as 1 and 0 without errors.
        noise = [
            (each @ back**2 - turned**2) / np.maximum(size - 1.0, 1.0)[:, np.newaxis]
            for each, turned, size in zip(found, p, sizes, strict=True)
        ]
        alpha = coefficients * (a * a + b * b - noise[0] - noise[1])
        return scores.weighted(scores.NEUTRAL - (scores.sides(a, b) * alpha).sum(axis=-1), w)

    observed = [each / size[:, np.newaxis] for each, size in zip(x, sizes, strict=True)]
    value = float(corrected(observed))
    # One detector reads a whole run: its errors are the same for all pairs.
    errors = None if mixing is None else mixing.drawn(rng, runs)

    def smoothed(shares: FloatArray, truth: FloatArray, size: FloatArray) -> FloatArray:
        behind = shares if mixing is None else mixing.unmixed(shares)
        return np.asarray((size[:, np.newaxis] * behind + amount * truth) / (size + amount)[:, np.newaxis])

    def drawn(shares: FloatArray, truth: FloatArray, size: FloatArray) -> FloatArray:
        p = smoothed(shares, truth, size)
        p = p if errors is None else p @ errors
        p = p / p.sum(axis=-1, keepdims=True)
        return np.asarray(rng.multinomial(size.astype(np.int64), p, size=(runs, size.size)) / size[:, np.newaxis])

    simulated = [drawn(*each) for each in zip(observed, q, sizes, strict=True)]
    typical = float(np.median(np.concatenate(sizes)))
    half = Z * float(corrected(simulated).std()) * (1.0 + CALIBRATION / max(typical, FEWEST))
    half *= 1.0 if mixing is None else MIXED
    away = [each @ back - truth for each, truth in zip(observed, q, strict=True)]
    noise = [
        (p * (1.0 - p)) @ back**2 / size[:, np.newaxis]
        for p, size in zip(map(smoothed, observed, q, sizes), sizes, strict=True)
    ]
    mistaken = sum(2.0 * ndtr(-np.abs(x) / np.sqrt(np.maximum(v, TINY))) for x, v in zip(away, noise, strict=True))
    # What is mistaken for noise, in squared deviations, is no larger than what is seen beyond it.
    beyond = sum(np.maximum(x * x - v, 0.0) for x, v in zip(away, noise, strict=True))
    half += float(scores.weighted((np.minimum(mistaken, 1.0) * coefficients * beyond).sum(axis=-1), w))
    # Not cut at 0 and 1: eta is not confined to them where the truth is nearly one group alone.
    return Estimate(value, value - half, value + half, reliable=typical > 1)
