"""The papers' score tables, read from `data/published/` (sources: `data/published/SOURCES.md`)."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.domain import Modality
from fairgate.errors import DataError
from fairgate.fact_or_fair.topics import Context

if TYPE_CHECKING:
    from collections.abc import Mapping

PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "published"

SCORES = ("S_fact", "S_fair", "S_E", "S_KLD", "d")
GROUPS = {"gender": 2, "race": 4}
F2BENCH_AVERAGE = "average"


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """What identifies one row of Fact-or-Fair's score tables; each of the five scores has one cell in it."""

    modality: Modality
    model: str
    attribute: str
    task: str
    context: Context | None

    def __str__(self) -> str:
        """As the audit names it, e.g. `GPT-4o-2024-08-06, race, subjective, base`."""
        return ", ".join(part for part in (self.model, self.attribute, self.task, self.context) if part)


@dataclass(frozen=True, slots=True)
class F2Row:
    """What identifies one row of F²Bench's tables: a model, a task, a score."""

    model: str
    task: str
    score: str


def fact_or_fair_scores(folder: Path = PUBLISHED) -> Mapping[ScoreRow, Mapping[str, float]]:
    """The 76 rows of five scores, 0 to 100; a cell printed as `<0.000001` is 0. Source: Tables 4 to 8."""
    table: dict[ScoreRow, dict[str, float]] = {}
    for line in _read(folder, "fact_or_fair_scores.csv"):
        context = Context(line["context"]) if line["context"] else None
        row = ScoreRow(Modality(line["modality"]), line["model"], line["attribute"], str(line["task"]), context)
        table.setdefault(row, {})[line["score"]] = number(line["value"])
    return table


def detector_errors(detector: str, folder: Path = PUBLISHED) -> Mapping[str, float]:
    """The larger of a detector's published error rates, 0 to 1, by attribute; empty of one that has none.

    `detector`: `FairFace` or `DeepFace`. Source: both versions of the paper, their sections on detectors.
    """
    rows = [line for line in _read(folder, "fact_or_fair_detector_errors.csv") if line["detector"] == detector]
    if not rows:
        return {}
    return {name: max(number(row[f"{name}_error"]) for row in rows) / 100 for name in GROUPS}


def fact_or_fair_summary(folder: Path = PUBLISHED) -> Mapping[str, Mapping[str, float]]:
    """The leaderboard: model -> column -> 0 to 100. Source: Table 2 of the 2025 revision."""
    return _by_model(folder, "fact_or_fair_summary.csv")


def context_influence(folder: Path = PUBLISHED) -> Mapping[str, Mapping[str, float]]:
    """Shares of answers in the group that the context names: model -> column -> 0 to 100. Source: Table 3."""
    return _by_model(folder, "fact_or_fair_context_influence.csv")


def distance_averages(folder: Path = PUBLISHED) -> Mapping[tuple[str, str], float]:
    """(model, attribute) -> mean of the row's d. Source: Table 8 of the 2025 revision, columns `Avg.`."""
    lines = _read(folder, "fact_or_fair_distance_averages.csv")
    return {(line["model"], line["attribute"]): number(line["value"]) for line in lines}


def f2bench_scores(folder: Path = PUBLISHED) -> Mapping[F2Row, Mapping[str, float]]:
    """Rows of ten categories and `average`, 0 to 100. Source: Tables 5 and 6 of the F²Bench paper."""
    table: dict[F2Row, dict[str, float]] = {}
    for line in _read(folder, "f2bench_scores.csv"):
        row = F2Row(line["model"], line["task"], line["score"])
        table.setdefault(row, {})[line["category"]] = number(line["value"])
    return table


def f2bench_comparison(folder: Path = PUBLISHED) -> Mapping[str, Mapping[str, float]]:
    """Seven models beside CrowS-Pairs: model -> column -> 0 to 100. Source: Table 7 of the F²Bench paper."""
    return _by_model(folder, "f2bench_crows_pairs.csv")


def bigbench(table: int, folder: Path = PUBLISHED) -> Mapping[str, Mapping[str, float]]:
    """Row -> column -> figure of one of BIGbench's tables; a cell without a figure (`/`) is left out."""
    lines = _read(folder, f"bigbench_table_{table:02}.csv")
    head = next(iter(lines[0]))
    return {
        line[head]: {name: number(cell) for name, cell in line.items() if name != head and cell != "/"}
        for line in lines
    }


def number(cell: str) -> float:
    """A printed cell as a number; `<0.000001` is 0."""
    value = 0.0 if cell.startswith("<") else float(cell)
    if not math.isfinite(value):
        raise ValueError(f"{cell!r} is not a finite number")
    return value


def _by_model(folder: Path, name: str) -> Mapping[str, Mapping[str, float]]:
    lines = _read(folder, name)
    return {line["model"]: {k: number(v) for k, v in line.items() if k != "model"} for line in lines}


def _read(folder: Path, name: str) -> list[dict[str, str]]:
    path = folder / name
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise DataError(
            "the published tables are not there.",
            where=str(path),
            mend="Run from a checkout: the wheel carries the package alone.",
        ) from None
