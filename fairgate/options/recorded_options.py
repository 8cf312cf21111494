"""What a run asked, as a ledger keeps it: a closed set of typed, bounded values, decoded without trust."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import msgspec

from fairgate.core.typed import Mistyped, shortened, typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.options.option import Declared
    from fairgate.options.table import OptionTable

LONGEST = 100_000  # characters of one value
MOST_VALUES = 1000  # of one option
DIGITS = 20
Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]


def decode_asked(raw: object, table: OptionTable) -> dict[str, Any]:
    """The values by their names, the default of each that is missing. Raises Mistyped, with a key below `asked`."""
    held = [each for each in table if each.about.asked]
    values = msgspec.defstruct(
        "Asked", [(each.field.name, _type_of(each), each.default) for each in held], forbid_unknown_fields=True
    )
    note = msgspec.defstruct("Note", [("asked", values)])
    return msgspec.structs.asdict(getattr(typed({"asked": raw}, note, path_of), "asked"))  # noqa: B009 - made here


def decode_old(options: Sequence[str], table: OptionTable) -> dict[str, Any]:
    """The values that the options of a command line say, as ledgers held them before 0.2. Raises Mistyped."""
    known = {flag: each for each in table if each.about.asked for flag in each.flags}
    values: dict[str, Any] = {}
    for place, each in enumerate(options):
        name, given, value = each.partition("=")
        option = known.get(name)
        if option is None or bool(given) == (option.kind is bool):
            raise Mistyped("it does not say what a run asked", f"options[{place}]", f". It is {shortened(each)}")
        field = option.field.name
        if option.is_list:
            values.setdefault(field, []).append(value)
        elif option.kind is bool:
            values[field] = True
        else:
            number = option.kind is int and value.isdecimal() and len(value) <= DIGITS
            values[field] = int(value) if number else value
    return decode_asked(values, table)


def path_of(kind: type, value: object) -> object:
    """A path from its text: what msgspec does not read by itself. Raises ValueError for anything else."""
    if kind is Path and isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value:
        return kind(value)
    raise ValueError(f"{shortened(value)} is not a path")


def _type_of(option: Declared) -> Any:
    about, kind = option.about, option.kind
    if option.is_list:
        kind = Annotated[tuple[Text, ...], msgspec.Meta(max_length=MOST_VALUES)]
    elif kind is str:
        kind = Annotated[Text, msgspec.Meta(pattern=rf"\A(?:{about.pattern})\Z")] if about.pattern else Text
    elif kind is int and about.least is not None and about.most is not None:
        kind = Annotated[int, msgspec.Meta(ge=int(about.least), le=int(about.most))]
    elif get_origin(kind) is tuple:
        raise TypeError(f"{option.flag} cannot be kept in a ledger")
    return kind | None if option.default is None else kind
