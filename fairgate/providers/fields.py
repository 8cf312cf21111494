"""The fields of a request's body that the user sets, and the fields of an answer, read without trust."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fairgate.core.errors import ConfigError
from fairgate.core.redaction import LONG_SECRET, LOOKS_SECRET, Redaction, is_secret, of_environment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

Body = TypeVar("Body", bound=msgspec.Struct)

# More than any request has: a database cannot hold, or sum up, whatever number JSON can.
MOST_TOKENS = 2**40
LONGEST_NAME = 200  # characters of a model's name
LONGEST_INTEGER = 400  # digits
DEEPEST = 64  # levels of an answer that are read where it has more than can be
# Strings, whose signs do not count, and what opens and ends a level.
_NESTING = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)


def body_fields(model_args: Sequence[str], usual: Mapping[str, object] | None = None) -> dict[str, object]:
    """The body fields beside model and messages: the usual ones, and what each `KEY=VALUE` adds or, empty, removes.

    Values are JSON where they can be read as such, else text.
    """
    fields: dict[str, object] = {"temperature": 0, **(usual or {})}
    for each in model_args:
        key, equals, value = each.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(
                f"{Redaction().show(each)!r} is not KEY=VALUE.",
                where="--model-arg",
                hint="For example: --model-arg max_tokens=64",
            )
        if not value.strip():
            fields.pop(key, None)
            continue
        try:
            fields[key] = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            fields[key] = value
        if (place := _secret_in(key, fields[key])) is not None:
            raise ConfigError(
                f"{Redaction().show(place)!r} looks like a secret, and body fields are kept in the ledger.",
                where="--model-arg",
                hint="Put the key into OPENAI_API_KEY, or the provider's own variable of the environment.",
            )
    return fields


def samples_anew(model_args: Sequence[str]) -> bool:
    """Whether the user has the model sample each reply: a temperature above 0, and no seed that repeats the reply."""
    fields = body_fields(model_args)
    warmth = fields.get("temperature", 0)
    return isinstance(warmth, int | float) and warmth > 0 and "seed" not in fields


def _secret_in(place: str, value: object) -> str | None:
    """Where in a field a secret stands, by its name or by its look; None where none does."""
    if is_secret(place.rpartition(".")[2]):
        return place
    inner: Iterable[tuple[str, object]] = ()
    if isinstance(value, dict):
        inner = ((f"{place}.{key}", each) for key, each in value.items())
    elif isinstance(value, list):
        inner = ((place, each) for each in value)
    elif isinstance(value, str):
        return place if LOOKS_SECRET.search(value) or _is_of_environment(value) else None
    return next((found for key, each in inner if (found := _secret_in(key, each)) is not None), None)


def _is_of_environment(value: str) -> bool:
    """Whether a text holds what a variable of the environment keeps secret."""
    return any(each in value for each in of_environment() if len(each) >= LONG_SECRET)


def check_fields(fields: Mapping[str, object], ours: Collection[str]) -> None:
    """Raise ConfigError for a field that decides how a reply is asked for and read: changed, none could be read."""
    for taken in sorted(set(ours) & fields.keys()):
        other = "Use --system-prompt." if taken in {"system", "system_prompt"} else "Remove it."
        raise ConfigError(f"{taken!r} is not for the user to set.", where="--model-arg", hint=other)


def parsed_json(content: bytes) -> object:
    """The JSON value in these bytes. Raises ValueError where they are none.

    They are UTF-8, in which secrets were looked for, and no other encoding that the standard library tries. What one
    field may break is read, for the sake of the others: half an emoji, which servers send that cut a reply in
    mid-character, bytes of no character, control characters, numbers of any length. Where an answer is nested deeper
    than can be read, what is below `DEEPEST` is null.
    """
    try:
        text = content.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError:
        text = content.decode("utf-8-sig", "replace")
    try:
        return json.loads(text, strict=False, parse_int=_integer)
    except RecursionError:
        return json.loads(_shallow(text), strict=False, parse_int=_integer)


def _integer(digits: str) -> int | float:
    """More digits than Python reads are no number that anybody counts."""
    return int(digits) if len(digits) <= LONGEST_INTEGER else math.inf


def _shallow(text: str) -> str:
    """JSON with null in place of the arrays and objects that are nested too deep. Raises ValueError for none."""
    kept: list[str] = []
    depth = done = 0
    for each in _NESTING.finditer(text):
        if each[0] in "[{":
            depth += 1
            if depth == DEEPEST + 1:
                kept.append(text[done : each.start()])
        elif each[0] in "]}":
            depth -= 1
            if depth == DEEPEST:
                kept.append("null")
                done = each.end()
    if depth > 0:
        raise ValueError("an array or an object has no end")
    return "".join(kept) + text[done:]


def decoded(content: bytes, decoder: msgspec.json.Decoder[Body]) -> Body | None:
    """An answer's body, None where it is no JSON of the decoder's kind."""
    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            return msgspec.convert(parsed_json(content), decoder.type)
        except ValueError:
            return None


def well_formed(text: str) -> str:
    """Without halves of characters, which no database stores."""
    return text.encode("utf-8", "replace").decode()


def count(value: object) -> int | None:
    """A number of tokens, or None for whatever else a server wrote there, were it infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MOST_TOKENS else None


def billed(answer: object) -> tuple[int, int]:
    """The tokens sent and received that an answer says it took, whatever else is in it; 0 for what it does not say."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    known = usage if isinstance(usage, dict) else {}
    names = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
    sent, received = (next((found for each in pair if (found := count(known.get(each)))), 0) for pair in names)
    return sent, received


def name(value: object) -> str | None:
    """What a server calls its model, or the build of it: as `word`, of at most 200 characters, as it is kept."""
    if isinstance(value, str) and len(value) > LONGEST_NAME:
        return f"[a name of {len(value):,} characters]"  # cut, it might end in half a secret, which is none to look for
    return word(value)


def word(value: object) -> str | None:
    """A text that is not empty, or None."""
    return well_formed(value) if isinstance(value, str) and value else None
