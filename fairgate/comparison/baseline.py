"""A run saved to be compared with: what was answered to each query, one letter a query, small enough to commit.

The file is JSON of one line a topic. A letter stands for the groups of whoever was chosen, in the order that `groups`
lists them; each benchmark has its part of the file (`fairgate/benchmarks/paired.py`). The prompts are not in it: the
same data version, seed and profiles give the same prompts again. Nothing that a model said is in it either, nor an
address, nor a key. Of a run that asked for probabilities, `shares` has those of the options of each query.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from fairgate.benchmarks.limits import Strict
from fairgate.benchmarks.paired import LETTERS, Baseline
from fairgate.core.errors import ConfigError, DataError
from fairgate.core.files import read_bytes
from fairgate.core.typed import value_at
from fairgate.reports.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.paired import Known, Part

SCHEMA, WITH_SHARES = 2, 3
READ = (1, 2, 3)  # the first had one part alone, the last has probabilities
ROUNDING = 1e-3  # of the sum of probabilities
# More than any plan comes to: the published ones have some 200 kB.
LARGEST = 8_000_000
LONGEST = 500  # characters of a name


Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _File(Strict, frozen=True):
    fairgate_baseline: Literal[1, 2, 3] = msgspec.field(name="fairgate baseline")
    model: str
    asked: dict[str, Any]
    groups: dict[str, tuple[tuple[str, ...], ...]]
    topics: dict[str, tuple[str | int, int]]
    shares: dict[str, tuple[tuple[Probability, ...] | None, ...]] = msgspec.field(default_factory=dict)


def _file_of(parts: Sequence[Part]) -> type[_File]:
    """The type of a file that can have these parts."""
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [("seed", int), ("plan", str)]
    keys: dict[str, str] = {}  # a benchmark's name need not be a name in Python
    for part in parts:
        if part.key is not None:
            keys[f"part_{len(keys)}"] = part.key
            fields.append((f"part_{len(keys) - 1}", part.values | None, None))
            continue
        for field in msgspec.structs.fields(part.values):
            required = field.default is msgspec.NODEFAULT
            own: tuple[str, Any] | tuple[str, Any, Any] = (field.name, field.type)
            own = own if required else (field.name, field.type, field.default)
            fields = [*(each for each in fields if each[0] != field.name), own]
    asked = msgspec.defstruct("Asked", fields, bases=(Strict,), frozen=True, kw_only=True, rename=keys)
    whole: type[_File] = msgspec.defstruct("File", [("asked", asked)], bases=(_File,), frozen=True, kw_only=True)  # type: ignore[assignment]
    return whole


def merged(groups: Iterable[Mapping[str, Known]]) -> dict[str, Known]:
    """What the letters of all parts stand for. Raises ConfigError where there are more groups than letters."""
    found = {name: listed for each in groups for name, listed in each.items()}
    if (most := max(map(len, found.values()), default=0)) > len(LETTERS):
        raise ConfigError(
            f"{most} joint groups are more than a baseline has letters for ({len(LETTERS)}).",
            where="--save-baseline",
        )
    return found


def make_room(path: Path) -> None:
    """See that a baseline can be written there, before anything is paid for. Raises ConfigError where it cannot."""
    if path.is_dir():
        raise ConfigError("is a folder.", where=f"--save-baseline {path}", hint="Name a file.")
    unfinished = _unfinished(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        unfinished.unlink()
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}.", where=f"--save-baseline {path}") from error


def save(path: Path, baseline: Baseline) -> None:
    """Write a baseline, whole or not at all. Raises ConfigError where that is not possible."""
    schema = WITH_SHARES if baseline.shares else SCHEMA
    head = {"fairgate baseline": schema, "model": baseline.model, "asked": baseline.asked, "groups": baseline.groups}
    topics = ",\n".join(
        f"{json.dumps(topic)}: {json.dumps([letters, baseline.distinct[topic]])}"
        for topic, letters in sorted(baseline.letters.items())
    )
    text = f'{json.dumps(head, ensure_ascii=False)[:-1]},\n"topics": {{\n{topics}\n}}'
    if baseline.shares:
        shares = ",\n".join(
            f"{json.dumps(topic)}: {json.dumps(each)}" for topic, each in sorted(baseline.shares.items())
        )
        text += f',\n"shares": {{\n{shares}\n}}'
    text += "}\n"
    unfinished = _unfinished(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise ConfigError(f"cannot be written: {error.strerror}.", where=f"--save-baseline {path}") from error


def _unfinished(path: Path) -> Path:
    """A unique name: another run may be writing, or testing whether it can."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def load(path: Path, parts: Sequence[Part]) -> Baseline:
    """Read a baseline. Raises DataError, naming the file, the key and the value, for what is none of these parts."""
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise DataError(f"has {size / 1e6:,.0f} MB, more than any baseline.", where=str(path), hint=HINT)
        text = read_bytes(path, LARGEST)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path), hint="See --baseline.") from error
    return parsed(text, str(path), parts)


