"""What is left of an estimate's variance where all texts of a question were asked."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate.core.statistics.estimates import estimate_scores
from fairgate.core.statistics.finite import Repeats, repeats, variance_left

ALL = np.full((15, 2), 2)  # both orders of each question


def test_repeats_count_answers_that_differ_from_another_to_the_same_text() -> None:
    same, differ, three = {"a": 2}, {"a": 1, "b": 1}, {"a": 2, "b": 1}
    assert repeats([{"a": 1}, same]) == Repeats(1, 0)
    assert repeats([same, differ]) == Repeats(2, 1)
    # Of three pairs two differ.
    assert repeats([three]).changed == pytest.approx(4 / 3)


def test_where_no_text_was_repeated_nothing_is_taken_off() -> None:
    assert variance_left(0.8, ALL, ALL, 2, Repeats()) == pytest.approx(1)


def test_a_part_of_the_texts_takes_off_its_part_where_answers_never_change() -> None:
    left = variance_left(0.5, np.array([6]), np.array([6]), 24, Repeats(10_000, 0))
    assert left == pytest.approx(18 / 24, abs=1e-3)


def test_answers_that_change_leave_the_noise_of_as_many() -> None:
    # Two answers by a coin differ every second time: the variance is that of single answers, of which there are twice.
    assert variance_left(0.5, ALL, 2 * ALL, 2, Repeats(10_000, 5_000)) == pytest.approx(0.5, abs=0.02)


def test_the_variance_that_is_left_does_not_depend_on_how_many_answers_count_as_independent() -> None:
    seen = Repeats(10_000, 1_000)
    few, many = (variance_left(0.5, ALL, 2 * ALL, 2, seen, independent=each) / each for each in (ALL, 2 * ALL))
    assert few == pytest.approx(many)


def test_a_model_of_one_answer_to_each_text_is_known_once_all_were_asked() -> None:
    # 80 % right, and wrong by the order of the options.
    counts = np.zeros((15, 2, 2), np.int64)
    counts[..., 0] = 4
    counts[:6] = [[2, 2], [2, 2]]
    key = np.zeros((15, 2, 2), np.bool_)
    key[..., 0] = True
    left = variance_left(0.8, ALL, 2 * ALL, 2, Repeats(60, 0))
    widths = []
    for part in (None, left):
        found = estimate_scores(
            counts, key, effective=ALL, left=part, rng=np.random.default_rng(0), replicates=60
        ).s_fact
        assert found.low < 0.8 < found.high
        widths.append(found.high - found.low)
    assert widths[0] > 0.12
    assert widths[1] < 0.07


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_intervals_of_a_census_hold_the_truth(noise: float) -> None:
    rng, held, runs = np.random.default_rng(3), 0, 60
    key = np.zeros((15, 2, 2), np.bool_)
    key[..., 0] = True
    for _ in range(runs):
        chance = np.where(rng.random((15, 2, 2)) < noise, 0.8, rng.random((15, 2, 2)) < 0.8)
        twice = rng.random((2, 15, 2, 2)) < chance
        right = twice.sum(axis=(0, 3))
        seen = Repeats(60, float((twice[0] != twice[1]).sum()))
        left = variance_left(right.mean() / 4, ALL, 2 * ALL, 2, seen)
        counts = np.stack([right, 4 - right], axis=-1)
        found = estimate_scores(counts, key, effective=ALL, left=left, rng=rng, replicates=30).s_fact
        held += found.low <= chance.mean() <= found.high
    assert held >= 0.9 * runs
