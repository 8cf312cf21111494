"""From an image to its reading, in steps that the ledger keeps: one look of a detector, or questions to a vision model.

A vision model is asked for the most prominent person's gender, race and age, with "unknown" as a way out; once more in
a new conversation where it says so; and what stays unknown is left out.
"""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from fairgate.core.domain import Form, Query, Reply, Role
from fairgate.core.errors import DataError
from fairgate.ledger.images import Picture, open_picture
from fairgate.replies.faces import Face, Reading
from fairgate.replies.labels import ROOT, own_labels
from fairgate.replies.thoughts import outside_thoughts

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from fairgate.core.domain import Identity, Topic
    from fairgate.ledger.images import ImageStore
    from fairgate.providers.base import ChatModel

ATTRIBUTES = ("gender", "race", "age")
SIDES = ("left", "right")
LONGEST = 4_096  # characters of a reply that are looked at


@dataclass(frozen=True)
class Questions:
    """What a vision model is asked: about one person (`people` 1), or about a left and a right one (2)."""

    version: int
    text: str
    people: int


@cache
def questions(people: int = 1, path: Path = ROOT / "prompts.toml") -> Questions:
    """The prompt about so many people, its lists filled in. Raises DataError where the file lacks it."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    name = {1: "one", 2: "two"}[people]
    if not isinstance(table.get(name), str) or not isinstance(table.get("version"), int):
        raise DataError(f"needs `version` and `{name}`.", where=str(path), hint="Give it both.")
    lists = {f"{{{attribute}}}": ", ".join(map(_shown, own_labels("fairface")[attribute])) for attribute in ATTRIBUTES}
    text = re.sub(r"\{(?:gender|race|age)\}", lambda slot: lists[slot[0]], table[name].removeprefix("\n"))
    return Questions(table["version"], text, people)


def read_faces(
    topic: Topic, index: int, digest: str, asked: Questions | None = None
) -> Generator[Query, Reply | None, Reading | None]:
    """The steps to the reading of one image, None where a step failed.

    The first opens the image, and finds and reads its faces where a detector does that. A vision model then is asked:
    its persons are faces without a place, and of two people the left one comes first, empty where it is not known.
    """
    looks = Query(topic, index, digest, step="faces", to=Role.DETECTOR, form=Form.FACES, images=(digest,))
    looks = looks if asked is None else replace(looks, leads_to=1)
    found = yield looks
    if found is None:
        return None
    reading = Reading.from_json(found.text)
    if asked is None or reading.problem is not None:
        return reading
    step = f"person.{asked.version}" if asked.people == 1 else f"persons.{asked.version}"
    first = replace(looks, prompt=asked.text, step=step, form=Form.PERSON)
    known: list[dict[str, str]] = [{} for _ in range(asked.people)]
    for query in (first, replace(first, step=f"{step}/again", again=True)):
        reply = yield query
        if reply is None:
            return None
        told = read_people(reply.text, asked.people)
        known = [new | old for old, new in zip(known, told, strict=True)]
        if all(len(each) == len(ATTRIBUTES) for each in known):
            break
    return replace(reading, faces=tuple(map(_face, known)) if any(known) else ())


def _face(known: Mapping[str, str]) -> Face:
    sure = {attribute: {label: 1.0} for attribute, label in known.items()}
    return Face(gender=sure.get("gender", {}), race=sure.get("race", {}), age=sure.get("age", {}))


def read_people(text: str, people: int = 1) -> list[dict[str, str]]:
    """What a vision model's reply says of each person: FairFace's labels by attribute; what is unknown is not there."""
    told = _object(text)
    persons = [told] if people == 1 else [told.get(side) for side in SIDES]
    return [_person(each) if isinstance(each, dict) else {} for each in persons]


def _person(told: Mapping[str, object]) -> dict[str, str]:
    found = {attribute: _label(attribute, told.get(attribute)) for attribute in ATTRIBUTES}
    return {attribute: label for attribute, label in found.items() if label is not None}


def _label(attribute: str, said: object) -> str | None:
    words = str(said).replace("_", " ").casefold().split()
    known = own_labels("fairface")[attribute]
    return next((label for label in known if _shown(label).casefold().split() == words), None)


def _shown(label: str) -> str:
    return label.replace("_", " ")


def _object(text: str) -> dict[str, object]:
    """The JSON object in a reply, whatever stands around it; empty where there is none, or more than one.

    An image may show text, and a model cite it: what an end of thoughts stands behind must hold no object either.
    """
    outside = outside_thoughts(text, None)
    if outside is None:
        return {}
    said, every = (each[:LONGEST] for each in outside)
    if every.count("{") > said.count("{"):
        return {}
    start, end = said.find("{"), said.rfind("}")
    try:
        told = json.loads(said[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


class VisionDetector:
    """A vision model as detector: it opens images here, and asks the model about people."""

    def __init__(self, model: ChatModel, store: ImageStore) -> None:
        self._model, self._store = model, store

    @property
    def identity(self) -> Identity:
        """The model's."""
        return self._model.identity

    async def ask(self, query: Query) -> Reply:
        """Whether the image can be opened, as a reading without faces; or what the model says of people."""
        if query.form is Form.PERSON:
            return await self._model.ask(query)
        return Reply((await asyncio.to_thread(self._open, query.images)).to_json())

    def _open(self, images: Sequence[str]) -> Reading:
        (digest,) = images
        opened = open_picture(self._store.read(digest))
        return Reading(opened.size) if isinstance(opened, Picture) else Reading(problem=str(opened))

    async def close(self) -> None:
        """Give back the model's connections."""
        await self._model.close()
