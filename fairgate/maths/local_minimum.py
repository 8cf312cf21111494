"""A minimum of a function of one variable between two bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
RELATIVE, ABSOLUTE = math.sqrt(2.2e-16), 1e-5


def local_minimum(f: Callable[[float], float], low: float, high: float) -> float:
    """Where `f` has a minimum between `low` and `high`: one of them, where there are several, to about 1e-5.

    Brent (1973), chapter 5: a parabola through the three best points where it can be trusted, else a golden section. To
    the last digit what scipy's `minimize_scalar(method="bounded")` finds with its default tolerance, which a test
    holds: importing `scipy.optimize` takes longer than a run's whole scoring.
    """
    # The three best points so far, the best one first.
    x = second = third = low + GOLDEN * (high - low)
    at_x = at_second = at_third = f(x)
    step = before = 0.0
    while True:
        middle, least = 0.5 * (low + high), RELATIVE * abs(x) + ABSOLUTE / 3.0
        if abs(x - middle) <= 2.0 * least - 0.5 * (high - low):
            return x

        p = q = 0.0
        if abs(before) > least:
            r = (x - second) * (at_x - at_third)
            q = (x - third) * (at_x - at_second)
            p = (x - third) * q - (x - second) * r
            q = 2.0 * (q - r)
            p, q = (-p if q > 0.0 else p), abs(q)
        if abs(p) < abs(0.5 * q * before) and q * (low - x) < p < q * (high - x):
            before, step = step, p / q
            tried = x + step
            if tried - low < 2.0 * least or high - tried < 2.0 * least:
                step = least if x <= middle else -least
        else:
            before = low - x if x >= middle else high - x
            step = GOLDEN * before
        tried = x + (max(step, least) if step >= 0.0 else min(step, -least))

        at_tried = f(tried)
        if at_tried <= at_x:
            low, high = (x, high) if tried >= x else (low, x)
            third, at_third, second, at_second, x, at_x = second, at_second, x, at_x, tried, at_tried
            continue
        low, high = (tried, high) if tried < x else (low, tried)
        if at_tried <= at_second or second == x:
            third, at_third, second, at_second = second, at_second, tried, at_tried
        elif at_tried <= at_third or third in (x, second):
            third, at_third = tried, at_tried
