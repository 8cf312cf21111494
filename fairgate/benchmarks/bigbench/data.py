"""BIGbench's subjects, groups, true shares, weights and pairs as frozen values.

A *subject* is an occupation, a characteristic or a social relation (the paper's acquired attributes); its *family* is
one of the 15 categories of occupations, two of characteristics or three of relations. The figures stand in
`data/bigbench`, or are read from the original files (`original.py`).
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from fairgate.core.errors import DataError, did_you_mean
from fairgate.core.layout import DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fairgate.benchmarks.bigbench.reference_files import Files

BENCHMARK = "bigbench"
FOLDER = DATA / BENCHMARK
# Shares whose sum is further from 1 than rounding to four decimals explains are normalised, and named.
ROUNDING = 5e-4


# Attribute -> the shares of its groups, in their order.
Shares = Mapping[str, tuple[float, ...]]


class Acquired(StrEnum):
    """The acquired attributes, in the paper's order."""

    OCCUPATION = "occupation"
    CHARACTERISTIC = "characteristic"
    RELATION = "relation"


FAMILIES: Mapping[Acquired, tuple[str, ...]] = {
    Acquired.OCCUPATION: (
        *("business", "science", "legal", "education", "sports", "arts", "healthcare", "protective", "food", "sales"),
        *("construction", "production", "transportation", "other", "unofficial"),
    ),
    Acquired.CHARACTERISTIC: ("positive", "negative"),
    Acquired.RELATION: ("intimate", "instructional", "hierarchical"),
}


@dataclass(frozen=True, slots=True)
class ProtectedGroup:
    """A group of a protected attribute. `word` and `noun` are how prompts ask for it; `world` its share of mankind.

    `coefficient` is that of equation 3.
    """

    name: str
    coefficient: float
    world: float
    word: str
    noun: str


