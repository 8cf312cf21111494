"""All options of a run, those of the installed benchmarks too: registered with pytest, and read from it."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fairgate.core.errors import ConfigError
from fairgate.core.typed import shortened
from fairgate.options.option import declared
from fairgate.options.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pytest

    from fairgate.options.option import Declared

PREFIX = "fairgate"


@dataclass(frozen=True)
class OptionTable:
    """The options of every run, and the classes of those that benchmarks declare."""

    own: tuple[type, ...] = ()

    def __iter__(self) -> Iterator[Declared]:
        """Yield every option, those of every run first."""
        for kind in (Settings, *self.own):
            yield from declared(kind)

    def add(self, parser: pytest.Parser, *, prefixed: bool = False) -> None:
        """Register what `pytest --help` shows under "fairgate".

        `prefixed`: in a suite of the user's own each name begins with `--fairgate-`, so that it collides with no other
        plugin's, and there are no defaults: only what is given counts.
        """
        group = parser.getgroup("fairgate", "fairgate: is it factual, and is it fair to individuals")
        for each in self:
            if prefixed:
                group.addoption(f"--{PREFIX}-{each.flag.removeprefix('--')}", **each.arguments | {"default": None})
                continue
            group.addoption(each.flag, **each.arguments)
            for older in each.flags[1:]:
                group.addoption(older, **each.hidden)

    def read(self, get: Callable[[str], Any], here: Path, asked: Mapping[str, Any] | None = None) -> Settings:
        """The options of a run: `get` gives what was given by name, `here` is the folder of relative paths.

        `asked` is what a past run asked, which is judged again: it is asked so again, but for values that may be given
        anew. Raises ConfigError for what argparse cannot check.
        """
        values = {each.field.name: self._value(each, get(each.name), here) for each in self}
        if get("plan") is None and values["explain"]:
            values["plan"] = "explain"
        for each in self:
            if asked is not None and each.about.asked and not (each.about.again and get(each.name) is not None):
                values[each.field.name] = asked.get(each.field.name, each.default)
        _check(values, self)
        return self.made(values)

    def made(self, values: Mapping[str, Any]) -> Settings:
        """The settings of these values, by the names of their fields; the default of each that is missing."""
        own = {kind: kind(**_of(kind, values)) for kind in self.own}
        return replace(Settings(**_of(Settings, values)), own=MappingProxyType(own))

    def asked(self, settings: Settings) -> dict[str, Any]:
        """The values that decide what is asked, and of which models, where they are not the default, as JSON has them.

        No secret of an address is among them, and no limit, output or exit code: these are the judging user's.
        """
        found: dict[str, Any] = {}
        for kind in (Settings, *self.own):
            held = settings if kind is Settings else settings.of(kind)
            for each in declared(kind):
                value = getattr(held, each.field.name)
                if each.about.asked and value not in (None, each.default):
                    found[each.field.name] = each.kept(value)
        return found

    @staticmethod
    def _value(each: Declared, given: Any, here: Path) -> Any:
        value = each.value(given)
        if each.kind is not Path or given is None:
            return value
        # resolve() would follow links, and messages should show what the user typed.
        return Path(os.path.abspath(here / given.expanduser()))  # noqa: PTH100


def _of(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields of one class."""
    return {each.name: values[each.name] for each in fields(kind) if each.name in values}


def _check(values: Mapping[str, Any], table: OptionTable) -> None:
    """Raise ConfigError for options that exclude each other, and for a field that pays for replies never read."""
    for other in ("explain", "shard", "no_stop_early"):
        if values["stop_early"] and values[other]:
            alone = "Reasons are few, and a shard alone does not know what the others have seen."
            raise ConfigError(f"cannot be used with --{other.replace('_', '-')}.", where="--stop-early", hint=alone)
    if values["probe"] and not values["dry_run"]:
        raise ConfigError("goes with --dry-run alone.", where="--probe", hint="A run asks everything: remove it.")
    if values["answer_format"] != "text" and values["explain"]:
        hint = "A reason stands before the choice, and a schema leaves no place for it."
        raise ConfigError("cannot be used with --explain.", where="--answer-format", hint=hint)
    if values["probabilities"] and values["explain"]:
        hint = "After a reason the choice is all but certain: its probabilities say nothing of the choice before it."
        raise ConfigError("cannot be used with --explain.", where="--probabilities", hint=hint)
    for each in table:
        for value in values[each.field.name] if each.is_list else ():
            key, _, given = value.partition("=")
            if key.strip() == "n" and given.strip() not in ("", "1"):
                problem = f"{shortened(value)} asks for several replies, and one of each request is read."
                raise each.wrong(problem, "Remove it: --per-topic N asks N times.")
