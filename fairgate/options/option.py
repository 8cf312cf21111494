"""An option of a run, declared once: as a field of a frozen dataclass, with its default, its range and its help.

`Settings` declares the options of every run, a benchmark those of its own (`Plugin.options`). The options of pytest,
their checks, the settings, what a ledger keeps of a run, and the command that repeats a case follow from the fields.
"""

from __future__ import annotations

import re
from argparse import SUPPRESS
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit, urlunsplit

from fairgate.core.errors import ConfigError
from fairgate.core.typed import shortened


@dataclass(frozen=True, kw_only=True)
class Option:
    """How a field is given, checked and kept.

    `name` is the option's where it is not the field's; `metavar` stands for its value in `--help`. A number lies
    between `least` and `most`, in `unit`; `above`: `least` itself is out of range. A text matches `pattern`, as
    `example` does. `parse` turns the text into the value, and raises ValueError. `address`: it is the URL of a server,
    which may hold a secret. `asked`: it decides what is asked, or which model answers, so a ledger keeps it. `again`:
    it can be given anew when a past run is judged. `output`: it says what becomes of a verdict, of a past run too.
    `unset`: pytest has None where it is not given, not the default. `older` are names and `older_values` texts that
    were valid before: they are read, and not shown.
    """

    help: str
    name: str = ""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    above: bool = False
    unit: str = ""
    pattern: str = ""
    example: str = ""
    parse: Callable[[str], object] | None = None
    address: bool = False
    asked: bool = False
    again: bool = False
    output: bool = False
    unset: bool = False
    older: tuple[str, ...] = ()
    older_values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def option(default: Any = MISSING, *, make: Callable[[], Any] | None = None, **about: Any) -> Any:
    """A field of a dataclass that is an option; `make` gives a default that is not a constant."""
    declared_as = Option(**about)
    # Tracebacks show reprs, and an address may hold a password.
    more: dict[str, Any] = {"metadata": {"option": declared_as}, "repr": not declared_as.address}
    return field(default=default, **more) if make is None else field(default_factory=make, **more)


@dataclass(frozen=True)
class Declared:
    """An option with the field that declares it: `kind` is the field's type, without None."""

    about: Option
    field: Field[Any]
    kind: Any

    @property
    def name(self) -> str:
        """As on the command line, without dashes: `base_url`."""
        return self.about.name or self.field.name

    @property
    def flag(self) -> str:
        """As on the command line: `--base-url`."""
        return _flag(self.name)

    @property
    def flags(self) -> tuple[str, ...]:
        """The same, and the older names that are read too."""
        return (self.flag, *map(_flag, self.about.older))

    @property
    def is_list(self) -> bool:
        """Whether it can be given several times."""
        return bool(get_origin(self.kind) is tuple and get_args(self.kind)[1:] == (...,))

    @property
    def default(self) -> Any:
        """The field's default."""
        return self.field.default if self.field.default_factory is MISSING else self.field.default_factory()

    @property
    def choices(self) -> list[str] | None:
        """The texts that it can be, None where it is free."""
        if get_origin(self.kind) is Literal:
            return list(get_args(self.kind))
        return [str(each) for each in self.kind] if isinstance(self.kind, type(Enum)) else None

    @property
    def arguments(self) -> dict[str, Any]:
        """How argparse declares it."""
        about, kind = self.about, self.kind
        found: dict[str, Any] = {"help": about.help}
        if kind is bool:
            return found | {"action": "store_true"}
        if self.is_list:
            return found | {"action": "append", "default": [], "metavar": about.metavar}
        found["default"] = None if about.unset or self.field.default is MISSING or about.parse else self.field.default
        if (choices := self.choices) is not None:
            older = {"type": lambda given: about.older_values.get(given, given)} if about.older_values else {}
            return found | older | {"choices": choices}
        if kind in (int, float, Path):
            found["type"] = kind
        return found | {"metavar": about.metavar}

    @property
    def hidden(self) -> dict[str, Any]:
        """How argparse declares an older name of it."""
        return self.arguments | {"dest": self.name, "help": SUPPRESS}

    def value(self, given: Any) -> Any:
        """The field's value from what pytest read. Raises ConfigError where it is not one."""
        for each in given if self.is_list else (given,):
            self._check(each)
        if self.is_list:
            return tuple(given)
        if given is None or (self.about.address and not given):
            return self.default
        if self.about.parse is not None:
            try:
                return self.about.parse(given)
            except ValueError:
                raise self.wrong(f"{shortened(given)} is not valid.", f"Write {self.about.example}.") from None
        return self.kind(given) if isinstance(self.kind, type(Enum)) else given

    def _check(self, given: Any) -> None:
        try:
            str(given).encode()
        except UnicodeEncodeError:
            raise self.wrong(f"{shortened(str(given))} is no UTF-8.", "Write it in UTF-8.") from None
        about = self.about
        if given is None or given is False:
            return
        if about.address and given:
            self._check_address(given)
        if about.pattern and not re.fullmatch(about.pattern, given):
            raise self.wrong(f"{shortened(given)} is not valid.", f"Write {about.example}.")
        if about.least is None or about.most is None:
            return
        if not about.least <= given <= about.most or (about.above and given == about.least):
            least = f"above {about.least:,g}" if about.above else f"from {about.least:,g}"
            unit = f" {about.unit}" if about.unit else ""
            hint = f"Give a number {least} to {about.most:,.15g}{unit}."
            raise self.wrong(f"{shortened(given)} is out of range.", hint)

    def _check_address(self, value: str) -> None:
        """Raise ConfigError for what is no address of a server; what stands before an @ may be a password."""
        try:
            parts = urlsplit(value)
            good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            good = False
        if not good or any(each.isspace() or not each.isprintable() for each in value):
            said = shortened(f"…@{value.rpartition('@')[2]}" if "@" in value else value.partition("?")[0])
            raise self.wrong(f"{said} is not the address of a server.", "It looks like https://host.example:8000/v1")

    def wrong(self, problem: str, hint: str) -> ConfigError:
        """The error of a value that cannot be used."""
        return ConfigError(problem, where=self.flag, hint=hint)

    def kept(self, value: Any) -> Any:
        """The value as JSON has it, without a secret of an address."""
        if self.about.address:
            return without_secrets(value)
        if self.is_list:
            return list(value)
        return str(value) if isinstance(value, Path | Enum) else value

    def repeated(self, value: Any) -> list[str]:
        """What says the same on a command line again; nothing where it is the default."""
        if value is None or value == self.default:
            return []
        if self.kind is bool:
            return [self.flag]
        return [f"{self.flag}={each}" for each in (self.kept(value) if self.is_list else (self.kept(value),))]


@cache
def declared(kind: type) -> tuple[Declared, ...]:
    """The options that a class declares, in their order."""
    hints = get_type_hints(kind)
    found = ((each, each.metadata.get("option")) for each in fields(kind))
    return tuple(Declared(about, each, _without_none(hints[each.name])) for each, about in found if about is not None)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in (Union, UnionType):
        return kind
    (found,) = (each for each in get_args(kind) if each is not NoneType)
    return found


def without_secrets(url: str) -> str:
    """The address without user info, query and fragment; empty for what is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
