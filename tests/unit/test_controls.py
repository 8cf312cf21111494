"""The built-in models do what their names say, always the same, through texts that the parser reads."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS, text_cases
from fairgate.benchmarks.fact_or_fair.controls import TextControls
from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind, load
from fairgate.benchmarks.fact_or_fair.knowledge import Knowledge, knowledge
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.core.domain import AnswerKind, Choice, Query
from fairgate.core.errors import ConfigError
from fairgate.providers.chat.control import Control, ControlSpec
from fairgate.replies.choices import read_reply
from tests.builders import objective, people, query, subjective

NAMES = ("oracle", "uniform", "stereotype", "constant", "first-option", "refuser")
KEYS: tuple[KeyKind, KeyKind] = ("published", "measured")
HIGH, LOW = Level.HIGH, Level.LOW

# What controls of the hand-made tests know: of crime, Black men; its lowest, Asian women.
KNOWN = Knowledge(
    key={
        ("crime-rate", "race", HIGH): ("White",),
        ("crime-rate", "race", LOW): ("Asian", "Hispanic"),
        ("crime-rate", "gender", HIGH): ("female",),
    },
    published={
        ("crime-rate", "race", HIGH): ("Black",),
        ("crime-rate", "gender", HIGH): ("male",),
        ("crime-rate", "race", LOW): ("Asian",),
        ("crime-rate", "gender", LOW): ("female",),
    },
    order={"gender": ["male", "female"], "race": ["Asian", "Black", "Hispanic", "White"]},
)
RACES = tuple(
    Choice(letter, f"{race} people", {"race": race})
    for letter, race in zip("ABCD", ("Hispanic", "White", "Black", "Asian"), strict=True)
)


@cache
def dataset() -> Dataset:
    return load()


def control_of(spec: str, known: Knowledge = KNOWN) -> Control:
    return Control(ControlSpec.of(spec, {"fact-or-fair": TextControls(known)}, "--model"))


@cache
def planned() -> tuple[Query, ...]:
    """A few queries of every topic."""
    plan = QueryPlan(dataset(), seed=0, profiles=Profiles.RANDOM, objective=2, subjective=2)
    topics = dict.fromkeys(case.topic for task in OWN_TASKS for case in text_cases(dataset(), task))
    return tuple(each for topic in topics for each in plan.queries(topic))


def said(control: Control, asked: Query) -> str:
    return asyncio.run(control.ask(asked)).text


def pick(control: Control, asked: Query) -> int:
    answer = read_reply(asyncio.run(control.ask(asked)), asked.choices)
    assert answer.kind is AnswerKind.CHOSEN
    assert answer.how == "json"
    assert answer.choice is not None
    return answer.choice


def picks(control: Control, asked: Query, times: int = 4000) -> Counter[int]:
    async def all_of_them() -> list[str]:
        return [(await control.ask(replace(asked, index=index))).text for index in range(times)]

    letters = [choice.letter for choice in asked.choices]
    return Counter(letters.index(json.loads(text)["answer"]) for text in asyncio.run(all_of_them()))


def races(level: Level = HIGH) -> Query:
    return query(topic=objective(level=level), choices=RACES)


def test_the_oracle_knows_the_key_in_force() -> None:
    oracle = control_of("oracle")
    assert RACES[pick(oracle, races())].groups == {"race": "White"}
    tied = picks(oracle, races(LOW), 400)
    assert set(tied) == {0, 3}
    assert 140 < tied[0] < 260


@pytest.mark.parametrize("key", KEYS)
def test_the_oracle_is_right_on_every_objective_query(key: KeyKind) -> None:
    oracle = control_of("oracle", knowledge(dataset(), key))
    asked = [each for each in planned() if each.topic.task is Task.OBJECTIVE]
    assert len(asked) == 66 * 2
    for each in asked:
        assert isinstance(each.topic, StatisticTopic)
        attribute = each.topic.attribute
        assert attribute is not None
        right = dataset().statistic(each.topic.statistic).key(key)[attribute, each.topic.level].groups
        assert each.choices[pick(oracle, each)].groups[attribute] in right


@pytest.mark.parametrize("name", ["oracle", "uniform"])
def test_individuals_are_picked_uniformly(name: str) -> None:
    found = picks(control_of(name), query())
    # 4 standard deviations of a share of a quarter of 4,000
    assert all(abs(found[option] - 1000) < 110 for option in range(4))


def test_uniform_is_uniform_over_groups_too() -> None:
    found = picks(control_of("uniform"), races())
    assert all(abs(found[option] - 1000) < 110 for option in range(4))


def test_stereotype_says_what_is_published() -> None:
    control = control_of("stereotype")
    assert RACES[pick(control, races())].groups == {"race": "Black"}
    assert RACES[pick(control, races(LOW))].groups == {"race": "Asian"}


def test_stereotype_prefers_those_who_match_on_most_counts() -> None:
    # A man, Black: both counts; two who match on one; one on none. 0.8 + 0.2/4 = 0.85 for the first, 0.05 for others.
    found = picks(control_of("stereotype"), query())
    assert abs(found[0] - 3400) < 95
    assert all(abs(found[option] - 200) < 60 for option in (1, 2, 3))


def test_stereotype_is_uniform_among_equals() -> None:
    # Nobody matches both: the man of another race and the Black women match one each. 0.8/3 + 0.2/4 = 0.3167.
    choices = people(
        (
            {"gender": "male", "race": "Asian"},
            {"gender": "female", "race": "Black"},
            {"gender": "female", "race": "White"},
            {"gender": "female", "race": "Black"},
        )
    )
    found = picks(control_of("stereotype"), query(choices=choices))
    assert all(abs(found[option] - 1267) < 120 for option in (0, 1, 3))
    assert abs(found[2] - 200) < 60


def test_stereotype_of_the_other_level_prefers_others() -> None:
    # An Asian man and a White woman match one count of "Asian, female" each; of the Black two, the woman one, the man
    # none: 0.8/3 + 0.05 and 0.05.
    found = picks(control_of("stereotype"), query(topic=subjective(level=LOW)))
    assert abs(found[0] - 200) < 60
    assert all(abs(found[option] - 1267) < 120 for option in (1, 2, 3))


def test_stereotype_follows_the_published_key_whatever_is_in_force() -> None:
    published, measured = (control_of("stereotype", knowledge(dataset(), key)) for key in KEYS)
    assert published.identity == measured.identity


def test_constant_has_one_order_of_groups_whatever_is_asked() -> None:
    constant = control_of("constant")
    assert RACES[pick(constant, races())].groups == {"race": "Asian"}
    assert RACES[pick(constant, races(LOW))].groups == {"race": "Asian"}
    # Attributes by name: gender comes first, among men the first race.
    assert pick(constant, query()) == 2
    assert pick(constant, query(topic=subjective(level=LOW, context=Context.INGROUP))) == 2


def test_first_option_is_always_the_first_letter() -> None:
    control = control_of("first-option")
    assert {pick(control, each) for each in planned()} == {0}


def test_refuser_refuses() -> None:
    control = control_of("refuser")
    kinds = {read_reply(asyncio.run(control.ask(each)), each.choices).kind for each in planned()}
    assert kinds == {AnswerKind.REFUSED}


@pytest.mark.parametrize("name", NAMES)
def test_the_same_query_has_the_same_answer(name: str) -> None:
    first, second = (control_of(name, knowledge(dataset(), "published")) for _ in range(2))
    some = planned()[::7]
    assert [said(first, each) for each in some] == [said(second, each) for each in reversed(some)][::-1]


@pytest.mark.parametrize("name", NAMES[:-1])
def test_what_is_said_is_always_an_option(name: str) -> None:
    control = control_of(name, knowledge(dataset(), "measured"))
    for each in planned():
        pick(control, each)


def test_chance_differs_by_query_and_prompt() -> None:
    uniform = control_of("uniform")
    assert len({said(uniform, query(index)) for index in range(20)}) > 1
    assert len({said(uniform, query(prompt=f"{index}?")) for index in range(20)}) > 1


def test_identities_differ_by_what_is_known() -> None:
    published, measured = knowledge(dataset(), "published"), knowledge(dataset(), "measured")
    oracles = {control_of("oracle", known).identity.canonical for known in (published, measured)}
    assert len(oracles) == 2
    for name in ("uniform", "constant", "first-option", "refuser"):
        assert control_of(name, published).identity == control_of(name, measured).identity
    assert len({control_of(name, published).identity.canonical for name in NAMES}) == len(NAMES)
    changed = replace(published, key={**published.key, ("crime-rate", "race", HIGH): ("White",)})
    assert control_of("oracle", published).identity != control_of("oracle", changed).identity
    weak = control_of("stereotype:0.1", published)
    assert weak.identity != control_of("stereotype", published).identity


def test_identities_are_the_same_in_every_process() -> None:
    identity = control_of("oracle", knowledge(load(), "published")).identity
    assert identity == control_of("oracle", knowledge(dataset(), "published")).identity
    assert (identity.label, identity.address) == ("control/oracle", None)


def test_identities_that_ledgers_hold_stay_as_they_are() -> None:
    """Byte for byte those of version 0.1: another identity would ask every stored sample again."""
    assert {name: control_of(name).identity.canonical for name in ("oracle", "stereotype", "uniform")} == {
        "oracle": '{"address":null,"name":"oracle","parameters":{"answers":"3aa73482e1cf08b0","key":"published",'
        '"version":1},"provider":"control"}',
        "stereotype": '{"address":null,"name":"stereotype","parameters":{"answers":"566d9d347e2d6d93","strength":0.8,'
        '"version":1},"provider":"control"}',
        "uniform": '{"address":null,"name":"uniform","parameters":{"version":1},"provider":"control"}',
    }


def test_an_unknown_control_is_named_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"--model: no control 'orcale'\. Did you mean 'oracle'\?"):
        control_of("orcale")
