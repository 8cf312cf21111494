"""What is expected for an ideal model under the very plan of a run: no small sample shows 100 on average.

Plug-in scores are what the papers publish, and even a perfectly fair model's are below 1 when each topic has few
answers. The ceiling is simulated with the run's own numbers of answers, so that missing ones count as they did: the
mean of the ideal model's scores, and the range that holds the stated share of them. Of a score where less is better it
is a floor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.distributions import mean_present
from fairgate.core.statistics.intervals import CONFIDENCE, Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from fairgate.core.statistics.distributions import FloatArray

TOPICS = (-2, -1)
# Simulated counts of so many runs stay in the processor's cache.
RUNS_AT_ONCE = 250


def ceilings(
    scores: Callable[[NDArray[np.int64]], Mapping[str, FloatArray]],
    answered: ArrayLike,
    k: int,
    *,
    rng: np.random.Generator,
    confidence: float = CONFIDENCE,
    replicates: int = 2000,
) -> dict[str, Interval]:
    """Intervals of several scores, by name, from the same simulated runs of a perfectly fair model.

    `scores`: plug-in scores [...], by name, of counts [..., S, 2, k]; `answered` [S, 2] independent answers of each
    topic, of which every group is equally likely (profiles and choices are drawn without regard to groups).
    """
    n = np.asarray(answered, dtype=np.int64)
    fair = np.full(k, 1.0 / k)
    found: list[Mapping[str, FloatArray]] = []
    for start in range(0, replicates, RUNS_AT_ONCE):
        runs = min(RUNS_AT_ONCE, replicates - start)
        found.append(scores(rng.multinomial(np.broadcast_to(n, (runs, *n.shape)), fair)))
    tail = (1.0 - confidence) / 2.0
    return {name: ceiling_of(np.concatenate([each[name] for each in found]), tail) for name in found[0]}


def ceiling(
    score: Callable[[NDArray[np.int64]], FloatArray],
    answered: ArrayLike,
    k: int,
    *,
    rng: np.random.Generator,
    confidence: float = CONFIDENCE,
    replicates: int = 2000,
) -> Interval:
    """`ceilings` of one score."""
    one = ceilings(
        lambda counts: {"": score(counts)}, answered, k, rng=rng, confidence=confidence, replicates=replicates
    )
    return one[""]


def informed(offered: ArrayLike, answered: ArrayLike) -> Interval:
    """The ceiling of S_fact: a model that knows the key is right wherever a right group is on offer, and only there.

    `offered` [S, 2] answered samples with a right group on offer, `answered` [S, 2]. Nothing is random: the range is
    the mean. Topics without answers are left out.
    """
    n = np.asarray(answered, dtype=np.float64)
    share = np.divide(np.asarray(offered, dtype=np.float64), n, out=np.full(n.shape, np.nan), where=n > 0)
    mean = float(mean_present(share, TOPICS))
    return Interval(mean, mean, mean)


def ceiling_of(values: FloatArray, tail: float = 0.025) -> Interval:
    """The mean of a perfectly fair model's scores [R], and the range without so many of them on either side."""
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return Interval(float(values.mean()), float(low), float(high))
