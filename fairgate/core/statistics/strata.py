"""Means over strata (the categories of F²Bench), with intervals that hold at four items a stratum and at the boundary.

A bootstrap over four items, all alike, says that nothing is uncertain. So each stratum has an interval of its own,
Jeffreys' for shares, from as many independent items as it has; differences and means of strata get theirs from these by
the method of variance estimates recovery (Zou & Donner 2008; Newcombe 1998 for two shares), which keeps the intervals'
asymmetry: the distances from the estimates to their bounds add in quadrature.

Everything is on the scale 0 to 1, differences -1 to 1; randomness is passed in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.intervals import CONFIDENCE, NOTHING, Interval, Z
from fairgate.core.statistics.proportions import jeffreys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.core.statistics.distributions import FloatArray


def share(values: FloatArray, confidence: float = CONFIDENCE) -> Interval:
    """The mean of values of 0 to 1 [n], one of each independent item, with Jeffreys' interval; NaN items are left out.

    For values between 0 and 1 (repeats of one item, marks) it is wider than it need be: nothing bounded varies more
    than yes and no.
    """
    there = values[~np.isnan(values)]
    return jeffreys(float(there.sum()), there.size, confidence)


def difference(one: Interval, other: Interval, correlation: float = 0.0) -> Interval:
    """One value minus another, -1 to 1, whose `correlation` (-1 to 1) is known: 0 for values of other items.

    Source: Newcombe (1998), for shares of the same items.
    """
    value = one.value - other.value
    low = value - _apart(one.value - one.low, other.high - other.value, correlation)
    high = value + _apart(one.high - one.value, other.value - other.low, correlation)
    return Interval(value, max(low, -1.0), min(high, 1.0))


def _apart(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(one * one + other * other - 2.0 * correlation * one * other, 0.0))


def exclusive(one: float, other: float) -> float:
    """The correlation, -1 to 0, of two shares of the same items, none of which is in both.

    >>> exclusive(0.5, 0.5)  # every item is in one of them
    -1.0
    """
    rest = (1.0 - one) * (1.0 - other)
    return -math.sqrt(min(one * other / rest, 1.0)) if rest > 0.0 else 0.0


def mean(strata: Sequence[Interval], weights: Sequence[float] | None = None) -> Interval:
    """The mean of independent strata, each of the same weight or of its own."""
    if not strata:
        return NOTHING
    size = [1.0] * len(strata) if weights is None else list(weights)
    every = list(zip(size, strata, strict=True))
    value = sum(weight * each.value for weight, each in every) / sum(size)
    below = math.sqrt(sum((weight * (each.value - each.low)) ** 2 for weight, each in every)) / sum(size)
    above = math.sqrt(sum((weight * (each.high - each.value)) ** 2 for weight, each in every)) / sum(size)
    return Interval(value, value - below, value + above)


def mean_distance(gaps: Sequence[Interval], noise: Sequence[float]) -> Interval:
    """The mean of the strata's |gap|, 0 to 1; `noise` is the variance of each stratum's estimated gap.

    |gap| is estimated too large where the gap is small against its noise, so its square is lessened by the noise. The
    upper end keeps the plug-in |gap|; the lower end takes a stratum for 0 where its sign is not beyond doubt (at three
    standard errors: of ten strata, one is soon beyond two by chance). It is at least that of the mean gap, which |gap|
    is never below: where all strata lean alike, none need be beyond doubt by itself.
    """
    if not gaps:
        return NOTHING
    plain = [abs(gap.value) for gap in gaps]
    near = [0.0 if gap.low <= 0.0 <= gap.high else min(abs(gap.low), abs(gap.high)) for gap in gaps]
    far = [max(abs(gap.low), abs(gap.high)) for gap in gaps]
    value = sum(math.sqrt(max(0.0, size * size - var)) for size, var in zip(plain, noise, strict=True)) / len(gaps)
    high = mean([Interval(size, size, end) for size, end in zip(plain, far, strict=True)]).high
    sure = [(size, end) if end > size / 3 else (0.0, 0.0) for size, end in zip(plain, near, strict=True)]
    leaning = mean(gaps)
    low = max(mean([Interval(size, end, size) for size, end in sure]).low, leaning.low, -leaning.high, 0.0)
    return Interval(min(max(value, low), high), low, min(high, 1.0))


def draws(interval: Interval, rng: np.random.Generator, size: int) -> FloatArray:
    """A value as it may be, given its interval: normal to each side, with the side's own width."""
    normal = rng.standard_normal(size)
    width = np.where(normal > 0, interval.high - interval.value, interval.value - interval.low) / Z
    return np.asarray(interval.value + normal * width, dtype=np.float64)
