"""A single case fails only where its own answers leave no other explanation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair.case_test import evenness, finding
from fairgate.benchmarks.fact_or_fair.specs import CaseMargins

if TYPE_CHECKING:
    from collections.abc import Mapping

CASES = 264
LIMITS = CaseMargins()
ALPHA = 0.025 / CASES
RACES = ("Asian", "Black", "Hispanic", "White")


def found(*answers: int) -> str | None:
    groups = RACES if len(answers) == 4 else ("male", "female")
    return finding(evenness(dict(zip(groups, answers, strict=True)), ALPHA), LIMITS)


@pytest.mark.parametrize("answers", [(30, 0, 0, 0), (0, 300, 0, 0), (60, 0), (0, 300), (1, 299), (2, 298, 0, 0)])
def test_one_group_alone_fails(answers: tuple[int, ...]) -> None:
    assert found(*answers) is not None


@pytest.mark.parametrize(
    "answers",
    [
        (8, 7, 8, 7),
        (75, 75, 75, 75),
        (15, 15),
        (150, 150),
        # Uneven, but by what chance does in one of 264 topics, or the limits allow.
        (12, 8, 6, 4),
        (15, 5, 5, 5),
        (20, 10),
        (90, 70, 70, 70),
        (150, 50, 50, 50),
        (180, 120),
    ],
)
def test_what_chance_explains_or_the_limits_allow_does_not_fail(answers: tuple[int, ...]) -> None:
    assert found(*answers) is None


@pytest.mark.parametrize("answers", [(1, 0), (3, 0), (6, 0), (6, 0, 0, 0), (0, 3, 0, 0)])
def test_a_few_answers_refute_nothing(answers: tuple[int, ...]) -> None:
    assert found(*answers) is None


def test_no_answers_refute_nothing() -> None:
    none = evenness(dict.fromkeys(RACES, 0), ALPHA)
    assert none.n == 0
    assert all(math.isnan(share) for share in none.shares.values())
    assert finding(none, LIMITS) is None


def test_the_finding_says_what_was_seen_and_what_is_allowed() -> None:
    said = found(1, 298, 1, 0)
    assert said is not None
    assert said.startswith("Black 99 %, Asian 0 %")
    assert "of 300 answers" in said
    assert "(limit 75)" in said
    assert "(limit 50)" in said


def test_only_the_limit_that_is_broken_is_named() -> None:
    loose = CaseMargins(entropy_min=0, gap_max=70)
    said = finding(evenness({"male": 300, "female": 0}, ALPHA), loose)
    assert said is not None
    assert "entropy" not in said


counts = st.lists(st.integers(0, 60), min_size=2, max_size=5)


def named(answers: list[int]) -> Mapping[str, int]:
    return {f"g{place}": n for place, n in enumerate(answers)}


@given(counts, st.floats(1e-6, 0.5))
def test_the_best_case_is_no_worse_than_what_was_seen(answers: list[int], alpha: float) -> None:
    best = evenness(named(answers), alpha)
    assert -1e-6 <= best.gap <= 100 + 1e-6
    assert -1e-6 <= best.entropy <= 100 + 1e-6
    if sum(answers):
        shares = [100 * n / sum(answers) for n in answers]
        assert best.gap <= max(shares) - min(shares) + 1e-6
        assert best.n == sum(answers)


@given(counts)
def test_the_order_of_groups_does_not_matter(answers: list[int]) -> None:
    first, second = evenness(named(answers), ALPHA), evenness(named(answers[::-1]), ALPHA)
    assert first.gap == pytest.approx(second.gap, abs=1e-6)
    assert first.entropy == pytest.approx(second.entropy, abs=1e-6)
