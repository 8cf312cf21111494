"""What a ledger notes of a run, of the types and within the bounds in which it is written: it may have been edited."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from fairgate.benchmarks.registry import registry
from fairgate.core.domain import Role  # noqa: TC001 - msgspec reads annotations at run time
from fairgate.core.typed import Mistyped, edited, typed
from fairgate.options.recorded_options import decode_asked, decode_old

MOST_SHARDS = 9999
SHARD = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Number = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]


class NotedIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who was asked, in one role."""

    provider: Id
    name: Name
    address: Annotated[str, msgspec.Meta(max_length=10_000)] | None = None
    parameters: dict[str, Any] = {}


class Look(msgspec.Struct, frozen=True):
    """The last interim analysis of a stratum; in older ledgers its `level` is its share."""

    asked: Number
    whole: Number
    share: Share
    level: Share | None = None


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What a run notes of itself; None where a version of fairgate did not note it.

    Further keys are the benchmarks' own: each reads them by types of its own, `Request.recalled`.
    """

    identity: NotedIdentity | None = None
    identities: dict[Role, NotedIdentity] | None = None
    versions: dict[Name, Name | int | float | None] | None = None
    asked: dict[str, Any] | None = None
    options: list[Annotated[str, msgspec.Meta(max_length=110_000)]] | None = None
    looks: Annotated[dict[Name, Look], msgspec.Meta(max_length=1000)] = {}
    shards: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_SHARDS)] = ()
    cases: Annotated[tuple[Name, ...], msgspec.Meta(max_length=100_000)] | None = None
    members: Annotated[tuple[Id, ...], msgspec.Meta(min_length=1, max_length=100_000)] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether it holds all that judging again takes."""
        return None not in (self.identities, self.versions, self.cases, self.asked)


def decode_note(about: str, where: str) -> tuple[Note, dict[str, Any]]:
    """The note of a run, and all of it with the benchmarks' own keys. Raises LedgerError, naming key and value."""
    try:
        raw = msgspec.json.decode(about, type=dict[str, Any])
        note = typed(raw, Note)
        _check_shards(note.shards)
        if note.asked is not None:
            note = msgspec.structs.replace(note, asked=decode_asked(note.asked, registry().options))
        elif note.options is not None:
            note = msgspec.structs.replace(note, asked=decode_old(note.options, registry().options))
    except Mistyped as error:
        raise edited(error, where) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise edited(Mistyped(f"it is no JSON table: {error}", "top level", ""), where) from None
    return note, raw


def _check_shards(shards: tuple[str, ...]) -> None:
    """Raise Mistyped unless they are different parts I/N of one number of parts."""
    of = set[str]()
    for place, each in enumerate(shards):
        found = SHARD.fullmatch(each)
        if found is None or int(found[1]) > int(found[2]):
            what = f"a shard is I/N, I from 1 to N, and N at most {MOST_SHARDS}"
            raise Mistyped(what, f"shards[{place}]", f". It is {each[:60]!a}")
        of.add(found[2])
    if len(of) > 1 or len(set(shards)) < len(shards):
        raise Mistyped("shards are different parts, and all of the same number of parts", "shards", "")
