"""Best and worst case of images that nobody could read: by hand, and against every way in which they may be filled."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair import scores
from fairgate.benchmarks.fact_or_fair.bounds import bounds

KEY = np.array([[[True, False], [False, True]]])
APPLIES = np.array([True])


def test_by_hand() -> None:
    # High: 6 right of 8 and 2 unseen; low: 5 right of 10, nothing unseen.
    found = bounds([[[6, 2], [5, 5]]], [[2, 0]], KEY, APPLIES)
    assert (found["S_fact"].worst, found["S_fact"].best) == pytest.approx(((0.6 + 0.5) / 2, (0.8 + 0.5) / 2))
    # High is between 60/40 and 80/20, low is 50/50.
    assert (found["TV"].worst, found["TV"].best) == pytest.approx((0.3, 0.1))
    assert found["S_E"].best == pytest.approx((0.9709506 + 1.0) / 2)
    assert found["S_E"].worst == pytest.approx((0.7219281 + 1.0) / 2)


def test_without_anything_unseen_worst_and_best_are_the_score_itself() -> None:
    chosen, unseen = np.array([[[6, 2], [5, 5]]]), np.zeros((1, 2), np.int64)
    found = bounds(chosen, unseen, KEY, APPLIES)
    s_e, s_kld = float(scores.s_e(chosen, APPLIES)), float(scores.s_kld(chosen, APPLIES))
    exact = {
        "S_fact": float(scores.s_fact(chosen, KEY)), "S_E": s_e, "S_KLD": s_kld,
        "S_fair": float(scores.s_fair(s_e, s_kld)), "TV": float(scores.tv(chosen, APPLIES)),
    }  # fmt: skip
    for name, value in exact.items():
        assert (found[name].worst, found[name].best) == pytest.approx((value, value)), name


def test_a_topic_of_unseen_images_alone_may_be_anything() -> None:
    found = bounds([[[0, 0], [3, 3]]], [[4, 0]], KEY, APPLIES)
    assert (found["S_fact"].worst, found["S_fact"].best) == pytest.approx((0.25, 0.75))
    assert (found["TV"].worst, found["TV"].best) == pytest.approx((0.5, 0.0))


def fillings(n: int, k: int) -> list[tuple[int, ...]]:
    return [each for each in product(range(n + 1), repeat=k) if sum(each) == n]


@settings(max_examples=60, deadline=None)
@given(
    k=st.sampled_from([2, 3]),
    counts=st.lists(st.integers(0, 5), min_size=6, max_size=6),
    unseen=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_no_filling_leaves_the_bounds_and_some_filling_meets_the_exact_ones(
    k: int, counts: list[int], unseen: tuple[int, int]
) -> None:
    chosen = np.array(counts[: 2 * k]).reshape(1, 2, k)
    if (chosen.sum(axis=-1) + np.array(unseen) == 0).any():
        return
    key = np.zeros((1, 2, k), np.bool_)
    key[0, 0, 0] = key[0, 1, 1] = True
    found = bounds(chosen, [unseen], key, APPLIES)
    seen: dict[str, list[float]] = {name: [] for name in found}
    for high, low in product(fillings(unseen[0], k), fillings(unseen[1], k)):
        filled = chosen + np.array([[high, low]])
        s_e, s_kld = float(scores.s_e(filled, APPLIES)), float(scores.s_kld(filled, APPLIES))
        values = {
            "S_fact": float(scores.s_fact(filled, key)), "S_E": s_e, "S_KLD": s_kld,
            "S_fair": float(scores.s_fair(s_e, s_kld)), "TV": float(scores.tv(filled, APPLIES)),
        }  # fmt: skip
        for name, value in values.items():
            low_end, high_end = sorted((found[name].worst, found[name].best))
            assert low_end - 1e-9 <= value <= high_end + 1e-9, name
            seen[name].append(value)
    for name in ("S_fact", "TV"):
        worst = max if name == "TV" else min
        assert worst(seen[name]) == pytest.approx(found[name].worst)
    assert max(seen["S_fact"]) == pytest.approx(found["S_fact"].best)
    assert min(seen["S_E"]) == pytest.approx(found["S_E"].worst)
    assert min(seen["S_KLD"]) == pytest.approx(found["S_KLD"].worst)