@dataclass(frozen=True, slots=True)
class ProtectedAttribute:
    """A protected attribute: its weight in roll-ups (equations 2 and 5), and its groups in order."""

    name: str
    weight: float
    groups: tuple[ProtectedGroup, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The groups' names, in order."""
        return tuple(group.name for group in self.groups)


@dataclass(frozen=True)
class Subject:
    """An occupation, a characteristic or a relation.

    `people`: names of the people shown: one, or the left and the right person of a relation. `truth` has, for
    each of them, the actual shares of every attribute's groups, in the groups' order; `released` the same as the
    released files have it, faults included, by the groups that they name. `asked` are the attributes that explicit
    prompts ask for.
    """

    acquired: Acquired
    family: str
    people: tuple[str, ...]
    weight: float
    truth: tuple[Shares, ...]
    released: tuple[Mapping[str, Mapping[str, float]], ...]
    asked: frozenset[str]

    @property
    def id(self) -> str:
        """Stable, short and unique, e.g. `flight-attendant`, `husband-wife`."""
        return slug(" ".join(self.people))


@dataclass(frozen=True, slots=True)
class Member:
    """One side of a pair: a person of a subject (0, or 1 for a relation's right person)."""

    subject: str
    person: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """Somebody of advantage and somebody of disadvantage. `released`: whether the released program finds the two."""

    advantage: Member
    disadvantage: Member
    weight: float
    released: bool = True


@dataclass(frozen=True, eq=False)
class Bigbench:
    """The data of BIGbench. `texts`: the published prompts by identity prompt where they were read, else generated.

    `released` is what the original files hold, where they were read. `notes` name what was normalised or could not be
    matched.
    """

    attributes: tuple[ProtectedAttribute, ...]
    subjects: tuple[Subject, ...]
    pairs: tuple[Pair, ...]
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    released: Files | None = None

    def attribute(self, name: str) -> ProtectedAttribute:
        """The attribute of this name; KeyError where there is none."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)

    def subject(self, name: str) -> Subject:
        """The subject of this id; KeyError where there is none."""
        for subject in self.subjects:
            if subject.id == name:
                return subject
        raise KeyError(name)

    def of(self, family: str) -> tuple[Subject, ...]:
        """The subjects of a family, in order."""
        return tuple(subject for subject in self.subjects if subject.family == family)

    @property
    def families(self) -> tuple[str, ...]:
        """The families that have subjects, in the paper's order."""
        there = {subject.family for subject in self.subjects}
        return tuple(family for families in FAMILIES.values() for family in families if family in there)

    @property
    def version(self) -> str:
        """16 hexadecimal digits, another for every other content."""
        whole = [
            [(each.name, each.weight, [(g.name, g.coefficient, g.word, g.noun) for g in each.groups])]
            for each in self.attributes
        ]
        subjects = [
            (each.acquired, each.family, each.people, each.weight, each.truth, sorted(each.asked))
            for each in self.subjects
        ]
        pairs = [(p.advantage.subject, p.disadvantage.subject, p.weight) for p in self.pairs]
        content = json.dumps([whole, subjects, pairs, sorted(self.texts.items())], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def slug(name: str) -> str:
    """A name in small letters, joined by hyphens."""
    return "-".join(name.lower().split())


def load(folder: Path = FOLDER) -> Bigbench:
    """Our own data. Raises DataError naming file, line and value for what cannot be used."""
    attributes = read_groups(folder)
    world = {each.name: tuple(group.world for group in each.groups) for each in attributes}
    named = {each.name: {group.name: group.world for group in each.groups} for each in attributes}
    notes: list[str] = []
    subjects = [
        *_occupations(folder, attributes, world, notes),
        *_characteristics(folder, world, named),
        *_relations(folder, world, named),
    ]
    return Bigbench(tuple(attributes), in_order(subjects), _pairs(folder, subjects), notes=tuple(notes))


def in_order(subjects: Iterable[Subject]) -> tuple[Subject, ...]:
    """Subjects by family in the paper's order, as they come within one."""
    place = [family for families in FAMILIES.values() for family in families]
    return tuple(sorted(subjects, key=lambda subject: place.index(subject.family)))


def normalised(values: Sequence[float], where: str, notes: list[str]) -> tuple[float, ...]:
    """Shares of 0 or more that sum to 1; others are made so, and named. Raises DataError where nothing is left."""
    if any(not math.isfinite(value) for value in values) or not any(value > 0 for value in values):
        raise DataError(f"{list(values)} are no shares.", where=where, hint="Give numbers of 0 or more, not all 0.")
    whole = [max(value, 0.0) for value in values]
    total = sum(whole)
    if min(values) < -ROUNDING:
        notes.append(f"{where}: a share of {min(values):g} was taken for 0")
    if abs(total - 1) > ROUNDING:
        notes.append(f"{where}: the shares sum to {total:.4g}, and were normalised")
    return tuple(value / total for value in whole) if abs(total - 1) > 1e-12 else tuple(whole)


def read_groups(folder: Path = FOLDER) -> tuple[ProtectedAttribute, ...]:
    """Attributes and groups, with weights, coefficients, words and world shares."""
    path = folder / "groups.csv"
    groups: dict[str, list[ProtectedGroup]] = {}
    weights: dict[str, float] = {}
    for where, line in _lines(path):
        weights[line["attribute"]] = _number(line, "weight", where)
        groups.setdefault(line["attribute"], []).append(
            ProtectedGroup(
                name=line["group"],
                coefficient=_number(line, "coefficient", where),
                world=_number(line, "world", where),
                word=line["word"],
                noun=line["noun"] or "person",
            )
        )
    for name, held in groups.items():
        if abs(sum(group.world for group in held) - 1) > ROUNDING:
            raise DataError(f"the world's shares of {name} do not sum to 1.", where=str(path))
    return tuple(ProtectedAttribute(name, weights[name], tuple(held)) for name, held in groups.items())


def read_aliases(folder: Path = FOLDER) -> Mapping[str, str]:
    """Spellings of the original files, in small letters -> the name that they mean here, in small letters."""
    return {line["alias"].lower(): line["means"].lower() for _, line in _lines(folder / "aliases.csv")}


def _occupations(
    folder: Path, attributes: Sequence[ProtectedAttribute], world: Shares, notes: list[str]
) -> list[Subject]:
    known = [each for each in attributes if each.names[0] in ("male", "0-30")]
    found = []
    for where, line in _lines(folder / "occupations.csv"):
        if line["family"] not in FAMILIES[Acquired.OCCUPATION]:
            hint = did_you_mean(line["family"], FAMILIES[Acquired.OCCUPATION])
            raise DataError(f"no family {line['family']!r}.", where=where, hint=hint)
        figures = {each.name: {group: _figure(line, group, where) for group in each.names} for each in known}
        own = {
            name: normalised(list(shares.values()), f"{where} ({line['name']}, {name})", notes)
            for name, shares in figures.items()
        }
        released = {
            # The released figures were made by subtraction, and have its rounding: all comparisons of eta are strict.
            each.name: _subtracted(figures[each.name])
            if each.name in figures
            else dict(zip(each.names, world[each.name], strict=True))
            for each in attributes
        }
        if line["unnamed"]:
            released = {
                name: {group: share for group, share in shares.items() if group != line["unnamed"]}
                for name, shares in released.items()
            }
        found.append(
            Subject(
                acquired=Acquired.OCCUPATION,
                family=line["family"],
                people=(line["name"],),
                weight=_number(line, "weight", where),
                truth=({name: own.get(name, shares) for name, shares in world.items()},),
                released=(released,),
                asked=frozenset(world),
            )
        )
    return found


def _subtracted(figures: Mapping[str, float]) -> dict[str, float]:
    """Shares of which the first of two, or the last of three, is what the others leave of 1."""
    names = list(figures)
    rest = names[0] if len(names) == len(("male", "female")) else names[-1]
    left = 1.0
    for name in names:
        left -= 0.0 if name == rest else figures[name]
    return {name: left if name == rest else figures[name] for name in names}


def _characteristics(folder: Path, world: Shares, named: Mapping[str, Mapping[str, float]]) -> list[Subject]:
    return [
        Subject(
            acquired=Acquired.CHARACTERISTIC,
            family=family,
            people=(line[family],),
            weight=_number(line, "weight", where),
            truth=(world,),
            released=(named,),
            asked=frozenset(world),
        )
        for where, line in _lines(folder / "characteristics.csv")
        for family in FAMILIES[Acquired.CHARACTERISTIC]
    ]


def _relations(folder: Path, world: Shares, named: Mapping[str, Mapping[str, float]]) -> list[Subject]:
    return [
        Subject(
            acquired=Acquired.RELATION,
            family=line["family"],
            people=(line["left"], line["right"]),
            weight=_number(line, "weight", where),
            truth=(world, world),
            released=(named, named),
            asked=frozenset(world) - ({"gender"} if line["gender_asked"] == "no" else set()),
        )
        for where, line in _lines(folder / "relations.csv")
    ]


def pair_of(one: str, other: str, subjects: Iterable[Subject]) -> tuple[Member, Member] | None:
    """The two persons that a pair names: those of one relation, or two subjects of one person; None where unknown."""
    alone: dict[str, str] = {}
    for subject in subjects:
        names = [name.lower() for name in subject.people]
        if names == [one.lower(), other.lower()]:
            return Member(subject.id, 0), Member(subject.id, 1)
        if len(names) == 1:
            alone[names[0]] = subject.id
    if one.lower() not in alone or other.lower() not in alone:
        return None
    return Member(alone[one.lower()]), Member(alone[other.lower()])


def _pairs(folder: Path, subjects: Sequence[Subject]) -> tuple[Pair, ...]:
    pairs = []
    for where, line in _lines(folder / "pairs.csv"):
        members = pair_of(line["advantage"], line["disadvantage"], subjects)
        if members is None:
            raise DataError(
                f"{line['advantage']!r} and {line['disadvantage']!r} are not both known.",
                where=where,
                hint="Write them as occupations.csv, characteristics.csv or relations.csv does.",
            )
        pairs.append(Pair(*members, _number(line, "weight", where), released=line["released"] == "yes"))
    return tuple(pairs)


def _lines(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The lines of a table, each with its place."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [(f"{path.name}:{number}", line) for number, line in enumerate(csv.DictReader(file), start=2)]
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path), hint="Run from a checkout.") from error


def _figure(line: Mapping[str, str], key: str, where: str) -> float:
    try:
        value = float(line[key])
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{key} = {line.get(key)!r} is no number.", where=where) from None
    if not math.isfinite(value):
        raise DataError(f"{key} = {value} is no figure.", where=where)
    return value


def _number(line: Mapping[str, str], key: str, where: str) -> float:
    value = _figure(line, key, where)
    if value < 0:
        raise DataError(f"{key} = {value} is not 0 or more.", where=where)
    return value
