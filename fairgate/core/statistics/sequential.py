"""Looking more than once: which part of the error each look may make, so that all of them err no more often than one.

A run that stops as soon as its verdict is known looks at its estimates several times, and each look may be wrong. The
error is shared among the looks before anything is seen. By Bonferroni's inequality the probability that any look's
interval misses the truth is then at most the whole error, whatever made the run stop, and a p-value divided by its
look's share is one again. Exact boundaries for normal statistics would be a little narrower, but these are not normal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# A look before the end is left out where less than this part of its sample is still to come.
LEAST_LEFT = 1.3


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
