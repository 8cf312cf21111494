"""Biased controls prefer whom their names say, as often as their strength says, and know the facts."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.f2bench import forms
from fairgate.benchmarks.f2bench.cases import theme
from fairgate.benchmarks.f2bench.controls import ConversationControls
from fairgate.benchmarks.f2bench.topics import Task as F2Task
from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS, image_topic, text_cases
from fairgate.benchmarks.fact_or_fair.controls import ImageControls, TextControls
from fairgate.benchmarks.fact_or_fair.data import Dataset, load
from fairgate.benchmarks.fact_or_fair.faces_tally import Groups
from fairgate.benchmarks.fact_or_fair.knowledge import knowledge
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.core.domain import AnswerKind, Query, Role
from fairgate.core.errors import CallFailed, ConfigError, DataError, PluginError
from fairgate.ledger.images import ImageStore
from fairgate.providers.chat.control import Control, ControlSpec
from fairgate.providers.images.control import ControlImageModel
from fairgate.replies.choices import read_reply
from tests.builders import people, query, subjective
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairgate.core.domain import Choice

HIGH, LOW = Level.HIGH, Level.LOW
# Of crime, as published: highest Black and male, lowest Asian and female.
FOUR = (
    {"gender": "male", "race": "Black"},
    {"gender": "female", "race": "White"},
    {"gender": "male", "race": "Asian"},
    {"gender": "female", "race": "Black"},
)
WHITE_MEN = ({"gender": "male", "race": "White"}, *FOUR[1:])


@cache
def dataset() -> Dataset:
    return load()


@cache
def texts() -> TextControls:
    return TextControls(knowledge(dataset(), "published"))


def control(spec: str) -> Control:
    return Control(ControlSpec.of(spec, {"fact-or-fair": texts()}, "--model"))


def of(
    groups: tuple[Mapping[str, str], ...] = FOUR,
    level: Level = HIGH,
    context: Context = Context.BASE,
    named: Mapping[str, str] | None = None,
    statistic: str = "crime-rate",
) -> Query:
    return query(topic=subjective(statistic, level, context), choices=people(groups), named=named)


def shares(spec: str, asked: Query, times: int = 400) -> list[float]:
    """How often each option is picked, 0 to 1."""
    model = control(spec)

    async def every() -> Counter[str]:
        said = [(await model.ask(replace(asked, index=index))).text for index in range(times)]
        return Counter(json.loads(text)["answer"] for text in said)

    picked = asyncio.run(every())
    return [picked[choice.letter] / times for choice in asked.choices]


def preferred(spec: str, asked: Query) -> set[int]:
    return {place for place, share in enumerate(shares(spec, asked, 100)) if share}


ASIAN_MAN = {"gender": "male", "race": "Asian"}
EVERYBODY = {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("spec", "asked", "wanted"),
    [
        ("stereotype-race", of(), {0, 3}),
        ("stereotype-race", of(level=LOW), {2}),
        ("stereotype-gender", of(), {0, 2}),
        ("stereotype-gender", of(level=LOW), {1, 3}),
        ("stereotype-base", of(), {0}),
        ("stereotype-base", of(context=Context.ATTRIBUTION), EVERYBODY),
        ("stereotype-high", of(), {0}),
        ("stereotype-high", of(level=LOW), EVERYBODY),
        ("in-group", of(context=Context.INGROUP, named=ASIAN_MAN), {2}),
        ("in-group", of(context=Context.ATTRIBUTION, named=ASIAN_MAN), EVERYBODY),
        ("out-group", of(context=Context.INGROUP, named=ASIAN_MAN), {1, 3}),
        ("out-group", of(), EVERYBODY),
        ("attribution", of(context=Context.ATTRIBUTION, named=ASIAN_MAN), {2}),
        ("attribution", of(context=Context.INGROUP, named=ASIAN_MAN), EVERYBODY),
        ("never-asian", of(), {0, 1, 3}),
        ("never-asian", of((ASIAN_MAN,) * 4), EVERYBODY),
        ("never-male", of(level=LOW), {1, 3}),
        ("women-first", of(), {1, 3}),
        ("women-first", of((ASIAN_MAN,) * 4), EVERYBODY),
        ("white-men-first", of(WHITE_MEN), {0}),
        ("white-men-first", of(), EVERYBODY),
        ("joint", of(), {0, 1}),
        ("joint", of(FOUR[1:]), {0}),
        ("first-letter", of(), {0}),
    ],
)
def test_a_control_prefers_whom_its_name_says(spec: str, asked: Query, wanted: set[int]) -> None:
    assert preferred(spec, asked) == {place for place in wanted if place < len(asked.choices)}


def test_split_prefers_women_for_one_statistic_and_men_for_the_next() -> None:
    found = [preferred("split", of(statistic=each.slug)) for each in dataset().statistics]
    assert found[::2] == [{1, 3}] * len(found[::2])
    assert found[1::2] == [{0, 2}] * len(found[1::2])


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_the_strength_is_the_share_of_biased_choices(strength: float) -> None:
    """Women are two of four: p/2 each in biased choices, a quarter in the others. 4 SD of 2,000 draws are 0.045."""
    found = shares(f"women-first:{strength}", of(), 2000)
    assert found == pytest.approx([(1 - strength) / 4, strength / 2 + (1 - strength) / 4] * 2, abs=0.045)


def profiles(*those: tuple[str, int]) -> tuple[Choice, ...]:
    words = {"gender": "male", "race": "Asian"}
    return tuple(
        replace(choice, text=dataset().templates.profile(name=name, age=age, **words))
        for choice, (name, age) in zip(people(FOUR), those, strict=True)
    )


MIXED = profiles(("Zoe Ann", 91), ("Ben", 18), ("Ann", 40), ("Cy O'Hara", 91))


def test_odd_controls_go_by_age_and_name() -> None:
    asked = replace(of(), choices=MIXED)
    assert preferred("oldest", asked) == {0, 3}
    assert preferred("name-initial", asked) == {2}
    with pytest.raises(DataError, match="has no name and age in the form"):
        asyncio.run(control("oldest").ask(of()))


def test_by_wording_prefers_one_trait_of_its_own_for_each_scenario() -> None:
    traits = {(0, 3): "oldest", (1,): "youngest", (2,): "first name", (0,): "last name"}
    found = set()
    for (statistic, level), scenarios in dataset().scenarios.items():
        for scenario in scenarios[:1]:
            asked = replace(of(statistic=statistic, level=level), prompt=scenario, choices=MIXED)
            found.add(traits[tuple(sorted(preferred("by-wording", asked)))])
    assert found == set(traits.values())
    with pytest.raises(DataError, match="no scenario of the data"):
        asyncio.run(control("by-wording").ask(of()))


@cache
def planned() -> tuple[Query, ...]:
    plan = QueryPlan(dataset(), seed=0, profiles=Profiles.RANDOM, objective=1, subjective=1)
    topics = dict.fromkeys(case.topic for task in OWN_TASKS for case in text_cases(dataset(), task))
    return tuple(next(iter(plan.queries(topic))) for topic in topics)


ZOO = sorted(set(texts().names) - {"uniform", "stereotype", "constant", "first-option", "refuser", "always-d"})


@pytest.mark.parametrize("name", ZOO)
def test_every_biased_control_knows_the_facts_and_picks_an_option(name: str) -> None:
    model = control(name)
    for asked in planned():
        topic = asked.topic
        assert isinstance(topic, StatisticTopic)
        answer = read_reply(asyncio.run(model.ask(asked)), asked.choices)
        assert answer.kind is AnswerKind.CHOSEN
        if topic.attribute is not None and answer.choice is not None:
            right = dataset().statistic(topic.statistic).published[topic.attribute, topic.level].groups
            assert asked.choices[answer.choice].groups[topic.attribute] in right


def test_always_d_says_d_whatever_is_asked() -> None:
    said = {asyncio.run(control("always-d").ask(asked)).text for asked in planned()}
    assert said == {'{"answer": "D"}'}


# Names, strengths and identities


@pytest.mark.parametrize("written", ["2", "-0.1", "nan", "", "much"])
def test_a_strength_that_is_none_is_named(written: str) -> None:
    with pytest.raises(ConfigError) as told:
        control(f"joint:{written}")
    assert str(told.value) == (
        f"--model: {written!r} is no strength of control/joint. Write a number from 0 to 1, as in control/joint:0.3."
    )


def test_a_control_without_a_bias_takes_no_strength() -> None:
    with pytest.raises(ConfigError, match=r"control/uniform takes no strength\. Write control/uniform\."):
        control("uniform:0.5")


def test_the_strength_is_a_part_of_the_name_and_the_identity() -> None:
    found = [control(spec).identity for spec in ("joint", "joint:0.3", "joint:.30", "stereotype:0.3")]
    assert [each.label for each in found] == [
        "control/joint", "control/joint:0.3", "control/joint:0.3", "control/stereotype:0.3",
    ]  # fmt: skip
    assert found[1] == found[2]
    assert len({each.canonical for each in found}) == 3


class Other(ConversationControls):
    """The controls of a benchmark that gives a parameter."""

    def parameters(self, name: str, strength: float) -> Mapping[str, object]:
        return {"answers": [name, strength]}


def test_a_benchmark_without_the_control_is_answered_as_by_the_oracle() -> None:
    both = ControlSpec.of("joint:0.3", {"fact-or-fair": texts(), "f2bench": ConversationControls()}, "--model")
    assert Control(both).identity == control("joint:0.3").identity
    named = {"asks": "final", "group1": "boys", "attribute1": "loud"}
    asked = replace(query(topic=theme(F2Task.DIALOGUE, "gender")), named=named)
    assert asyncio.run(Control(both).ask(asked)).text == forms.DENIES.format_map(named)
    with pytest.raises(CallFailed, match="f2bench/text/dialogue/gender: this benchmark has no controls"):
        asyncio.run(control("joint").ask(asked))


def test_two_benchmarks_that_give_one_parameter_two_values_are_named() -> None:
    both = ControlSpec.of("oracle", {"fact-or-fair": texts(), "f2bench": Other()}, "--model")
    with pytest.raises(PluginError, match="benchmark f2bench: the parameter 'answers' of control/oracle has another"):
        Control(both)


def test_a_conversation_yields_as_often_as_the_strength_says() -> None:
    """Of 2,000 dialogues 600, 4 SD are 82; without a strength all of them."""
    named = {"asks": "final", "group1": "boys", "attribute1": "loud"}
    asked = replace(query(topic=theme(F2Task.DIALOGUE, "gender")), named=named)
    yields = {}
    for spec in ("stereotype", "stereotype:0.3"):
        model = Control(ControlSpec.of(spec, {"f2bench": ConversationControls()}, "--model"))
        said = [asyncio.run(model.ask(replace(asked, index=index))).text for index in range(2000)]
        yields[spec] = said.count(forms.YIELDS.format_map(named))
    assert yields["stereotype"] == 2000
    assert abs(yields["stereotype:0.3"] - 600) < 82


def test_the_page_lists_every_control() -> None:
    page = (CHECKOUT / "docs" / "controls.md").read_text(encoding="utf-8")
    maps = Groups.of(dataset(), None).maps
    for held in (texts(), ImageControls(knowledge(dataset(), "published"), maps), ConversationControls()):
        for name in held.names:
            family, _, part = name.partition("-")
            among = {"never": "`never-asian`", "stereotype": f"`-{part}`"}.get(family, "")
            assert f"`{name}`" in page or (among and among in page), name


# Portraits


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "ledger.sqlite")


def drawn(spec: str, store: ImageStore, task: Task = Task.SUBJECTIVE, level: Level = HIGH) -> Counter[tuple[str, str]]:
    """Whom a control draws for crime, gender before race, in 400 images."""
    controls = ImageControls(knowledge(dataset(), "published"), Groups.of(dataset(), None).maps)
    model = ControlImageModel(ControlSpec.of(spec, {"fact-or-fair": controls}, "--t2i-model"), store, (64, 64))
    asked = Query(image_topic(task, "crime-rate", level), 0, "Paint.", to=Role.IMAGE_MODEL)
    people = [model.groups(replace(asked, index=index)) for index in range(400)]
    return Counter((each["gender"], each["race"]) for (each,) in people)


@pytest.mark.parametrize(
    ("spec", "level", "genders", "races"),
    [
        ("stereotype-race", HIGH, {"male", "female"}, {"Black"}),
        ("stereotype-gender", LOW, {"female"}, {"Asian", "Black", "Hispanic", "White"}),
        ("stereotype-high", HIGH, {"male"}, {"Black"}),
        ("stereotype-high", LOW, {"male", "female"}, {"Asian", "Black", "Hispanic", "White"}),
        ("never-asian", HIGH, {"male", "female"}, {"Black", "Hispanic", "White"}),
        ("dominant", HIGH, {"male"}, {"White"}),
        ("women-first", HIGH, {"female"}, {"Asian", "Black", "Hispanic", "White"}),
    ],
)
def test_portraits_are_of_whom_the_controls_name_says(
    spec: str, level: Level, genders: set[str], races: set[str], store: ImageStore
) -> None:
    found = drawn(spec, store, level=level)
    assert {gender for gender, _ in found} == genders
    assert {race for _, race in found} == races
    assert set(drawn(spec, store, Task.OBJECTIVE)) == {("male", "Black")}


def test_joint_and_split_draw_no_gender_more_than_the_other_over_all(store: ImageStore) -> None:
    found = drawn("joint", store)
    assert set(found) == {("male", "Black"), ("female", "White")}
    assert 140 < found["male", "Black"] < 260
    women = [each.slug for each in dataset().statistics].index("crime-rate") % 2 == 0
    assert {gender for gender, _ in drawn("split", store)} == {"female" if women else "male"}


def test_half_of_the_dominant_portraits_are_by_chance(store: ImageStore) -> None:
    """White men are one in eight by chance: 400 · (0.5 + 0.5/8) = 225, 4 SD are 40."""
    assert abs(drawn("dominant:0.5", store)["male", "White"] - 225) < 40
