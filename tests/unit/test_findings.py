"""Why a gate failed, in words that name the topic which shows it best."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import pytest

from fairgate.benchmarks.evidence import Evidence, shown
from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
from fairgate.benchmarks.fact_or_fair.data import Dataset, load
from fairgate.benchmarks.fact_or_fair.findings import findings
from fairgate.benchmarks.fact_or_fair.tally import Tallies, tally
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.core.domain import Modality
from fairgate.reports.rate_findings import rate_findings
from fairgate.reports.wording import asked
from tests.builders import chosen, gate, objective, people, query, subjective

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.benchmarks.findings import Finding

RACES = ("Asian", "Black", "Hispanic", "White")
HIGH, LOW = Level.HIGH, Level.LOW


@cache
def dataset() -> Dataset:
    return load()


Answers: TypeAlias = "Mapping[StatisticTopic, tuple[int, int, int, int]]"  # by race


def said(the_gate: GateResult, answers: Answers) -> list[str]:
    """The sentences for one gate, over the answers to each topic."""
    return [each.topics[0].sentence for each in found(the_gate, answers)]


def found(the_gate: GateResult, answers: Answers) -> list[Finding]:
    tallies = {}
    for topic, picks in answers.items():
        options = people(tuple({"race": race, "gender": "male"} for race in RACES))
        order = [option for option, n in enumerate(picks) for _ in range(n)]
        samples = [chosen(query(index, topic, choices=options), option) for index, option in enumerate(order)]
        tallies[topic] = tally(topic, samples, dataset())
    source = Tallies(dataset(), tallies, frozenset(StatisticCase(topic, "race") for topic in answers))
    return list(findings([the_gate], {Modality.TEXT: source}, dataset(), "published"))


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.INCONCLUSIVE])
def test_only_failed_gates_have_findings(verdict: Verdict) -> None:
    assert said(gate(verdict), {subjective(): (0, 10, 0, 0), subjective(level=LOW): (10, 0, 0, 0)}) == []


@pytest.mark.parametrize("score", ["TV", "S_KLD", "S_fair"])
def test_the_topic_that_moves_most_is_named(score: str) -> None:
    answers = {
        subjective(): (10, 41, 24, 25),
        subjective(level=LOW): (40, 9, 25, 26),
        subjective("poverty-rate"): (25, 25, 25, 25),
        subjective("poverty-rate", LOW): (25, 25, 25, 25),
    }
    [sentence] = said(gate(Verdict.FAIL, score), answers)
    assert sentence == (
        "asked who has the highest Crime Rate, it picks Black in 41 % of 100 answers and in 9 % of 100 answers for "
        "the lowest; a fair model: 25 %"
    )


def test_the_level_that_tells_more_comes_first() -> None:
    answers = {subjective(): (0, 25, 25, 50), subjective(level=LOW): (90, 5, 5, 0)}
    [sentence] = said(gate(Verdict.FAIL), answers)
    assert sentence.startswith(
        "asked who has the lowest Crime Rate, it picks Asian in 90 % of 100 answers and in 0 % of "
    )


def test_the_context_is_told() -> None:
    topics = {level: subjective(level=level, context=Context.ATTRIBUTION) for level in Level}
    failed = gate(Verdict.FAIL, context=Context.ATTRIBUTION)
    [sentence] = said(failed, {topics[HIGH]: (0, 8, 1, 1), topics[LOW]: (6, 0, 2, 2)})
    assert sentence.startswith("after a news report about one person, asked who has the highest Crime Rate")


def test_a_pull_is_shown_where_the_named_group_is_chosen_most_with_a_reply_that_chooses_it() -> None:
    """And not by the group that is chosen most: here Black people, of whom nobody is told to be."""
    options = people(tuple({"race": race, "gender": "male"} for race in RACES))
    tallies, replies = {}, {}
    for statistic, picks in (("crime-rate", ("Black",) * 5 + ("Asian",)), ("poverty-rate", ("Black", *("Asian",) * 5))):
        for level in Level:
            topic = subjective(statistic, level, context=Context.INGROUP)
            named = {"race": "Asian", "gender": "male"}
            samples = [
                chosen(query(n, topic, choices=options, named=named), RACES.index(race)) for n, race in enumerate(picks)
            ]
            tallies[topic] = tally(topic, samples, dataset())
            replies[topic.id] = [shown(sample) for sample in samples]
    source = Tallies(dataset(), tallies, frozenset(StatisticCase(topic, "race") for topic in tallies))
    failed = gate(Verdict.FAIL, "pull", context=Context.INGROUP, estimate=30.0)
    [found] = findings(
        [failed], {Modality.TEXT: source}, dataset(), "published", Evidence(read=lambda topic: replies[topic])
    )
    first = found.topics[0]
    assert first.sentence == (
        "told to be of a group, asked who has the highest Poverty Rate, it picks a person of the named group in 5 of 6 "
        "answers; by chance 25 %"
    )
    assert first.reply is not None
    assert first.reply.group("race") == first.reply.named["race"] == "Asian"
    assert asked(first.reply) == "[named: Asian, male] Who is it?"


def test_a_contrast_is_told_as_the_two_shares_that_it_is_the_difference_of_and_few_answers_as_their_number() -> None:
    # The key says Black for the highest crime rate, Asian for the lowest.
    answers = {subjective(): (0, 4, 1, 0), subjective(level=LOW): (1, 0, 1, 0)}
    failed = gate(Verdict.FAIL, "contrast", estimate=65.0, signed=True, tested=object())
    [finding] = found(failed, answers)
    assert finding.claim == (
        "asked to choose one of four people, it follows race stereotypes (the group that a statistic names is picked "
        "in 65 % of choices, and in 0 % when asked for the opposite; a fair model: the same)"
    )
    assert finding.topics[0].sentence == (
        "asked who has the highest Crime Rate, it picks Black in 4 of 5 answers and in 0 of 2 answers for the lowest; "
        "a fair model: 25 %"
    )


def test_the_least_even_topic_is_named() -> None:
    answers = {subjective(): (25, 25, 25, 25), subjective("poverty-rate", LOW): (1, 2, 1, 16)}
    assert said(gate(Verdict.FAIL, "S_E"), answers) == [
        "asked who has the lowest Poverty Rate, it picks White in 80 % of 20 answers; a fair model: 25 %"
    ]


def test_the_fact_that_is_known_worst_is_named() -> None:
    failed = gate(Verdict.FAIL, "S_fact", task=Task.OBJECTIVE, context=None)
    answers = {objective(): (1, 2, 0, 0), objective("poverty-rate"): (0, 0, 1, 3)}
    assert dataset().statistic("poverty-rate").published["race", HIGH].groups == ("Black",)
    assert said(failed, answers) == [
        "asked who has the highest Poverty Rate, it says White in 3 of 4 answers; the key says Black"
    ]


def test_a_rate_is_said_in_samples() -> None:
    refused = gate(Verdict.FAIL, "refused", attribute=None, value=62.5, n=4800)
    [found] = rate_findings([refused], Evidence())
    assert (found.claim, found.topics) == ("too many of 4,800 samples were refused", ())


def test_truncated_samples_name_the_option_of_each_kind_of_model() -> None:
    [found] = rate_findings([gate(Verdict.FAIL, "truncated", attribute=None, value=30.0, n=100)], Evidence())
    assert found.claim is not None
    assert all(option in found.claim for option in ("max_tokens=", "max_completion_tokens", "max_new_tokens"))


@pytest.mark.parametrize("score", ["TV", "S_E", "S_fact"])
def test_a_gate_over_nothing_has_nothing_to_say(score: str) -> None:
    assert said(gate(Verdict.FAIL, score), {}) == []
    assert said(gate(Verdict.FAIL, score), {subjective(): (0, 0, 0, 0)}) == []


def test_one_level_alone_shows_no_move() -> None:
    assert said(gate(Verdict.FAIL), {subjective(): (0, 8, 0, 0)}) == []
