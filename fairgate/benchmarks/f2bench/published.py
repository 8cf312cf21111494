"""The score tables of F²Bench's paper: read, recomputed from their own cells, and a model's place among its nine.

FF1 is computed again from its two scores, every average from what it averages. The tolerances are what two-decimal
rounding of the parts and of the result can add up to. A model is to be compared by `reference` scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.f2bench.cases import BENCHMARK
from fairgate.benchmarks.f2bench.topics import Task
from fairgate.benchmarks.published import (
    NO_CAUSE,
    PUBLISHED,
    CellCheck,
    DerivedCell,
    Place,
    Published,
    Standing,
    by_model,
    disagreements,
    figure,
    mean,
    place,
    read_table,
    settled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

# task, category (None: in all), score
ScoreKey = tuple[str, str | None, str]

TITLE = "F²Bench"
AVERAGE = "average"
FF1 = DerivedCell("FF1 from fairness and factuality", 0.02)
CATEGORY_MEAN = DerivedCell("mean of the ten categories", 0.01)
COPY = DerivedCell("figure repeated from another table", 0.0)


class F2BenchTables(Published):
    """Tables 5 to 7."""

    def audit(self) -> tuple[CellCheck, ...]:
        """FF1, averages and copies."""
        return tuple(audit())

    def inherited(self) -> tuple[CellCheck, ...]:
        """Averages of FF1, and their copies."""
        return tuple(inherited())

    def standings(self, models: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> Iterator[Standing]:
        """One, where the benchmark was scored."""
        mine = [each for each in entries if each["benchmark"] == BENCHMARK]
        if not mine:
            return
        released = [each for each in mine if each["scoring"] == "reference"]
        whole = [each for each in released if each["topics"][0] == each["topics"][1] and each["value"] is not None]
        places = standing({(str(each["task"]), each["group"], each["score"]): each["value"] for each in whole})
        # Secondary categories have no published column.
        left = sum(each not in whole and not str(each["group"]).startswith("secondary ") for each in released)
        said = f"{left} of its scores cover a part of the instances only, and are not compared."
        if not released:
            said = "Run with `--scoring reference`: the released program asks questions of its own."
        yield Standing(models["text"], "the nine of F²Bench", places, () if released and not left else (said,))


@dataclass(frozen=True, slots=True)
class RowKey:
    """What identifies one row of F²Bench's tables: a model, a task, a score."""

    model: str
    task: Task
    score: str


def scores(folder: Path = PUBLISHED) -> Mapping[RowKey, Mapping[str, float]]:
    """Rows of ten categories and `average`, 0 to 100. Source: Tables 5 and 6 of the F²Bench paper."""
    table: dict[RowKey, dict[str, float]] = {}
    for line in read_table(folder, "f2bench_scores.csv"):
        row = RowKey(line["model"], Task(line["task"]), line["score"])
        table.setdefault(row, {})[line["category"]] = figure(line["value"])
    return table


def comparison(folder: Path = PUBLISHED) -> Mapping[str, Mapping[str, float]]:
    """Seven models beside CrowS-Pairs: model -> column -> 0 to 100. Source: Table 7 of the F²Bench paper."""
    return by_model(folder, "f2bench_crows_pairs.csv")


def harmonic_mean(a: float, b: float) -> float:
    """2ab/(a+b), 0 where both are 0. Source: F²Bench, section 5.2, without its factor 100 too many."""
    return 2 * a * b / (a + b) if a + b else 0.0


def audit() -> Iterator[CellCheck]:
    """Every derived cell, in the tables' order."""
    held = scores()
    for row, cells in held.items():
        for category, parts in _parts(held, row).items():
            printed, recomputed = cells[category], harmonic_mean(*parts.values())
            check = CellCheck(TITLE, "Table 6", FF1, row.model, f"FF1 {category}", printed, recomputed)
            yield _explained(check, parts)
    for row, cells in held.items():
        table, printed, found = _table(row), cells[AVERAGE], _category_mean(cells)
        yield _explained(CellCheck(TITLE, table, CATEGORY_MEAN, row.model, _average_column(row), printed, found))
    for model, cells in comparison().items():
        for column, origin in _origins(model).items():
            printed, original = cells[column], held[origin][AVERAGE]
            yield _explained(CellCheck(TITLE, "Table 7", COPY, model, column, printed, original))


