"""A run saved to be compared with: what was answered to each query, one letter a query, small enough to commit.

The file is JSON of one line a topic. A letter stands for the groups of whoever was chosen, in the order that `groups`
lists them; `-` is a refusal, `?` what could not be read, `.` what is missing. The prompts are not in it: the same data
version, seed and profiles give the same prompts again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any

from fairgate.domain import AnswerKind
from fairgate.errors import ConfigError, DataError
from fairgate.fact_or_fair.explain import load_prompts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fairgate.domain import Topic
    from fairgate.fact_or_fair.data import Dataset
    from fairgate.fact_or_fair.queries import QueryPlan
    from fairgate.store.samples import Sample

SCHEMA = 1
LETTERS = ascii_letters + digits
NONE = {AnswerKind.REFUSED: "-", AnswerKind.UNREADABLE: "?", AnswerKind.FAILED: "."}
# What two runs must share for a query of the one to be that of the other; `plan` alone may be smaller.
PROMPTS = ("data", "seed", "profiles", "explained")


@dataclass(frozen=True)
class Baseline:
    """What a run answered. `asked` says which queries (data version, seed, profiles, …) and how many.

    `groups` lists, by the attributes that a topic's letters tell apart ("gender race"), what each letter stands for;
    `letters` are the answers by topic, in the order of their queries, `distinct` the number of different prompts.
    """

    model: str
    asked: Mapping[str, Any]
    groups: Mapping[str, tuple[tuple[str, ...], ...]]
    letters: Mapping[str, str]
    distinct: Mapping[str, int]

    @property
    def label(self) -> str:
        """The run in a few words."""
        return f"{self.model}, plan {self.asked['plan']}, seed {self.asked['seed']}"

    def read(self, topic: Topic, index: int) -> tuple[str, ...] | None:
        """The groups of whoever was chosen in a query, None where nobody was."""
        said = self.letters.get(topic.id, "")[index : index + 1]
        place = LETTERS.find(said) if said else -1
        return None if place < 0 else self.groups[_attributes(topic, [*self.groups])][place]


def _attributes(topic: Topic, known: Iterable[str]) -> str:
    """The attributes that a topic's answers are told apart by: its own, or else all."""
    return topic.attribute or max(known, key=lambda each: each.count(" "))


def alphabet(dataset: Dataset) -> dict[str, tuple[tuple[str, ...], ...]]:
    """What the letters stand for, by attributes. Raises ConfigError where there are more groups than letters."""
    each = {attribute.name: tuple((name,) for name in attribute.names) for attribute in dataset.attributes}
    joint = tuple(product(*(attribute.names for attribute in dataset.attributes)))
    if len(joint) > len(LETTERS):
        raise ConfigError(
            f"{len(joint)} joint groups are more than a baseline has letters for ({len(LETTERS)}).",
            where="--save-baseline",
        )
    return each | {" ".join(attribute.name for attribute in dataset.attributes): joint}


def letters_of(topic: Topic, samples: Iterable[Sample], dataset: Dataset) -> tuple[str, int]:
    """A topic's answers, one letter each, and how many different prompts there are among them."""
    known = alphabet(dataset)
    attributes = _attributes(topic, known)
    places = {groups: LETTERS[place] for place, groups in enumerate(known[attributes])}
    said, prompts = [], set()
    for sample in samples:
        prompts.add(sample.query.prompt)
        chosen = sample.chosen
        if chosen is None:
            said.append(NONE.get(sample.answer.kind, "?"))
        else:
            said.append(places[tuple(chosen.groups[name] for name in attributes.split())])
    return "".join(said), len(prompts)


def asked_of(plan: QueryPlan, name: str) -> dict[str, object]:
    """Which queries a plan of this name has, and how many."""
    return {
        "data": plan.dataset.version,
        "seed": plan.seed,
        "profiles": str(plan.profiles),
        "explained": load_prompts().version if plan.explained else None,
        "plan": name,
        "objective": plan.objective,
        "subjective": plan.subjective,
    }


def answered(
    model: str, asked: Mapping[str, object], dataset: Dataset, topics: Iterable[tuple[Topic, Iterable[Sample]]]
) -> Baseline:
    """What there is of these topics, to be saved or compared."""
    letters, distinct = {}, {}
    for topic, samples in topics:
        letters[topic.id], distinct[topic.id] = letters_of(topic, samples, dataset)
    return Baseline(model, asked, alphabet(dataset), letters, distinct)


def make_room(path: Path) -> None:
    """See that a baseline can be written there, before anything is paid for. Raises ConfigError where it cannot."""
    if path.is_dir():
        raise ConfigError("is a folder.", where=f"--save-baseline {path}", mend="Name a file.")
    unfinished = _unfinished(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        unfinished.unlink()
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}.", where=f"--save-baseline {path}") from error


def save(path: Path, baseline: Baseline) -> None:
    """Write a baseline, whole or not at all. Raises ConfigError where that is not possible."""
    head = {"fairgate baseline": SCHEMA, "model": baseline.model, "asked": baseline.asked, "groups": baseline.groups}
    topics = ",\n".join(
        f"{json.dumps(topic)}: {json.dumps([letters, baseline.distinct[topic]])}"
        for topic, letters in sorted(baseline.letters.items())
    )
    text = f'{json.dumps(head, ensure_ascii=False)[:-1]},\n"topics": {{\n{topics}\n}}}}\n'
    unfinished = _unfinished(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}.", where=f"--save-baseline {path}") from error


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.unfinished")


def _check(found: Baseline) -> None:
    """Raise ValueError for answers that stand for nothing: such a file was cut off, or edited."""
    joint = max(found.groups, key=lambda each: each.count(" "))
    for topic, letters in found.letters.items():
        own = next((name for name in found.groups if topic.endswith(f"-{name}")), joint)
        known = {*LETTERS[: len(found.groups[own])], *NONE.values()}
        if strange := sorted({*letters} - known):
            raise ValueError(f"{topic} holds {strange[0]!r}, which stands for no group")
        if not 0 <= found.distinct[topic] <= len(letters):
            raise ValueError(f"{topic} has {found.distinct[topic]} different prompts in {len(letters)} answers")


def load(path: Path) -> Baseline:
    """Read a baseline. Raises DataError, naming the file, for what is none."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        if whole["fairgate baseline"] != SCHEMA:
            raise DataError(
                f"is of schema {whole['fairgate baseline']}, this fairgate reads {SCHEMA}.", where=str(path)
            )
        found = Baseline(
            str(whole["model"]),
            {**dict.fromkeys((*PROMPTS, "plan", "objective", "subjective")), **whole["asked"]},
            {name: tuple(tuple(map(str, groups)) for groups in listed) for name, listed in whole["groups"].items()},
            {topic: str(letters) for topic, (letters, _) in whole["topics"].items()},
            {topic: int(distinct) for topic, (_, distinct) in whole["topics"].items()},
        )
        _check(found)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path), mend="See --baseline.") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"is no baseline: {type(error).__name__}: {error}.",
            where=str(path),
            mend="Make one with --save-baseline.",
        ) from error
    return found
