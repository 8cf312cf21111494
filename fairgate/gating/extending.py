"""A limits file that extends another: its own tables override by key, its own limits those on the same score."""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from typing import TYPE_CHECKING, Any

from fairgate.core import toml
from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError
from fairgate.core.files import read_bytes, text_of
from fairgate.core.layout import SUITE, THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.registry import Registry

Table = dict[str, Any]
DEEPEST = 10  # files that extend one another
MOST = 1_000  # limits of one kind: each is held against each of the file that is extended
BY_NAME = {"default": THRESHOLDS, "published": SUITE / "thresholds-published.toml"}


def read(path: Path, registry: Registry, extending: tuple[Path, ...] = ()) -> Table:
    """The tables of a limits file, and below them those of the file that its key `extend` names.

    `extend` is "default", "published", or a path relative to the file. Limits of the file itself come first in their
    lists, so that an error names their place in it; `removed` keeps those that are in no file. Raises ConfigError for
    a file that cannot be read.
    """
    raw = _tables(path)
    for name, listed in (*((each, raw.get(each)) for each in ("gates", "removed", "waivers")), ("drops", _drops(raw))):
        if isinstance(listed, list) and len(listed) > MOST:
            raise ConfigError(f"{len(listed):,} {name} are more than {MOST:,}.", where=f"{path}: {name}")
    base_path = _extended(raw, path, extending)
    raw.pop("extend", None)
    if base_path is None:
        return raw
    if len(extending) >= DEEPEST:
        raise ConfigError(f"more than {DEEPEST} files extend one another.", where=f"{path}: extend")
    base = read(base_path, registry, (path, *extending))
    merged = _merged(base, raw)
    kept = _beside(base.get("gates"), raw.get("gates"), registry)
    removed = [*_listed(base.get("removed")), *_listed(raw.get("removed"))]
    # What removes nothing here may remove what a benchmark brings.
    merged["removed"] = [each for each in removed if _beside(kept, [each], registry) == kept]
    merged["gates"] = [*_listed(raw.get("gates")), *_beside(kept, removed, registry)]
    merged["waivers"] = [*_listed(raw.get("waivers")), *_listed(base.get("waivers"))]
    if isinstance(merged.get("baseline"), dict):
        merged["baseline"]["drops"] = [*_listed(_drops(raw)), *_beside(_drops(base), _drops(raw), registry)]
    return merged


def sha256_of(path: Path) -> str:
    """SHA-256 of a limits file, followed by the one that it extends, and so on: of all that its limits come from.

    Raises ConfigError as `read`.
    """
    found, files = hashlib.sha256(), [path]
    while True:
        content = _content(files[-1])
        found.update(content)
        base = _extended(_parsed(content, files[-1]), files[-1], tuple(files[:-1]))
        if base is None:
            return found.hexdigest()
        files.append(base)


def _extended(raw: Table, path: Path, extending: tuple[Path, ...]) -> Path | None:
    """The file that a file of these tables extends, None where it extends none."""
    name = raw.get("extend")
    if name is None:
        return None
    where = f"{path}: extend"
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{name!r} is not a file.", where=where, hint=f"Write {', '.join(BY_NAME)}, or a path.")
    base_path = BY_NAME.get(name) or path.parent / name
    if not base_path.exists():
        near = difflib.get_close_matches(name, BY_NAME, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Write {', '.join(BY_NAME)}, or a path."
        raise ConfigError(f"{name!r} does not exist: no file {base_path}.", where=where, hint=hint)
    if base_path.resolve() in {each.resolve() for each in (path, *extending)}:
        raise ConfigError(f"{name!r} extends this file itself.", where=where, hint="Name another.")
    return base_path


def _listed(value: object) -> list[object]:
    """The items of a list; what is none stands alone, for the error that names it."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _tables(path: Path) -> Table:
    return _parsed(_content(path), path)


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}.", where=str(path), hint="See --thresholds.") from error


def _parsed(content: bytes, path: Path) -> Table:
    try:
        return toml.parsed(text_of(content))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"is no TOML: {error}.", where=str(path)) from error


def _drops(raw: Table) -> object:
    baseline = raw.get("baseline")
    return baseline.get("drops") if isinstance(baseline, dict) else None


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> Table:
    """Both, key by key; where both have a table, that key by key as well."""
    both = {
        key: _merged(base[key], value) if isinstance(base.get(key), dict) and isinstance(value, dict) else value
        for key, value in own.items()
    }
    return {**base, **both}


def _beside(base: object, own: object, registry: Registry) -> list[object]:
    """What is left of the extended file's limits beside those of the file itself."""
    kept = base if isinstance(base, list) else []
    for limit in own if isinstance(own, list) else ():
        if isinstance(limit, dict):
            kept = [part for each in kept for part in _without(each, limit, registry)]
    return kept


def _without(base: object, own: Table, registry: Registry) -> Iterator[object]:
    """What is left of a limit beside one that goes before it: other contexts, or other attributes."""
    if not isinstance(base, dict) or _score(base) != _score(own):
        yield base
        return
    contexts, taken = _contexts(base, registry), _contexts(own, registry)
    seen_by, mine = base.get("attribute"), own.get("attribute")
    both = [each for each in contexts if each in taken]
    if not both or (mine is not None and seen_by not in (None, mine)):
        yield base
        return
    if rest := [each for each in contexts if each not in taken]:
        yield base | {"context": rest}
    if mine is not None and seen_by is None:
        besides = [*base.get("except_attributes", []), mine]
        yield base | {"except_attributes": besides} | ({} if both == [None] else {"context": both})


def _score(limit: Table) -> tuple[object, ...]:
    return limit.get("modality", Modality.TEXT), limit.get("task"), limit.get("score")


def _contexts(limit: Table, registry: Registry) -> Sequence[str | None]:
    """The contexts that a limit holds for; None stands for a task that has none."""
    named = limit.get("context")
    if named is not None:
        return named if isinstance(named, list) else [named]
    for (modality, name), (_, task) in registry.tasks.items():
        if (modality, name) == (limit.get("modality", Modality.TEXT), limit.get("task")):
            return task.contexts or (None,)
    return (None,)
