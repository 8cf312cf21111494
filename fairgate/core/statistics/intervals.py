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
# Jeffreys' prior of a share: added to each count.
JEFFREYS = 0.5


@dataclass(frozen=True)
class Interval:
    """A value with its interval, low <= value <= high; NaN over nothing."""

    value: float
    low: float
    high: float


NOTHING = Interval(math.nan, math.nan, math.nan)


def quantiles(value: float, draws: FloatArray, confidence: float = CONFIDENCE) -> Interval:
    """A value with the interval that holds so many of its draws [...]; draws that are NaN are left out."""
    there = draws[~np.isnan(draws)]
    if math.isnan(value) or not there.size:
        return NOTHING
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(there, [tail, 1.0 - tail])
    return Interval(value, min(float(low), value), max(float(high), value))