HINT = "Make one with --save-baseline."


def parsed(text: bytes, where: str, parts: Sequence[Part]) -> Baseline:
    """A baseline from its text. Raises DataError for anything else."""
    try:
        raw = msgspec.json.decode(text)
        schema = raw.get("fairgate baseline") if isinstance(raw, dict) else None
        if type(schema) is int and schema not in READ:
            raise DataError(
                f"is of schema {schema}, this fairgate reads {READ[0]} to {READ[-1]}.",
                where=where,
                hint="Use the fairgate that saved it, or save it anew.",
            )
        whole = msgspec.convert(raw, _file_of(parts))
    except msgspec.ValidationError as error:
        what, _, at = str(error).partition(" - at `$")
        key = visible(at.rstrip("`").lstrip(".")) or "top level"
        shown = _shown(value_at(raw, at.rstrip("`")))
        # The validator says the names of fields as they stand in the file.
        raise DataError(f"is no baseline: {visible(what)}{shown}.", where=f"{where}: {key}", hint=HINT) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"is no baseline: {type(error).__name__}: {error}.", where=where, hint=HINT) from error
    asked, keys = msgspec.to_builtins(whole.asked), {part.key for part in parts}
    found = Baseline(
        whole.model,
        {key: value for key, value in asked.items() if value is not None or key not in keys},
        whole.groups,
        {topic: str(letters) for topic, (letters, _) in whole.topics.items()},
        {topic: distinct for topic, (_, distinct) in whole.topics.items()},
        whole.shares,
    )
    try:
        _check(found, parts)
    except ValueError as error:
        raise DataError(f"is no baseline: {error}.", where=where, hint=HINT) from error
    return found


def _shown(value: object) -> str:
    return "" if isinstance(value, dict | list) else f". It is {str(value)[:60]!r}"


def _check(found: Baseline, parts: Sequence[Part]) -> None:
    """Raise ValueError for answers that stand for nothing: such a file was cut off, or edited."""
    named = {"model": found.model}
    for key, value in found.asked.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        named |= {f"asked.{key}.{each}".rstrip("."): text for each, text in inner if isinstance(text, str)}
    for key, value in named.items():
        if not value or not value.isprintable() or len(value) > LONGEST:
            raise ValueError(f"{key} is {value[:60]!r}, which is no name")
    if not found.groups and any(part.key is None for part in parts):
        raise ValueError("groups is empty, so no letter stands for anything")
    lists = {name for part in parts for name in part.lists}
    for name, listed in found.groups.items():
        size = None if name in lists else name.count(" ") + 1
        if len(listed) > len(LETTERS) or any(len(groups) != (size or len(listed[0])) for groups in listed):
            raise ValueError(f"groups.{name} does not list groups of {name}")
    for topic, letters in found.letters.items():
        part = next((part for part in parts if part.is_of(topic)), None)
        if part is None:
            raise ValueError(f"{topic} is a topic of no installed benchmark")
        if strange := sorted({*letters} - part.known(topic, found.groups)):
            raise ValueError(f"{topic} holds {strange[0]!r}, which stands for no group")
        if not 0 <= found.distinct[topic] <= len(letters):
            raise ValueError(f"{topic} has {found.distinct[topic]} different prompts in {len(letters)} answers")
    for topic, shares in found.shares.items():
        if len(shares) != len(found.letters.get(topic, "")):
            raise ValueError(f"shares.{topic} are not of its answers")
        if any(abs(sum(each) - 1.0) > ROUNDING for each in shares if each is not None):
            raise ValueError(f"shares.{topic} holds probabilities that do not sum to 1")
