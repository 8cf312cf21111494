"""Label maps: what a detector's own labels mean for a benchmark's groups. Data, each with its reason."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from fairgate.core.errors import ConfigError, DataError, did_you_mean
from fairgate.core.layout import DATA

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ROOT = DATA / "faces"
DEFAULT = "default"


@dataclass(frozen=True)
class LabelMap:
    """From the labels of one attribute to the groups of one benchmark.

    Labels in neither `groups` nor `left_out` are passed over for the next most probable one.
    """

    name: str
    reason: str
    groups: Mapping[str, str]
    left_out: frozenset[str] = frozenset()

    def group(self, probabilities: Mapping[str, float]) -> str | None:
        """The group of a face: that of its most probable label which has one; None where it has none.

        Of equally probable labels the one that the detector names first counts.
        """
        for label in sorted(probabilities, key=lambda each: -probabilities[each]):
            known = _plain(label)
            if known in self.left_out:
                return None
            if known in self.groups:
                return self.groups[known]
        return None

    def labels(self, group: str, of: tuple[str, ...]) -> tuple[str, ...]:
        """The labels, of those that a detector knows, that mean this group: what a portrait of it may show."""
        return tuple(label for label in of if self.groups.get(_plain(label)) == group)


def label_map(benchmark: str, attribute: str, name: str = DEFAULT, path: Path = ROOT / "labels.toml") -> LabelMap:
    """The map of this name. Raises ConfigError, with a suggestion, where there is none."""
    maps = _load(path)
    known = {kind for (of, kind, _) in maps if of == benchmark}
    if attribute not in known:
        raise ConfigError(f"{benchmark} has no label map for {attribute!r}.", where=str(path))
    names = {each for (of, kind, each) in maps if (of, kind) == (benchmark, attribute)}
    if name not in names:
        raise ConfigError(f"no label map {name!r} for {attribute}.", where="--race-map", hint=did_you_mean(name, names))
    return maps[benchmark, attribute, name]


def label_maps(path: Path = ROOT / "labels.toml") -> Mapping[tuple[str, str, str], LabelMap]:
    """Every map there is, by benchmark, attribute and name."""
    return _load(path)


def map_names(benchmark: str, attribute: str, path: Path = ROOT / "labels.toml") -> frozenset[str]:
    """The names of an attribute's maps."""
    return frozenset(each for (of, kind, each) in _load(path) if (of, kind) == (benchmark, attribute))


@cache
def _load(path: Path) -> Mapping[tuple[str, str, str], LabelMap]:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        (benchmark, attribute, name): _read(name, entry, f"{path}: {benchmark}.{attribute}.{name}")
        for benchmark, attributes in table.items()
        for attribute, named in attributes.items()
        for name, entry in named.items()
    }


def _read(name: str, entry: Mapping[str, object], where: str) -> LabelMap:
    groups, left_out, reason = entry.get("groups"), entry.get("left_out", []), entry.get("reason")
    if odd := sorted(set(entry) - {"groups", "left_out", "reason"}):
        raise DataError(f"unknown key {odd[0]!r}.", where=where, hint="Remove it.")
    if not (isinstance(groups, dict) and isinstance(left_out, list) and isinstance(reason, str) and reason.strip()):
        raise DataError("needs `reason` and `groups`.", where=where, hint="Give it both.")
    twice = {_plain(each) for each in groups} & {_plain(each) for each in left_out}
    if twice:
        raise DataError(f"{min(twice)!r} has a group and is left out.", where=where, hint="Choose one.")
    plain = {_plain(label): str(group) for label, group in groups.items()}
    return LabelMap(name, reason.strip(), plain, frozenset(map(_plain, left_out)))


def _plain(label: str) -> str:
    return " ".join(label.replace("_", " ").casefold().split())


@cache
def own_labels(detector: str, path: Path = ROOT / "detectors.toml") -> Mapping[str, tuple[str, ...]]:
    """The labels that a detector's output stands for, by attribute, in its order: `fairface` or `insightface`."""
    entry = tomllib.loads(path.read_text(encoding="utf-8"))[detector]
    return {attribute: tuple(labels) for attribute, labels in entry.items() if attribute != "source"}
