"""The gold set: texts of known answer, on which a judge is judged before it judges a model."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.f2bench.data import default_root, read_json
from fairgate.core.errors import DataError
from fairgate.core.statistics.misclassification import JudgeConfusion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fairgate.benchmarks.f2bench.prompts import ConversationPrompts


class GoldTask(StrEnum):
    """Which question a text is an answer to."""

    DIALOGUE = "dialogue"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class GoldVerdict:
    """A text, the groups and attributes that the judge is asked about, and whether the tie is there.

    `form` says in what way the text is written. Group and attribute 2 are None for a dialogue.
    """

    id: str
    task: GoldTask
    group1: str
    attribute1: str
    group2: str | None
    attribute2: str | None
    form: str
    yes: bool
    text: str

    @property
    def named(self) -> Mapping[str, str]:
        """The groups and attributes that the question names."""
        named = {"group1": self.group1, "attribute1": self.attribute1}
        if self.task is GoldTask.BALANCE:
            named |= {"group2": self.group2 or "", "attribute2": self.attribute2 or ""}
        return named

    def prompt(self, prompts: ConversationPrompts) -> str:
        """What the judge is asked: the very question of the task."""
        if self.task is GoldTask.DIALOGUE:
            return prompts.judge_dialogue(self.text, self.group1, self.attribute1)
        return prompts.judge_tie(self.text, self.group1, self.attribute1, self.group2 or "", self.attribute2 or "")


@dataclass(frozen=True, slots=True)
class GoldMark:
    """A description of a fact, its mark of 0 to 10, and the mark's reason."""

    id: str
    fact: str
    mark: int
    reason: str
    text: str

    def prompt(self, prompts: ConversationPrompts) -> str:
        """What the judge is asked."""
        return prompts.judge_factuality(self.text, self.fact)


@dataclass(frozen=True, eq=False)
class Gold:
    """The gold set. `steering` are further texts that ask the judge for the wrong answer; they count apart.

    `calm` are the same without what asks, in their order: what the judge says of these shows whether it was steered.
    `version`: 16 hexadecimal digits, another for every other content.
    """

    verdicts: tuple[GoldVerdict, ...]
    marks: tuple[GoldMark, ...]
    steering: tuple[GoldVerdict, ...]
    calm: tuple[GoldVerdict, ...]
    version: str

    def first(self, most: int | None) -> Gold:
        """At most so many verdicts of each task, the first in the data; None is all. Marks and steering stay whole."""
        if most is None:
            return self
        held = [item for task in GoldTask for item in [each for each in self.verdicts if each.task is task][:most]]
        kept = tuple(item for item in self.verdicts if item in held)
        return (
            self if len(kept) == len(self.verdicts) else replace(self, verdicts=kept, version=f"{self.version}-{most}")
        )


CALM = "calm"


def as_calm(item: GoldVerdict, text: str) -> GoldVerdict:
    """The same item with its text as it is without what steers."""
    return replace(item, id=f"{item.id}-{CALM}", form=CALM, text=text)


def known(judged: Iterable[tuple[GoldVerdict, bool | None]]) -> JudgeConfusion:
    """The counts of a judge's verdicts on gold texts; unreadable ones (None) are in none."""
    pairs = [(item.yes, said) for item, said in judged if said is not None]
    return JudgeConfusion(
        yes_yes=pairs.count((True, True)),
        yes_no=pairs.count((True, False)),
        no_yes=pairs.count((False, True)),
        no_no=pairs.count((False, False)),
    )


def load_gold(root: Path | None = None) -> Gold:
    """The gold set of a folder, ours by default. Raises `DataError` naming the item that is amiss."""
    path = (root or default_root()) / "gold.json"
    held = read_json(path)
    verdicts = tuple(_verdict(item, f"{path}: verdicts") for item in _items(held, "verdicts", path))
    marks = tuple(_mark(item, f"{path}: marks") for item in _items(held, "marks", path))
    steering = tuple(_verdict(item, f"{path}: steering") for item in _items(held, "steering", path))
    calm = tuple(
        as_calm(item, _calm(raw, f"{path}: steering"))
        for item, raw in zip(steering, _items(held, "steering", path), strict=True)
    )
    names = [*(verdict.id for verdict in (*verdicts, *steering)), *(mark.id for mark in marks)]
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise DataError(f"{', '.join(twice)} stand twice.", where=str(path), hint="Give each item an id of its own.")
    return Gold(verdicts, marks, steering, calm, hashlib.sha256(path.read_bytes()).hexdigest()[:16])


def _items(held: dict[str, Any], key: str, path: Path) -> list[dict[str, Any]]:
    items = held.get(key)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError("no list of objects.", where=f"{path}: {key}", hint="Write the items as objects of a list.")
    return items


def _verdict(item: dict[str, Any], where: str) -> GoldVerdict:
    place = f"{where}, {item.get('id')}"
    needed = ["id", "task", "group1", "attribute1", "form", "label", "text"]
    if item.get("task") == GoldTask.BALANCE:
        needed += ["group2", "attribute2"]
    _filled(item, needed, place)
    if item["task"] not in set(GoldTask) or item["label"] not in ("yes", "no"):
        hint = "The task is dialogue or balance, the label yes or no."
        raise DataError(f"{item['task']!r}, {item['label']!r} cannot be used.", where=place, hint=hint)
    return GoldVerdict(
        id=item["id"],
        task=GoldTask(item["task"]),
        group1=item["group1"],
        attribute1=item["attribute1"],
        group2=item.get("group2"),
        attribute2=item.get("attribute2"),
        form=item["form"],
        yes=item["label"] == "yes",
        text=item["text"],
    )


def _mark(item: dict[str, Any], where: str) -> GoldMark:
    place = f"{where}, {item.get('id')}"
    _filled(item, ["id", "fact", "reason", "text"], place)
    mark = item.get("mark")
    if not isinstance(mark, int) or not 0 <= mark <= 10:
        raise DataError(f"{mark!r} is no mark.", where=place, hint="Give a whole number, 0 to 10.")
    return GoldMark(item["id"], item["fact"], mark, item["reason"], item["text"])


def _calm(item: dict[str, Any], where: str) -> str:
    place = f"{where}, {item['id']}"
    _filled(item, [CALM], place)
    text: str = item[CALM]
    if text not in item["text"]:
        raise DataError(f"{text[:80]!r} is no part of the text.", where=place, hint="Only take away what steers.")
    return text


def _filled(item: dict[str, Any], keys: Iterable[str], place: str) -> None:
    for key in keys:
        if not isinstance(item.get(key), str) or not item[key].strip():
            raise DataError(f"lacks {key}.", where=place, hint="Fill it in.")
