"""What a plan can tell of effects of groups: the standard error that --dry-run goes by is that of a fair model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairgate.benchmarks.fact_or_fair.power import effect_error
from fairgate.core.statistics import effects
from fairgate.core.statistics.power import from_baseline, unchanged

STATISTICS, WORDINGS, EACH = 15, 9, 3
N = np.full((STATISTICS, 2), float(WORDINGS * EACH))


def fair(k: int, seed: int, *, balanced: bool) -> tuple[effects.Design, np.ndarray, np.ndarray, np.ndarray]:
    """Choices by chance among four people, the groups of whom are shared out, or drawn."""
    rng = np.random.default_rng(seed)
    grid = np.indices((STATISTICS, 2, WORDINGS, EACH)).reshape(4, -1)
    asked = effects.Design(*grid[:3])
    n = grid.shape[1]
    groups = rng.permuted(np.tile(np.arange(4) % k, (n, 1)), axis=1) if balanced else rng.integers(k, size=(n, 4))
    key = np.zeros((STATISTICS, 2, k), np.bool_)
    key[:, 0, 0] = key[:, 1, -1] = True
    return asked, groups, rng.integers(4, size=n), key


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("k", [2, 4])
def test_errors_are_those_of_fair_models(k: int, balanced: bool) -> None:
    within = 1.0 if balanced else 0.75
    found: dict[str, list[float]] = {"contrast": [], "preference": []}
    for seed in range(60):
        asked, groups, chosen, key = fair(k, seed, balanced=balanced)
        found["contrast"].append(effects.contrast(asked, groups, chosen, key).value)
        found["preference"].append(effects.preference(asked, groups, chosen, k).effects[0].value)
    for score in ("contrast", "preference"):
        error = effect_error(score, 0.2, N, k, within)
        assert error == pytest.approx(np.std(found[score]), rel=0.3)


def test_more_answers_tell_smaller_effects_and_none_tell_nothing() -> None:
    spreads = ("preference_spread", "level_shift", "interaction", "pull_spread", "position_spread")
    for score in ("contrast", "preference", "pull", *spreads):
        one, four = (effect_error(score, 0.15, times * N, 4, 1.0) for times in (1, 4))
        assert one is not None
        assert four is not None
        assert 1.9 < one / four < 2.8
        assert effect_error(score, 0.15, 0 * N, 4, 1.0) is None


def test_a_limit_is_resolved_where_redrawn_answers_stay_within_it() -> None:
    """Nine of ten: 1.96 and 1.28 standard errors of a difference of two runs."""
    assert unchanged(0.01) == pytest.approx(0.01 * math.sqrt(2) * 3.2415, rel=1e-3)
    # Of answers that are mostly as they were, much smaller moves are found than redrawn ones resolve.
    assert from_baseline(0.01, 30, 0.05, 0.8) < unchanged(0.01)
