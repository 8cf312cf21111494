"""The rows of a ledger, of the types and within the bounds in which they are written: a file may have been edited."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from fairgate.core.domain import Identity, LetterProbabilities, ProbabilityState
from fairgate.core.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = TypeVar("Row", bound=msgspec.Struct)
LONGEST_NOTE = 2**22  # characters of what a run asks: real ones have some tens of thousands
SHOWN = 60  # characters of a value

MOST_TOKENS = 2**40  # of one sample: so many may be summed up
Tokens = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
# Of the years 1970 to 9999, in seconds.
Moment = Annotated[float, msgspec.Meta(ge=0, le=253_402_300_799)]
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
AT = re.compile(r"(?P<what>.*?)(?: - at `\$\[(?P<index>\d+)\](?P<rest>.*)`)?", re.DOTALL)


ROUNDING = 1e-4  # of sums of probabilities

# How a reply ended, in the column `filtered`: by the content filter, at its limit of tokens.
FILTERED, TRUNCATED = 1, 2


class ReplyRow(msgspec.Struct, array_like=True, frozen=True):
    """What scoring reads of a sample."""

    reply: str
    filtered: Annotated[int, msgspec.Meta(ge=0, le=3)]
    prompt_tokens: Tokens | None
    completion_tokens: Tokens | None
    served_model: str | None
    fingerprint: str | None
    latency: Seconds
    attempts: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    probabilities: str | None


class Started(msgspec.Struct, array_like=True, frozen=True):
    """A run."""

    id: Id
    about: str
    state: Literal["sampling", "done", "stopped"]
    message: str
    started_at: Moment


class SampleCounts(msgspec.Struct, array_like=True, frozen=True):
    """How many samples of something there are, by kind; tokens where they were counted."""

    of: str
    kind: Id
    count: Count
    prompt_tokens: Annotated[float, msgspec.Meta(ge=0, le=2**60)] = 0.0
    completion_tokens: Annotated[float, msgspec.Meta(ge=0, le=2**60)] = 0.0


class Kept(msgspec.Struct, array_like=True, frozen=True):
    """A sample as a reviewer looks at it."""

    key: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
    identity: str
    query: str
    reply: str
    kind: str
    choice: Annotated[int, msgspec.Meta(ge=0, le=100)] | None
    form: str | None
    letters: str | None


class _Identity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    provider: Id
    name: str
    address: str | None = None
    parameters: dict[str, Any] = {}


_identity = msgspec.json.Decoder(_Identity)

Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Probabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    state: ProbabilityState
    chosen: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    letters: Annotated[tuple[Probability | None, ...], msgspec.Meta(max_length=100)] = ()
    outside: Probability = 0.0
    unlisted: Probability = 0.0


_probabilities = msgspec.json.Decoder(_Probabilities)


def decoded(kind: type[Row], row: Sequence[object], table: str, where: str) -> Row:
    """A row of this kind. Raises LedgerError, naming table, column and value, for anything else."""
    try:
        return msgspec.convert(row, kind, builtin_types=[bytes])
    except msgspec.ValidationError as error:
        found = AT.fullmatch(str(error))
        index = None if found is None or found["index"] is None else int(found["index"])
        column = "a column" if index is None else kind.__struct_fields__[index]
        value = "" if index is None else f" and not {shown(row[index])}"
        what = str(error) if found is None else found["what"]
        raise damaged(f"{column} of a row of {table}: {what}{value}", where) from None


def identity_of(text: object, where: str) -> Identity:
    """Who was asked, as a row has it. Raises LedgerError for anything else."""
    try:
        held = _identity.decode(text)  # type: ignore[arg-type] # whatever is no text is refused
    except (msgspec.DecodeError, TypeError, UnicodeError, RecursionError) as error:
        raise damaged(f"identity of a row of models: {error}: {shown(text)}", where) from None
    return Identity(held.provider, held.name, held.address, held.parameters)


def probabilities_as(found: LetterProbabilities | None) -> str | None:
    """The probabilities of letters as a row has them."""
    if found is None:
        return None
    kept = _Probabilities(found.state, found.chosen, found.letters, found.outside, found.unlisted)
    return msgspec.json.encode(kept).decode()


def probabilities_of(text: str | None, where: str) -> LetterProbabilities | None:
    """The same as a value. Raises LedgerError for anything else, such as probabilities of more than 1 together."""
    if text is None:
        return None
    try:
        held = _probabilities.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise damaged(f"probabilities of a row of samples: {error}: {shown(text)}", where) from None
    known = held.state is ProbabilityState.KNOWN
    there = held.chosen is not None and held.chosen < len(held.letters) and held.letters[held.chosen] is not None
    total = sum(each for each in held.letters if each is not None) + held.outside
    if (known and not there) or total > 1 + ROUNDING or held.unlisted > held.outside + ROUNDING:
        raise damaged(f"probabilities of a row of samples are none: {shown(text)}", where)
    return LetterProbabilities(held.state, held.chosen, held.letters, held.outside, held.unlisted)


def about_of(text: str, where: str) -> dict[str, object]:
    """What a run asked, as its row has it. Raises LedgerError for anything else."""
    if len(text) > LONGEST_NOTE:
        raise damaged(
            f"about of a row of runs: {len(text):,} characters, and a note has {LONGEST_NOTE:,} at most", where
        )
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise damaged(f"about of a row of runs: {error}: {shown(text)}", where) from None


def shown(value: object) -> str:
    """A value as a message names it."""
    text = ascii(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def damaged(what: str, where: str) -> LedgerError:
    """The error of a row that fairgate did not write."""
    return LedgerError(f"{what}.", where=where, hint="The file was edited or is damaged: use a copy of it from before.")


def storable(text: str) -> str:
    """SQLite's UTF-8 takes no lone surrogates, which a reply's JSON escapes may hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
