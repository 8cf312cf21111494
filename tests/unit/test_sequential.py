"""Looks at a run before its end: after how many answers, and which share of the error each may make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair.text import FIRST_LOOKS
from fairgate.core.statistics.sequential import shares_of_looks

FIRST = {3: 0.05, 9: 0.2, 12: 0.3, 18: 0.25}


def test_the_first_looks_have_the_shares_that_they_are_given_and_the_end_has_what_is_left() -> None:
    assert shares_of_looks(27, FIRST) == pytest.approx({3: 0.05, 9: 0.2, 12: 0.3, 18: 0.25, 27: 0.2})


def test_later_looks_double_and_share_what_is_left_evenly() -> None:
    found = shares_of_looks(300, FIRST)
    assert list(found) == [3, 9, 12, 18, 36, 72, 144, 300]
    assert [found[size] for size in (36, 72, 144, 300)] == pytest.approx([0.05] * 4)


def test_a_look_with_little_left_to_go_is_left_out() -> None:
    assert shares_of_looks(20, FIRST) == pytest.approx({3: 0.05, 9: 0.2, 12: 0.3, 20: 0.45})


def test_a_plan_no_larger_than_the_first_look_is_looked_at_once() -> None:
    assert shares_of_looks(3, FIRST) == {3: 1.0}


@given(st.integers(1, 2000), st.sampled_from([*FIRST_LOOKS.values()]))
def test_all_looks_together_err_as_often_as_one_may(whole: int, first: dict[int, float]) -> None:
    found = shares_of_looks(whole, first)
    assert sum(found.values()) == pytest.approx(1.0)
    assert [*found] == sorted({*found})
    assert [*found][-1] == whole
    assert all(0 < share <= 1 for share in found.values())
