"""Looking more than once: how sure each look must be, so that all of them together are as sure as one.

A run that stops as soon as its verdicts are clear looks at its estimates several times, and each look may be wrong. The
error is spent over the looks (Lan & DeMets 1983), by their spending function of Pocock's kind, alpha·log(1 + (e - 1)t)
at the share t of all samples, which leaves much of it to the early looks, where stopping saves most. Each look gets
what is newly spent, so that by Bonferroni's inequality the probability that any look's interval misses the truth is at
most alpha, whatever made the run stop. Exact boundaries for normal statistics would be a little narrower, but these
scores are not normal near their ends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def rounds(whole: int, first: int) -> tuple[int, ...]:
    """Sample sizes of the looks, rising: `first`, doubled up to `whole`, which is the last.

    A last doubling that leaves less than a half to go is left out: it would cost error and save little.
    """
    sizes = [first]
    while 2 * sizes[-1] <= whole / 1.5:
        sizes.append(2 * sizes[-1])
    return (*(size for size in sizes if size < whole), whole)


def confidences(sizes: Sequence[int], confidence: float) -> tuple[float, ...]:
    """The confidence of the intervals at each look, so that together they miss with probability 1 - `confidence`."""
    spent = [math.log1p((math.e - 1.0) * size / sizes[-1]) for size in sizes]
    fresh = [now - before for now, before in zip(spent, [0.0, *spent], strict=False)]
    return tuple(1.0 - (1.0 - confidence) * share for share in fresh)
