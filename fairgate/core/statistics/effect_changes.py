"""How the size of an effect of groups moved between two runs: its difference, interval and test.

Where both runs answered the same queries, what is compared is each query's two excesses, so that what both runs share
(who was on offer, how a wording is chosen by) is out of the difference; noise is estimated between wordings, as of an
effect alone. Of several effects (groups) the largest of one run stands beside the largest of the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.effects import (
    NOTHING,
    AnswerValues,
    Design,
    Effect,
    Largest,
    combined,
    mean_effect,
    reach_of,
)
from fairgate.core.statistics.intervals import Estimate
from fairgate.core.statistics.paired import NOTHING as NO_SHIFT
from fairgate.core.statistics.paired import Moved, Shift

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.core.statistics.effects import FloatArray, IntArray

UNCHANGED = Shift(0.0, 0.0, 0.0, 0.0)


def moved(
    asked: Design,
    scores: FloatArray,
    chosen: tuple[IntArray, IntArray],
    effect: Callable[[IntArray], Effect | Largest],
) -> Moved:
    """The move over queries that both runs answered. Answers that are all the same are no change.

    `scores` [N, M, D] of the people on offer, `chosen` [N] before and after; `effect` is that of one run's choices.
    """
    before, after = (effect(each) for each in chosen)
    if np.array_equal(*chosen):
        return Moved(_size(before), _size(after), UNCHANGED)
    sides = [
        (scores[np.arange(len(each)), each], *_signed(found))
        for each, found in zip(chosen, (before, after), strict=True)
    ]
    one, other = (sign * picked[:, place] for picked, place, sign in sides)
    share = [sign * scores[:, :, place].mean(axis=1) for _, place, sign in sides]
    values = (other - share[1]) - (one - share[0])
    found = mean_effect(asked, AnswerValues(values[:, np.newaxis], reach_of(scores)))
    return Moved(_size(before), _size(after), _shift(found))


def moved_apart(before: Effect | Largest, after: Effect | Largest) -> Moved:
    """The same of two runs that asked other queries."""
    one, other = (_chosen(each) for each in (before, after))
    return Moved(_size(before), _size(after), _shift(combined(abs(other.value) - abs(one.value), one, other)))


def _chosen(found: Effect | Largest) -> Effect:
    if isinstance(found, Effect):
        return found
    return found.effects[found.place] if found.effects else NOTHING


def _signed(found: Effect | Largest) -> tuple[int, float]:
    """Which effect counts, and its sign."""
    place = 0 if isinstance(found, Effect) else max(found.place, 0)
    return place, -1.0 if _chosen(found).value < 0 else 1.0


def _size(found: Effect | Largest) -> Estimate:
    """The size of an effect, whichever its sign."""
    if isinstance(found, Largest):
        return Estimate(found.value, found.low, found.high, reliable=True)
    ends = abs(found.low), abs(found.high)
    low = 0.0 if found.low <= 0.0 <= found.high else min(ends)
    return Estimate(abs(found.value), low, max(ends), reliable=True)


def _shift(found: Effect) -> Shift:
    if math.isnan(found.value):
        return NO_SHIFT
    return Shift(found.value, found.low, found.high, found.value / found.error)
