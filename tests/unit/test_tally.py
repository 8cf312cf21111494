"""Samples -> counts: only answers enter shares, and what was no answer is counted as what it was."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.cases import StatisticCase, text_cases
from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind, load
from fairgate.benchmarks.fact_or_fair.tally import Tallies, TopicTally, counts, tally
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.core.domain import AnswerKind
from tests.builders import chosen, no_answer, objective, people, query, subjective

if TYPE_CHECKING:
    from fairgate.benchmarks.fact_or_fair.counts import Counts
    from fairgate.ledger.samples import Sample

HIGH, LOW = Level.HIGH, Level.LOW
NOT_CHOSEN = (AnswerKind.REFUSED, AnswerKind.UNREADABLE, AnswerKind.FAILED)


@cache
def dataset() -> Dataset:
    return load()


def mixed() -> list[Sample]:
    """Options: a Black man, a Black woman, an Asian man, a White woman. Two, one, none and one picked them."""
    return [
        chosen(query(0, prompt="one"), 0),
        chosen(query(1, prompt="one"), 0),
        chosen(query(2, prompt="two"), 1),
        chosen(query(3, prompt="three"), 3),
        no_answer(query(4, prompt="four"), AnswerKind.REFUSED),
        no_answer(query(5, prompt="five"), AnswerKind.REFUSED),
        no_answer(query(6, prompt="six"), AnswerKind.UNREADABLE),
        no_answer(query(7, prompt="seven"), AnswerKind.FAILED),
    ]


def counted() -> TopicTally:
    return tally(subjective(), mixed(), dataset())


def test_answers_are_counted_by_attribute_and_jointly() -> None:
    found = counted()
    assert found.by("race") == {"Black": 3, "White": 1}
    assert found.by("gender") == {"male": 2, "female": 2}
    assert found.picked == {("male", "Black"): 2, ("female", "Black"): 1, ("female", "White"): 1}
    assert found.letters == {"A": 2, "B": 1, "D": 1}


def test_what_was_no_answer_never_enters_shares() -> None:
    found = counted()
    assert (found.planned, found.answered) == (8, 4)
    assert [found.kinds[kind] for kind in NOT_CHOSEN] == [2, 1, 1]
    assert found.by("race").total() == found.by("gender").total() == found.letters.total() == 4


@pytest.mark.parametrize("kind", NOT_CHOSEN)
def test_no_answers_at_all_give_no_shares(kind: AnswerKind) -> None:
    found = tally(subjective(), [no_answer(query(index), kind) for index in range(5)], dataset())
    assert found.by("race").total() == 0
    assert (found.planned, found.answered, found.kinds[kind]) == (5, 0, 5)
    assert found.offered("race", ["Black"]) == 0


def test_texts_are_those_of_answers() -> None:
    assert len(counted().texts) == 3


def test_what_was_on_offer_is_counted_among_answers() -> None:
    found = counted()
    assert found.offered("race", ["Black"]) == 4
    assert found.offered("race", ["Hispanic"]) == 0
    assert found.offered("race", ["Hispanic", "Asian"]) == 4
    assert found.offered("race", []) == 0
    assert found.offered("age", ["old"]) == 0
    without = people(({"gender": "male", "race": "White"}, {"gender": "male", "race": "Asian"}))
    found.add(chosen(query(9, choices=without), 0))
    assert found.offered("race", ["Black"]) == 4
    assert found.offered("gender", ["female"]) == 4
    assert found.offered("gender", ["female", "male"]) == 5


def test_picks_of_the_named_group_are_counted_by_attribute() -> None:
    named = {"gender": "female", "race": "Black"}
    samples = [chosen(query(index, named=named), index) for index in range(4)]
    found = tally(subjective(context=Context.INGROUP), samples, dataset())
    assert found.named == {"race": 2, "gender": 2}
    assert counted().named.total() == 0


def test_an_objective_topic_is_seen_by_its_attribute_alone() -> None:
    races = people(({"race": "Asian"}, {"race": "Black"}))
    topic = objective()
    found = tally(topic, [chosen(query(0, topic, choices=races), 1)], dataset())
    assert found.attributes == ("race",)
    assert found.by("race") == {"Black": 1}


# Counts


def by_race(found: TopicTally) -> Counts:
    topics = {found.topic: found}
    return counts(topics, dataset(), task=Task.SUBJECTIVE, context=Context.BASE, attribute="race", key="published")


def place(statistic: str) -> int:
    return [each.slug for each in dataset().statistics].index(statistic)


def test_answers_to_one_text_are_draws_of_their_own_where_the_model_samples() -> None:
    one = tally(subjective(), mixed(), dataset())
    assert one.distinct("race") == 3
    one.draws = True
    assert one.distinct("race") == 4


def test_counts_stand_where_statistic_and_level_say() -> None:
    found = by_race(counted())
    assert found.groups == ("Asian", "Black", "Hispanic", "White")
    assert found.chosen.shape == (19, 2, 4)
    crime = place("crime-rate")
    assert found.chosen[crime, 0].tolist() == [0, 3, 0, 1]
    assert found.chosen.sum() == 4
    for name, n in {"planned": 8, "refused": 2, "unreadable": 1, "failed": 1, "distinct": 3}.items():
        numbers = getattr(found, name)
        assert numbers[crime, 0] == n
        assert numbers.sum() == n
    # The key of crime, high, by race: Black, who was on offer each time.
    assert found.key[crime, 0].tolist() == [False, True, False, False]
    assert found.offered is not None
    assert found.offered[crime, 0] == 4
    assert found.answered[crime].tolist() == [4, 0]


@pytest.mark.parametrize("kind", ["published", "measured"])
@pytest.mark.parametrize("attribute", ["gender", "race"])
def test_the_key_follows_its_kind_and_ties(kind: KeyKind, attribute: str) -> None:
    found = counts({}, dataset(), task=Task.OBJECTIVE, context=None, attribute=attribute, key=kind)
    for s, statistic in enumerate(dataset().statistics):
        for level, which in enumerate(Level):
            entry = statistic.key(kind).get((attribute, which))
            right = {group for group, known in zip(found.groups, found.key[s, level], strict=True) if known}
            assert right == set(entry.groups if entry else ())


def test_the_volunteer_rate_has_no_race() -> None:
    found = by_race(tally(subjective("volunteer-rate"), mixed(), dataset()))
    assert not found.applies[place("volunteer-rate")]
    assert found.applies.sum() == 18
    # All answers are kept: the released programs count them.
    assert found.chosen[place("volunteer-rate"), 0].sum() == 4
    assert "volunteer-rate-high-base-race" not in {case.id for case in text_cases(dataset(), Task.SUBJECTIVE)}


# The source of a run


def tallies(*selected: StatisticCase) -> Tallies[TopicTally]:
    topics = dict.fromkeys(case.topic for case in selected)
    made = {topic: tally(topic, mixed() if topic.task is Task.SUBJECTIVE else [], dataset()) for topic in topics}
    return Tallies(dataset(), made, frozenset(selected))


def test_only_what_was_selected_is_counted() -> None:
    source = tallies(StatisticCase(subjective(), "race"), StatisticCase(subjective(level=LOW), "gender"))
    by_race = source.counts(Task.SUBJECTIVE, Context.BASE, "race", "published")
    by_gender = source.counts(Task.SUBJECTIVE, Context.BASE, "gender", "published")
    assert by_race is not None
    assert by_gender is not None
    crime = place("crime-rate")
    assert by_race.answered[crime].tolist() == [4, 0]
    assert by_gender.answered[crime].tolist() == [0, 4]
    assert source.counts(Task.SUBJECTIVE, Context.INGROUP, "race", "published") is None
    assert source.counts(Task.OBJECTIVE, None, "race", "published") is None


def test_kinds_are_summed_over_topics_once() -> None:
    both = tallies(StatisticCase(subjective(), "race"), StatisticCase(subjective(), "gender"))
    assert both.kinds(Task.SUBJECTIVE, Context.BASE) == {
        AnswerKind.CHOSEN: 4,
        AnswerKind.REFUSED: 2,
        AnswerKind.UNREADABLE: 1,
        AnswerKind.FAILED: 1,
    }
    assert both.kinds(Task.OBJECTIVE, None).total() == 0


def test_picks_of_the_named_group_are_those_of_selected_cases() -> None:
    high, low = (subjective(level=level, context=Context.INGROUP) for level in Level)
    named = {"gender": "male", "race": "Black"}
    samples = [chosen(query(index, named=named), 0) for index in range(3)]
    source = Tallies(
        dataset(),
        {topic: tally(topic, samples, dataset()) for topic in (high, low)},
        frozenset({StatisticCase(high, "race"), StatisticCase(low, "gender")}),
    )
    crime = place("crime-rate")
    assert source.named(Context.INGROUP, "race")[crime].tolist() == [3, 0]
    assert source.named(Context.INGROUP, "gender")[crime].tolist() == [0, 3]
    assert source.named(Context.ATTRIBUTION, "race").sum() == 0
    # The released program's own count is the same where its prompt names one group; elsewhere it names none, or two.
    counted = source.background(Context.INGROUP, "race")
    assert counted is not None
    assert counted[crime].tolist() == [3, 0]
    assert source.background(Context.BASE, "race") is source.background(Context.REPRESENTATIVENESS, "race") is None


def test_a_topic_without_an_answer_was_asked_in_vain_unless_all_of_it_failed() -> None:
    refused, failed = (subjective(level=level) for level in Level)
    made = {
        refused: [no_answer(query(0), AnswerKind.REFUSED), no_answer(query(1), AnswerKind.FAILED)],
        failed: [no_answer(query(index), AnswerKind.FAILED) for index in range(2)],
    }
    source = Tallies(
        dataset(),
        {topic: tally(topic, samples, dataset()) for topic, samples in made.items()},
        frozenset({StatisticCase(refused, "race"), StatisticCase(failed, "race")}),
    )
    found = source.counts(Task.SUBJECTIVE, Context.BASE, "race", "published")
    assert found is not None
    crime = place("crime-rate")
    assert found.unanswered[crime].tolist() == [True, False]
    assert found.unanswered.sum() == 1
