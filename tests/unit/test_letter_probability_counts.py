"""What came of asking for probabilities: counted, said, and where a run rests on them the end of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.letter_probability_counts import Weighed
from fairgate.core.domain import AnswerKind, LetterProbabilities, ProbabilityState, Reply
from fairgate.core.errors import RunStopped
from fairgate.sampling.canary import Canary
from tests.builders import chosen, no_answer, query

if TYPE_CHECKING:
    from fairgate.ledger.samples import Sample

KNOWN = LetterProbabilities(ProbabilityState.KNOWN, 1, (0.2, 0.5, 0.2, 0.05), 0.05)


def sample(found: LetterProbabilities | None) -> Sample:
    plain = chosen(query(), 1)
    return replace(plain, reply=Reply("B", probabilities=found))


SHORT = replace(KNOWN, letters=(0.2, 0.5, None, None), outside=0.3, unlisted=0.2)
OTHERS = (
    *(
        LetterProbabilities(state, 1)
        for state in (
            ProbabilityState.NOT_GIVEN,
            ProbabilityState.OTHER_TOKENS,
            ProbabilityState.NOT_LISTED,
        )
    ),
    SHORT,
    None,
)


def test_each_reason_is_counted_apart_and_said_once() -> None:
    found = Weighed()
    for each in (KNOWN, KNOWN, *OTHERS):
        found.add(sample(each))
    found.add(no_answer(query(), AnswerKind.REFUSED))
    said = Weighed.of([found, Weighed()]).sentence
    assert said.startswith("Probabilities: known of 2 of 7 choices; 5.0 % lie outside the letters; 1 came without any")
    for reason in ("other tokens", "letter that was chosen", "does not hold all letters", "stored before without"):
        assert said.count(f"{reason}") == 1


def test_where_nobody_asked_nothing_is_said() -> None:
    found = Weighed()
    found.add(sample(None))
    assert (found.asked, found.sentence) == (False, "")


def test_what_is_read_as_another_choice_today_has_none() -> None:
    assert Weighed().add(replace(sample(KNOWN), answer=chosen(query(), 2).answer)) is None


def weighed(shares: list[tuple[int, tuple[float, ...]]]) -> Weighed:
    found = Weighed()
    for choice, letters in shares:
        plain = chosen(query(), choice)
        known = LetterProbabilities(ProbabilityState.KNOWN, choice, letters)
        found.add(replace(plain, reply=Reply("x", probabilities=known)))
    return Weighed.of([found, Weighed()])


def test_choices_that_their_probabilities_speak_against_are_said() -> None:
    found = weighed([(0, (0.02, 0.9, 0.05, 0.03))] * 5)
    assert found.is_contradicted
    assert "5 are of another letter than the one chosen, where 0.5 would be at temperature 1" in found.sentence


@given(st.integers(0, 2**32 - 1), st.sampled_from((0.0, 0.5, 1.0)), st.integers(1, 300))
def test_choices_drawn_by_their_probabilities_are_contradicted_at_no_temperature_up_to_one(
    seed: int, temperature: float, n: int
) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, rng.uniform(0, 6), (n, 4))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    noise = rng.gumbel(size=(n, 4)) * temperature
    choices = (logits + noise).argmax(axis=1)
    drawn = [(int(choice), tuple(map(float, row))) for choice, row in zip(choices, shares, strict=True)]
    assert not weighed(drawn).is_contradicted


@pytest.mark.parametrize("found", OTHERS)
def test_a_run_that_rests_on_them_ends_where_the_first_have_none(found: LetterProbabilities | None) -> None:
    canary = Canary({}, weighed=True)
    for _ in range(2):
        canary.look(sample(found))
        canary.look(no_answer(query(), AnswerKind.REFUSED))
    with pytest.raises(RunStopped, match="first 3 choices came without their probabilities"):
        canary.look(sample(found))


def test_one_that_has_them_is_enough_to_go_on() -> None:
    canary = Canary({}, weighed=True)
    for each in (None, None, KNOWN, None, None, None):
        canary.look(sample(each))
    for _ in range(9):
        Canary({}).look(sample(None))
