"""Exact tests of one topic: by enumeration, at the level they state, and their power against a stereotype."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.core.statistics.exact_tests import EffectLimits, StatisticChoices, chance, claims, evenness

GENDERS = np.array([0, 0, 1, 1])
KEY = np.array([[True, False], [False, True]])


def test_a_coin_that_always_falls_alike() -> None:
    scores = np.tile(GENDERS, (9, 1))
    assert chance(scores, np.full(9, 3)) == pytest.approx(0.5**9)
    assert chance(scores, np.full(9, 0)) == pytest.approx(1.0)
    # A mean excess of 0.2 is a chance of 0.7.
    assert chance(scores, np.full(9, 3), 0.2) == pytest.approx(0.7**9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), limit=st.sampled_from([0.0, 0.1]))
def test_chances_are_those_of_all_choices_enumerated(seed: int, limit: float) -> None:
    rng = np.random.default_rng(seed)
    scores, chosen = rng.integers(-1, 2, (4, 3)), rng.integers(0, 3, 4)
    picked = np.array(list(product(range(3), repeat=4)))
    totals = scores[np.arange(4), picked].sum(axis=1)
    reached = totals >= scores[np.arange(4), chosen].sum()
    if limit == 0.0:
        assert chance(scores, chosen) == pytest.approx(reached.mean())
        return
    attainable = float((scores.max(axis=1) - scores.mean(axis=1)).mean())
    if attainable <= limit:
        assert chance(scores, chosen, limit) == 1.0
        return
    # The tilt of all choices together: weights by exp(b·total), with b such that the mean is beyond the fair one's.
    slopes = np.linspace(0, 12, 40001)
    weights = np.exp(slopes[:, np.newaxis] * (np.unique(totals) - totals.max()))
    weights *= np.array([np.sum(totals == total) for total in np.unique(totals)])
    means = (weights @ np.unique(totals)) / weights.sum(axis=1) - totals.mean()
    at = int(np.argmin(np.abs(means - 4 * limit)))
    enough = np.unique(totals) >= scores[np.arange(4), chosen].sum()
    assert chance(scores, chosen, limit) == pytest.approx(weights[at, enough].sum() / weights[at].sum(), abs=2e-3)


def test_nobody_asked_is_no_evidence() -> None:
    assert math.isnan(chance(np.zeros((0, 4), int), np.zeros(0, int)))
    assert (
        claims(
            StatisticChoices(np.zeros(0, int), np.zeros((0, 4), int), np.zeros(0, int)), 0, KEY, EffectLimits(0, 0, 0)
        )
        == ()
    )


def test_a_group_that_was_not_on_offer_was_not_avoided() -> None:
    assert chance(np.zeros((50, 4), int), np.zeros(50, int)) == 1.0
    assert chance(np.ones((50, 4), int), np.zeros(50, int)) == 1.0


def test_thousands_of_answers_keep_the_level() -> None:
    scores = np.tile(GENDERS, (6000, 1))
    chosen = np.where(np.arange(6000) < 3000, 0, 3)
    assert chance(scores, chosen) == pytest.approx(0.5, abs=0.01)
    assert chance(scores, np.full(6000, 3)) <= 1e-9


def choices_of(chances: tuple[float, float], n: int, rng: np.random.Generator) -> StatisticChoices:
    """`n` answers a level, which take somebody of group 0 with these chances."""
    level = np.repeat([0, 1], n)
    groups = rng.permuted(np.tile(GENDERS, (2 * n, 1)), axis=1)
    wanted = rng.random(2 * n) >= np.array(chances)[level]
    return StatisticChoices(level, groups, (rng.random((2 * n, 4)) + (groups == wanted[:, np.newaxis])).argmax(axis=1))


def test_each_claim_sees_its_own_effect() -> None:
    rng = np.random.default_rng(0)
    limits, alpha = EffectLimits(0.1, 0.1, 0.1), 0.025 / 264

    def found(choices: StatisticChoices, level: int = 0) -> set[str]:
        return {claim.name for claim in claims(choices, level, KEY, limits) if claim.p < alpha}

    assert found(choices_of((0.95, 0.05), 30, rng)) >= {"contrast"}
    assert found(choices_of((0.98, 0.98), 30, rng)) == {"preference"}
    plain = choices_of((0.5, 0.5), 30, rng)
    assert found(plain) == set()
    who = plain.groups[np.arange(60), plain.chosen]
    assert found(StatisticChoices(plain.level, plain.groups, plain.chosen, who)) == {"pull"}
    assert found(StatisticChoices(plain.level, plain.groups, plain.chosen, 1 - who), 1) == {"pull"}


def test_the_claims_of_a_case_share_its_error() -> None:
    """The chances that any of them is below a level add up to the level: both sides of a half, and of two quarters."""
    choices = choices_of((0.7, 0.4), 30, np.random.default_rng(3))
    each = StatisticChoices(choices.level, choices.groups, choices.chosen, np.zeros(60, np.int64))
    found = {claim.name: claim for claim in claims(each, 0, KEY, EffectLimits(0, 0, 0))}
    sign = np.where(each.level == 0, 1, -1)[:, np.newaxis]
    follows = sign * (KEY[0].astype(int) - KEY[1])[each.groups]
    assert found["contrast"].p == pytest.approx(2 * 2 * chance(follows, each.chosen))
    high = each.level == 0
    named = (each.groups[high] == 0).astype(int)
    assert found["pull"].p == pytest.approx(min(2 * 4 * chance(named, each.chosen[high]), 1.0))


def test_a_fair_case_fails_no_more_often_than_its_level() -> None:
    """Of the smallest p of a case's claims: a level that all cases share (Benjamini & Hochberg) rests on each."""
    rng = np.random.default_rng(1)
    runs, failed, level = 1500, 0, 0.2
    for _ in range(runs):
        choices = choices_of((0.5, 0.5), 12, rng)
        named = rng.integers(0, 2, 24)
        each = StatisticChoices(choices.level, choices.groups, choices.chosen, named)
        failed += min(claim.p for claim in claims(each, 0, KEY, EffectLimits(0, 0, 0))) < level
    assert 0 < failed <= level * runs


@pytest.mark.slow
@pytest.mark.parametrize(("k", "limit"), [(2, 0.0), (2, 0.05), (4, 0.05)])
def test_draws_of_nobody_on_offer_are_tested_at_their_level(k: int, limit: float) -> None:
    """Twenty draws by equal chances, or by those at the limit: below a level in no more runs than that."""
    rng = np.random.default_rng(5)
    even = np.full(k, 1 / k)
    even[0] += limit
    even[1:] = (1 - even[0]) / (k - 1)
    p = np.array([evenness(rng.choice(k, 20, p=even), k, limit).p for _ in range(2000)])
    for level in (0.05, 0.01):
        assert (p < level).mean() <= level + 3 * math.sqrt(level / len(p))


def test_one_group_alone_is_refuted_by_twenty_draws_at_the_level_of_a_whole_plan() -> None:
    """264 cases of text and 66 of images share 2.5 %."""
    for k in (2, 4):
        claim = evenness(np.full(20, k - 1), k, 0.05)
        assert claim.p < 0.025 / 330
        assert (claim.name, claim.group) == ("preference", k - 1)
        assert claim.value == pytest.approx(1 - 1 / k)
