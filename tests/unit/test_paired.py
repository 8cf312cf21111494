"""Differences between two runs over the same queries: pairs, chance, and many comparisons at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair.change import moved, moved_apart
from fairgate.core.statistics.intervals import Estimate
from fairgate.core.statistics.paired import exchanged, holm, resampled, shared_level, shift

STATISTICS, N = 18, 60
KEY = np.zeros((STATISTICS, 2, 2), np.bool_)
KEY[:, 0, 0] = KEY[:, 1, 1] = True
SIZES = np.full((STATISTICS, 2), N)


def pairs(before: float, after: float, agree: float, seed: int = 0) -> np.ndarray:
    """Pairs where a share of answers follows the key, before and after, and a share agrees beyond that."""
    rng = np.random.default_rng(seed)
    tables = np.zeros((STATISTICS, 2, 2, 2), np.int64)
    for s in range(STATISTICS):
        for level in (0, 1):
            first = rng.random(N) < before
            again = np.where(rng.random(N) < agree, first, rng.random(N) < after)
            for one, other in zip(first, again, strict=True):
                tables[s, level, level ^ (not one), level ^ (not other)] += 1
    return tables


def test_holm_rejects_step_by_step() -> None:
    # 0.01 <= 0.05/4, 0.015 <= 0.05/3, 0.03 > 0.05/2: the third, and all after it, stay.
    assert holm([0.03, 0.01, 0.04, 0.015], 0.05) == [False, True, False, True]


def test_holm_is_no_bonferroni() -> None:
    assert holm([0.025, 0.05], 0.05) == [True, True]


def test_what_is_not_known_is_neither_rejected_nor_counted() -> None:
    assert holm([math.nan, 0.04], 0.05) == [False, True]


def test_the_shared_level_grows_with_what_is_rejected_at_it() -> None:
    # Of ten tests 0.004 < 0.05/10, 0.009 < 2·0.05/10, 0.014 < 3·0.05/10, but 0.03 > 4·0.05/10.
    assert shared_level([0.03, 0.009, math.nan, 0.004, 0.014], 0.05, 10) == pytest.approx(0.015)
    assert shared_level([], 0.05, 10) == pytest.approx(0.005)
    assert shared_level([1e-9] * 10, 0.05, 10) == pytest.approx(0.05)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_as_many_are_below_the_shared_level_as_it_is_shared_by(p: list[float]) -> None:
    level = shared_level(p, 0.05, 12)
    rejected = sum(each < level for each in p)
    assert level == pytest.approx(0.05 * max(rejected, 1) / 12)


def test_where_nothing_is_true_anything_is_rejected_as_rarely_as_is_said() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.random((4_000, 40))
    found = np.mean([any(p < shared_level(list(each), 0.1, 40) for p in each) for each in drawn])
    assert 0.08 < found < 0.115


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_exchanged_answers_are_as_many_as_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = rng.integers(0, 9, (3, 2, 4, 4))
    before, after = exchanged(tables, rng, 5)
    both = tables.sum(axis=-1) + tables.sum(axis=-2)
    assert (before + after == both).all()
    assert (before >= np.einsum("slii->sli", tables)).all()
    assert (before.sum(axis=-1) == tables.sum(axis=(-2, -1))).all()


def test_resampled_pairs_are_as_many_as_are_independent() -> None:
    before, after = resampled(np.ones((2, 2, 3, 3)), np.array([[4, 5], [0, 7]]), np.random.default_rng(1), 6)
    assert (before.sum(axis=-1) == [[4, 5], [0, 7]]).all()
    assert (after.sum(axis=-1) == [[4, 5], [0, 7]]).all()


def test_runs_that_never_differ_have_not_moved() -> None:
    alike = np.zeros(100)
    found = shift(
        Estimate(0.5, 0.4, 0.6, reliable=True), Estimate(0.5, 0.4, 0.6, reliable=True),
        (np.linspace(0.4, 0.6, 100), np.linspace(0.4, 0.6, 100) + np.tile([0.01, -0.01], 50)), 0.0, alike,
    )  # fmt: skip
    assert (found.value, found.z, found.changed) == (0.0, 0.0, 1.0)
    assert (found.low, found.high) == (0.0, 0.0)


def test_agreement_between_the_runs_makes_the_interval_narrower() -> None:
    found = {
        agree: moved(pairs(0.6, 0.6, agree), KEY, SIZES, np.random.default_rng(2))["TV"].shift for agree in (0.0, 0.9)
    }
    assert found[0.9].high - found[0.9].low < 0.7 * (found[0.0].high - found[0.0].low)


def test_a_planted_change_is_beyond_chance_and_its_interval_holds_it() -> None:
    found = moved(pairs(0.5, 0.6, 0.0), KEY, SIZES, np.random.default_rng(3))
    # Following the key in 60 % moves TV from 0 to 20 points, S_fact from 50 to 60.
    assert found["TV"].shift.chance(upwards=True) < 1e-4
    assert found["TV"].shift.low <= 0.20 <= found["TV"].shift.high
    assert found["S_fact"].shift.low <= 0.10 <= found["S_fact"].shift.high
    assert found["S_KLD"].shift.value < 0


def test_runs_without_common_queries_are_compared_with_wider_intervals() -> None:
    tables = pairs(0.6, 0.6, 0.9)
    paired = moved(tables, KEY, SIZES, np.random.default_rng(4))["TV"].shift
    apart = moved_apart(
        tables.sum(axis=-1), tables.sum(axis=-2), KEY, (SIZES, SIZES), np.random.default_rng(4)
    )["TV"].shift  # fmt: skip
    assert apart.high - apart.low > paired.high - paired.low


def test_nothing_in_common_moves_nothing() -> None:
    assert moved(np.zeros((STATISTICS, 2, 2, 2), np.int64), KEY, SIZES, np.random.default_rng(0)) == {}


@pytest.mark.parametrize("seed", range(3))
def test_order_of_the_statistics_plays_no_part_in_chance(seed: int) -> None:
    found = moved(pairs(0.55, 0.6, 0.5, seed), KEY, SIZES, np.random.default_rng(5))["TV"].shift
    turned = moved(pairs(0.55, 0.6, 0.5, seed)[::-1], KEY, SIZES, np.random.default_rng(5))["TV"].shift
    assert found.value == pytest.approx(turned.value)
    assert found.z == pytest.approx(turned.z, rel=0.25)
