"""Looks at a run before its end: when, and how sure each must be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.maths.sequential import confidences, rounds


def test_rounds_double_up_to_the_whole() -> None:
    assert rounds(100, 7) == (7, 14, 28, 56, 100)


def test_a_doubling_with_little_left_to_go_is_left_out() -> None:
    assert rounds(100, 10) == (10, 20, 40, 100)


def test_a_plan_no_larger_than_the_first_round_is_looked_at_once() -> None:
    assert rounds(5, 7) == (5,)


def test_one_look_is_as_sure_as_any_other_interval() -> None:
    assert confidences((100,), 0.95) == pytest.approx((0.95,))


def test_two_looks_share_the_error_as_the_spending_function_says() -> None:
    # At half of the samples alpha * log(1 + 0.859) = 0.62 alpha is spent.
    half = 0.05 * math.log(1 + (math.e - 1) / 2)
    assert confidences((50, 100), 0.95) == pytest.approx((1 - half, 1 - (0.05 - half)))


@given(st.integers(1, 400), st.integers(1, 60), st.floats(0.5, 0.999))
def test_all_looks_together_miss_as_often_as_one_may(whole: int, first: int, confidence: float) -> None:
    sizes = rounds(whole, first)
    assert sizes[-1] == whole
    assert list(sizes) == sorted(set(sizes))
    each = confidences(sizes, confidence)
    assert sum(1 - c for c in each) == pytest.approx(1 - confidence)
    assert all(c >= confidence - 1e-9 for c in each)
