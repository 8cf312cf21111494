"""The original BIGbench files: prompts, truth, categories, weights and pairs, as `--bigbench DIR` reads them.

Their spelling differs from file to file. Names are compared in small letters and through the table of aliases
(`data/bigbench/aliases.csv`); what then has no match is named, never guessed.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta

from fairgate.benchmarks.bigbench.data import (
    FAMILIES,
    FOLDER,
    Bigbench,
    Pair,
    Subject,
    in_order,
    normalised,
    pair_of,
    read_aliases,
    read_groups,
)
from fairgate.benchmarks.bigbench.data import load as load_ours
from fairgate.benchmarks.bigbench.prompts import SUPPLEMENTS, IdentityPrompt, all_identities
from fairgate.benchmarks.bigbench.reference_files import Files
from fairgate.core.errors import DataError
from fairgate.core.files import read_text
from fairgate.core.typed import Mistyped, shortened, typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.bigbench.data import ProtectedAttribute

T = TypeVar("T")
Person = dict[str, dict[str, float]]  # attribute -> group -> share
# Means by weights are of no meaning where all weights of a family are 0. The released files have 0.5 to 5.
Weight = Annotated[float, Meta(ge=1e-3, le=1e3)]
# Shares, or percents; the released files have one just below 0.
Share = Annotated[float, Meta(ge=-1, le=100)]
LINE = re.compile(r'--prompt "(?P<text>.*)"')
OCCUPATION = re.compile(r"a photo of one (?P<rest>.+)", re.IGNORECASE)
CHARACTERISTIC = re.compile(r"a photo of an? (?P<rest>.+)", re.IGNORECASE)
RELATION = re.compile(r"one (?P<left>.+) at left with (?:one|another) (?P<right>.+) at right", re.IGNORECASE)
DEEPEST = 8  # folders of prompts in one another
TRUTH = ("oc_gt.json", "char_gt.json", "sr_gt.json")
SIDES = ("left", "right")
# The names that `category.json` has for the three families of relations.
RELATIONS = {"equal": "intimate", "instr": "instructional", "hira": "hierarchical"}
# How the files name those who could be taken for something else: "one human Friend".
HUMAN = re.compile(r"\bhuman (?!resources)", re.IGNORECASE)


class Names:
    """What the original files call an identity prompt -> the identity prompt, by our own list of subjects."""

    def __init__(
        self, subjects: Sequence[Subject], attributes: Sequence[ProtectedAttribute], aliases: Mapping[str, str]
    ) -> None:
        self.aliases = aliases
        self._subjects = {tuple(name.lower() for name in each.people): each for each in subjects}
        self._words = {
            word.lower(): (attribute.name, group.name)
            for attribute in attributes
            for group in attribute.groups
            for word in (group.word, group.word.replace("-", " "))
        }
        self._nouns = {group.noun: (each.name, group.name) for each in attributes for group in each.groups}
        self.groups = {name.lower(): name for each in attributes for name in each.names}

    def group(self, name: str) -> str | None:
        """Our name of a group, None where there is none such."""
        low = name.strip().lower()
        word = self._words.get(low)
        return self.groups.get(self.aliases.get(low, low)) or (word[1] if word else None)

    def name(self, text: str) -> str:
        """A subject's name as our list has it, in small letters."""
        low = " ".join(HUMAN.sub("", text).split()).lower()
        return self.aliases.get(low, low)

    def identity(self, text: str) -> IdentityPrompt | None:
        """The identity prompt of an identity prompt, None where it names no subject that is known."""
        whole = " ".join(text.split())
        if found := RELATION.fullmatch(whole):
            sides = [self._split(found[side]) for side in SIDES]
            subject = self._subjects.get((sides[0][1], sides[1][1]))
            asked = [word for word, _ in sides]
        elif found := OCCUPATION.fullmatch(whole):
            word, name = self._split(found["rest"])
            subject, asked = self._subjects.get((name,)), [word]
        elif found := CHARACTERISTIC.fullmatch(whole):
            subject, asked = self._characteristic(found["rest"])
        else:
            return None
        if subject is None:
            return None
        known = [word for word in asked if word is not None]
        if not known:
            return IdentityPrompt(subject)
        if len(known) != len(subject.people) or len({attribute for attribute, _ in known}) != 1:
            return None
        return IdentityPrompt(subject, known[0][0], tuple(group for _, group in known))

    def _split(self, text: str) -> tuple[tuple[str, str] | None, str]:
        """The group that a text begins with, if any, and the name after it."""
        low = text.lower()
        for word, group in self._words.items():
            if low.startswith(f"{word} "):
                return group, self.name(text[len(word) + 1 :])
        return None, self.name(text)

    def _characteristic(self, rest: str) -> tuple[Subject | None, list[tuple[str, str] | None]]:
        name, _, whom = rest.partition(" ")
        words, _, noun = f" {whom.lower()}".rpartition(" ")
        subject = self._subjects.get((self.name(name),))
        if noun == "person" and not words.strip():
            return subject, [None]
        asked = self._words.get(words.strip()) if noun == "person" else self._nouns.get(whom.lower())
        return (None, []) if asked is None else (subject, [asked])


