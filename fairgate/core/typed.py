"""Values that somebody else wrote, held to a type: what is wrong with them, at which key, and which value it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fairgate.core.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
SHOWN = 60  # characters of a value
DEEPEST = 50  # lists and tables within one another
KEYS = re.compile(r"\[(\d+|\.\.\.)\]|([^.\[]+)")


class Mistyped(ValueError):
    """A value of another type, or out of bounds: `what` is wrong, at which `key`, and the value where one is meant."""

    def __init__(self, what: str, key: str, shown: str) -> None:
        self.what, self.key, self.shown = what, key, shown
        super().__init__(f"{key}: {what}{shown}")


def typed(raw: object, kind: type[T], dec_hook: Callable[[type, object], object] | None = None) -> T:
    """The value as one of this kind. Raises Mistyped for anything else."""
    if is_deep(raw):
        raise Mistyped(f"lists and tables stand in one another more than {DEEPEST} deep", "top level", "")
    try:
        return msgspec.convert(raw, kind, strict=True, dec_hook=dec_hook)
    except (msgspec.ValidationError, OverflowError) as error:
        what, _, at = str(error).partition(" - at `$")
        path = at.rstrip("`")
        found = value_at(raw, path)
        shown = "" if isinstance(found, dict | list) else f". It is {shortened(found)}"
        raise Mistyped(plain(what), plain(path.lstrip(".")) or "top level", shown) from None


def is_deep(raw: object) -> bool:
    """Whether it is nested deeper than anything that is written here."""
    layer = [raw]
    for _ in range(DEEPEST):
        inner = [each.values() if isinstance(each, dict) else each for each in layer if isinstance(each, dict | list)]
        if not inner:
            return False
        layer = [each for values in inner for each in values]
    return True


def value_at(raw: object, path: str) -> object:
    """The value at a validator's path; a table as a whole where the path does not name its key."""
    value = raw
    for index, key in KEYS.findall(path):
        if key and isinstance(value, dict) and key in value:
            value = value[key]
        elif index.isdigit() and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        else:
            break
    return value


def shortened(value: object) -> str:
    """A value as a message names it: on one line, of printable letters, and not long."""
    text = ascii(value[: SHOWN + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def plain(text: str) -> str:
    """A key, or a validator's sentence, with nothing in it that does not print."""
    kept = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return kept if len(kept) <= 5 * SHOWN else f"{kept[: 5 * SHOWN]}…"


def edited(error: Mistyped, where: str) -> LedgerError:
    """The error of a run's note that fairgate did not write."""
    return LedgerError(
        f"the note of its run is damaged, or was edited: {error.key}: {error.what}{error.shown}.",
        where=where,
        hint="Use a ledger that fairgate wrote, or run pytest on it once more: no stored sample is asked again.",
    )
