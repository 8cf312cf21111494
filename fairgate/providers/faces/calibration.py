"""How a detector errs: measured on faces of known groups, kept in a file, and read by runs that correct for it.

A labelled folder has a `labels.csv` with the columns `file` (below the folder) and any of `gender`, `race` and `age`:
the detector's own labels, as FairFace's label files have them, or the groups' names. Of an image with several faces
the largest counts: a label file names one person.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from fairgate.core.errors import ConfigError, DataError
from fairgate.core.files import read_bytes, read_text
from fairgate.core.statistics.unmixing import ConfusionMatrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from fairgate.core.domain import Identity
    from fairgate.replies.faces import Face, Reading
    from fairgate.replies.labels import LabelMap

SCHEMA = 1
LABELS = "labels.csv"
ATTRIBUTES = ("gender", "race", "age")


# More faces than anybody has labelled: sums of them fit into 64 bits.
Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]


class Confusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of the faces of known groups, by one benchmark's label map for one attribute.

    `counts` [k][k]: first the group that is right, then the one that was found, in the order of `groups`. `undetected`
    [k]: images of each group in which no face, or none with a group, was found; they are in no other count.
    """

    benchmark: str
    attribute: str
    label_map: str
    groups: tuple[str, ...]
    counts: tuple[tuple[Count, ...], ...]
    undetected: tuple[Count, ...]

    def mixing(self, groups: Sequence[str], where: str) -> ConfusionMatrix:
        """The counts in this order of groups. Raises ConfigError where they cannot serve to correct."""
        if missing := [group for group in groups if group not in self.groups]:
            raise ConfigError(f"{self.attribute} {missing[0]!r} was not calibrated.", where=where, hint=_AGAIN)
        order = [self.groups.index(group) for group in groups]
        try:
            mixing = ConfusionMatrix(np.array(self.counts, np.int64)[np.ix_(order, order)])
        except (ValueError, IndexError) as error:
            raise ConfigError(f"{self.attribute}: {error}.", where=where, hint=_AGAIN) from error
        if not mixing.informative:
            raise ConfigError(
                f"by {self.attribute} the detector finds much the same whatever is there: nothing can be corrected.",
                where=where,
                hint="Use another detector.",
            )
        return mixing


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A detector's errors. `detector` is its identity as the ledger knows it, as JSON with sorted keys."""

    detector: str
    confusions: tuple[Confusion, ...]
    images: int
    unreadable: int
    schema: int = SCHEMA

    def of(self, benchmark: str, attribute: str, label_map: str) -> Confusion | None:
        """The errors by this attribute under this map, None where they were not measured."""
        for each in self.confusions:
            if (each.benchmark, each.attribute, each.label_map) == (benchmark, attribute, label_map):
                return each
        return None

    def mixings(
        self, benchmark: str, groups: Mapping[str, Sequence[str]], maps: Mapping[str, LabelMap], where: str
    ) -> Mapping[str, ConfusionMatrix]:
        """How the detector errs by a benchmark's groups, by attribute; one that was not measured is none.

        `groups` and `maps`: an attribute's groups in order, and what labels mean. Raises ConfigError as `Confusion`
        does.
        """
        known = {name: self.of(benchmark, name, maps[name].name) for name in groups}
        return {name: found.mixing(groups[name], where) for name, found in known.items() if found is not None}

    def to_json(self) -> str:
        """As the file has it."""
        return msgspec.json.format(msgspec.json.encode(self)).decode() + "\n"


_AGAIN = "Calibrate again, on a folder that has faces of every group."


def load(path: Path, detector: Identity) -> Calibration:
    """The calibration of this very detector. Raises ConfigError for a file that is none, or of another detector."""
    where = f"--calibration {path}"
    hint = "Measure it: fairgate calibrate DIR."
    try:
        found = msgspec.json.decode(read_bytes(path), type=Calibration)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}.", where=where, hint=hint) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"is no calibration: {error}.", where=where, hint=hint) from error
    if found.schema != SCHEMA:
        raise ConfigError(f"has schema {found.schema}, and this fairgate reads {SCHEMA}.", where=where, hint=hint)
    if found.detector != detector.canonical:
        raise ConfigError(
            f"is of another detector, or of other weights: {found.detector}, and not {detector.canonical}.",
            where=where,
            hint=hint,
        )
    for each in found.confusions:
        sizes = {len(each.groups), len(each.counts), len(each.undetected), *map(len, each.counts)}
        if len(sizes) != 1 or len(set(each.groups)) != len(each.groups) or not each.groups:
            raise ConfigError(f"{each.attribute} has no square table of counts.", where=where, hint=hint)
    return found


