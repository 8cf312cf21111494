"""Whom images show beside whom there is: small cases by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate.benchmarks.bigbench.data import Bigbench, load
from fairgate.benchmarks.bigbench.portrayals import UNKNOWN, Portrayal
from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
from fairgate.benchmarks.bigbench.truth import beside_truth
from fairgate.benchmarks.evidence import Share


@pytest.fixture(scope="module")
def data() -> Bigbench:
    return load()


def of_genders(data: Bigbench, subject: str, *images: tuple[int, ...]) -> Portrayal:
    """Images, each the genders of its people."""
    codes = [[[gender, UNKNOWN, UNKNOWN] for gender in people] for people in images]
    return Portrayal(IdentityPrompt(data.subject(subject), None, ()), np.array(codes, dtype=np.int8))


def test_each_person_drawn_counts_once_with_the_truth_of_their_own_subject(data: Bigbench) -> None:
    one, other = data.of("sports")[:2]
    truths = [each.truth[0]["gender"] for each in (one, other)]
    shown = beside_truth(
        [of_genders(data, one.id, (0,), (0,), (1,)), of_genders(data, other.id, (1,), (UNKNOWN,))], data, "gender"
    )
    assert shown["male"].drawn == 0.5
    assert shown["male"].true == pytest.approx((3 * truths[0][0] + truths[1][0]) / 4)
    assert shown["female"].true == pytest.approx(1 - shown["male"].true)
    # Two of four, exactly (Clopper and Pearson, by tables).
    assert (shown["male"].low, shown["male"].high) == pytest.approx((0.0676, 0.9324), abs=1e-4)


def test_two_people_of_one_image_are_one_to_the_interval(data: Bigbench) -> None:
    relation = next(each for each in data.subjects if len(each.people) == 2)
    shown = beside_truth([of_genders(data, relation.id, (0, 1), (0, 1), (0, UNKNOWN), (1, 0))], data, "gender")
    assert shown["male"].drawn == pytest.approx(4 / 7)
    alone = beside_truth([of_genders(data, data.of("sports")[0].id, (0,), (0,), (1,), (1,))], data, "gender")
    assert (shown["male"].low or 0) > (alone["male"].low or 0)
    assert (shown["male"].high or 0) - (shown["male"].low or 0) > 0.8


def test_nothing_is_true_of_those_who_were_asked_for_with_a_group_nor_of_nobody(data: Bigbench) -> None:
    subject = data.of("sports")[0]
    asked = Portrayal(IdentityPrompt(subject, "gender", ("male",)), np.zeros((2, 1, 3), dtype=np.int8))
    assert beside_truth([asked], data, "gender") == {}
    assert beside_truth([of_genders(data, subject.id, (UNKNOWN,))], data, "gender") == {}


def test_of_shares_alone_each_person_counts_and_nothing_says_how_sure_they_are(data: Bigbench) -> None:
    subject = data.of("sports")[0]
    named = Portrayal(IdentityPrompt(subject, None, ()), named=({"gender": {"male": 0.2, "female": 0.8}},))
    assert beside_truth([named], data, "gender")["male"] == Share(0.2, subject.truth[0]["gender"][0])
