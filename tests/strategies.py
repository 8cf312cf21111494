"""What hypothesis draws for the property tests: counts, shares, keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from fairgate.core.statistics.distributions import FloatArray, shares

if TYPE_CHECKING:
    from fairgate.benchmarks.fact_or_fair.counts import BoolArray, IntArray

# A drawn array is slow to build the first time, which a deadline would take for a fault of the code under test.
THOROUGH = settings(deadline=None, max_examples=150)

MOST = 40


@dataclass(frozen=True, eq=False)
class Case:
    """Counts [S, 2, k] with their key; `applies` as `Counts` derives it."""

    counts: IntArray
    key: BoolArray

    @property
    def k(self) -> int:
        return int(self.counts.shape[-1])

    @property
    def applies(self) -> BoolArray:
        applies: BoolArray = np.any(self.key, axis=(1, 2))
        return applies

    @property
    def answered(self) -> BoolArray:
        """Which topics of statistics that apply have answers, [S, 2]."""
        answered: BoolArray = (self.counts.sum(axis=-1) > 0) & self.applies[:, np.newaxis]
        return answered


groups = st.integers(2, 5)


@st.composite
def topic_counts(draw: st.DrawFn, k: int, *, answered: bool = False) -> list[int]:
    """k counts of one topic: mixed, and none, one group alone and uniform, where scores take their extremes."""
    shape = draw(st.sampled_from(["mixed", "alone", "uniform"] if answered else ["mixed", "alone", "uniform", "none"]))
    if shape == "none":
        return [0] * k
    if shape == "uniform":
        return [draw(st.integers(1, MOST))] * k
    counts = draw(st.lists(st.integers(0, MOST), min_size=k, max_size=k)) if shape == "mixed" else [0] * k
    # One group is chosen for certain: a filter on the sum would throw away too many draws.
    counts[draw(st.integers(0, k - 1))] = draw(st.integers(1, MOST))
    return counts


@st.composite
def cases(draw: st.DrawFn, *, tied: bool = True, complete: bool = False) -> Case:
    """Counts and key of up to five statistics; with `complete` every topic has a key and answers."""
    k = draw(groups)
    size = draw(st.integers(1, 5))
    topic = topic_counts(k, answered=complete)
    counts = np.array(draw(st.lists(st.tuples(topic, topic), min_size=size, max_size=size)), dtype=np.int64)
    right = st.sets(st.integers(0, k - 1), min_size=1, max_size=2 if tied else 1)
    key = np.zeros(counts.shape, dtype=np.bool_)
    for statistic in range(size):
        if complete or draw(st.integers(0, 3)):
            for level in range(2):
                key[statistic, level, list(draw(right))] = True
    return Case(counts, key)


@st.composite
def distributions(draw: st.DrawFn, k: int) -> FloatArray:
    """One distribution over k groups, zeros and extremes among them."""
    weights = draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1.0)), min_size=k, max_size=k))
    weights[draw(st.integers(0, k - 1))] = draw(st.floats(1e-9, 1.0))
    return shares(weights)


unit = st.floats(0.0, 1.0)
