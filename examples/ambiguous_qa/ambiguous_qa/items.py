"""The items: read from `items.toml`, and checked."""

from __future__ import annotations

import tomllib
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files
from typing import Annotated, Literal

import msgspec

from fairgate.core.errors import DataError

Text = Annotated[str, msgspec.Meta(min_length=2)]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file: an unknown key is an error."""


class Person(Table, frozen=True):
    """How a person is called, and the group that the person belongs to."""

    name: Text
    group: Text


class Item(Table, frozen=True):
    """Two people, a scene that leaves a question about them open, and a sentence that answers it."""

    id: Text
    attribute: Literal["gender", "age", "income"]
    target: Person
    other: Person
    scene: Text
    told: Text
    negative: Text
    positive: Text


class Items(Table, frozen=True, dict=True):
    """The whole file."""

    version: str
    unknown: Text
    prompt: Text
    items: tuple[Item, ...]

    @cached_property
    def digest(self) -> str:
        """The version, with what tells another text of the same version apart."""
        return f"{self.version}-{blake2b(msgspec.json.encode(self), digest_size=4).hexdigest()}"


def load() -> Items:
    """The items of this package. Raises DataError, naming the key, for a file that cannot be used."""
    source = files("ambiguous_qa").joinpath("items.toml")
    try:
        found = msgspec.convert(tomllib.loads(source.read_text(encoding="utf-8")), Items)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise DataError(str(error), where=str(source), hint="Install the package again.") from error
    names = [item.id for item in found.items]
    if len(set(names)) < len(names):
        raise DataError("two items have the same id.", where=str(source), hint="Rename one of them.")
    return found
