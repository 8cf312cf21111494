"""Turning a detector's errors back, on cases worked out by hand, and properties that hold for any detector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairgate.core.statistics.distributions import entropy
from fairgate.core.statistics.estimates import estimate_scores
from fairgate.core.statistics.unmixing import ConfusionMatrix, distance_bounds, evenness_bounds, fact_bounds

GENDER = ConfusionMatrix(np.array([[90, 10], [20, 80]]))


def test_two_groups_are_turned_back_as_rogan_and_gladen_do() -> None:
    # q = 0.9 p + 0.2 (1 - p): p = 0.6 gives q = 0.62.
    assert GENDER.unmixed([0.62, 0.38]) == pytest.approx([0.6, 0.4], abs=1e-6)


def test_shares_that_no_truth_could_give_end_at_the_edge_and_never_below_it() -> None:
    # The least that this detector can call the first group is 20 %.
    assert GENDER.unmixed([0.05, 0.95]) == pytest.approx([0.0, 1.0], abs=1e-6)


def test_a_topic_without_faces_has_no_shares() -> None:
    assert GENDER.unmixed([[0.0, 0.0], [0.62, 0.38]])[0].tolist() == [0.0, 0.0]


def test_a_group_without_known_faces_is_refused() -> None:
    with pytest.raises(ValueError, match="every group needs faces"):
        ConfusionMatrix(np.array([[90, 10], [0, 0]]))


def test_a_detector_that_calls_all_alike_is_not_informative() -> None:
    assert not ConfusionMatrix(np.array([[50, 50], [500, 500]])).informative
    assert GENDER.informative


@given(
    hnp.arrays(np.int64, (4, 4), elements=st.integers(0, 30)),
    hnp.arrays(np.float64, 4, elements=st.floats(0.01, 1.0)),
    st.permutations(range(4)),
)
def test_turning_back_undoes_what_a_good_detector_did_in_any_order_of_the_groups(
    errors: np.ndarray, weights: np.ndarray, order: list[int]
) -> None:
    mixing = ConfusionMatrix(errors + 200 * np.eye(4, dtype=np.int64))
    p = weights / weights.sum()
    found = p @ mixing.matrix
    back = mixing.unmixed(found)
    assert back.sum() == pytest.approx(1.0)
    assert back == pytest.approx(p, abs=1e-3)
    turned = ConfusionMatrix(mixing.counts[np.ix_(order, order)])
    assert turned.unmixed(found[order]) == pytest.approx(back[order], abs=1e-6)


def test_drawn_detectors_scatter_around_the_observed_one_less_where_more_faces_are_known() -> None:
    few, many = ConfusionMatrix(np.array([[9, 1], [2, 8]])), ConfusionMatrix(np.array([[900, 100], [200, 800]]))
    spread = [m.drawn(np.random.default_rng(0), 4000)[:, 0, 0].std() for m in (few, many)]
    assert many.drawn(np.random.default_rng(0), 4000).mean(axis=0) == pytest.approx(many.matrix, abs=0.005)
    # A Beta(9.5, 1.5) has a standard deviation of 0.099, a Beta(900.5, 100.5) of 0.0095.
    assert spread == pytest.approx([0.099, 0.0095], rel=0.1)


def test_estimates_behind_a_detector_that_never_errs_are_those_without_one() -> None:
    counts = np.random.default_rng(1).multinomial(60, [0.6, 0.4], size=(15, 2))
    key = np.zeros((15, 2, 2), np.bool_)
    key[:, 0, 0] = key[:, 1, 1] = True
    perfect = ConfusionMatrix(np.array([[10**7, 0], [0, 10**7]]))
    plain = estimate_scores(counts, key, rng=np.random.default_rng(2))
    behind = estimate_scores(counts, key, rng=np.random.default_rng(2), mixing=perfect)
    for score in ("s_fact", "s_e", "s_kld", "s_fair", "tv", "d"):
        a, b = getattr(plain, score), getattr(behind, score)
        assert (b.low, b.value, b.high) == pytest.approx((a.low, a.value, a.high), abs=0.012), score


def test_corrected_estimates_find_what_raw_ones_miss() -> None:
    truth = np.array([0.85, 0.15])
    found = np.rint(2000 * truth @ GENDER.matrix).astype(np.int64)
    counts = np.tile(found, (15, 2, 1))
    key = np.zeros((15, 2, 2), np.bool_)
    key[..., 0] = True
    known = ConfusionMatrix(GENDER.counts * 100)
    raw = estimate_scores(counts, key, rng=np.random.default_rng(3)).s_fact
    corrected = estimate_scores(counts, key, rng=np.random.default_rng(3), mixing=known).s_fact
    # Of 85 % men this detector finds 0.85·0.9 + 0.15·0.2 = 79.5 %.
    assert raw.value == pytest.approx(0.795, abs=0.001)
    assert raw.high < 0.85
    assert corrected.value == pytest.approx(0.85, abs=0.005)
    assert corrected.low < 0.85 < corrected.high


def test_a_topic_of_which_every_group_is_right_stays_right_behind_any_detector() -> None:
    counts = np.tile(np.array([12, 8]), (15, 2, 1))
    key = np.ones((15, 2, 2), np.bool_)
    assert estimate_scores(counts, key, rng=np.random.default_rng(3), mixing=GENDER).s_fact.value > 0.99


def test_bounds_of_errors_are_those_worked_out_by_hand() -> None:
    assert fact_bounds(0.9, 0.2).low == pytest.approx(0.7)
    assert fact_bounds(0.9, 0.2).high == 1.0
    # 0.7/0.3 with a tenth anywhere: at most 0.6/0.4 (entropy 0.97095 bits), at least 0.8/0.2 (0.72193 bits).
    bounds = evenness_bounds([[0.7, 0.3]], 0.1)
    assert (bounds.low, bounds.high) == pytest.approx((0.72193, 0.97095), abs=1e-5)
    # 0.5/0.3/0.2/0 with a tenth anywhere: 0.4/0.3/0.2/0.1 and 0.6/0.3/0.1/0.
    bounds = evenness_bounds([[0.5, 0.3, 0.2, 0.0]], 0.1)
    assert bounds.high == pytest.approx(float(entropy(np.array([0.4, 0.3, 0.2, 0.1]))))
    assert bounds.low == pytest.approx(float(entropy(np.array([0.6, 0.3, 0.1, 0.0]))))
    wide = distance_bounds([0.1, 0.95], 0.2)
    assert (wide.low, wide.high) == pytest.approx(((0.0 + 0.55) / 2, (0.5 + 1.0) / 2))


@given(
    hnp.arrays(np.float64, (3, 4), elements=st.floats(0.001, 1.0)),
    hnp.arrays(np.float64, (3, 4), elements=st.floats(0.001, 1.0)),
    st.floats(0.0, 1.0),
)
def test_no_shares_within_reach_have_an_evenness_beyond_the_bounds(a: np.ndarray, b: np.ndarray, error: float) -> None:
    p, q = (x / x.sum(axis=1, keepdims=True) for x in (a, b))
    # A mixture of p with weight `error` of anything moves at most that share.
    within = (1.0 - error) * p + error * q
    bounds = evenness_bounds(p, error)
    assert bounds.low - 1e-9 <= float(entropy(within).mean()) <= bounds.high + 1e-9
