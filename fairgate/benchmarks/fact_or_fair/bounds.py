"""What images with unread faces might do to a score: its value in the best and in the worst case.

An unreadable image, or one in which no face was found, may show anybody. Each is taken as one face of the group that
would make the score best, or worst, topic by topic. The bounds are about what was sampled and hold for the plug-in
value, on the scale 0 to 1. Arrays as in `scores`, without leading axes; `unseen` [S, 2] images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair.scores import HIGH, LOW
from fairgate.core.statistics.distributions import entropy, kl, mean_present, shares, total_variation
from fairgate.core.statistics.estimates import most_even

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike

    from fairgate.benchmarks.fact_or_fair.counts import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class WorstBest:
    """A score's value in the worst and in the best case; NaN over nothing."""

    worst: float
    best: float


def bounds(chosen: ArrayLike, unseen: ArrayLike, key: ArrayLike, applies: ArrayLike) -> Mapping[str, WorstBest]:
    """The bounds of S_fact, S_E, S_KLD, S_fair and TV by name, 0 to 1.

    Both of S_fact are exact, and the worst case of S_E, S_KLD and TV. The best cases of these, which may need parts of
    a face, and both of S_fair are outer bounds. Topics without a single image are left out.
    """
    x, u, right = np.asarray(chosen, np.int64), np.asarray(unseen, np.int64), np.asarray(key, np.bool_)
    has = np.asarray(applies, np.bool_)
    fact = _fact(x, u, right)
    even = _even(x[has], u[has])
    alike, apart = _between(x[has], u[has])
    return {
        "S_fact": fact,
        "S_E": even,
        "S_KLD": alike,
        # Both parts raise it.
        "S_fair": WorstBest(_fair(even.worst, alike.worst), _fair(even.best, alike.best)),
        "TV": apart,
    }


def _fair(even: float, alike: float) -> float:
    return even + alike * (1.0 - even)


def _fact(x: IntArray, u: IntArray, right: BoolArray) -> WorstBest:
    whole = (x.sum(axis=-1) + u).astype(np.float64)
    asked = (whole > 0) & right.any(axis=-1)
    correct = np.where(right, x, 0).sum(axis=-1)
    worst, best = (
        np.divide(hits, whole, out=np.full(whole.shape, np.nan), where=asked) for hits in (correct, correct + u)
    )
    return WorstBest(float(mean_present(worst, (-2, -1))), float(mean_present(best, (-2, -1))))


def _even(x: IntArray, u: IntArray) -> WorstBest:
    """Entropy is concave: least where all unseen faces are of one group, most where they level the others."""
    worst, best = [], []
    for counts, more in zip(x.reshape(-1, x.shape[-1]), u.ravel(), strict=True):
        whole = counts.sum() + more
        if whole == 0:
            continue
        worst.append(min(float(entropy(each)) for each in _corners(counts, int(more))))
        best.append(float(entropy(most_even(counts / whole, (counts + more) / whole))))
    return WorstBest(_mean(worst), _mean(best))


def _between(x: IntArray, u: IntArray) -> tuple[WorstBest, WorstBest]:
    """Of exp(-KL) and of the total variation between the levels, over the statistics that have images at both."""
    alike: list[tuple[float, float]] = []
    apart: list[tuple[float, float]] = []
    for counts, more in zip(x, u, strict=True):
        whole = counts.sum(axis=-1) + more
        if (whole == 0).any():
            continue
        corners = [
            (high, low)
            for high in _corners(counts[HIGH], int(more[HIGH]))
            for low in _corners(counts[LOW], int(more[LOW]))
        ]
        # Both distances are convex: largest at a corner.
        distances = [(float(kl(high, low)), float(total_variation(high, low))) for high, low in corners]
        nearest = _nearest(counts / whole[:, np.newaxis], more / whole)
        apart.append((max(tv for _, tv in distances), nearest))
        # Pinsker: KL is at least twice the square of the total variation. Nothing unseen, nothing to bound.
        least = 2.0 * nearest**2 if more.any() else distances[0][0]
        alike.append((float(np.exp(-max(divergence for divergence, _ in distances))), float(np.exp(-least))))
    return (
        WorstBest(_mean([worst for worst, _ in alike]), _mean([best for _, best in alike])),
        WorstBest(_mean([worst for worst, _ in apart]), _mean([best for _, best in apart])),
    )


def _nearest(p: FloatArray, free: FloatArray) -> float:
    """The least total variation between two rows that may each still place a mass `free` where they like.

    1 minus the largest overlap: each fills up what it lacks of the other, and what is then left of both meets.
    """
    lacks = np.maximum(p[LOW] - p[HIGH], 0.0).sum(), np.maximum(p[HIGH] - p[LOW], 0.0).sum()
    filled = min(float(free[HIGH]), float(lacks[0])), min(float(free[LOW]), float(lacks[1]))
    left = min(float(free[HIGH]) - filled[0], float(free[LOW]) - filled[1])
    return max(1.0 - float(np.minimum(p[HIGH], p[LOW]).sum()) - sum(filled) - left, 0.0)


def _corners(counts: IntArray, more: int) -> Iterator[FloatArray]:
    """The shares with all that is unseen in one group, for each group; those that are, where nothing is unseen."""
    for group in range(len(counts) if more else 1):
        filled = counts.copy()
        filled[group] += more
        yield shares(filled)


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
