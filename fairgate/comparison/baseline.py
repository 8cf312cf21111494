"""A run saved to be compared with: what was answered to each query, one letter a query, small enough to commit.

The file is JSON of one line a topic. A letter stands for the groups of whoever was chosen, in the order that `groups`
lists them (`fairgate/comparison/letters.py` has them all). The prompts are not in it: the same data version, seed and
profiles give the same prompts again. Nothing that a model said is in it either, nor an address, nor a key.
"""

from __future__ import annotations

import json
import re
import uuid
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from fairgate.comparison.letters import KINDS, LETTERS, NONE, SPOKEN, with_unknown
from fairgate.errors import ConfigError, DataError
from fairgate.fact_or_fair.explain import load_prompts
from fairgate.files import read_bytes
from fairgate.report.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fairgate.bigbench.data import Bigbench
    from fairgate.comparison.letters import Known
    from fairgate.fact_or_fair.data import Dataset
    from fairgate.fact_or_fair.queries import QueryPlan
    from fairgate.fact_or_fair.topics import StatisticTopic
    from fairgate.store.samples import Sample

SCHEMA = 2
READ = (1, 2)  # the first knew choices alone
# More than any plan comes to: the published ones have some 200 kB.
LARGEST = 64_000_000
LONGEST = 500  # characters of a model's name
FACES, PEOPLE = "faces", "people"  # whose letters also tell groups that are not known
# What two runs must share for a query of the one to be that of the other; `plan` alone may be smaller.
PROMPTS = ("data", "seed", "profiles", "explained", "wordings")
PARTS = ("f2bench", "images", "bigbench")  # beside the choices, by their keys in `asked`


Times = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file: a key that it does not know is an error."""


class Spoken(Strict, frozen=True):
    """What F²Bench was asked with: versions, the judge, and how often."""

    instances: str
    prompts: int | str
    gold: int | str
    judge: str
    repeats: Times


class Painted(Strict, frozen=True):
    """What portraits were read with, and how many there are of a topic; None where a folder held them."""

    detector: str
    race_map: str | None
    objective: Times | None
    subjective: Times | None


class Sat(Strict, frozen=True):
    """What BIGbench was asked with, and how many images there are of a sitter."""

    data: str
    detector: str
    race_map: str | None
    implicit: Times
    explicit: Times


class Asked(Strict, frozen=True):
    """What was asked. Without `objective` and `subjective` no choices were; the other benchmarks have their own."""

    data: str
    seed: int
    profiles: str
    plan: str
    explained: int | None = None
    wordings: Times | None = 3
    objective: Times | None = None
    subjective: Times | None = None
    f2bench: Spoken | None = None
    images: Painted | None = None
    bigbench: Sat | None = None


class _File(Strict, frozen=True):
    fairgate_baseline: Literal[1, 2] = msgspec.field(name="fairgate baseline")
    model: str
    asked: Asked
    groups: dict[str, tuple[tuple[str, ...], ...]]
    topics: dict[str, tuple[str | int, int]]


@dataclass(frozen=True)
class Baseline:
    """What a run answered. `asked` says which queries (data version, seed, profiles, …) and how many, as `Asked` does.

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

    def read(self, topic: StatisticTopic, index: int) -> tuple[str, ...] | None:
        """The groups of whoever was chosen in a query, None where nobody was."""
        said = self.letters.get(topic.id, "")[index : index + 1]
        place = LETTERS.find(said) if said else -1
        return None if place < 0 else self.groups[_attributes(topic, [*self.groups])][place]


def _attributes(topic: StatisticTopic, known: Iterable[str]) -> str:
    """The attributes that a topic's answers are told apart by: its own, or else all."""
    return topic.attribute or max(known, key=lambda each: each.count(" "))


def alphabet(dataset: Dataset, sitters: Bigbench | None = None) -> dict[str, Known]:
    """What the letters stand for, by attributes. Raises ConfigError where there are more groups than letters."""
    each = {attribute.name: tuple((name,) for name in attribute.names) for attribute in dataset.attributes}
    names = [attribute.names for attribute in dataset.attributes]
    found = each | {" ".join(attribute.name for attribute in dataset.attributes): tuple(product(*names))}
    if sitters is not None:
        found |= {FACES: with_unknown(names), PEOPLE: with_unknown(each.names for each in sitters.attributes)}
    if (most := max(map(len, found.values()))) > len(LETTERS):
        raise ConfigError(
            f"{most} joint groups are more than a baseline has letters for ({len(LETTERS)}).",
            where="--save-baseline",
        )
    return found


def letters_of(topic: StatisticTopic, samples: Iterable[Sample], dataset: Dataset) -> tuple[str, int]:
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
        "wordings": plan.wordings,
        "plan": name,
        "objective": plan.objective,
        "subjective": plan.subjective,
    }


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
        with suppress(OSError):
            unfinished.unlink()
        raise ConfigError(f"cannot be written: {error.strerror}.", where=f"--save-baseline {path}") from error