def names(data: Bigbench, folder: Path = FOLDER) -> Names:
    """The names of a set of subjects."""
    return Names(data.subjects, data.attributes, read_aliases(folder))


def read_original(given: Path) -> Bigbench:
    """The original files, of the authors' repository, of its folder `data`, or of one folder.

    What cannot be matched is in `notes`; raises DataError where nothing can be asked for.
    """
    folder, prompts = _places(given)
    ours, attributes = load_ours(), read_groups()
    known = names(ours)
    notes: list[str] = []
    weighed = _table(folder / "weight.json", Weight)
    weights = {identity.id: value for key, value in weighed.items() if (identity := known.identity(key))}
    truths: dict[str, tuple[Person, ...]] = {}
    keyed: dict[str, tuple[Person, ...]] = {}
    for name in TRUTH:
        for key, sides in _people(folder / name).items():
            keyed[key] = sides
            identity = known.identity(key)
            if identity is not None and len(sides) != len(identity.subject.people):
                raise DataError(
                    f"it has the truth of {len(sides)}, not of {len(identity.subject.people)}.",
                    where=_place(folder / name, key),
                    hint='Write that of two people as {"left": …, "right": …}.',
                )
            if identity is None or identity.asked is not None:
                notes.append(f"{name}: {shortened(key)} is no subject that is known, and was passed over")
            else:
                truths[identity.subject.id] = sides
    families = _families(folder, known)
    released = Files(
        truth={key: tuple(_as_named(side, known) for side in sides) for key, sides in keyed.items()},
        weights=weighed,
        categories=dict(_listed(folder)),
        pairs=tuple((one.strip(), other.strip(), weight) for (one, other), weight in _weighed_pairs(folder).values()),
    )
    subjects: list[Subject] = []
    for subject in ours.subjects:
        where = f"truth of {' and '.join(subject.people)}"
        if subject.id not in truths:
            notes.append(f"{where}: there is none, so that it is not asked for")
            continue
        sides = truths[subject.id]
        weight = weights.get(subject.id)
        if weight is None:
            notes.append(f"weight of {' and '.join(subject.people)}: there is none, and 1 was taken")
        family = families.get(subject.people[0].lower(), subject.family)
        if family not in FAMILIES[subject.acquired]:
            notes.append(f"category.json: {family} has no {subject.acquired}s, so that {where} stays {subject.family}")
            family = subject.family
        subjects.append(
            Subject(
                acquired=subject.acquired,
                family=family,
                people=subject.people,
                weight=1.0 if weight is None else weight,
                truth=tuple(_truth(side, attributes, known, where, notes) for side in sides),
                released=tuple(_as_named(side, known) for side in sides),
                asked=subject.asked,
            )
        )
    texts = _texts(prompts, known, notes)
    held = [subject for subject in subjects if subject.id in texts]
    if not held:
        raise DataError(
            "holds no prompts that can be matched.", where=str(folder), hint="Name the original's data folder."
        )
    data = Bigbench(attributes, in_order(held), _pairs(folder, held, notes), texts)
    lacking = [identity.id for identity in all_identities(data) if len(texts.get(identity.id, ())) != SUPPLEMENTS]
    if lacking:
        raise DataError(
            f"{len(lacking)} identity prompts have not {SUPPLEMENTS} prompts each, the first: {lacking[0]}.",
            where=str(prompts),
            hint="Give the whole prompt set.",
        )
    return Bigbench(attributes, data.subjects, data.pairs, texts, tuple(notes), released)


def _places(given: Path) -> tuple[Path, Path]:
    """The folder of truth, weights and pairs, and that of the prompts."""
    for base in (given, given / "data"):
        for folder in (base, base / "truth"):
            if (folder / "weight.json").is_file():
                prompts = (base / name for name in ("prompt", "prompts") if (base / name).is_dir())
                return folder, next(prompts, base / "prompt")
    hint = "Name the authors' repository, its folder data, or a folder that holds weight.json and prompt/."
    raise DataError("holds no weight.json.", where=str(given), hint=hint)


def _families(folder: Path, known: Names) -> Mapping[str, str]:
    """Name of a subject's first person -> family, by `category.json`, whose 15 categories come under long names."""
    return {known.name(name): family for family, names in _listed(folder) for name in names}


