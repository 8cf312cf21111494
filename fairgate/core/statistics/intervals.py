"""A value with its interval: what estimates, differences, effects and ceilings have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairgate.core.statistics.distributions import FloatArray

CONFIDENCE = 0.95
Z = 1.959963984540054  # of the normal distribution, at 97.5 %
# What is not reliable has an interval wider by this factor.
CAUTION = 2.0
# Jeffreys' prior of a share: added to each count.
JEFFREYS = 0.5


@dataclass(frozen=True)
class Interval:
    """A value with its interval, low <= value <= high; NaN over nothing."""

    value: float
    low: float
    high: float


NOTHING = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Estimate(Interval):
    """A score's population value with its interval, 0 to 1; NaN over nothing.

    `reliable` is False where there are too few answers a topic for the stated coverage; the interval is then widened.
    """

    reliable: bool


NO_ESTIMATE = Estimate(math.nan, math.nan, math.nan, reliable=False)


def quantiles(value: float, draws: FloatArray, confidence: float = CONFIDENCE) -> Interval:
    """A value with the interval that holds so many of its draws [...]; draws that are NaN are left out."""
    there = draws[~np.isnan(draws)]
    if math.isnan(value) or not there.size:
        return NOTHING
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(there, [tail, 1.0 - tail])
    return Interval(value, min(float(low), value), max(float(high), value))


def bounded(value: float, low: float, high: float, total: float, confidence: float, *, reliable: bool) -> Estimate:
    """An estimate inside 0 to 1, with an end that `total` answers of one kind allow (Clopper & Pearson 1934)."""
    least = ((1.0 - confidence) / 2.0) ** (1.0 / total)
    if not reliable:
        low, high = value - CAUTION * (value - low), value + CAUTION * (high - value)
    value = min(max(value, 0.0), 1.0)
    low, high = min(low, value, least), max(high, value, 1.0 - least)
    return Estimate(value, max(low, 0.0), min(high, 1.0), reliable)