def _unfinished(path: Path) -> Path:
    """A name that is nobody else's: another run may be writing, or trying whether it can."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def load(path: Path) -> Baseline:
    """Read a baseline. Raises DataError, naming the file, the key and the value, for what is none."""
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise DataError(f"has {size / 1e6:,.0f} MB, more than any baseline.", where=str(path), mend=MEND)
        text = read_bytes(path, LARGEST)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path), mend="See --baseline.") from error
    return parsed(text, str(path))


MEND = "Make one with --save-baseline."


def parsed(text: bytes, where: str) -> Baseline:
    """A baseline from its text. Raises DataError for anything else."""
    try:
        raw = msgspec.json.decode(text)
        schema = raw.get("fairgate baseline") if isinstance(raw, dict) else None
        if type(schema) is int and schema not in READ:
            raise DataError(
                f"is of schema {schema}, this fairgate reads {' and '.join(map(str, READ))}.",
                where=where,
                mend="Use the fairgate that saved it, or save it anew.",
            )
        whole = msgspec.convert(raw, _File)
    except msgspec.ValidationError as error:
        what, _, at = str(error).partition(" - at `$")
        key = visible(at.rstrip("`").lstrip(".")) or "top level"
        shown = _shown(_value_at(raw, at.rstrip("`")))
        # The validator says the names of fields as they stand in the file.
        raise DataError(f"is no baseline: {visible(what)}{shown}.", where=f"{where}: {key}", mend=MEND) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"is no baseline: {type(error).__name__}: {error}.", where=where, mend=MEND) from error
    asked = msgspec.to_builtins(whole.asked)
    found = Baseline(
        whole.model,
        {key: value for key, value in asked.items() if value is not None or key not in PARTS},
        whole.groups,
        {topic: str(letters) for topic, (letters, _) in whole.topics.items()},
        {topic: distinct for topic, (_, distinct) in whole.topics.items()},
    )
    try:
        _check(found)
    except ValueError as error:
        raise DataError(f"is no baseline: {error}.", where=where, mend=MEND) from error
    return found


def _value_at(raw: object, path: str) -> object:
    """The value at a validator's path; a mapping as a whole where the path does not name its key."""
    value = raw
    for index, key in re.findall(r"\[(\d+|\.\.\.)\]|([^.\[]+)", path):
        if key and isinstance(value, dict) and key in value:
            value = value[key]
        elif index.isdigit() and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        else:
            break
    return value


def _shown(value: object) -> str:
    return "" if isinstance(value, dict | list) else f". It is {str(value)[:60]!r}"


def _check(found: Baseline) -> None:
    """Raise ValueError for answers that stand for nothing: such a file was cut off, or edited."""
    named = {"model": found.model, "asked.plan": found.asked["plan"], "asked.profiles": found.asked["profiles"]}
    for part in PARTS:
        about = found.asked.get(part) or {}
        named |= {f"asked.{part}.{key}": value for key, value in about.items() if isinstance(value, str)}
    for key, value in named.items():
        if not value or not value.isprintable() or len(value) > LONGEST:
            raise ValueError(f"{key} is {value[:60]!r}, which is no name")
    joint = max(found.groups, key=lambda each: each.count(" "), default=None)
    if joint is None:
        raise ValueError("groups is empty, so no letter stands for anything")
    for name, listed in found.groups.items():
        size = {FACES: None, PEOPLE: None}.get(name, name.count(" ") + 1)
        if len(listed) > len(LETTERS) or any(len(groups) != (size or len(listed[0])) for groups in listed):
            raise ValueError(f"groups.{name} does not list groups of {name}")
    for topic, letters in found.letters.items():
        if strange := sorted({*letters} - _known(topic, found, joint)):
            raise ValueError(f"{topic} holds {strange[0]!r}, which stands for no group")
        if not 0 <= found.distinct[topic] <= len(letters):
            raise ValueError(f"{topic} has {found.distinct[topic]} different prompts in {len(letters)} answers")


def _known(topic: str, found: Baseline, joint: str) -> frozenset[str]:
    """The letters that can stand for what came of a topic."""
    if topic.startswith("f2bench/"):
        return SPOKEN
    painted = topic.startswith("bigbench/"), topic.startswith("fact-or-fair/image/")
    own = next((name for name in found.groups if topic.endswith(f"-{name}")), joint)
    of = PEOPLE if painted[0] else FACES if painted[1] else own
    letters = {*LETTERS[: len(found.groups.get(of, ()))], *KINDS}
    return frozenset(letters | ({" "} if painted[1] else set()))
