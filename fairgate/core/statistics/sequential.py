"""Looking more than once: which part of the error each look may make, so that all of them err no more often than one.

A run that stops as soon as its verdict is known looks at its estimates several times, and each look may be wrong. The
error is shared among the looks before anything is seen. Two things follow for each look.

Its **share** holds for any dependence between looks, and at any level: by Bonferroni's inequality a p-value divided by
its look's share is one again, whatever made the run stop.

Its **level** is what its interval may miss by. It is larger than the share: answers that an early look has seen are
part of every later one, so that looks err together. With sums of independent answers, looks at n and N of them
correlate by the root of n / N, and bounds of a normal walk follow from the shares (Lan & DeMets 1983; Armitage,
McPherson & Rowe 1969). That the same levels hold for other statistics is the significance level approach (Jennison &
Turnbull 2000, section 3.3); docs/statistics.md shows how often they err here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.intervals import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

# A look before the end is left out where less than this part of its sample is still to come.
LEAST_LEFT = 1.3
POINTS, FAR, HALVINGS = 201, 8.0, 26  # of the integrals: points, how many standard deviations far, steps to a bound


def shares_of_looks(whole: int, first: Mapping[int, float]) -> dict[int, float]:
    """The share of the error, 0 to 1, by sample size of each look, rising; the last is `whole`.

    `first`: the shares of the first looks by size. After them sizes double, and what is left is shared evenly.
    """
    found = {size: share for size, share in first.items() if size <= whole / LEAST_LEFT}
    later, size = [], 2 * max(first)
    while size <= whole / LEAST_LEFT:
        later.append(size)
        size *= 2
    later.append(whole)
    left = (1.0 - sum(found.values())) / len(later)
    return found | dict.fromkeys(later, left)


def levels_of_looks(shares: Mapping[int, float], confidence: float = CONFIDENCE) -> dict[int, float]:
    """The part of the error, 0 to 1, that the interval of each look may miss by, by sample size.

    `shares` of the error by sample size, rising; `confidence` that one of all looks' intervals misses the truth to one
    side with a chance of at most half the rest. No level is below its share, nor above 1.

    >>> {size: round(level, 2) for size, level in levels_of_looks({10: 0.5, 20: 0.5}).items()}
    {10: 0.5, 20: 0.67}
    """
    error = (1.0 - confidence) / 2.0
    levels: dict[int, float] = {}
    # The chance of a walk that has crossed no bound, by where it is: all of it at 0 before the first look.
    places, chances, before = np.zeros(1), np.ones(1), 0
    for size, share in shares.items():
        step = math.sqrt(size - before)
        low, high = 0.0, FAR * math.sqrt(size)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            crosses = chances @ [_above((middle - place) / step) for place in places]
            low, high = (middle, high) if crosses > error * share else (low, middle)
        levels[size] = min(max(_above(high / math.sqrt(size)) / error, share), 1.0)
        reached = np.linspace(-FAR * math.sqrt(size), high, POINTS)
        density = np.exp(-(((reached[:, np.newaxis] - places) / step) ** 2) / 2.0) @ chances / math.sqrt(2.0 * math.pi)
        weights = np.full(POINTS, (reached[1] - reached[0]) / step)
        weights[[0, -1]] /= 2.0
        places, chances, before = reached, density * weights, size
    return levels


def _above(z: float) -> float:
    """The chance of a standard normal variable to be above `z`."""
    return math.erfc(z / math.sqrt(2.0)) / 2.0
