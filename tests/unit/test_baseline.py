"""A baseline: saved, read, refused where it asked otherwise, and compared in words and by limits."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest

from fairgate.benchmarks.fact_or_fair.baseline import CHOICES, PairedChoices, chosen_groups
from fairgate.benchmarks.fact_or_fair.cases import text_cases
from fairgate.benchmarks.fact_or_fair.data import load as load_dataset
from fairgate.benchmarks.fact_or_fair.paired_effects import OfferedPeople, plan_of
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.limits import Waiver
from fairgate.benchmarks.paired import LETTERS, Baseline, Basis
from fairgate.benchmarks.registry import registry
from fairgate.comparison.baseline import load, make_room, save
from fairgate.comparison.paired_comparison import check, compare, gates
from fairgate.core.domain import AnswerKind
from fairgate.core.errors import ConfigError, DataError
from fairgate.gating.gate import check_waivers
from fairgate.gating.thresholds import BaselineLimits, DropLimit
from fairgate.gating.thresholds import load as load_thresholds
from tests.builders import WHY, chosen, limit, no_answer, objective, query, subjective, thresholds
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.reports.report import Comparison

DATASET = load_dataset()
PAIRED = PairedChoices(DATASET)
PARTS, SIDES, NOW = [CHOICES], [(CHOICES, PAIRED)], Basis(key="published", seed=0)
ASKED = {
    "data": DATASET.version, "seed": 0, "profiles": "random", "ages": "range", "explained": None, "wordings": 3,
    "plan": "quick", "objective": 3, "subjective": 10,
}  # fmt: skip
GATED = load_thresholds(CHECKOUT / "thresholds.toml", registry())
LIMITS = BaselineLimits(
    alpha=0.05,
    reason=WHY,
    drops=(
        DropLimit(score="TV", task=Task.SUBJECTIVE, max_drop=5, reason=WHY),
        DropLimit(score="S_fact", task=Task.OBJECTIVE, max_drop=5, reason=WHY),
    ),
)


def answered(right: float, stereotyped: float, seed: int, name: str = "before") -> Baseline:
    """A model that knows so many facts, and follows the key in so many choices among individuals, else by chance."""
    rng, letters, distinct = Random(seed), {}, {}  # noqa: S311 - draws answers, guards nothing
    known = PAIRED.groups()
    for task in (Task.OBJECTIVE, Task.SUBJECTIVE):
        for case in text_cases(DATASET, task):
            topic = case.topic
            if topic.id in letters or topic.context not in (None, Context.BASE):
                continue
            groups = known[topic.attribute or "gender race"]
            statistic = DATASET.statistic(topic.statistic)
            follows = right if task is Task.OBJECTIVE else stereotyped
            said = []
            for _ in range(3 if task is Task.OBJECTIVE else 30):
                fitting = [
                    place
                    for place, each in enumerate(groups)
                    if all(
                        each[at] in statistic.published[attribute, topic.level].groups
                        for at, attribute in enumerate([topic.attribute] if topic.attribute else ["gender", "race"])
                        if attribute in statistic.attributes
                    )
                ]
                pool = fitting if rng.random() < follows else range(len(groups))
                said.append("abcdefgh"[rng.choice(list(pool))])
            letters[topic.id], distinct[topic.id] = "".join(said), len(said)
    return Baseline(name, ASKED, known, letters, distinct)


def compared(before: Baseline, after: Baseline) -> tuple[Comparison, dict[str, GateResult]]:
    found, scored = compare(before, after, SIDES, NOW, GATED)
    return found, {gate.name.removeprefix("fact-or-fair-text-"): gate for gate in gates(scored, LIMITS, "quick")}


# The file


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    before = answered(0.9, 0.1, 1)
    save(tmp_path / "deep" / "b.json", before)
    assert load(tmp_path / "deep" / "b.json", PARTS) == before
    assert [*(tmp_path / "deep").iterdir()] == [tmp_path / "deep" / "b.json"]


def test_whether_it_can_be_saved_is_seen_before_and_leaves_nothing(tmp_path: Path) -> None:
    make_room(tmp_path / "new" / "release.json")
    assert not [*(tmp_path / "new").iterdir()]
    with pytest.raises(ConfigError, match="is a folder"):
        make_room(tmp_path / "new")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        make_room(tmp_path / "file" / "release.json")


def test_two_runs_may_save_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, replace = tmp_path / "b.json", Path.replace
    first, second = answered(0.9, 0.1, 1), answered(0.5, 0.5, 1)

    def meanwhile(self: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        make_room(path)
        save(path, second)
        assert load(path, PARTS) == second
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", meanwhile)
    save(path, first)
    assert load(path, PARTS) == first
    assert [*tmp_path.iterdir()] == [path]


def test_a_letter_a_query() -> None:
    queries = [query(index) for index in range(5)]
    samples = [
        chosen(queries[0], 0), chosen(queries[1], 3), no_answer(queries[2], AnswerKind.REFUSED),
        no_answer(queries[3], AnswerKind.UNREADABLE), no_answer(queries[4], AnswerKind.FAILED),
    ]  # fmt: skip
    letters, distinct = PAIRED.spelled(subjective(), samples)
    # Male and Black is the second of eight, female and White the last.
    assert (letters, distinct) == ("bh-?.", 1)
    saved = Baseline("m", ASKED, PAIRED.groups(), {subjective().id: letters}, {subjective().id: 1})
    assert [chosen_groups(saved, subjective(), index) for index in range(6)] == [
        ("male", "Black"), ("female", "White"), None, None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"fairgate baseline": 2}', '{"fairgate baseline": 1, "topics": 3}'])
def test_what_is_no_baseline_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(str(path))):
        load(path, PARTS)
    with pytest.raises(DataError, match="cannot be read"):
        load(tmp_path / "none.json", PARTS)


@pytest.mark.parametrize(
    ("topic", "said", "why"),
    [
        (subjective(), ["abi", 3], "'i', which stands for no group"),
        (objective(attribute="gender"), ["abc", 3], "'c', which stands for no group"),
        (subjective(), [7, 1], "'7', which stands for no group"),
        (subjective(), ["ab!", 3], "'!', which stands for no group"),
        (subjective(), ["abc", -1], "-1 different prompts in 3 answers"),
        (subjective(), ["abc", 4], "4 different prompts in 3 answers"),
    ],
)
def test_answers_that_stand_for_nothing_are_no_baseline(
    tmp_path: Path, topic: StatisticTopic, said: list[object], why: str
) -> None:
    path = tmp_path / "b.json"
    save(path, Baseline("m", ASKED, PAIRED.groups(), {topic.id: "ab-?."}, {topic.id: 5}))
    whole = json.loads(path.read_text())
    assert load(path, PARTS).letters == {topic.id: "ab-?."}
    path.write_text(json.dumps(whole | {"topics": {topic.id: said}}))
    with pytest.raises(DataError, match=re.escape(why)):
        load(path, PARTS)


def test_it_is_small_and_one_line_a_topic(tmp_path: Path) -> None:
    save(tmp_path / "b.json", answered(0.9, 0.1, 1))
    text = (tmp_path / "b.json").read_text()
    assert len(text) < 20_000
    assert len(text.splitlines()) == len(json.loads(text)["topics"]) + 3


# What is refused


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 1}, "seed 0 there, 1 here"),
        ({"data": "other"}, "data version"),
        ({"profiles": "balanced"}, "profiles random there, balanced here"),
        ({"ages": "one"}, "ages range there, one here"),
        ({"wordings": 9}, "wordings 3 there, 9 here"),
        ({"plan": "paper", "subjective": 100}, r"plan quick \(3, 10\) there, paper \(3, 100\) here"),
    ],
)
def test_a_baseline_that_asked_otherwise_is_refused(other: dict[str, object], said: str) -> None:
    before = answered(0.9, 0.1, 1)
    with pytest.raises(ConfigError, match=said):
        check(before, ASKED | other, "b.json", PARTS, common=False)
    check(before, ASKED | other, "b.json", PARTS, common=True)


def test_of_another_plan_the_common_queries_are_paired() -> None:
    before = answered(0.9, 0.1, 1)
    longer = replace(before, letters={topic: letters * 2 for topic, letters in before.letters.items()})
    found, _ = compared(before, longer)
    assert found.queries == sum(map(len, before.letters.values()))
    assert all(change.entry.estimate == 0 for change in found.changes)


def test_of_another_seed_nothing_is_paired_and_that_is_said() -> None:
    before = answered(0.9, 0.1, 1)
    found, _ = compared(before, replace(before, asked=ASKED | {"seed": 1}))
    assert "not paired" in found.sentences[0]


# What it comes to


def test_the_same_answers_are_no_change() -> None:
    before = answered(0.9, 0.1, 1)
    found, held = compared(before, before)
    assert found.sentences == ("gender: no change is beyond chance.", "race: no change is beyond chance.")
    assert {gate.verdict for gate in held.values()} == {Verdict.PASS}
    assert not any(change.proven for change in found.changes)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((0.95, 0.6), (0.4, 0.0), "fairer but less factual than the baseline"),
        ((0.4, 0.0), (0.95, 0.6), "less fair but more factual than the baseline"),
        ((0.4, 0.6), (0.95, 0.0), "fairer and more factual than the baseline"),
        ((0.95, 0.0), (0.4, 0.6), "less fair and less factual than the baseline"),
        ((0.9, 0.0), (0.9, 0.6), "less fair than the baseline"),
    ],
)
def test_both_sides_are_said_in_one_sentence(
    before: tuple[float, float], after: tuple[float, float], words: str
) -> None:
    found, _ = compared(answered(*before, 1), answered(*after, 2))
    for attribute, sentence in zip(("gender", "race"), found.sentences, strict=True):
        assert sentence.startswith(f"{attribute}: {words}")


def test_a_regression_beyond_its_limit_fails_and_another_attribute_does_not() -> None:
    _, held = compared(answered(0.9, 0.0, 1), answered(0.9, 0.4, 2))
    failed = {name for name, gate in held.items() if gate.verdict is Verdict.FAIL}
    assert failed == {"subjective-base-gender-TV@change", "subjective-base-race-TV@change"}
    assert "a rise beyond chance, of more than 5" in held["subjective-base-race-TV@change"].reason


def test_an_improvement_passes() -> None:
    _, held = compared(answered(0.9, 0.6, 1), answered(0.9, 0.0, 2))
    assert held["subjective-base-race-TV@change"].verdict is Verdict.PASS


def test_without_limits_nothing_is_held() -> None:
    _, scored = compare(answered(0.9, 0.0, 1), answered(0.9, 0.9, 2), SIDES, NOW, GATED)
    assert gates(scored, None, "quick") == ()


def test_a_limit_on_a_drop_can_be_waived_by_its_name() -> None:
    known = "fact-or-fair-text-subjective-base-race-TV@change"
    whole = msgspec.structs.replace(thresholds(limit()), baseline=LIMITS)
    waiver = msgspec.convert({"gate": known, "reason": WHY, "owner": "Mira", "expires": "2026-11-30"}, Waiver)
    check_waivers(msgspec.structs.replace(whole, waivers=(waiver,)), registry(), ("gender", "race"), "limits.toml")


# Effects of groups: who was on offer is asked of the plan again


def chosen_of_offers(seed: int, towards_women: float = 0.0) -> Baseline:
    """A model that picks a woman in so many choices, where one is on offer, else by chance among the four people."""
    rng, plan = Random(seed), plan_of(ASKED, DATASET)  # noqa: S311 - draws answers, guards nothing
    assert plan is not None
    joint = PAIRED.groups()["gender race"]
    letters = {}
    for topic in dict.fromkeys(case.topic for case in text_cases(DATASET, Task.SUBJECTIVE)):
        said = []
        for asked in plan.queries(topic):
            women = [each for each in asked.choices if each.groups["gender"] == "female"]
            pool = women if women and rng.random() < towards_women else asked.choices
            picked = rng.choice(list(pool)).groups
            said.append(LETTERS[joint.index((picked["gender"], picked["race"]))])
        letters[topic.id] = "".join(said)
    return Baseline("before", ASKED, PAIRED.groups(), letters, {each: len(said) for each, said in letters.items()})


OF_EFFECTS = GATED.baseline


def held_effects(before: Baseline, after: Baseline) -> dict[str, GateResult]:
    _, scored = compare(before, after, SIDES, NOW, GATED)
    return {
        each.name.removeprefix("fact-or-fair-text-subjective-"): each for each in gates(scored, OF_EFFECTS, "quick")
    }


def test_identical_replies_are_no_change() -> None:
    same = chosen_of_offers(1, 0.3)
    held = held_effects(same, same)
    assert len(held) == 4 * (2 * 2 + 1) + 2 * 2 + 2
    assert {each.verdict for each in held.values()} == {Verdict.PASS}
    assert {each.entry.ci for each in held.values()} == {(0.0, 0.0)}
    assert held["base-gender-preference@change"].entry.estimate == 0
    # Of a model that prefers women; its size is the same before and after.
    found, scored = compare(same, same, SIDES, NOW, GATED)
    [moved] = [each.moved for each in scored if each.entry.name.endswith("base-gender-preference@change")]
    assert 0.05 < moved.before.value == moved.after.value
    assert "no change is beyond chance" in found.sentences[0]


def test_a_new_preference_for_a_group_fails_its_limits_and_no_other_effect_does() -> None:
    held = held_effects(chosen_of_offers(1), chosen_of_offers(2, 0.8))
    failed = {name for name, each in held.items() if each.verdict is Verdict.FAIL}
    assert {f"{context}-gender-preference@change" for context in Context} <= failed
    assert all("gender-preference" in name or "joint_preference" in name for name in failed)


def test_a_letter_stands_for_one_of_the_people_on_offer() -> None:
    before, plan = chosen_of_offers(1, 0.5), plan_of(ASKED, DATASET)
    assert plan is not None
    offers = OfferedPeople(plan)
    side = offers.chosen([before], Context.BASE, lambda topic: topic.statistic == "crime-rate")
    assert len(side.chosen[0]) == 2 * 30
    places = side.chosen[0].astype(np.int64)
    picked = np.take_along_axis(side.groups, places[:, np.newaxis, np.newaxis], axis=2)[..., 0]
    letters = "".join(before.letters[f"fact-or-fair/text/subjective/crime-rate-{level}-base"] for level in Level)
    names = [DATASET.attribute(each).names for each in PAIRED.attributes]
    known = PAIRED.groups()["gender race"]
    assert [known[LETTERS.index(each)] for each in letters] == [
        tuple(names[place][group] for place, group in enumerate(each)) for each in picked
    ]
