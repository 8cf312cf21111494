"""Looks at a run before its end: after how many answers, and which share of the error each may make."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair.text import FIRST_LOOKS
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.core.statistics.sequential import levels_of_looks, shares_of_looks

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


def bounds(levels: dict[int, float]) -> dict[int, float]:
    return {size: NormalDist().inv_cdf(1.0 - 0.025 * level) for size, level in levels.items()}


def test_two_looks_have_the_bounds_of_the_published_tables() -> None:
    """Pocock's bound for two equal looks is 2.178 at 5 % (Jennison & Turnbull 2000, table 2.1)."""
    first = (1.0 - NormalDist().cdf(2.178)) / 0.025
    levels = levels_of_looks({50: first, 100: 1.0 - first})
    assert bounds(levels) == pytest.approx({50: 2.178, 100: 2.178}, abs=0.002)


def test_a_walk_crosses_the_bounds_of_any_look_as_often_as_one_look_errs() -> None:
    shares = shares_of_looks(27, FIRST_LOOKS[Task.SUBJECTIVE])
    walks = np.random.default_rng(1).standard_normal((200_000, 27)).cumsum(axis=1)
    crossed = np.zeros(len(walks), np.bool_)
    for size, bound in bounds(levels_of_looks(shares)).items():
        crossed |= walks[:, size - 1] > bound * np.sqrt(size)
    assert crossed.mean() == pytest.approx(0.025, abs=0.0015)


@given(st.integers(1, 2000), st.sampled_from([*FIRST_LOOKS.values()]))
@settings(max_examples=30, deadline=None)
def test_a_level_lies_between_the_share_of_its_look_and_one(whole: int, first: dict[int, float]) -> None:
    shares = shares_of_looks(whole, first)
    levels = levels_of_looks(shares)
    assert all(shares[size] <= level <= 1.0 for size, level in levels.items())
    assert levels[min(levels)] == pytest.approx(shares[min(levels)], rel=1e-3)
