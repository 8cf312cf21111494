"""The sentences that ask for images: 20 for each identity prompt, 47,040 in all.

An *identity prompt* (the paper's word) is a subject, alone (implicit prompts) or with the groups of one protected
attribute (explicit prompts; of a relation, one for each person). Each of its 20 prompts adds a place and a
manner that fit the subject, and words that ask for a photograph (appendix A). The scenes of a subject are the same for
every group. Everything is a pure function of the data: no seed, no clock.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

from fairgate.benchmarks.bigbench.data import FOLDER, Acquired, slug
from fairgate.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.bigbench.data import Bigbench, Subject

SUPPLEMENTS = 20


@dataclass(frozen=True)
class IdentityPrompt:
    """Who is asked for: `groups` of the attribute `asked`, one for each person; none in implicit prompts."""

    subject: Subject
    asked: str | None = None
    groups: tuple[str, ...] = ()

    @cached_property
    def id(self) -> str:
        """Stable and unique, e.g. `dancer`, `dancer-female`, `husband-wife-white-east-asian`."""
        return "-".join([self.subject.id, *map(slug, self.groups)])

    @property
    def cell(self) -> tuple[Acquired, str | None, tuple[str, ...]]:
        """What the published set has a file for."""
        return self.subject.acquired, self.asked, self.groups


def identities_of(data: Bigbench, subject: Subject) -> tuple[IdentityPrompt, ...]:
    """A subject alone, and then with every group (of a relation: every two groups) of each attribute asked for."""
    found = [IdentityPrompt(subject)]
    for attribute in data.attributes:
        if attribute.name in subject.asked:
            every = itertools.product(attribute.names, repeat=len(subject.people))
            found += [IdentityPrompt(subject, attribute.name, groups) for groups in every]
    return tuple(found)


def all_identities(data: Bigbench) -> Iterator[IdentityPrompt]:
    """Every identity prompt, the implicit ones first, in the order of the subjects."""
    every = [identities_of(data, subject) for subject in data.subjects]
    yield from (identities[0] for identities in every)
    for identities in every:
        yield from identities[1:]


def cells(data: Bigbench) -> Mapping[tuple[Acquired, str | None, tuple[str, ...]], int]:
    """How many prompts each cell of the benchmark has."""
    counted: Counter[tuple[Acquired, str | None, tuple[str, ...]]] = Counter()
    for identity in all_identities(data):
        counted[identity.cell] += SUPPLEMENTS
    return counted


@dataclass(frozen=True)
class Scenes:
    """Where and how the subjects of one kind are shown: SUPPLEMENTS places and manners, each fit for each."""

    subjects: tuple[str, ...]
    places: tuple[str, ...]
    manners: tuple[str, ...]

    def scene(self, subject: str, number: int) -> tuple[str, str]:
        """The place and the manner of a subject's prompt; no two subjects have the same two."""
        turn = number + self.subjects.index(subject)
        return self.places[number], self.manners[turn % SUPPLEMENTS]


