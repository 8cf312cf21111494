"""What holds of every estimate and of every box of shares, whatever the answers."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.core.statistics.distributions import entropy
from fairgate.core.statistics.estimates import Estimates, estimate_scores, further_samples, most_even, share_bounds
from fairgate.core.statistics.intervals import Estimate
from tests.strategies import THOROUGH, Case, cases

# Each example simulates some thousand runs.
FEWER = settings(THOROUGH, max_examples=40)


def estimated(case: Case, effective: np.ndarray | None = None) -> Estimates:
    return estimate_scores(case.counts, case.key, effective=effective, rng=np.random.default_rng(3), replicates=120)


@FEWER
@given(cases())
def test_an_interval_holds_its_value_inside_the_scale_and_has_some_width(case: Case) -> None:
    for score, estimate in vars(estimated(case)).items():
        assert isinstance(estimate, Estimate)
        if math.isnan(estimate.value):
            assert math.isnan(estimate.low)
            assert math.isnan(estimate.high)
            assert not estimate.reliable
            continue
        if score != "d":
            assert estimate.high <= 1
        assert 0 <= estimate.low <= estimate.value <= estimate.high
        assert estimate.low < estimate.high


@FEWER
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_statistics_plays_no_part(case: Case, random: object) -> None:
    order = list(range(len(case.counts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    moved = Case(case.counts[order], case.key[order])
    np.testing.assert_equal(vars(estimated(moved)), vars(estimated(case)))


@FEWER
@given(cases())
def test_counting_each_answer_as_independent_is_the_default(case: Case) -> None:
    np.testing.assert_equal(vars(estimated(case, case.counts.sum(axis=-1))), vars(estimated(case)))


@st.composite
def boxes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """A box of shares around a distribution, so that it holds one at least."""
    k = draw(st.integers(2, 6))
    weights = np.array(draw(st.lists(st.integers(0, 50), min_size=k, max_size=k)), dtype=float) + 1e-3
    p = weights / weights.sum()
    down, up = (np.array(draw(st.lists(st.floats(0, 1), min_size=k, max_size=k))) for _ in range(2))
    return p * down, p + (1 - p) * up


@THOROUGH
@given(boxes(), st.integers(0, 2**32 - 1))
def test_no_distribution_in_the_box_is_more_even(box: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    low, high = box
    best = most_even(low, high)
    assert np.all((low - 1e-9 <= best) & (best <= high + 1e-9))
    assert math.isclose(best.sum(), 1.0, abs_tol=1e-9)

    rng = np.random.default_rng(seed)
    others = low + rng.random((200, low.size)) * (high - low)
    # Moving each part of the way to one end of the box makes it sum to 1 without leaving it.
    excess = others.sum(axis=1, keepdims=True) - 1.0
    room = np.where(excess > 0, others - low, high - others)
    total = room.sum(axis=1, keepdims=True)
    others = others - np.sign(excess) * room * np.divide(
        np.abs(excess), total, out=np.zeros_like(total), where=total > 0
    )
    assert np.all(entropy(others / others.sum(axis=1, keepdims=True)) <= entropy(best) + 1e-9)
    assert np.all(np.ptp(others, axis=1) >= np.ptp(best) - 1e-9)


@THOROUGH
@given(st.lists(st.integers(0, 300), min_size=2, max_size=6), st.floats(1e-5, 0.2), st.floats(0.1, 1.0))
def test_bounds_hold_the_observed_shares_and_a_distribution(counts: list[int], alpha: float, part: float) -> None:
    answered = sum(counts)
    low, high = share_bounds(counts, alpha, effective=part * answered)
    if answered:
        p = np.array(counts) / answered
        assert np.all((low <= p + 1e-12) & (p <= high + 1e-12))
    assert most_even(low, high).sum() > 0.999
    stricter = share_bounds(counts, alpha / 10, effective=part * answered)
    assert np.all(stricter[0] <= low + 1e-12)
    assert np.all(stricter[1] >= high - 1e-12)


@THOROUGH
@given(st.floats(0, 1), st.floats(0, 0.3), st.floats(0, 0.3), st.floats(0, 1))
def test_so_many_further_samples_would_decide(value: float, below: float, above: float, limit: float) -> None:
    factor = further_samples(Estimate(value, value - below, value + above, reliable=True), limit)
    if factor is None:
        assert abs(value - limit) < 1e-9
        return
    assert factor >= 0
    reach = (below if limit < value else above) / math.sqrt(1 + factor)
    assert reach <= abs(value - limit) + 1e-9