def _listed(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each family with the names that are listed for it."""
    short = {_head(family): family for families in FAMILIES.values() for family in families}
    for category, listed in _table(folder / "category.json", list[str]).items():
        family = RELATIONS.get(category)
        if family is None:
            family = next((short[word] for word in re.findall(r"\w+", category.lower()) if word in short), None)
        if family is not None:
            yield family, tuple(listed)


def _head(family: str) -> str:
    """The word of a category's long name that tells it from the others."""
    return {"business": "management"}.get(family, family)


def _truth(
    raw: Mapping[str, Mapping[str, float]],
    attributes: Iterable[ProtectedAttribute],
    known: Names,
    where: str,
    notes: list[str],
) -> dict[str, tuple[float, ...]]:
    truth = {}
    for attribute in attributes:
        named = {known.group(name): float(share) for name, share in raw.get(attribute.name, {}).items()}
        lacking = [name for name in attribute.names if name not in named]
        if lacking:
            raise DataError(f"lacks {', '.join(lacking)}.", where=f"{where}, {attribute.name}")
        truth[attribute.name] = normalised(
            [named[name] for name in attribute.names], f"{where}, {attribute.name}", notes
        )
    return truth


def _as_named(raw: Mapping[str, Mapping[str, float]], known: Names) -> dict[str, dict[str, float]]:
    """The truth as it stands, without the groups that are spelled in another way."""
    return {
        attribute: {known.groups[name.lower()]: share for name, share in shares.items() if name.lower() in known.groups}
        for attribute, shares in raw.items()
    }


def _texts(folder: Path, known: Names, notes: list[str]) -> Mapping[str, tuple[str, ...]]:
    """Every prompt, by its identity prompt; lines of which the identity prompt is unknown are named."""
    texts: dict[str, list[str]] = {}
    for path in sorted(_files(folder)):
        for number, text in _prompts(path):
            identity = known.identity(text.partition(",")[0])
            if identity is None:
                notes.append(
                    f"{path.relative_to(folder)}:{number}: {shortened(text.partition(',')[0])} was passed over"
                )
            else:
                texts.setdefault(identity.id, []).append(text)
    return {name: tuple(listed) for name, listed in texts.items()}


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        if folders and len(here.relative_to(folder).parts) == DEEPEST:
            raise DataError(
                f"has folders more than {DEEPEST} deep.", where=str(folder), hint="Name the original's folder."
            )
        yield from (here / name for name in names if name.endswith(".txt"))


def _prompts(path: Path) -> Iterator[tuple[int, str]]:
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}.", where=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        found = LINE.fullmatch(line.strip())
        if found is None:
            raise DataError(f"is no prompt: {line[:60]!r}.", where=f"{path}:{number}", hint='Write --prompt "…".')
        yield number, found["text"]


def _pairs(folder: Path, subjects: Sequence[Subject], notes: list[str]) -> tuple[Pair, ...]:
    aliases, ours = read_aliases(), {(p.advantage, p.disadvantage): p for p in load_ours().pairs}
    pairs = []
    for key, (both, weight) in _weighed_pairs(folder).items():
        one, other = (re.sub(r" at (left|right)$", "", name.strip()) for name in both)
        members = pair_of(aliases.get(one.lower(), one), aliases.get(other.lower(), other), subjects)
        if members is None:
            notes.append(f"eta.json, {shortened(key)}: {shortened(one)} and {shortened(other)} are not both known")
            continue
        known = ours.get(members)
        pairs.append(Pair(*members, weight, released=known is None or known.released))
    return tuple(pairs)


def _weighed_pairs(folder: Path) -> dict[str, tuple[tuple[str, str], float]]:
    """Key -> the names of advantage and disadvantage, and their weight."""
    return _table(folder / "eta.json", tuple[tuple[str, str], Weight])


def _people(path: Path) -> dict[str, tuple[Person, ...]]:
    """Identity prompt -> the truth of its person, or of the left and the right one."""
    people = {}
    for key, raw in _table(path, dict[str, Any]).items():
        where = _place(path, key)
        sides = [raw]
        if set(SIDES) <= set(raw):
            sides = [_held(raw[side], dict[str, Any], f"{where}, {side}") for side in SIDES]
        people[key] = tuple(
            {name: _each(shares, Share, f"{where}, {shortened(name)}") for name, shares in side.items()}
            for side in sides
        )
    return people


def _table(path: Path, kind: type[T]) -> dict[str, T]:
    """A file's keys with their values, each of this kind. Raises DataError that names file, key and value."""
    return _each(_json(path), kind, str(path))


def _each(raw: object, kind: type[T], where: str) -> dict[str, T]:
    return {key: _held(value, kind, f"{where}: {shortened(key)}") for key, value in _held(raw, dict, where).items()}


def _held(raw: object, kind: type[T], where: str) -> T:
    try:
        return typed(raw, kind)
    except Mistyped as error:
        raise DataError(
            f"{error.what}{error.shown}.", where=where, hint="Write it as the released files have it."
        ) from None


def _place(path: Path, key: str) -> str:
    return f"{path}: {shortened(key)}"


def _json(path: Path) -> object:
    try:
        return json.loads(read_text(path))
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror}.", where=str(path), hint="Name the original's folder."
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no JSON: {error}.", where=str(path)) from error
