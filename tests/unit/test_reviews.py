"""Reviewers' marks on a run's own replies: which of them count, which are offered, and what they correct a rate to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairgate.core.statistics.intervals import Interval
from fairgate.core.statistics.misclassification import JudgeConfusion
from fairgate.core.statistics.prediction_powered import (
    Corrects,
    Review,
    corrected,
    corrected_gap,
    corrected_mean,
    counted,
    enough,
    half_width,
    in_order,
    to_mark,
)
from fairgate.core.statistics.strata import difference, share

if TYPE_CHECKING:
    from fairgate.core.statistics.distributions import FloatArray

REPLIES = [Review(f"reply {n}", said=n < 30, right=None) for n in range(100)]


def marked(names: set[str], right: bool) -> list[Review]:
    return [replace(each, right=right) if each.name in names else each for each in REPLIES]


def test_marks_count_in_the_order_of_each_verdict_and_not_where_somebody_picked() -> None:
    yes = [each.name for each in in_order(REPLIES) if each.said]
    assert counted(marked({*yes[:5]}, right=False)) == JudgeConfusion(0, 0, 5, 0)
    # The fourth was passed over: those after it were picked.
    assert counted(marked({*yes[:3], *yes[4:9]}, right=True)) == JudgeConfusion(3, 0, 0, 0)
    assert counted(marked({*yes[1:]}, right=True)) == JudgeConfusion(0, 0, 0, 0)


def test_what_is_offered_is_next_in_order_and_counts_once_it_is_marked() -> None:
    names = [each.name for each in to_mark(REPLIES, 20)]
    assert len({*names}) == 20
    found = counted(marked({*names}, right=True))
    assert found.items == 20
    assert enough(marked({*names}, right=True))
    assert not enough(marked({*names[:15]}, right=True))
    # The larger part of the verdicts is looked at more often.
    assert found.yes_no > found.yes_yes
    assert len(to_mark(REPLIES, 1000)) == len(REPLIES)


def test_more_marks_promise_a_narrower_interval() -> None:
    widths = [half_width(REPLIES, more) for more in (10, 40, 100)]
    assert widths == sorted(widths, reverse=True)
    assert 0.3 > widths[0] > widths[-1] > 0.05


def test_a_rate_by_hand() -> None:
    """30 % yes, of which three of four are right; of no, one in ten is a yes: 0.3·0.75 + 0.7·0.1 = 0.295."""
    found = corrected(Interval(0.3, 0.25, 0.35), JudgeConfusion(15, 2, 5, 18), np.random.default_rng(1))
    assert found.value == pytest.approx(0.295)
    assert 0.18 < found.low < 0.25 < 0.35 < found.high < 0.45


def test_the_interval_holds_a_truth_that_the_judge_is_far_from() -> None:
    """A judge of 95 % sensitivity and 85 % specificity, whatever gold texts would say of it."""
    held = alone = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        truth = rng.random(400) < 0.1
        luck = rng.random(400)
        said = np.where(truth, luck < 0.95, luck >= 0.85)
        replies = [Review(f"{seed} {n}", bool(each), None) for n, each in enumerate(said)]
        chosen = {each.name for each in to_mark(replies, 40)}
        right = [replace(r, right=bool(t)) if r.name in chosen else r for r, t in zip(replies, truth, strict=True)]
        judged = share(said.astype(float))
        found = corrected(judged, counted(right), rng)
        held += found.low <= 0.1 <= found.high
        alone += judged.low <= 0.1 <= judged.high
    assert held >= 90
    assert alone <= 10


@pytest.mark.parametrize("corrects", [*Corrects])
def test_marks_are_offered_so_that_each_kind_of_reply_has_enough_first(corrects: Corrects) -> None:
    replies = [Review(f"reply {n}", said=(n % 10) / 10, right=None) for n in range(100)]
    if corrects is not Corrects.MEAN:
        replies = [replace(each, said=float(each.said > 0.7)) for each in replies]
    strata = len({each.stratum for each in replies})
    chosen = {each.name for each in to_mark(replies, 8 * strata, corrects)}
    assert enough([replace(each, right=each.said) if each.name in chosen else each for each in replies])


def answered(said: FloatArray, right: FloatArray, many: int, corrects: Corrects) -> list[Review]:
    replies = [Review(f"reply {n}", float(each), None) for n, each in enumerate(said)]
    chosen = {each.name for each in to_mark(replies, many, corrects)}
    pairs = zip(replies, right, strict=True)
    return [replace(each, right=float(truth)) if each.name in chosen else each for each, truth in pairs]


def test_a_gap_by_hand() -> None:
    """Of 100 yes 80 are, of 100 no 20: half are, so that sensitivity and specificity are 80 %, and 0.3 is of 0.5."""
    said = np.repeat([1.0, 0.0], 100)
    right = np.concatenate([np.arange(100) < 80, np.arange(100) < 20]).astype(float)
    found = corrected_gap(Interval(0.3, 0.25, 0.35), answered(said, right, 200, Corrects.GAP), np.random.default_rng(1))
    assert found.value == pytest.approx(0.5, abs=0.01)
    assert 0.35 < found.low < 0.45 < 0.55 < found.high < 0.75


def test_of_a_judge_that_tells_nothing_a_gap_may_be_anything() -> None:
    said = np.repeat([1.0, 0.0], 100)
    right = np.tile([1.0, 0.0], 100)
    found = corrected_gap(Interval(0.3, 0.25, 0.35), answered(said, right, 60, Corrects.GAP), np.random.default_rng(1))
    assert found.low < 0.3
    assert found.high == 1.0


def test_a_mean_by_hand() -> None:
    """A judge that gives two of ten less than reviewers do to whatever is low, and is right about the rest."""
    said = np.repeat([0.2, 0.5, 0.9], 40)
    right = np.repeat([0.4, 0.5, 0.9], 40)
    judged = Interval(float(said.mean()), 0.50, 0.57)
    found = corrected_mean(judged, answered(said, right, 60, Corrects.MEAN), np.random.default_rng(1))
    assert found.value == pytest.approx(float(right.mean()), abs=0.001)
    assert 0.45 < found.low < 0.57 < 0.63 < found.high < 0.75


@pytest.mark.parametrize("corrects", [Corrects.GAP, Corrects.MEAN])
def test_more_marks_promise_a_narrower_interval_of_other_scores_too(corrects: Corrects) -> None:
    widths = [half_width(REPLIES, more, corrects) for more in (16, 40, 100)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1.2 * widths[-1]


def test_the_interval_of_a_gap_holds_a_truth_that_the_judge_is_far_from() -> None:
    """Of stereotyped ties 90 % are there, of opposite ones 10 %; a judge of 85 and 75 %."""
    held = alone = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        truth = rng.random((400, 2)) < np.array([0.9, 0.1])
        luck = rng.random(truth.shape)
        said = np.where(truth, luck < 0.85, luck >= 0.75).astype(float)
        judged = difference(share(said[:, 0]), share(said[:, 1]))
        found = corrected_gap(judged, answered(said.ravel(), truth.ravel().astype(float), 60, Corrects.GAP), rng)
        held += found.low <= 0.8 <= found.high
        alone += judged.low <= 0.8 <= judged.high
    assert held >= 90
    assert alone <= 10


def test_the_interval_of_a_mean_holds_a_truth_that_the_judge_is_far_from() -> None:
    held = alone = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        right = rng.binomial(10, 0.6, 400) / 10
        said = np.clip(np.rint(10 * right + rng.normal(-2.0, 1.5, 400)), 0, 10) / 10
        judged = share(said)
        found = corrected_mean(judged, answered(said, right, 40, Corrects.MEAN), rng)
        held += found.low <= 0.6 <= found.high
        alone += judged.low <= 0.6 <= judged.high
    assert held >= 90
    assert alone <= 10
