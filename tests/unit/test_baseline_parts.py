"""A baseline of open answers and of images: spelled, read back, and compared by instance and by prompt."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.bigbench import data as bigbench_data
from fairgate.benchmarks.bigbench.baseline import SUBJECTS, PairedSubjects, of_identity, portrayal_of
from fairgate.benchmarks.bigbench.plan import SubjectTally, topic_of
from fairgate.benchmarks.bigbench.portrayals import UNKNOWN, Portrayal
from fairgate.benchmarks.bigbench.prompts import all_identities, load_wording
from fairgate.benchmarks.f2bench import data as f2bench_data
from fairgate.benchmarks.f2bench.baseline import CONVERSATIONS, PairedConversations, of_theme, theme_of
from fairgate.benchmarks.f2bench.case_summary import cell_of
from fairgate.benchmarks.f2bench.cases import GOLD, theme
from fairgate.benchmarks.f2bench.cases import cases as theme_cases
from fairgate.benchmarks.f2bench.data import Category, InstanceKind
from fairgate.benchmarks.f2bench.gold import GoldMark, load_gold
from fairgate.benchmarks.f2bench.plan import DEFINITION, Balanced, ConversationPlan, Dialogue, Judged, JudgedDescription
from fairgate.benchmarks.f2bench.prompts import load_prompts
from fairgate.benchmarks.f2bench.swap import twin
from fairgate.benchmarks.f2bench.tally import ThemeTally
from fairgate.benchmarks.f2bench.topics import Task as F2Task
from fairgate.benchmarks.fact_or_fair.baseline import CHOICES, PairedChoices
from fairgate.benchmarks.fact_or_fair.cases import image_cases
from fairgate.benchmarks.fact_or_fair.data import load as load_dataset
from fairgate.benchmarks.fact_or_fair.image_baseline import FACES, PORTRAITS, PairedPortraits, faces_of
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.paired import LETTERS, Baseline, Basis
from fairgate.comparison.baseline import load, merged, parsed, save
from fairgate.comparison.paired_comparison import check, compare, gates, scores_of
from fairgate.core.domain import AnswerKind
from fairgate.core.errors import ConfigError, DataError
from fairgate.gating.thresholds import load as load_thresholds
from fairgate.providers.faces.image_steps import Seen
from tests.plugins import REGISTRY
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.benchmarks.f2bench.topics import Theme
    from fairgate.reports.report import Comparison

DATASET, IDENTITIES = load_dataset(), bigbench_data.load()
HELD = f2bench_data.load()
# Four of each category and kind: with all, the judge's errors, which the drawn answers lack, would be seen.
FEW = tuple(each for category in Category for kind in InstanceKind for each in HELD.of(kind, category)[:4])
PLAN = ConversationPlan(f2bench_data.Instances(FEW), load_prompts(), load_gold(), repeats=2, reference=False)
GATED = load_thresholds(CHECKOUT / "thresholds.toml", REGISTRY)
LIMITS = GATED.baseline
ASKED: dict[str, Any] = {
    "data": DATASET.version, "seed": 0, "profiles": "random", "ages": "range", "explained": None, "wordings": 3,
    "plan": "quick", "objective": None, "subjective": None,
    "f2bench": {
        "instances": PLAN.instances.version, "prompts": 1, "gold": PLAN.gold.version, "judge": "openai/judge",
        "repeats": 2,
    },
    "images": {"detector": "faces/fairface", "race_map": None, "objective": 6, "subjective": 20},
    "bigbench": {
        "data": IDENTITIES.version, "prompts": load_wording().version, "detector": "faces/fairface", "race_map": None,
        "implicit": 4, "explicit": 2,
    },
}  # fmt: skip
SIDES = [
    (CHOICES, PairedChoices(DATASET)),
    (PORTRAITS, PairedPortraits(DATASET)),
    (CONVERSATIONS, PairedConversations(PLAN)),
    (SUBJECTS, PairedSubjects(IDENTITIES)),
]
PARTS, NOW = [part for part, _ in SIDES], Basis(key="published", seed=0)
GROUPS = merged(paired.groups() for _, paired in SIDES)
EVERYBODY = tuple(all_identities(IDENTITIES))


def spoken(ties: float, marks: float, seed: int, *, right: float = 0.95) -> dict[str, str]:
    """A model that ties so often towards the stereotype, by a judge that is right so often."""
    rng = Random(seed)  # noqa: S311 - draws answers, guards nothing
    found = {}
    for task in (F2Task.DIALOGUE, F2Task.BALANCE):
        gold = theme(task, GOLD)
        texts = []
        for item in PLAN.gold_of(gold):
            if isinstance(item, GoldMark):
                texts.append(Judged(item, AnswerKind.SAID, item.mark))
            else:
                texts.append(Judged(item, AnswerKind.SAID, item.yes is (rng.random() < right)))
        found[gold.id] = of_theme(ThemeTally(gold, 0, gold=texts))
    for case in theme_cases(PLAN.instances):
        found[case.topic.id] = of_theme(tallied(case.topic, ties, marks, rng))
    return found


def tallied(topic: Theme, ties: float, marks: float, rng: Random) -> ThemeTally:
    counted = ThemeTally(topic, PLAN.size(topic))
    for repeat in range(PLAN.repeats):
        for instance in PLAN.members(topic):
            if topic.task is F2Task.DIALOGUE:
                tied = rng.random() < ties
                counted.dialogues.append(Dialogue(instance, repeat, DEFINITION, AnswerKind.SAID, "…", tied))
            elif twin(instance).text is not None:
                readings = [
                    JudgedDescription(
                        AnswerKind.SAID, "…", rng.random() < ties, rng.random() < 0.05, min(10, round(10 * marks))
                    )
                    for _ in range(2)
                ]
                counted.balanced.append(Balanced(instance, repeat, DEFINITION, (readings[0], readings[1])))
    return counted


def drawn(stereotyped: float, seed: int) -> dict[str, str]:
    """An image model that follows the key with subjective portraits so often, else draws by chance; at times two."""
    rng, known = Random(seed), GROUPS[FACES]  # noqa: S311 - draws answers, guards nothing
    whole = [names for names in known if all(names)]
    found = {}
    for task in (Task.OBJECTIVE, Task.SUBJECTIVE):
        for topic in {case.topic: None for case in image_cases(DATASET, task)}:
            key = DATASET.statistic(topic.statistic).published
            right = [key[name, topic.level].groups for name in ("gender", "race") if (name, topic.level) in key]
            fitting = [names for names in whole if all(set(names) & set(groups) for groups in right)]
            words = []
            for _ in range(6 if task is Task.OBJECTIVE else 20):
                pool = fitting if rng.random() < (0.5 if task is Task.OBJECTIVE else stereotyped) else whole
                words.append(LETTERS[known.index(rng.choice(pool))] * rng.choice((1, 1, 1, 2)))
            found[topic.id] = " ".join(words)
    return found


def sat(of_one_race: float, missed: float, seed: int) -> dict[str, str]:
    """People by the truth, so many of one race instead; and so many of another race than was asked for."""
    rng, found = np.random.default_rng(seed), {}
    for number, identity in enumerate(EVERYBODY):
        if number % 3:
            continue
        many, images = len(identity.subject.people), 4 if identity.asked is None else 2
        codes = np.zeros((images, many, 3), np.int8)
        for place, attribute in enumerate(IDENTITIES.attributes):
            for person in range(many):
                truth = np.array(identity.subject.truth[person][attribute.name])
                truth = truth / truth.sum()
                if attribute.name == "race":
                    truth = (1 - of_one_race) * truth + of_one_race * np.eye(len(truth))[0]
                if identity.asked == attribute.name:
                    lost = missed if attribute.name == "race" else 0.05
                    wanted = attribute.names.index(identity.groups[person])
                    truth = (1 - lost) * np.eye(len(truth))[wanted] + lost / len(truth)
                codes[:, person, place] = rng.choice(len(truth), images, p=truth)
        found[topic_of(identity).id] = spelled(Portrayal(identity, codes))
    return found


def spelled(portrayal: Portrayal, kind: AnswerKind = AnswerKind.CHOSEN) -> str:
    images = 0 if portrayal.codes is None else len(portrayal.codes)
    seen = tuple(Seen(index, kind) for index in range(images))
    return of_identity(SubjectTally(topic_of(portrayal.identity), portrayal, seen=seen), IDENTITIES)


def baseline(*parts: dict[str, str], name: str = "openai/one", **asked: Any) -> Baseline:
    letters = {topic: each for part in parts for topic, each in part.items()}
    return Baseline(name, ASKED | asked, GROUPS, letters, dict.fromkeys(letters, 1))


def compared(before: Baseline, after: Baseline) -> tuple[Comparison, dict[str, Verdict]]:
    found, scored = compare(before, after, SIDES, NOW, GATED)
    return found, {gate.name: gate.verdict for gate in gates(scored, LIMITS, "quick")}


# Letters


def test_conversations_are_read_as_they_were_spelled() -> None:
    rng = Random(3)  # noqa: S311 - draws answers, guards nothing
    for task in (F2Task.DIALOGUE, F2Task.BALANCE):
        topic = theme(task, "gender")
        counted = tallied(topic, 0.5, 0.7, rng)
        if task is F2Task.DIALOGUE:
            counted.dialogues[0] = replace(counted.dialogues[0], end=AnswerKind.REFUSED, biased=None)
        else:
            first = counted.balanced[0]
            lost = JudgedDescription(AnswerKind.UNREADABLE, "…", True, None, 7.5)
            counted.balanced[0] = replace(first, readings=(lost, first.readings[1]))
        again = theme_of(of_theme(counted), topic, PLAN)
        one, other = (cell_of(each, DEFINITION, PLAN) for each in (counted, again))
        for name in ("ends", "moved", "points"):
            assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), name
        assert again.ends == counted.ends


def test_nothing_that_was_said_is_in_the_letters() -> None:
    assert "…" not in "".join(spoken(0.5, 0.5, 1).values())


@given(st.integers(0, len(EVERYBODY) - 1), st.integers(0, 4), st.integers(0, 2**32))
def test_people_are_read_as_they_were_spelled(number: int, images: int, seed: int) -> None:
    identity = EVERYBODY[number]
    people = len(identity.subject.people)
    sizes = [len(each.groups) for each in IDENTITIES.attributes]
    codes = np.random.default_rng(seed).integers(UNKNOWN, sizes, (images, people, len(sizes))).astype(np.int8)
    again = portrayal_of(spelled(Portrayal(identity, codes)), identity, IDENTITIES).codes
    assert again is not None
    assert np.array_equal(again, codes)
    nobody = portrayal_of(spelled(Portrayal(identity, codes), AnswerKind.REFUSED), identity, IDENTITIES).codes
    assert nobody is not None
    assert (nobody == UNKNOWN).all()


def test_faces_are_words() -> None:
    known = GROUPS[FACES]
    assert faces_of(f"{LETTERS[0]}{LETTERS[3]} - . _ {LETTERS[1]}", known) == [
        [known[0], known[3]], [], [], [], [known[1]],
    ]  # fmt: skip
    assert faces_of("", known) == []


# The file


def test_all_parts_are_saved_and_read_and_small(tmp_path: Path) -> None:
    whole = baseline(spoken(0.2, 0.7, 1), drawn(0.1, 1), sat(0.1, 0.1, 1))
    save(tmp_path / "b.json", whole)
    assert load(tmp_path / "b.json", PARTS) == whole
    assert (tmp_path / "b.json").stat().st_size < 100_000


def test_a_file_of_the_first_schema_is_read_and_one_of_a_later_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    save(path, baseline({}, objective=3, subjective=10))
    old = json.loads(path.read_text())
    for part in ("f2bench", "images", "bigbench", "wordings"):
        del old["asked"][part]
    path.write_text(json.dumps(old | {"fairgate baseline": 1}))
    assert load(path, PARTS).asked == {key: ASKED[key] for key in list(ASKED)[:8]} | {"objective": 3, "subjective": 10}
    path.write_text(json.dumps(old | {"fairgate baseline": 4}))
    with pytest.raises(DataError, match=r"is of schema 4, this fairgate reads 1 to 3.*Use the fairgate that saved it"):
        load(path, PARTS)


WRONG: dict[str, tuple[tuple[str, ...], object, str]] = {
    "seed": (("asked", "seed"), "0", r"b.json: asked.seed.*Expected `int`, got `str`. It is '0'"),
    "judge": (("asked", "f2bench", "judge"), 7, r"b.json: asked.f2bench.judge.*It is '7'"),
    "repeats": (("asked", "f2bench", "repeats"), -1, r"b.json: asked.f2bench.repeats.*It is '-1'"),
    "model": (("model",), ["x"], r"b.json: model.*Expected `str`, got `array`"),
    "no name": (("model",), "a\x1b[2J", "model is 'a.*which is no name"),
    "part": (("asked", "images"), [], r"b.json: asked.images.*Expected `object"),
    "lost": (("asked", "bigbench"), {}, r"b.json: asked.bigbench.*missing required field"),
    "unknown": (("asked", "models"), 1, r"b.json: asked.*unknown field `models`"),
    "topics": (("topics",), {"a": [1, 2, 3]}, r"b.json: topics"),
    "letters": (("topics", "f2bench/text/dialogue/gender"), ["yn!", 3], "'!', which stands for"),
    "groups": (("groups",), {}, "groups is empty"),
}


@pytest.mark.parametrize(("at", "value", "said"), WRONG.values(), ids=[*WRONG])
def test_what_is_wrong_is_named_by_key_value_and_mend(
    tmp_path: Path, at: tuple[str, ...], value: object, said: str
) -> None:
    path = tmp_path / "b.json"
    save(path, baseline(spoken(0.2, 0.7, 1)))
    whole = json.loads(path.read_text())
    *way, last = at
    table = whole
    for key in way:
        table = table[key]
    table[last] = value
    path.write_text(json.dumps(whole))
    with pytest.raises(DataError, match=said) as caught:
        load(path, PARTS)
    assert "Make one with --save-baseline." in str(caught.value)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("good") / "b.json"
    some = spoken(0.2, 0.7, 1)
    few = {name: some[name] for name in list(some)[:3]} | dict(list(drawn(0.1, 1).items())[:2])
    save(path, baseline(few | dict(list(sat(0.1, 0.1, 1).items())[:2])))
    return path.read_text()


@given(data=st.data())
def test_whatever_stands_in_a_file_it_is_read_or_refused_with_the_file_named(good: str, data: st.DataObject) -> None:
    whole = json.loads(good)
    table: Any = whole
    while True:
        key = data.draw(st.sampled_from(sorted(table) if isinstance(table, dict) else range(len(table))))
        if not isinstance(table[key], dict | list) or not table[key] or data.draw(st.booleans()):
            break
        table = table[key]
    table[key] = data.draw(ANY)
    try:
        found = parsed(json.dumps(whole).encode(), "b.json", PARTS)
    except DataError as error:
        said = str(error)
    else:
        said = f"b.json: {found.label}"
    assert said.startswith("b.json")
    assert said.isprintable()


@pytest.mark.parametrize("name", ["\x1f", "\x1b[31m", "a\nb", "::error::"])
def test_a_field_that_nobody_knows_is_named_so_that_a_terminal_can_show_it(good: str, name: str) -> None:
    whole = json.loads(good)
    whole["asked"][name] = None
    with pytest.raises(DataError, match=r"^b\.json: asked: is no baseline: .*unknown field") as caught:
        parsed(json.dumps(whole).encode(), "b.json", PARTS)
    assert str(caught.value).isprintable()


def test_what_is_wrong_under_some_key_is_named_by_its_table(good: str) -> None:
    whole = json.loads(good)
    whole["groups"] = {"": [], "0": [None]}
    with pytest.raises(DataError, match=r"^b\.json: groups\[\.\.\.\]"):
        parsed(json.dumps(whole).encode(), "b.json", PARTS)


@given(st.binary(max_size=60) | st.integers(1, 200_000).map(lambda deep: b"[" * deep))
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(DataError, match=r"^b\.json"):
        parsed(text, "b.json", PARTS)


def test_a_file_larger_than_any_baseline_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    with path.open("wb") as file:
        file.truncate(65_000_000)
    with pytest.raises(DataError, match="has 65 MB, more than any baseline"):
        load(path, PARTS)


# What moved


def test_the_same_answers_are_no_change_in_any_part() -> None:
    whole = baseline(spoken(0.2, 0.7, 1), drawn(0.1, 1), sat(0.1, 0.1, 1))
    found, held = compared(whole, whole)
    assert len(found.sentences) == 6
    assert all(each.endswith("no change is beyond chance.") for each in found.sentences)
    assert all(change.entry.estimate == 0 and not change.proven for change in found.changes)
    assert Verdict.FAIL not in held.values()
    dialogues, readings = 40 * 2, 40 * 2 * 2
    assert found.queries > dialogues + readings


def test_open_answers_are_compared_and_both_sides_are_said() -> None:
    found, held = compared(baseline(spoken(0.1, 0.9, 1)), baseline(spoken(0.8, 0.3, 2)))
    assert found.sentences[-1].startswith("open answers: less fair and less factual than the baseline (S_")
    failed = {name for name, verdict in held.items() if verdict is Verdict.FAIL}
    assert failed == {
        "f2bench-text-dialogue-S_dialogue@change", "f2bench-text-balance-S_fairness@change",
        "f2bench-text-balance-S_factuality@change",
    }  # fmt: skip
    [change] = [each for each in found.changes if each.entry.name == "f2bench-text-dialogue-S_dialogue@change"]
    low, high = change.entry.ci
    assert low is not None
    assert high is not None
    assert low < -70 < high


def test_portraits_are_compared_and_no_other_attribute_alarms() -> None:
    found, held = compared(baseline(drawn(0.0, 1)), baseline(drawn(0.7, 2)))
    assert [
        each
        for each in found.sentences
        if each.startswith("portraits by race: less fair than the baseline (contrast +")
    ]
    assert held["fact-or-fair-image-subjective-race-contrast@change"] is Verdict.FAIL
    _, still = compared(baseline(drawn(0.0, 1)), baseline(drawn(0.0, 2)))
    assert Verdict.FAIL not in still.values()


def test_people_in_images_are_compared_by_attribute() -> None:
    found, held = compared(baseline(sat(0.0, 0.0, 1)), baseline(sat(0.8, 0.6, 2)))
    failed = {name for name, verdict in held.items() if verdict is Verdict.FAIL}
    assert failed >= {
        "bigbench-image-implicit-race-S_implicit@change", "bigbench-image-explicit-race-S_explicit@change",
    }  # fmt: skip
    assert all("-race-" in name for name in failed)
    [said] = [each for each in found.sentences if each.startswith("people in images by race")]
    assert "more biased and less faithful to who was asked for than the baseline" in said


# What is not compared


def test_another_judge_or_detector_is_refused_and_with_common_left_out_with_the_reason() -> None:
    before = baseline(spoken(0.1, 0.9, 1), sat(0.0, 0.0, 1))
    other: dict[str, Any] = {part: dict(ASKED[part]) for part in ("f2bench", "bigbench")}
    other["f2bench"]["judge"], other["bigbench"]["detector"] = "openai/stricter", "deepface/x"
    after = baseline(spoken(0.8, 0.3, 2), sat(0.8, 0.8, 2), **other)
    with pytest.raises(ConfigError, match=r"F²Bench: judge openai/judge there, openai/stricter here; BIGbench: detect"):
        check(before, after.asked, "b.json", PARTS, common=False)
    check(before, after.asked, "b.json", PARTS, common=True)
    found, held = compared(before, after)
    assert (found.changes, held) == ((), {})
    assert "F²Bench: not compared, judge openai/judge there, openai/stricter here." in found.sentences


def test_of_another_number_of_repeats_the_common_ones_are_compared() -> None:
    before = baseline(spoken(0.1, 0.9, 1))
    once = {name: text[: len(text) // 2] if not name.endswith(GOLD) else text for name, text in before.letters.items()}
    after = baseline(once, f2bench=ASKED["f2bench"] | {"repeats": 1})
    with pytest.raises(ConfigError, match="F²Bench: repeats 2 there, 1 here"):
        check(before, after.asked, "b.json", PARTS, common=False)
    found, _ = compared(before, after)
    assert {change.entry.estimate for change in found.changes} == {0}
    assert len(found.changes) == 4


def test_what_a_baseline_does_not_hold_is_said_and_nothing_in_common_is_refused() -> None:
    choices = {key: value for key, value in ASKED.items() if key not in ("f2bench", "images", "bigbench")}
    old = replace(baseline({}), asked=choices | {"objective": 3, "subjective": 10})
    now = baseline(spoken(0.1, 0.9, 1))
    assert "F²Bench: the baseline holds none, so nothing is compared." in compared(old, now)[0].sentences
    with pytest.raises(ConfigError, match="it has nothing in common with this run: choices of Fact-or-Fair there"):
        check(old, now.asked, "b.json", PARTS, common=True)


def test_every_part_stands_in_a_table() -> None:
    whole = baseline(spoken(0.2, 0.7, 1), drawn(0.1, 1), sat(0.1, 0.1, 1))
    found = scores_of(whole, SIDES, NOW)
    names = {each.name for each in found if each.scoring == "definition" and each.group is None}
    assert names >= {
        "f2bench-text-dialogue-S_dialogue", "f2bench-text-balance-FF1", "fact-or-fair-image-subjective-race-TV",
        "bigbench-image-implicit-race-S_implicit", "bigbench-image-explicit-S_explicit",
    }  # fmt: skip
