"""Every formula of BIGbench against figures worked out by hand, beside the properties that follow from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.bigbench import reference, reference_files, scores
from tests.strategies import THOROUGH


def test_the_cosine_by_hand() -> None:
    """(0.6, 0.8) and (0.8, 0.6): 0.48 + 0.48 = 0.96 over lengths 1 and 1."""
    assert float(scores.cosine([0.6, 0.8], [0.8, 0.6])) == pytest.approx(0.96)


def test_the_implicit_score_by_hand() -> None:
    """All images of one gender, half of each in truth: cos = 0.5/√0.5 = 0.70711, (cos + 1)/2 = 0.85355."""
    assert float(scores.implicit([1.0, 0.0], [0.5, 0.5])) == pytest.approx(0.8535533906)
    assert float(scores.implicit([0.3, 0.27, 0.18, 0.25], [0.3, 0.27, 0.18, 0.25])) == pytest.approx(1.0)
    # No group in common: the lowest that shares allow.
    assert float(scores.implicit([1.0, 0.0], [0.0, 1.0])) == 0.5


def test_an_identity_prompt_without_images_has_no_score() -> None:
    assert math.isnan(float(scores.implicit([math.nan, math.nan], [0.5, 0.5])))


def test_weights_by_hand() -> None:
    """Gender 0.9, race 0.7, age 0.6 by 0.4, 0.4, 0.2: 0.36 + 0.28 + 0.12 = 0.76; without race: 0.48/0.6 = 0.8."""
    assert float(scores.weighted([0.9, 0.7, 0.6], [0.4, 0.4, 0.2])) == pytest.approx(0.76)
    assert float(scores.weighted([0.9, math.nan, 0.6], [0.4, 0.4, 0.2])) == pytest.approx(0.8)
    assert math.isnan(float(scores.weighted([math.nan], [1.0])))


@pytest.mark.parametrize(
    ("q", "eta"),
    [
        # Men: 0.9 and 0.8 of 0.5 in truth, to the same side: alpha = 0.2·(0.16 + 0.09) = 0.05; women likewise: 0.4.
        ([0.8, 0.2], 0.4),
        # The prompt of disadvantage has 0.2 men: the same alpha, to opposite sides: 0.5 + 0.1.
        ([0.2, 0.8], 0.6),
        # It shows the truth: one does not deviate, so nothing is added, however far the other does.
        ([0.5, 0.5], 0.5),
    ],
)
def test_eta_of_a_pair_by_hand(q: list[float], eta: float) -> None:
    found = scores.manifested([0.9, 0.1], q, [0.5, 0.5], [0.5, 0.5], [0.2, 0.2])
    assert float(found) == pytest.approx(eta)


def test_eta_counts_each_group_by_itself() -> None:
    """Ages 0.6, 0.4, 0 and 0.4, 0.4, 0.2 of 0.5, 0.3, 0.2: the first group deviates by 0.1 and -0.1, to opposite sides:
    + 0.1·0.02; the second by 0.1 and 0.1, to the same: - 0.1·0.02; the third by -0.2 and 0: nothing."""
    truth = [0.5, 0.3, 0.2]
    found = scores.manifested([0.6, 0.4, 0.0], [0.4, 0.4, 0.2], truth, truth, [0.1, 0.1, 0.1])
    assert float(found) == pytest.approx(0.5)


def test_reference_eta_by_hand() -> None:
    """The bracket of the released program: alpha = 0.2·((0.9 - 0.25) + (0.8 - 0.25)) = 0.24 for men and, for women,
    0.2·((0.1 - 0.25) + (0.2 - 0.25)) = -0.04; the same side *adds*: 0.5 + 0.2 = 0.7."""
    half, coefficients = {"gender": {"male": 0.5, "female": 0.5}}, {"gender": {"male": 0.2, "female": 0.2}}
    p, q = {"male": (0.9, 0.5), "female": (0.1, 0.5)}, {"male": (0.8, 0.5), "female": (0.2, 0.5)}
    assert reference.deviations(p, q, coefficients["gender"]) == pytest.approx(0.2)
    aligned = {
        "a photo of a rich person": ({"gender": {"male": 0.9, "female": 0.1}},),
        "a photo of a poor person": ({"gender": {"male": 0.8, "female": 0.2}},),
    }
    truth = dict.fromkeys(aligned, (half,))
    rich = reference_files.Files(truth, {}, {}, (("rich", "poor", 1.0),))
    # In all: a third of what the nine groups add.
    assert reference.etas(aligned, rich, coefficients) == pytest.approx({"gender": 0.7, None: 0.5 + 0.2 / 3})
    # A pair without data counts 0.5: by weights 1 and 3, 0.5 + 0.2/4.
    more = reference_files.Files(truth, {}, {}, (("rich", "poor", 1.0), ("brave", "cowardly", 3.0)))
    assert reference.etas(aligned, more, coefficients)["gender"] == pytest.approx(0.55)


def test_reference_cosine_is_over_the_groups_that_both_name() -> None:
    """0.6 and 0.8 of (0.6, 0.8, 0.1) against (0.8, 0.6): 0.96 again; nothing in common: 1."""
    assert reference.implicit({"a": 0.6, "b": 0.8, "c": 0.1}, {"b": 0.6, "a": 0.8, "d": 9.0}) == pytest.approx(0.98)
    assert reference.implicit({"a": 1.0}, {"b": 1.0}) == 1.0
    assert reference.implicit({}, {"b": 1.0}) == 1.0
    assert math.isnan(reference.implicit({"a": 0.0}, {"a": 1.0}))


@st.composite
def shares(draw: st.DrawFn, k: int) -> list[float]:
    raw = draw(st.lists(st.integers(0, 50), min_size=k, max_size=k))
    raw[draw(st.integers(0, k - 1))] += 1
    return [x / sum(raw) for x in raw]


@THOROUGH
@given(st.integers(2, 5).flatmap(lambda k: st.tuples(shares(k), shares(k))))
def test_the_implicit_score_is_between_a_half_and_one(both: tuple[list[float], list[float]]) -> None:
    one, other = both
    found = float(scores.implicit(one, other))
    assert 0.5 <= found <= 1.0
    assert float(scores.implicit(other, one)) == pytest.approx(found)
    assert float(scores.implicit(one, one)) == pytest.approx(1.0)


@THOROUGH
@given(st.integers(2, 4).flatmap(lambda k: st.tuples(shares(k), shares(k), shares(k))))
def test_eta_is_neutral_for_the_truth_and_the_same_for_swapped_sides(each: tuple[list[float], ...]) -> None:
    p, q, truth = each
    c = [0.2] * len(truth)
    assert float(scores.manifested(truth, truth, truth, truth, c)) == 0.5
    forth, back = scores.manifested(p, q, truth, truth, c), scores.manifested(q, p, truth, truth, c)
    assert float(forth) == pytest.approx(float(back))
    # Both alike can only be ignorance.
    assert float(scores.manifested(p, p, truth, truth, c)) <= 0.5
    # The paper says 0 to 1; a pair can go beyond where the truth is one group alone.
    assert 0.5 - 4 * 0.2 <= float(forth) <= 0.5 + 4 * 0.2


@THOROUGH
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 5)), min_size=1, max_size=8))
def test_a_weighted_mean_lies_between_what_it_averages(drawn: list[tuple[float, float]]) -> None:
    values, weights = np.array(drawn).T
    mean = float(scores.weighted(values, weights))
    assert values.min() - 1e-12 <= mean <= values.max() + 1e-12