@dataclass(frozen=True)
class Wording:
    """How an identity prompt is worded, words for a photograph, and the scenes of each subject by its id."""

    identities: Mapping[str, str]
    photo: Mapping[str, tuple[str, ...]]
    scenes: Mapping[str, Scenes]

    @cached_property
    def version(self) -> str:
        """16 hexadecimal digits, another for every other content."""
        scenes = {name: (held.subjects, held.places, held.manners) for name, held in self.scenes.items()}
        content = json.dumps([self.identities, self.photo, scenes], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def named(self, data: Bigbench, identity: IdentityPrompt) -> str:
        """The first part: who is asked for."""
        subject, words = identity.subject, [""] * len(identity.subject.people)
        person = "person"
        if identity.asked is not None:
            groups = {group.name: group for group in data.attribute(identity.asked).groups}
            words = [groups[name].word for name in identity.groups]
            if subject.acquired is Acquired.CHARACTERISTIC and groups[identity.groups[0]].noun != person:
                words, person = [""], groups[identity.groups[0]].noun
        slots = {
            "name": subject.people[0],
            "article": _article(subject.people[0]),
            "person": person,
            "group": words[0],
            "left": subject.people[0],
            "right": subject.people[-1],
            "group_left": words[0],
            "group_right": words[-1],
        }
        return " ".join(self.identities[subject.acquired].format_map(slots).split())

    def text(self, data: Bigbench, identity: IdentityPrompt, number: int) -> str:
        """The whole prompt of an identity prompt's supplement `number`, 0 to 19."""
        together = identity.subject.acquired is Acquired.RELATION
        place, manner = self.scenes[identity.subject.id].scene(identity.subject.id, number)
        digest = hashlib.blake2b(f"{identity.id}#{number}".encode(), digest_size=8).digest()
        chance = Random(int.from_bytes(digest))  # noqa: S311 - picks words, guards nothing
        words = [*_picked(self.photo["face"], 1, chance), *_picked(self.photo["clarity"], 2, chance)]
        words += _picked(self.photo["style"], 2, chance)
        if not together:
            words += _picked(self.photo["alone"], 1, chance)
        return ", ".join([self.named(data, identity), place, manner, *words])


@dataclass(frozen=True)
class Prompts:
    """Each identity prompt's 20 prompts: the published ones where they were read, else our own."""

    data: Bigbench
    wording: Wording

    @property
    def version(self) -> str:
        """That of the sentences: of the data where they are the published ones."""
        return self.data.version if self.data.texts else self.wording.version

    def text(self, identity: IdentityPrompt, number: int) -> str:
        """An identity prompt's prompt `number`, 0 to 19."""
        published = self.data.texts.get(identity.id)
        return self.wording.text(self.data, identity, number) if published is None else published[number]


def load_wording(folder: Path = FOLDER) -> Wording:
    """Read `prompts.toml` and `scenes.toml`. Raises DataError where they lack something."""
    try:
        path = folder / "prompts.toml"
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        identities, photo = raw["identity_prompts"], {part: tuple(words) for part, words in raw["photo"].items()}
        path = folder / "scenes.toml"
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        scenes: dict[str, Scenes] = {}
        for kind, held in raw["kinds"].items():
            manners = (*held["manners"], *raw["manners"][held.get("people", "one")])
            of_kind = Scenes(tuple(held["subjects"]), tuple(held["places"]), manners)
            _check(of_kind, scenes.keys(), f"{path} ([kinds.{kind}])")
            scenes |= dict.fromkeys(of_kind.subjects, of_kind)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"cannot be read: {type(error).__name__}: {error}.", where=str(path)) from error
    return Wording(identities, photo, scenes)


def _check(scenes: Scenes, known: Collection[str], where: str) -> None:
    """Raise DataError where a kind has not 20 places and manners, or a subject that already is of a kind."""
    for name, listed in (("places", scenes.places), ("manners", scenes.manners)):
        if len(set(listed)) != SUPPLEMENTS:
            hint = f"Give {SUPPLEMENTS}; those of [manners] count."
            raise DataError(f"{name} has {len(set(listed))} different ones.", where=where, hint=hint)
    if len(scenes.subjects) > SUPPLEMENTS:
        raise DataError(f"subjects has {len(scenes.subjects)}, more than {SUPPLEMENTS}.", where=where)
    for subject in scenes.subjects:
        if subject in known or scenes.subjects.count(subject) > 1:
            raise DataError(f"{subject!r} has scenes already.", where=where, hint="Name each subject once.")


def _picked(words: Sequence[str], many: int, chance: Random) -> list[str]:
    """Different words in a random order. Only Random.random() is promised to give the same in every Python."""
    left = list(words)
    return [left.pop(int(chance.random() * len(left))) for _ in range(many)]


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" or word.startswith("hon") else "a"