def inherited() -> Iterator[CellCheck]:
    """Averages that would change if the cells they average were what their own rows give."""
    held = scores()
    wrong = {(check.row, check.column): check for check in disagreements(audit())}
    why = "averages an FF1 that its two scores do not give"
    for row, cells in held.items():
        parts = _parts(held, row)
        if not parts or (row.model, _average_column(row)) in wrong:
            continue
        found = mean(settled(FF1, cells[name], harmonic_mean(*pair.values())) for name, pair in parts.items())
        printed, column = cells[AVERAGE], _average_column(row)
        check = CellCheck(TITLE, "Table 6", CATEGORY_MEAN, row.model, column, printed, found, why)
        if not check.agrees:
            yield check
    why = "repeats an average that the ten categories do not give"
    for model, cells in comparison().items():
        for column, origin in _origins(model).items():
            original = wrong.get((model, _average_column(origin)))
            if original:
                yield CellCheck(TITLE, "Table 7", COPY, model, column, cells[column], original.recomputed, why)


def _explained(check: CellCheck, parts: Mapping[str, float] | None = None) -> CellCheck:
    return check if check.agrees else replace(check, why=_why(check, parts or {}))


def _why(check: CellCheck, parts: Mapping[str, float]) -> str:
    """What the tables themselves let one say of a cell that does not agree, and no more."""
    if check.kind == FF1:
        if check.printed > max(parts.values()):
            return f"{NO_CAUSE}: the printed figure is above both scores that it is the harmonic mean of"
        if check.printed > check.recomputed:
            return f"{NO_CAUSE}: averaging FF1 over runs could only give less than the printed parts do"
    if check.kind == CATEGORY_MEAN and check.digit_apart:
        return "one digit differs from the mean of the ten cells"
    return f"{NO_CAUSE}: the cells that it is made of give another figure"


def _parts(held: Mapping[RowKey, Mapping[str, float]], row: RowKey) -> Mapping[str, Mapping[str, float]]:
    """Category -> the two scores that an FF1 cell is made of; nothing for a row of another score."""
    if row.score != "FF1":
        return {}
    pair = {score: held[RowKey(row.model, row.task, score)] for score in ("S_fairness", "S_factuality")}
    return {
        category: {score: cells[category] for score, cells in pair.items()}
        for category in held[row]
        if category != AVERAGE
    }


def _table(row: RowKey) -> str:
    return "Table 5" if row.task is Task.DIALOGUE else "Table 6"


def _average_column(row: RowKey) -> str:
    return "dialogue average" if row.task is Task.DIALOGUE else f"{row.score} average"


def _category_mean(cells: Mapping[str, float]) -> float:
    return mean(value for category, value in cells.items() if category != AVERAGE)


def _origins(model: str) -> Mapping[str, RowKey]:
    """Table 7's columns -> the rows of Tables 5 and 6 whose averages they repeat."""
    balance = {score: RowKey(model, Task.BALANCE, score) for score in ("FF1", "S_fairness", "S_factuality")}
    return {"dialogue": RowKey(model, Task.DIALOGUE, "score"), **balance}


def standing(own: Mapping[ScoreKey, float]) -> tuple[Place, ...]:
    """The places of a model among F²Bench's nine, of its `reference` scores, 0 to 100.

    The average has a place only where all ten categories have a score.
    """
    wrong = {(check.row, check.column) for check in disagreements(audit())}
    columns: dict[tuple[Task, str, str], dict[str, float]] = {}
    doubted: dict[tuple[Task, str, str], list[str]] = {}
    for row, cells in scores().items():
        for category, value in cells.items():
            column = (row.task, row.score, category)
            columns.setdefault(column, {})[row.model] = value
            if (row.model, f"{row.score} {category}") in wrong:
                doubted.setdefault(column, []).append(row.model)
    categories = {category for _, _, category in columns} - {AVERAGE}
    places = []
    for key, field in columns.items():
        task, printed, category = key
        score = "S_dialogue" if printed == "score" else printed
        group = None if category == AVERAGE else category
        value = own.get((task, group, score), math.nan)
        whole = all((task, each, score) in own for each in categories)
        if not math.isnan(value) and (group is not None or whole):
            places.append(place(f"{task}, {category}, {score}", value, field, tuple(doubted.get(key, ()))))
    return tuple(places)
