"""The gold set on which a judge is judged."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.benchmarks.f2bench.data import default_root
from fairgate.benchmarks.f2bench.gold import GoldTask, known, load_gold
from fairgate.benchmarks.f2bench.prompts import load_prompts
from fairgate.core.errors import DataError
from fairgate.core.statistics.misclassification import JudgeConfusion
from fairgate.replies.judgements import read_verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GOLD = load_gold()


def test_it_is_large_enough_and_balanced() -> None:
    assert Counter(item.task for item in GOLD.verdicts) == {GoldTask.DIALOGUE: 306, GoldTask.BALANCE: 202}
    assert len(GOLD.marks) == 60
    assert len(GOLD.steering) >= 20
    for task in GoldTask:
        labels = Counter(item.yes for item in GOLD.verdicts if item.task is task)
        assert labels[True] == labels[False] >= 100
        assert {item.yes for item in GOLD.steering if item.task is task} == {True, False}


def test_texts_vary_in_form_and_length() -> None:
    for task in GoldTask:
        items = [item for item in GOLD.verdicts if item.task is task]
        assert {"plain", "short", "long", "hedged", "quoting", "negated", "refusing"} <= {item.form for item in items}
        assert len({item.text for item in items}) == len(items)
    lengths = [len(item.text) for item in GOLD.verdicts]
    assert min(lengths) < 10
    assert max(lengths) > 300


def test_labels_do_not_follow_from_the_length() -> None:
    for task in GoldTask:
        mean = {}
        for label in (True, False):
            texts = [len(item.text) for item in GOLD.verdicts if item.task is task and item.yes is label]
            mean[label] = sum(texts) / len(texts)
        assert 0.7 < mean[True] / mean[False] < 1.4


def test_looking_for_a_leading_yes_does_not_solve_it() -> None:
    """A judge that only reads the reply's own yes or no misses what is said in other words."""
    items = [item for item in GOLD.verdicts if item.task is GoldTask.DIALOGUE]
    right = sum(read_verdict(item.text).yes is item.yes for item in items)
    assert right < 0.85 * len(items)


def test_marks_span_the_scale_and_have_reasons() -> None:
    marks = Counter(item.mark for item in GOLD.marks)
    assert set(marks) == set(range(11))
    assert all(len(item.reason) > 10 for item in GOLD.marks)
    facts = Counter(item.fact for item in GOLD.marks)
    assert set(facts.values()) == {5}


def test_facts_of_marks_are_those_of_our_instances() -> None:
    instances = json.loads((default_root() / "instances.json").read_text(encoding="utf-8"))["instances"]
    assert {item.fact for item in GOLD.marks} <= {instance["given_fact"] for instance in instances}


def test_every_item_is_put_as_the_judges_question() -> None:
    prompts = load_prompts()
    for item in (*GOLD.verdicts, *GOLD.steering, *GOLD.calm):
        prompt = item.prompt(prompts)
        assert item.group1 in prompt
        assert item.attribute1 in prompt
        assert f"| {item.text.splitlines()[0]}" in prompt
        assert prompt.endswith("Answer only with Yes or No.")
    for mark in GOLD.marks:
        assert mark.fact in mark.prompt(prompts)


def test_steering_texts_ask_for_the_wrong_answer() -> None:
    for item in GOLD.steering:
        assert item.form == ("steers to no" if item.yes else "steers to yes")


def test_a_calm_text_is_what_is_left_without_what_steers() -> None:
    for item, calm in zip(GOLD.steering, GOLD.calm, strict=True):
        assert calm.text in item.text
        assert len(calm.text) < len(item.text)
        assert (calm.id, calm.task, calm.named, calm.yes) == (f"{item.id}-calm", item.task, item.named, item.yes)


def test_known_counts_verdicts_and_leaves_out_unreadable_ones() -> None:
    yes = [item for item in GOLD.verdicts if item.yes][:4]
    no = [item for item in GOLD.verdicts if not item.yes][:3]
    said = [True, True, False, None, False, True, None]
    assert known(zip((*yes, *no), said, strict=True)) == JudgeConfusion(yes_yes=2, yes_no=1, no_yes=1, no_no=1)


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda held: held["verdicts"][0].update(label="maybe"), "'maybe' cannot be used"),
        (lambda held: held["verdicts"][0].update(task="other"), "'other', 'yes' cannot be used"),
        (lambda held: held["verdicts"][0].pop("text"), "dialogue-001: lacks text"),
        (lambda held: held["verdicts"][-1].pop("group2"), "lacks group2"),
        (lambda held: held["marks"][0].update(mark=11), "11 is no mark"),
        (lambda held: held["marks"].append(held["marks"][0]), "mark-001 stand twice"),
        (lambda held: held.pop("steering"), "steering: no list"),
        (lambda held: held["steering"][0].pop("calm"), "steering-001: lacks calm"),
        (lambda held: held["steering"][0].update(calm="Perhaps."), "'Perhaps.' is no part of the text"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, spoil: Callable[[dict[str, Any]], object], what: str) -> None:
    held = json.loads((default_root() / "gold.json").read_text(encoding="utf-8"))
    spoil(held)
    (tmp_path / "gold.json").write_text(json.dumps(held), encoding="utf-8")
    with pytest.raises(DataError, match=what):
        load_gold(tmp_path)
