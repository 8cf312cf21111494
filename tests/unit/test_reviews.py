"""Reviewers' marks on a run's own replies: which of them count, which are offered, and what they correct a rate to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairgate.core.statistics.intervals import Interval
from fairgate.core.statistics.misclassification import JudgeConfusion
from fairgate.core.statistics.reviews import Review, corrected, counted, enough, half_width, in_order, to_mark
from fairgate.core.statistics.strata import share

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
    assert enough(found, REPLIES) is (min(found.yes_yes, found.yes_no) >= 8)
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
