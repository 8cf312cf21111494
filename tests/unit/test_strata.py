"""Means over strata: intervals that hold at four items a stratum, at the boundary, and for a judge that errs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairgate.core.statistics import strata
from fairgate.core.statistics.intervals import Interval
from fairgate.core.statistics.misclassification import JudgeConfusion, corrected_replicates

CATEGORIES = 10


def test_four_items_all_alike_are_not_certain() -> None:
    assert strata.share(np.zeros(4)).low == 0.0
    assert 0.3 < strata.share(np.zeros(4)).high < 0.6
    assert strata.share(np.ones(4)).high == 1.0
    assert strata.share(np.array([np.nan, 1.0])).value == 1.0
    assert math.isnan(strata.share(np.array([np.nan])).value)


def test_a_difference_keeps_to_minus_one_and_one() -> None:
    gap = strata.difference(strata.share(np.ones(4)), strata.share(np.zeros(4)))
    assert gap.value == 1.0
    assert gap.high == 1.0
    assert 0.2 < gap.low < 0.5
    same = strata.difference(strata.share(np.array([1.0, 0.0])), strata.share(np.array([0.0, 1.0])))
    assert same.value == 0.0
    assert same.low == pytest.approx(-same.high)


def test_a_mean_of_strata_is_surer_than_each() -> None:
    one = Interval(0.5, 0.2, 0.9)
    four = strata.mean([one] * 4)
    assert four.value == 0.5
    assert [four.low, four.high] == pytest.approx([0.35, 0.7])
    assert strata.mean([one]).low == pytest.approx(0.2)
    assert math.isnan(strata.mean([]).value)


def test_small_gaps_that_are_but_noise_are_none() -> None:
    gaps = [Interval(0.5, -0.1, 0.8), Interval(-0.5, -0.8, 0.1)]
    found = strata.mean_distance(gaps, [0.25, 0.25])
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high > 0.5
    sure = strata.mean_distance([Interval(-0.9, -1.0, -0.6)] * 4, [0.01] * 4)
    assert sure.low == pytest.approx(0.75)
    assert sure.value == pytest.approx(math.sqrt(0.8))


def test_strata_that_lean_alike_are_surer_together_than_each() -> None:
    """None is beyond doubt at three standard errors, and their mean is."""
    lean = [Interval(0.5, 0.05, 0.8)] * CATEGORIES
    found = strata.mean_distance(lean, [0.03] * CATEGORIES)
    assert found.low == pytest.approx(0.5 - 0.45 / math.sqrt(CATEGORIES))
    assert strata.mean_distance([Interval(-each.value, -each.high, -each.low) for each in lean], [0.03] * 10) == found
    both_ways = [each if n % 2 else Interval(-0.5, -0.8, -0.05) for n, each in enumerate(lean)]
    assert strata.mean_distance(both_ways, [0.03] * CATEGORIES).low == 0


def known(rng: np.random.Generator, sensitivity: float, specificity: float, each: int = 52) -> JudgeConfusion:
    yes, no = rng.binomial(each, sensitivity), rng.binomial(each, specificity)
    return JudgeConfusion(yes, each - yes, each - no, no)


@pytest.mark.parametrize("items", [4, 90])
@pytest.mark.parametrize("truth", [0.0, 0.1, 0.5, 0.9])
def test_a_judge_that_errs_is_corrected_at_the_nominal_rate(items: int, truth: float) -> None:
    """80 % sensitivity, 90 % specificity, known from 104 texts: ten categories of dialogues."""
    covered = raw = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, items])
        judged = truth * 0.8 + (1 - truth) * 0.1
        parts = [strata.share(rng.binomial(1, judged, items).astype(float)) for _ in range(CATEGORIES)]
        whole = strata.mean(parts)
        found = corrected_replicates(whole.value, strata.draws(whole, rng, 1000), known(rng, 0.8, 0.9), rng)
        covered += found.low <= truth <= found.high
        raw += whole.low <= truth <= whole.high
    assert covered >= 0.9 * 200
    if truth != 0.5 and items == 90:
        assert raw <= 0.2 * 200
