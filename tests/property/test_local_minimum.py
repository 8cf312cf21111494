from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from fairgate.maths.local_minimum import local_minimum
from tests.strategies import THOROUGH, groups, unit


@THOROUGH
@given(unit, unit, groups)
@example(0.2536, 0.5553, 4)
@example(0.5, 1.0, 2)
def test_on_the_curve_it_is_scipys_to_the_last_digit(x: float, y: float, k: int) -> None:
    def squared(a: float) -> float:
        bound = -(a * math.log(a) + (1 - a) * math.log((1 - a) / (k - 1))) / math.log(k)
        return (a - x) ** 2 + (bound - y) ** 2

    bounds = 1e-8, 1 - 1e-8
    assert local_minimum(squared, *bounds) == minimize_scalar(squared, bounds=bounds, method="bounded").x


@THOROUGH
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=5), st.floats(-3, 3), st.floats(0.001, 4))
def test_on_waves_it_is_scipys_to_the_last_digit(waves: list[float], low: float, width: float) -> None:
    def f(x: float) -> float:
        return sum(wave * math.sin((n + 1) * x) for n, wave in enumerate(waves))

    bounds = low, low + width
    assert local_minimum(f, *bounds) == minimize_scalar(f, bounds=bounds, method="bounded").x


def test_it_finds_a_parabolas_foot_and_an_edge() -> None:
    assert local_minimum(lambda x: (x - 0.3) ** 2, -1.0, 2.0) == pytest.approx(0.3, abs=1e-5)
    assert local_minimum(lambda x: x, 0.0, 1.0) == pytest.approx(0.0, abs=2e-5)
