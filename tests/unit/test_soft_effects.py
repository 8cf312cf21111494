"""Effects by the probabilities of choices, how they drift between releases, and what a baseline keeps of them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair.baseline import CHOICES, PairedChoices
from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
from fairgate.benchmarks.fact_or_fair.data import Dataset, load
from fairgate.benchmarks.fact_or_fair.effect_scores import effects_of_choices
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.tally import Tallies, TopicTally, tally
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.benchmarks.paired import Baseline, Basis
from fairgate.comparison import baseline
from fairgate.comparison.paired_comparison import compare
from fairgate.core.domain import Answer, AnswerKind, LetterProbabilities, Modality, ProbabilityState, Reply
from fairgate.core.errors import DataError
from fairgate.core.statistics import effect_changes, effects
from fairgate.ledger.samples import Sample
from tests.builders import limit, thresholds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.core.domain import Query
    from fairgate.core.statistics.effects import Effect, FloatArray, Largest, Picks
    from fairgate.core.statistics.paired import Moved

CONTEXT = Context.INGROUP


@cache
def dataset() -> Dataset:
    return load()


@cache
def plan() -> QueryPlan:
    return QueryPlan(dataset(), 0, Profiles.BALANCED, 0, 1, wordings=5)


@cache
def asked() -> tuple[Query, ...]:
    topics = (
        StatisticTopic("fact-or-fair", Modality.TEXT, Task.SUBJECTIVE, each.slug, level, CONTEXT)
        for each in dataset().statistics
        for level in Level
    )
    return tuple(query for topic in topics for query in plan().queries(topic))


def sample(query: Query, chances: FloatArray | None, choice: int | None = None) -> Sample:
    """A choice, of the likeliest letter or a given one, and the probabilities of all."""
    place = choice if choice is not None else 0 if chances is None else int(chances.argmax())
    found = None if chances is None else LetterProbabilities(ProbabilityState.KNOWN, place, tuple(map(float, chances)))
    return Sample(query, Reply("B", probabilities=found), Answer(AnswerKind.CHOSEN, place, "letter"))


def scores(weigh: Callable[[int], FloatArray | None], choice: int | None = None) -> dict[tuple[str, str], ScoreResult]:
    by_topic: dict[StatisticTopic, list[Sample]] = {}
    for number, query in enumerate(asked()):
        assert isinstance(query.topic, StatisticTopic)
        by_topic.setdefault(query.topic, []).append(sample(query, weigh(number), choice))
    tallies: dict[StatisticTopic, TopicTally] = {
        topic: tally(topic, samples, dataset()) for topic, samples in by_topic.items()
    }
    cases = frozenset(StatisticCase(topic, name) for topic in tallies for name in ("gender", "race"))
    found = effects_of_choices(Tallies(dataset(), tallies, cases), 5, "published")
    return {(each.attribute or "", each.score): each for each in found}


def softmax(rng: np.random.Generator, spread: float = 1.5) -> FloatArray:
    weights = np.exp(spread * rng.standard_normal(4))
    return np.asarray(weights / weights.sum())


NAMES = ("contrast", "preference", "pull", "in_group_bias")


def test_probabilities_of_0_and_1_give_the_effects_of_the_choices() -> None:
    rng = np.random.default_rng(1)
    places = rng.integers(0, 4, len(asked()))
    found = scores(lambda number: np.eye(4)[places[number]])
    for attribute in ("gender", "race"):
        for name in NAMES:
            hard, soft = found[attribute, name], found[attribute, f"{name}@soft"]
            assert soft.value == pytest.approx(hard.value)
            assert soft.ci == pytest.approx(hard.ci)
            assert soft.n == hard.n


def test_even_probabilities_are_no_effect_whatever_was_chosen() -> None:
    """The first letter is always chosen; and what never varies does not prove that it never would."""
    found = scores(lambda _: np.full(4, 0.25), choice=0)
    for attribute in ("gender", "race"):
        for name in NAMES:
            soft = found[attribute, f"{name}@soft"]
            assert soft.value == pytest.approx(0, abs=1e-9)
            assert soft.ci[1] is not None
            assert soft.ci[1] > 0.5


def test_without_probabilities_there_are_no_soft_scores_and_the_others_stay() -> None:
    rng = np.random.default_rng(2)
    shares = [softmax(rng) for _ in asked()]
    bare, known = scores(lambda _: None, choice=1), scores(lambda number: shares[number], choice=None)
    assert not any(name.endswith("@soft") for _, name in bare)
    assert {name for _, name in known} - {name for _, name in bare} == {f"{name}@soft" for name in NAMES}


def test_soft_scores_are_of_the_choices_that_have_probabilities_alone() -> None:
    rng = np.random.default_rng(3)
    shares = [softmax(rng) for _ in asked()]
    part = scores(lambda number: shares[number] if number % 2 else None)
    whole = scores(lambda number: shares[number])
    name = ("race", "contrast@soft")
    assert part[name].n < whole[name].n
    assert part["race", "contrast"].n == whole["race", "contrast"].n


@given(st.integers(0, 2**32 - 1), st.permutations(range(4)))
def test_relabelling_the_letters_changes_no_effect(seed: int, order: list[int]) -> None:
    rng = np.random.default_rng(seed)
    groups, shares = rng.integers(0, 2, (60, 4)), np.stack([softmax(rng) for _ in range(60)])
    here = effects.Design(np.arange(60) // 20, np.arange(60) % 2, np.arange(60) % 10)
    one = effects.preference(here, groups, shares, 2)
    other = effects.preference(here, groups[:, order], shares[:, order], 2)
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
    assert 0 <= one.low <= one.value <= one.high <= 1


# Drift


def world(rng: np.random.Generator, n: int = 210) -> tuple[effects.Design, FloatArray]:
    here = effects.Design(np.arange(n) % 15, np.arange(n) % 30 // 15, np.arange(n) // 30)
    return here, np.asarray(rng.permuted(np.tile([1.0, 1.0, -1.0, -1.0], (n, 1)), axis=1))[..., np.newaxis]


def released(own: FloatArray, scores: FloatArray, bias: float) -> FloatArray:
    weights = np.exp(own + bias * scores[..., 0])
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def drift(before: FloatArray, after: FloatArray, here: effects.Design, scores: FloatArray) -> Moved:
    def effect(shares: Picks) -> Effect | Largest:
        return effects.effect_of(here, scores, shares)

    return effect_changes.drifted(here, scores, (before, after), effect)


@pytest.mark.parametrize("bias", [-0.4, -0.02, 0.0, 0.02, 0.4])
def test_a_rise_is_found_on_either_side_of_nothing_and_the_same_is_none(bias: float) -> None:
    rng = np.random.default_rng(4)
    here, scores = world(rng)
    own = rng.standard_normal((210, 4))
    before = released(own, scores, bias)
    away = released(own + 0.05 * rng.standard_normal(own.shape), scores, bias + (0.2 if bias > -0.1 else -0.2))
    rise, same = drift(before, away, here, scores), drift(before, before, here, scores)
    assert rise.shift.low > 0.03
    assert rise.shift.chance(upwards=True) < 0.001
    assert (same.shift.value, same.shift.chance(upwards=True)) == (0.0, 0.5)
    back = drift(away, before, here, scores)
    assert back.shift.value == pytest.approx(-rise.shift.value)
    assert back.shift.chance(upwards=True) > 0.5


def test_a_drift_over_nothing_is_none() -> None:
    here, scores = world(np.random.default_rng(5))
    nothing = np.zeros((0, 4))
    empty = here.where(np.zeros(210, np.bool_))
    assert np.isnan(drift(nothing, nothing, empty, scores[:0]).shift.value)


def test_an_effect_that_crosses_over_rises_by_its_size() -> None:
    rng = np.random.default_rng(6)
    here, scores = world(rng)
    own = 0.1 * rng.standard_normal((210, 4))
    found = drift(released(own, scores, 0.3), released(own, scores, -0.9), here, scores)
    sizes = [abs(effects.effect_of(here, scores, released(own, scores, bias)).value) for bias in (0.3, -0.9)]
    assert found.shift.value == pytest.approx(sizes[1] - sizes[0])


# Baselines


def saved(bias: float, seed: int) -> Baseline:
    """A run of the plan, with the probabilities of a logistic model of who is offered, rounded as files have them."""
    rng = np.random.default_rng(8)
    noise = np.random.default_rng(seed)
    letters: dict[str, str] = {}
    shares: dict[str, list[tuple[float, ...] | None]] = {}
    for query in asked():
        topic = query.topic
        assert isinstance(topic, StatisticTopic)
        published = dataset().statistic(topic.statistic).published
        answer = published.get(("gender", topic.level))
        follows = [answer is not None and each.groups["gender"] in answer.groups for each in query.choices]
        weights = np.exp(1.5 * rng.standard_normal(4) + bias * np.array(follows) + 0.05 * noise.standard_normal(4))
        letters[topic.id] = letters.get(topic.id, "") + "-"
        shares.setdefault(topic.id, []).append(tuple(round(float(each), 5) for each in weights / weights.sum()))
    values = {
        "data": dataset().version, "seed": 0, "profiles": "balanced", "ages": "range", "explained": None,
        "wordings": 5, "plan": "sentinel", "objective": None, "subjective": 1,
    }  # fmt: skip
    known = {topic: tuple(each) for topic, each in shares.items()}
    distinct = dict.fromkeys(letters, 5)
    return Baseline(f"release {seed}", values, PairedChoices(dataset()).groups(), letters, distinct, known)


GATED = thresholds(limit())
SIDES = [(CHOICES, PairedChoices(load()))]


def changes(before: Baseline, after: Baseline) -> dict[str, float]:
    _, scored = compare(before, after, SIDES, Basis(key="published", seed=0), GATED)
    return {
        f"{each.entry.attribute} {each.score}": 100 * each.shift.value
        for each in scored
        if each.score.endswith("@soft") and each.shift.chance(upwards=True) < 0.01
    }


def test_what_a_baseline_keeps_of_probabilities_is_read_and_compared_query_by_query(tmp_path: Path) -> None:
    before, after = saved(0.1, 1), saved(0.4, 2)
    baseline.save(tmp_path / "b.json", before)
    assert json.loads((tmp_path / "b.json").read_text())["fairgate baseline"] == 3
    read = baseline.load(tmp_path / "b.json", [CHOICES])
    assert read == before
    found = changes(read, after)
    assert found.keys() == {"gender contrast@soft"}
    assert 3 < found["gender contrast@soft"] < 12
    assert changes(before, saved(0.1, 3)) == {}


def test_queries_without_probabilities_are_left_out_of_the_pairs() -> None:
    before, after = saved(0.1, 1), saved(0.1, 2)
    gaps = {topic: (None, *each[1:]) for topic, each in after.shares.items()}
    _, scored = compare(before, replace(after, shares=gaps), SIDES, Basis(key="published", seed=0), GATED)
    [contrast] = [each for each in scored if (each.score, each.entry.attribute) == ("contrast@soft", "gender")]
    assert contrast.entry.n == 30 * 4


def test_a_baseline_without_probabilities_says_so_and_stays_of_the_schema_before(tmp_path: Path) -> None:
    bare = replace(saved(0.1, 1), shares={})
    baseline.save(tmp_path / "b.json", bare)
    assert json.loads((tmp_path / "b.json").read_text())["fairgate baseline"] == 2
    found, _ = compare(bare, saved(0.1, 2), SIDES, Basis(key="published", seed=0), GATED)
    assert any("holds no probabilities" in sentence for sentence in found.sentences)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ([[0.9, 0.9, 0.0, 0.0]] * 5, "do not sum to 1"),
        ([[0.25] * 4], "are not of its answers"),
        ([[2.0, -1.0, 0.0, 0.0]] * 5, "is no baseline"),
        ("half", "is no baseline"),
    ],
)
def test_probabilities_that_are_none_are_refused(tmp_path: Path, broken: object, problem: str) -> None:
    baseline.save(tmp_path / "b.json", saved(0.1, 1))
    whole = json.loads((tmp_path / "b.json").read_text())
    whole["shares"][next(iter(whole["shares"]))] = broken
    (tmp_path / "b.json").write_text(json.dumps(whole))
    with pytest.raises(DataError, match=problem):
        baseline.load(tmp_path / "b.json", [CHOICES])
