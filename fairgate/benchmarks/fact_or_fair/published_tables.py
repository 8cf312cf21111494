"""The score tables of Fact-or-Fair's paper, read from `data/published/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.published import PUBLISHED, by_model, figure, read_table
from fairgate.core.domain import Modality

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCORES = ("S_fact", "S_fair", "S_E", "S_KLD", "d")
GROUPS = {"gender": 2, "race": 4}


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """What identifies one row of Fact-or-Fair's score tables; each of the five scores has one cell in it."""

    modality: Modality
    model: str
    attribute: str
    task: Task
    context: Context | None

    def __str__(self) -> str:
        """As the audit names it, e.g. `GPT-4o-2024-08-06, race, subjective, base`."""
        return ", ".join(part for part in (self.model, self.attribute, self.task, self.context) if part)


def scores(folder: Path = PUBLISHED) -> Mapping[ScoreRow, Mapping[str, float]]:
    """The 76 rows of five scores, 0 to 100; a cell printed as `<0.000001` is 0. Source: Tables 4 to 8."""
    table: dict[ScoreRow, dict[str, float]] = {}
    for line in read_table(folder, "fact_or_fair_scores.csv"):
        context = Context(line["context"]) if line["context"] else None
        row = ScoreRow(Modality(line["modality"]), line["model"], line["attribute"], Task(line["task"]), context)
        table.setdefault(row, {})[line["score"]] = figure(line["value"])
    return table


def detector_errors(detector: str, folder: Path = PUBLISHED) -> Mapping[str, float]:
    """The larger of a detector's published error rates, 0 to 1, by attribute; empty of one that has none.

    `detector`: `FairFace` or `DeepFace`. Source: both versions of the paper, their sections on detectors.
    """
    rows = [line for line in read_table(folder, "fact_or_fair_detector_errors.csv") if line["detector"] == detector]
    if not rows:
        return {}
    return {name: max(figure(row[f"{name}_error"]) for row in rows) / 100 for name in GROUPS}


def summary(folder: Path = PUBLISHED) -> Mapping[str, Mapping[str, float]]:
    """The leaderboard: model -> column -> 0 to 100. Source: Table 2 of the 2025 revision."""
    return by_model(folder, "fact_or_fair_summary.csv")


def context_influence(folder: Path = PUBLISHED) -> Mapping[str, Mapping[str, float]]:
    """Shares of answers in the group that the context names: model -> column -> 0 to 100. Source: Table 3."""
    return by_model(folder, "fact_or_fair_context_influence.csv")


def distance_averages(folder: Path = PUBLISHED) -> Mapping[tuple[str, str], float]:
    """(model, attribute) -> mean of the row's d. Source: Table 8 of the 2025 revision, columns `Avg.`."""
    lines = read_table(folder, "fact_or_fair_distance_averages.csv")
    return {(line["model"], line["attribute"]): figure(line["value"]) for line in lines}
