"""How the size of an effect of groups moved between two runs: its difference, interval and test.

Where both runs answered the same queries, what is compared is each query's two excesses, so that what both runs share
(who was on offer, how a wording is chosen by) is out of the difference; noise is estimated between wordings, as of an
effect alone. Of several effects (groups) the largest of one run stands beside the largest of the other.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.effects import (
    NOTHING,
    AnswerValues,
    Design,
    Effect,
    Largest,
    combined,
    excess,
    mean_effect,
    reach_of,
)
from fairgate.core.statistics.intervals import Estimate
from fairgate.core.statistics.paired import NOTHING as NO_SHIFT
from fairgate.core.statistics.paired import Moved, Shift
from fairgate.core.statistics.special import ndtr, ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.core.statistics.effects import FloatArray, Picks

UNCHANGED = Shift(0.0, 0.0, 0.0, 0.0)


def moved(
    asked: Design,
    scores: FloatArray,
    chosen: tuple[Picks, Picks],
    effect: Callable[[Picks], Effect | Largest],
) -> Moved:
    """The move over queries that both runs answered. Answers that are all the same are no change.

    `scores` [N, M, D] of the people on offer, `chosen` before and after; `effect` is that of one run's choices.
    """
    before, after = (effect(each) for each in chosen)
    if np.array_equal(*chosen):
        return Moved(_size(before), _size(after), _none(before))
    sides = [(excess(scores, each), *_signed(found)) for each, found in zip(chosen, (before, after), strict=True)]
    one, other = (sign * each[:, place] for each, place, sign in sides)
    found = mean_effect(asked, AnswerValues((other - one)[:, np.newaxis], reach_of(scores)))
    return Moved(_size(before), _size(after), _shift(found))


def drifted(
    asked: Design,
    scores: FloatArray,
    shares: tuple[Picks, Picks],
    effect: Callable[[Picks], Effect | Largest],
) -> Moved:
    """The move of one effect by the probabilities of choices, `shares` [N, M] before and after; `scores` [N, M, 1].

    A rise is away from 0. Near 0 the wordings decide on which side an effect lies: a side is taken for its own only
    where its interval leaves no other, else it is that of the other run, and where neither is known that above 0. So
    what the wordings have of their own is out of the difference there too, and the difference is of signed effects.
    Where the side before is not known the test is two-sided, as a rise may be to either side.

    Noise is at least what a difference as large as any that was seen would leave, were it as rare as so many queries
    without one leave possible: a whole choice, as of answers, is never what probabilities move by.
    """
    before, after = (_chosen(effect(each)) for each in shares)
    if np.array_equal(*shares):
        return Moved(_size(before), _size(after), _none(before))
    sides = [_side(each) for each in (before, after)]
    first, last = (side or next(filter(None, sides), 1.0) for side in sides)
    values = last * excess(scores, shares[1]) - first * excess(scores, shares[0])
    found = mean_effect(asked, AnswerValues(values, float(np.abs(values).max())))
    shift = _shift(found)
    if not sides[0] and not math.isnan(shift.z):
        chance = min(2.0 * float(ndtr(-abs(shift.z))), 1.0)
        shift = replace(shift, z=math.copysign(max(-float(ndtri(chance)), 0.0), shift.z))
    return Moved(_towards(before, first), _towards(after, last), shift)


def _none(found: Effect | Largest) -> Shift:
    """No change; over nothing, nothing."""
    return _shift(NOTHING) if math.isnan(found.value) else UNCHANGED


def _side(found: Effect) -> float:
    """On which side of 0 an effect lies, 0 where its interval holds both."""
    return 1.0 if found.low > 0.0 else -1.0 if found.high < 0.0 else 0.0


def _towards(found: Effect, side: float) -> Estimate:
    """An effect as it is seen from a side."""
    low, high = sorted((side * found.low, side * found.high))
    return Estimate(side * found.value, low, high, reliable=True)


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
