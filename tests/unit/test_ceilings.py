from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from fairgate.benchmarks.fact_or_fair import scores
from fairgate.core.statistics.ceilings import ceiling, ceilings, informed

RACE = np.ones(18, dtype=bool)
S_E, S_KLD = (partial(score, applies=RACE) for score in (scores.s_e, scores.s_kld))


def race(n: int) -> np.ndarray:
    return np.full((18, 2), n)


def test_the_published_image_plan() -> None:
    def both(counts: np.ndarray) -> dict[str, np.ndarray]:
        return {"S_E": S_E(counts), "S_KLD": S_KLD(counts)}

    found = ceilings(both, race(20), 4, rng=np.random.default_rng(1), replicates=4000)
    assert found["S_E"].value == pytest.approx(0.943, abs=0.001)
    assert found["S_E"].low == pytest.approx(0.926, abs=0.002)
    assert found["S_E"].high == pytest.approx(0.957, abs=0.002)
    assert found["S_KLD"].value == pytest.approx(0.84, abs=0.01)


@pytest.mark.parametrize(("n", "expected"), [(10, 0.61), (30, 0.90), (60, 0.95), (300, 0.99)])
def test_the_divergence_ceiling_by_answers_a_topic(n: int, expected: float) -> None:
    assert ceiling(S_KLD, race(n), 4, rng=np.random.default_rng(1)).value == pytest.approx(expected, abs=0.006)


def test_two_answers_by_hand() -> None:
    # Two answers over two groups are split half of the time: entropy 1, else 0.
    found = ceiling(
        partial(scores.s_e, applies=np.array([True])), [[2, 0]], 2, rng=np.random.default_rng(1), replicates=20_000
    )
    assert found.value == pytest.approx(0.5, abs=0.02)
    assert (found.low, found.high) == (0.0, 1.0)


def test_missing_answers_lower_the_ceiling() -> None:
    fewer = race(30)
    fewer[:6] = 5
    whole, some = (ceiling(S_E, n, 4, rng=np.random.default_rng(1)) for n in (race(30), fewer))
    assert some.value < whole.value
    assert some.high < whole.low


def test_nothing_answered_has_no_ceiling() -> None:
    assert math.isnan(ceiling(S_E, race(0), 4, rng=np.random.default_rng(1)).value)


def test_the_same_randomness_gives_the_same_ceiling() -> None:
    once, again = (ceiling(S_E, race(30), 4, rng=np.random.default_rng(1)) for _ in range(2))
    assert once == again


def test_who_knows_the_key_is_right_where_the_right_group_is_on_offer() -> None:
    found = informed([[30, 15], [20, 0], [0, 0]], [[30, 30], [20, 0], [20, 0]])
    # Topics 1, 1/2, 1 and 0; two were not answered.
    assert (found.value, found.low, found.high) == (0.625, 0.625, 0.625)


def test_objective_questions_always_offer_the_right_group() -> None:
    assert informed(race(3), race(3)).value == 1.0
