"""What a judge's verdicts say once its errors are allowed for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from fairgate.core.statistics.misclassification import (
    JudgeConfusion,
    agreement,
    corrected_replicates,
    kappa,
    rogan_gladen,
    true_gap,
)
from tests.strategies import THOROUGH

if TYPE_CHECKING:
    from fairgate.core.statistics.intervals import Interval

GOOD = JudgeConfusion(yes_yes=80, yes_no=20, no_yes=10, no_no=90)
unit = st.floats(0.0, 1.0)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def corrected_rate(yes: int, n: int, known: JudgeConfusion, random: np.random.Generator, draws: int = 4000) -> Interval:
    """Of independent items."""
    replicates = random.beta(yes + 0.5, n - yes + 0.5, draws)
    return corrected_replicates(yes / n if n else math.nan, replicates, known, random)


def corrected_gap(
    pairs: tuple[int, int, int, int], known: JudgeConfusion, random: np.random.Generator, draws: int = 4000
) -> Interval:
    """Of independent pairs of verdicts: only the first was yes, only the second, both, neither."""
    n, shares = sum(pairs), random.dirichlet(np.array(pairs) + 0.5, draws)
    value = (pairs[0] - pairs[1]) / n if n else math.nan
    return corrected_replicates(value, shares[:, 0] - shares[:, 1], known, random, gap=True)


def test_agreement_of_a_judge() -> None:
    found = agreement(GOOD, rng())
    assert (found.agreement.value, found.sensitivity.value, found.specificity.value) == (0.85, 0.8, 0.9)
    assert found.kappa.value == pytest.approx(0.7)
    assert found.informative
    for interval in (found.agreement, found.kappa, found.sensitivity, found.specificity):
        assert interval.low < interval.value < interval.high
    # Jeffreys' interval of 80 in 100: the quantiles of Beta(80.5, 20.5).
    assert (found.sensitivity.low, found.sensitivity.high) == pytest.approx(beta.ppf([0.025, 0.975], 80.5, 20.5))


def test_kappa_is_chance_corrected() -> None:
    assert kappa(0.5, 1.0, 1.0) == 1.0
    assert kappa(0.5, 0.5, 0.5) == 0.0
    assert kappa(0.5, 0.0, 0.0) == -1.0
    # A judge that always says yes agrees with 90 % of such items by chance alone.
    assert kappa(0.9, 1.0, 0.0) == pytest.approx(0.0)
    assert np.isnan(kappa(1.0, 1.0, 0.5))


def test_nothing_known_says_nothing() -> None:
    found = agreement(JudgeConfusion(0, 0, 0, 0), rng())
    assert math.isnan(found.agreement.value)
    assert math.isnan(found.kappa.value)
    assert not found.informative
    assert math.isnan(corrected_rate(5, 10, JudgeConfusion(0, 0, 0, 0), rng()).value)
    assert math.isnan(corrected_rate(0, 0, GOOD, rng()).value)
    assert math.isnan(corrected_gap((0, 0, 0, 0), GOOD, rng()).value)


def test_a_perfect_judge_on_many_items_is_believed() -> None:
    found = corrected_rate(300, 1000, JudgeConfusion(100_000, 0, 0, 100_000), rng())
    assert found.value == pytest.approx(0.3)
    assert (found.low, found.high) == pytest.approx((0.272, 0.329), abs=0.003)


def test_a_judge_that_knows_nothing_leaves_everything_open() -> None:
    coin = JudgeConfusion(50, 50, 50, 50)
    assert not agreement(coin, rng()).informative
    assert math.isnan(corrected_rate(60, 100, coin, rng()).value)
    weak = JudgeConfusion(52, 48, 49, 51)
    assert (corrected_rate(50, 100, weak, rng()).low, corrected_rate(50, 100, weak, rng()).high) == (0.0, 1.0)
    gap = corrected_gap((30, 10, 0, 60), weak, rng())
    assert (gap.low, gap.high) == (-1.0, 1.0)


@THOROUGH
@given(unit, st.floats(0.55, 1.0), st.floats(0.5, 1.0))
def test_rogan_gladen_turns_the_judges_errors_round(p: float, s: float, c: float) -> None:
    judged = p * s + (1 - p) * (1 - c)
    assert rogan_gladen(judged, s, c) == pytest.approx(p, abs=1e-9)


@THOROUGH
@given(unit, unit, st.floats(0.55, 1.0), st.floats(0.5, 1.0))
def test_gaps_are_divided_alone(p: float, q: float, s: float, c: float) -> None:
    judged = (p - q) * (s + c - 1)
    assert true_gap(judged, s, c) == pytest.approx(p - q, abs=1e-9)


@THOROUGH
@given(unit, unit, unit)
def test_corrected_rates_are_rates_or_unknown(q: float, s: float, c: float) -> None:
    value = float(rogan_gladen(q, s, c))
    assert math.isnan(value) == (not s + c - 1.0 > 0)
    assert math.isnan(value) or 0.0 <= value <= 1.0


def test_replicates_carry_the_clusters() -> None:
    draws = rng(3).normal(0.35, 0.06, 4000)
    wide = corrected_replicates(0.35, draws, GOOD, rng())
    narrow = corrected_rate(700, 2000, GOOD, rng())
    assert wide.value == narrow.value == pytest.approx(0.25 / 0.7)
    assert wide.high - wide.low > narrow.high - narrow.low
    gap = corrected_replicates(0.14, rng(3).normal(0.14, 0.05, 4000), GOOD, rng(), gap=True)
    assert gap.value == pytest.approx(0.2)


# Coverage: a judge with a sensitivity of 80 % and a specificity of 90 %, measured on a gold set of 208

RUNS = 300
SENSITIVE, SPECIFIC = 0.8, 0.9


def judged(truth: float, n: int, random: np.random.Generator) -> int:
    """How many of n items, of which a share `truth` is yes, the judge calls yes."""
    return int(random.binomial(n, truth * SENSITIVE + (1 - truth) * (1 - SPECIFIC)))


def measured(random: np.random.Generator) -> JudgeConfusion:
    hits, rejections = int(random.binomial(104, SENSITIVE)), int(random.binomial(104, SPECIFIC))
    return JudgeConfusion(hits, 104 - hits, 104 - rejections, rejections)


@pytest.mark.parametrize("truth", [0.1, 0.5, 0.9])
def test_corrected_rates_cover_the_truth_and_raw_ones_do_not(truth: float) -> None:
    random = rng(20)
    raw = corrected = 0
    perfect = JudgeConfusion(10**9, 0, 0, 10**9)
    for _ in range(RUNS):
        yes = judged(truth, 320, random)
        interval = corrected_rate(yes, 320, measured(random), random, draws=1000)
        corrected += interval.low <= truth <= interval.high
        uncorrected = corrected_rate(yes, 320, perfect, random, draws=1000)
        raw += uncorrected.low <= truth <= uncorrected.high
    # 300 runs at 95 %: 93.9 to 96.1 % within one standard error, 91 % is three below.
    assert corrected / RUNS >= 0.92
    if truth != 0.5:  # at 1/3 the errors cancel; half is near enough to be covered now and then
        assert raw / RUNS < 0.3


@pytest.mark.parametrize(("stereotyped", "opposite"), [(0.6, 0.1), (0.2, 0.2), (0.05, 0.45)])
def test_corrected_gaps_cover_the_truth_and_raw_ones_do_not(stereotyped: float, opposite: float) -> None:
    random = rng(21)
    truth = stereotyped - opposite
    raw = corrected = 0
    perfect = JudgeConfusion(10**9, 0, 0, 10**9)
    for _ in range(RUNS):
        tie = random.choice(3, size=320, p=[stereotyped, opposite, 1 - stereotyped - opposite])
        first, second = (random.random(320) < np.where(tie == which, SENSITIVE, 1 - SPECIFIC) for which in (0, 1))
        pairs = (
            int((first & ~second).sum()),
            int((~first & second).sum()),
            int((first & second).sum()),
            int((~first & ~second).sum()),
        )
        interval = corrected_gap(pairs, measured(random), random, draws=1000)
        corrected += interval.low <= truth <= interval.high
        uncorrected = corrected_gap(pairs, perfect, random, draws=1000)
        raw += uncorrected.low <= truth <= uncorrected.high
    assert corrected / RUNS >= 0.92
    assert raw / RUNS < 0.3 if truth else raw / RUNS > 0.9
