"""The tables of a benchmark's paper: as printed, checked against themselves, and as a field to stand in.

`Published` is what a benchmark gives `fairgate published`: the audit of its tables and the places of a model.
The functions read its files under `data/published/` (sources: `data/published/SOURCES.md`).
"""

from __future__ import annotations

import csv
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.core.errors import DataError
from fairgate.core.layout import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

PUBLISHED = DATA / "published"

# Absorbs binary representation only: 84.79 - 84.78 is a hair more than 0.01.
ROUNDING = 1e-9

NO_CAUSE = "no cause is visible in the tables"


@dataclass(frozen=True, slots=True)
class DerivedCell:
    """What a derived cell is made of, and so which formula recomputes it.

    `tolerance`: how far the rounding of the parts and of the result can put the printed and the recomputed cell apart.
    """

    name: str
    tolerance: float


@dataclass(frozen=True, slots=True)
class CellCheck:
    """One published cell beside what its own row gives (scale 0 to 100). `why` is set where the two do not agree."""

    benchmark: str
    table: str
    kind: DerivedCell
    row: str
    column: str
    printed: float
    recomputed: float
    why: str = ""

    @property
    def tolerance(self) -> float:
        """How far rounding alone can put the two apart."""
        return self.kind.tolerance

    @property
    def agrees(self) -> bool:
        """Whether rounding can explain the difference."""
        return abs(self.printed - self.recomputed) <= self.tolerance + ROUNDING

    @property
    def digit_apart(self) -> bool:
        """Whether the two, of two decimals, differ in one digit."""
        printed, recomputed = f"{self.printed:.2f}", f"{self.recomputed:.2f}"
        return len(printed) == len(recomputed) and sum(a != b for a, b in zip(printed, recomputed, strict=True)) == 1


@dataclass(frozen=True, slots=True)
class Place:
    """A model's place in one published column. Rank 1 is the best; ties share a rank.

    `of` counts the model itself. `doubted` names the models whose cell in this column the audit does not bear out;
    they are ranked by what is printed. `value` is rounded as the papers print, so that equal figures tie. `topics`
    (covered, all) where some have no answer: the value is over the others.
    """

    column: str
    value: float
    rank: int
    of: int
    nearest: str
    nearest_value: float
    doubted: tuple[str, ...]
    topics: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The places of a model among the published ones: `among` names these.

    `places` is None where there is no table of them to show. `remarks` are sentences that stand below it.
    """

    model: str
    among: str
    places: tuple[Place, ...] | None
    remarks: tuple[str, ...] = ()


class Published(ABC):
    """The tables of one benchmark's paper.

    `ranks`: in which columns the largest value is not the best, in words, e.g. `for X the smallest`; empty where it
    always is.
    """

    ranks: str = ""

    @abstractmethod
    def audit(self) -> tuple[CellCheck, ...]:
        """Every derived cell, recomputed from the cells that it is made of, in the order of the tables."""

    def inherited(self) -> tuple[CellCheck, ...]:
        """Averages that agree with the cells they average, and would change if those were what their own rows give.

        Not faults of their own: what the faults among `audit` add up to.
        """
        return ()

    @abstractmethod
    def standings(self, models: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> Iterator[Standing]:
        """Where the models under test, by modality, stand; `entries` are all scores, as in `summary.json`."""


def all_asked(entry: Mapping[str, Any]) -> bool:
    """Whether a score, as in `summary.json`, covers all topics but those that were asked and have no answer."""
    covered, whole = entry["topics"]
    return bool(covered + entry.get("unanswered", 0) >= whole)


def partial(covered: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    """What scores cover together, None where that is everything."""
    pairs = list(covered)
    n, whole = sum(n for n, _ in pairs), sum(m for _, m in pairs)
    return (n, whole) if n < whole else None


def disagreements(checks: Iterable[CellCheck]) -> tuple[CellCheck, ...]:
    """The checks whose cell its own row does not give."""
    return tuple(check for check in checks if not check.agrees)


def place(
    column: str,
    exact: float,
    field: Mapping[str, float],
    doubted: tuple[str, ...],
    merit: Callable[[float], float] = lambda value: value,
) -> Place:
    """The place of a value among the published models' in one column; `merit` is the larger, the better."""
    value = round(exact, 2)
    ahead = sum(merit(other) > merit(value) for other in field.values())
    nearest = min(field, key=lambda model: abs(field[model] - value))
    return Place(column, value, ahead + 1, len(field) + 1, nearest, field[nearest], doubted)


def read_table(folder: Path, name: str) -> list[dict[str, str]]:
    """The lines of a file of printed cells. Raises DataError where it is not there."""
    path = folder / name
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise DataError(
            "the published tables are not there.",
            where=str(path),
            hint="Run from a checkout: the wheel carries the package alone.",
        ) from None


def by_model(folder: Path, name: str) -> Mapping[str, Mapping[str, float]]:
    """A table with a line for each model: model -> column -> figure."""
    lines = read_table(folder, name)
    return {line["model"]: {k: figure(v) for k, v in line.items() if k != "model"} for line in lines}


def figure(cell: str) -> float:
    """A printed cell as a number; `<0.000001` is 0."""
    value = 0.0 if cell.startswith("<") else float(cell)
    if not math.isfinite(value):
        raise ValueError(f"{cell!r} is not a finite number")
    return value


def mean(values: Iterable[float]) -> float:
    """The mean of one or more figures."""
    listed = list(values)
    return sum(listed) / len(listed)


def settled(kind: DerivedCell, printed: float, recomputed: float) -> float:
    """The printed cell where its row gives it, else what the row gives."""
    return printed if abs(printed - recomputed) <= kind.tolerance + ROUNDING else recomputed