@dataclass(frozen=True)
class Labelled:
    """One image of the folder, and what its label file says of it, by attribute."""

    path: Path
    labels: Mapping[str, str]


def labelled(folder: Path) -> tuple[Labelled, ...]:
    """The images of a labelled folder. Raises DataError with the row for whatever cannot be used."""
    table = folder / LABELS
    try:
        reader = csv.DictReader(StringIO(read_text(table), newline=""))
        columns = reader.fieldnames or ()
        known = [attribute for attribute in ATTRIBUTES if attribute in columns]
        if "file" not in columns or not known:
            raise DataError(
                f"has the columns {', '.join(columns) or 'none'}.",
                where=str(table),
                hint=f"It needs `file` and any of {', '.join(ATTRIBUTES)}.",
            )
        found: dict[Path, Labelled] = {}
        whole = folder.resolve()
        for row in reader:
            each = _labelled(folder, whole, row, known, f"{table}: row {reader.line_num}")
            if each.path in found:
                raise DataError(
                    f"names {each.path.name!r} twice.",
                    where=f"{table}: row {reader.line_num}",
                    hint="One row a file: each counts once.",
                )
            found[each.path] = each
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot be read: {error}.", where=str(table)) from error
    if not found:
        raise DataError("has no rows.", where=str(table))
    return tuple(found.values())


def _labelled(folder: Path, whole: Path, row: Mapping[str, str | None], known: Sequence[str], where: str) -> Labelled:
    path = folder / (row["file"] or "")
    # Label files come with data sets: what lies elsewhere is not theirs to name.
    if not path.is_file() or not path.resolve().is_relative_to(whole):
        raise DataError(f"{row['file']!r} is no file of the folder.", where=where)
    return Labelled(path, {attribute: label for attribute in known if (label := (row[attribute] or "").strip())})


@dataclass
class Measuring:
    """The counts of one attribute under one benchmark's map while images are read."""

    benchmark: str
    attribute: str
    label_map: LabelMap
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    undetected: Counter[str] = field(default_factory=Counter)
    unnamed: Counter[str] = field(default_factory=Counter)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that the map knows."""
        return tuple(dict.fromkeys(self.label_map.groups.values()))

    def add(self, label: str, face: Face | None) -> None:
        """Count one face of a known label; `unnamed` counts labels that have no group."""
        group = self._right(label)
        if group is None:
            self.unnamed[label] += 1
            return
        found = None if face is None else self.label_map.group(face.attribute(self.attribute))
        if found is None:
            self.undetected[group] += 1
        else:
            self.found[group, found] += 1

    def _right(self, label: str) -> str | None:
        for group in self.groups:
            if group.casefold() == label.casefold():
                return group
        return self.label_map.group({label: 1.0})

    @property
    def confusion(self) -> Confusion:
        """What was counted."""
        return Confusion(
            benchmark=self.benchmark,
            attribute=self.attribute,
            label_map=self.label_map.name,
            groups=self.groups,
            counts=tuple(tuple(self.found[right, each] for each in self.groups) for right in self.groups),
            undetected=tuple(self.undetected[group] for group in self.groups),
        )


def measure(
    images: Sequence[Labelled],
    readings: Iterator[Reading],
    measuring: Sequence[Measuring],
    *,
    tell: Callable[[int], None] = lambda _: None,
) -> int:
    """Count every image's largest face, `readings` being in the images' order; how many could not be opened."""
    unreadable = 0
    for number, (image, reading) in enumerate(zip(images, readings, strict=True), start=1):
        tell(number)
        if reading.problem is not None:
            unreadable += 1
            continue
        face = max(reading.faces, key=_area, default=None)
        for each in measuring:
            if each.attribute in image.labels:
                each.add(image.labels[each.attribute], face)
    return unreadable


def _area(face: Face) -> float:
    if face.box is None:
        return 0.0
    left, top, right, bottom = face.box
    return (right - left) * (bottom - top)
