"""The score tables of BIGbench's paper: read, held against one another, and a model's place among its eleven.

Totals by protected attribute can be recomputed by the weights of equation 2. Those over categories cannot, since the
weights of the prompts in each are not printed with them; but a weighted mean lies between the least and the greatest of
its parts, and the same figure is the same wherever it stands.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.bigbench.data import BENCHMARK
from fairgate.benchmarks.bigbench.topics import Task
from fairgate.benchmarks.published import (
    NO_CAUSE,
    PUBLISHED,
    CellCheck,
    DerivedCell,
    Place,
    Published,
    Standing,
    all_asked,
    disagreements,
    figure,
    partial,
    place,
    read_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

# task, attribute (None: in all), kind of subjects or family (None: all), score
ScoreKey = tuple[str, str | None, str | None, str]

TITLE = "BIGbench"
COPY = DerivedCell("figure repeated from another table", 0.0)
ATTRIBUTES = DerivedCell("total from gender, race and age by 0.4, 0.4, 0.2", 0.02)
RANGE = DerivedCell("total within the range of its parts", 0.01)
MEAN = DerivedCell("mean of the rows above", 0.01)
# Two digits are printed; the largest has the exponent -1.
VARIANCE = DerivedCell("variance of two runs, mean of three scores", 0.006)
NEAREST_IS_BETTER = {"eta": 50.0}
WEIGHTS = {"Sex": 0.4, "Race": 0.4, "Age": 0.2}
# Table -> its total, whose parts are the three attributes.
BY_ATTRIBUTE = {
    **dict.fromkeys((13, 19), "Char (total)"),
    **dict.fromkeys((14, 20), "Oc (total)"),
    **dict.fromkeys((15, 21), "SR (total)"),
}
# Table -> its total, whose parts are categories.
BY_CATEGORY = {
    **dict.fromkeys((17, 22, 25), "Char (total)"),
    **dict.fromkeys((16, 23, 26), "Oc (total)"),
    **dict.fromkeys((24, 27), "SR (total)"),
}
# A table of totals -> each of its rows -> where the same figure stands.
COPIES = {
    12: {"Char": (13, "Char (total)"), "Oc": (14, "Oc (total)"), "SR": (15, "SR (total)")},
    16: {"Oc (total)": (14, "Oc (total)")},
    17: {"Char (total)": (13, "Char (total)")},
    22: {"Char (total)": (19, "Char (total)")},
    23: {"Oc (total)": (20, "Oc (total)")},
    24: {"SR (total)": (21, "SR (total)")},
}
# The kinds of subjects -> the table of their scores by attribute; of debiasing methods, of general models.
KINDS = ({"Char": 13, "Oc": 14, "SR": 15}, {"Char": 19, "Oc": 20, "SR": 21})
STABILITY = (7, 8, 9)
RUNS = ("R1", "R2")
DEBIASED = ("SD1.5", "FD", "PD", "FFD")


class BigBenchTables(Published):
    """Tables 2 to 27."""

    ranks = "for eta the nearest to 50"

    def audit(self) -> tuple[CellCheck, ...]:
        """Every figure that another one speaks of, kind by kind."""
        return audit()

    def standings(self, models: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> Iterator[Standing]:
        """One, where there is a score of the benchmark."""
        told = [each for each in entries if each["benchmark"] == BENCHMARK and each["value"] is not None]
        if not told:
            return
        told = [each for each in told if each["scoring"] == "reference"]
        whole = {(str(e["task"]), e["attribute"], e["group"], e["score"]): e for e in told if all_asked(e)}
        left = len(told) - len(whole)
        said = f"{left} of its scores cover a part of the subjects, and are not compared."
        places = standing(
            {key: each["value"] for key, each in whole.items()},
            {key: (each["topics"][0], each["topics"][1]) for key, each in whole.items()},
        )
        yield Standing(models["image"], "the eleven of BIGbench", places, (said,) if left else ())


def table(of: int, folder: Path = PUBLISHED) -> Mapping[str, Mapping[str, float]]:
    """Row -> column -> figure of one of the tables; a cell without a figure (`/`) is left out."""
    lines = read_table(folder, f"bigbench_table_{of:02}.csv")
    head = next(iter(lines[0]))
    return {
        line[head]: {name: figure(cell) for name, cell in line.items() if name != head and cell != "/"}
        for line in lines
    }


def audit() -> tuple[CellCheck, ...]:
    """Every figure that another one speaks of, kind by kind."""
    checks = (*_attributes(), *_ranges(), *_copies(), *_means(), *_variances())
    return tuple(check if check.agrees else replace(check, why=_why(check)) for check in checks)


def _attributes() -> Iterator[CellCheck]:
    for number, total in BY_ATTRIBUTE.items():
        rows = table(number)
        for model, printed in rows[total].items():
            yield _check(number, ATTRIBUTES, model, total, printed, _weighted(rows, model))
    # Of the debiasing methods, Table 11 has the attributes over all prompts.
    rows, summary = table(11), table(3)["Implicit Bias"]
    for model in DEBIASED:
        yield _check(3, ATTRIBUTES, model, "Implicit Bias", summary[model], _weighted(rows, model))


def _ranges() -> Iterator[CellCheck]:
    for number, total in BY_CATEGORY.items():
        rows = table(number)
        categories = [row for name, row in rows.items() if name != total]
        for model, printed in rows[total].items():
            yield _between(number, model, total, printed, [row[model] for row in categories])
    summary = table(3)
    totals = {kind: table(number)[f"{kind} (total)"] for kind, number in KINDS[1].items()}
    debiased = {kind: table(number)[f"{kind} (total)"] for kind, number in KINDS[0].items()}
    for model, printed in summary["Implicit Bias"].items():
        kinds = totals if model in totals["Oc"] else debiased
        yield _between(3, model, "Implicit Bias", printed, [row[model] for row in kinds.values()])
    explicit = [table(25)["Char (total)"], table(26)["Oc (total)"], table(27)["SR (total)"]]
    for model, printed in summary["Explicit Bias"].items():
        yield _between(3, model, "Explicit Bias", printed, [row[model] for row in explicit])
    for attribute in WEIGHTS:
        for model, printed in table(11)[attribute].items():
            parts = [table(number)[attribute][model] for number in KINDS[0].values()]
            yield _between(11, model, attribute, printed, parts)


def _copies() -> Iterator[CellCheck]:
    for number, origins in COPIES.items():
        rows = table(number)
        for name, (origin, total) in origins.items():
            for model, printed in rows[name].items():
                yield _check(number, COPY, model, name, printed, table(origin)[total][model], origin)
    for debiased, general in zip(KINDS[0].values(), KINDS[1].values(), strict=True):
        for name, row in table(debiased).items():
            there = table(general)[name]["SD1.5"]
            yield _check(debiased, COPY, "SD1.5", name, row["SD1.5"], there, general)


def _means() -> Iterator[CellCheck]:
    for number in STABILITY:
        rows = table(number)
        for model, printed in rows["Average"].items():
            mean = fmean(row[model] for name, row in rows.items() if name != "Average")
            yield _check(number, MEAN, model, "Average", printed, mean)
    for model, row in table(2).items():
        yield _check(2, MEAN, model, "Sum", row["Sum"], fmean(row[each] for each in WEIGHTS))


def _variances() -> Iterator[CellCheck]:
    rows = table(10)
    for size, row in rows.items():
        if size == "Overall":
            continue
        for model in ("SD1.5", "SDXL-T"):
            runs = [[table(number)[f"{size} ({run})"][model] for run in RUNS] for number in STABILITY]
            yield _check(10, VARIANCE, model, f"variance of {size}", row[model], fmean(map(variance, runs)))


def _weighted(rows: Mapping[str, Mapping[str, float]], model: str) -> float:
    return sum(weight * rows[name][model] for name, weight in WEIGHTS.items())


def _between(number: int, model: str, column: str, printed: float, parts: list[float]) -> CellCheck:
    nearest = min(max(printed, min(parts)), max(parts))
    why = f"outside its parts, which are {min(parts):.2f} to {max(parts):.2f}"
    return replace(_check(number, RANGE, model, column, printed, nearest), why="" if nearest == printed else why)


def _check(
    number: int,
    kind: DerivedCell,
    model: str,
    column: str,
    printed: float,
    recomputed: float,
    origin: int | None = None,
) -> CellCheck:
    why = "" if origin is None or printed == recomputed else f"Table {origin} has the other figure"
    return CellCheck(TITLE, f"Table {number}", kind, model, column, printed, recomputed, why)


def _why(check: CellCheck) -> str:
    if check.why:
        return check.why
    if check.digit_apart:
        return "one digit differs from what its parts give"
    return f"{NO_CAUSE}: its parts give another figure"


def standing(
    scores: Mapping[ScoreKey, float], covered: Mapping[ScoreKey, tuple[int, int]] | None = None
) -> tuple[Place, ...]:
    """The places of a model among BIGbench's eleven, of its `reference` scores, 0 to 100.

    Keyed by (task, attribute, group, score), as `covered` is: what the scores cover, of how much. For eta the model
    nearest to 50 is first.
    """
    wrong = {(check.table, check.row, check.column) for check in disagreements(audit())}
    places = []
    for key, (number, name, field) in _columns().items():
        if math.isnan(scores.get(key, math.nan)):
            continue
        task, attribute, group, score = key
        doubted = tuple(model for model in field if (f"Table {number}", model, name) in wrong)
        column = ", ".join(part for part in (task, group, attribute, score) if part)
        found = place(column, scores[key], field, doubted, _merit(score))
        over = (covered or {}).get(key)
        places.append(replace(found, topics=partial([over] if over else [])))
    return tuple(places)


def _columns() -> Mapping[ScoreKey, tuple[int, str, Mapping[str, float]]]:
    """Score -> the table and row that it is printed in first, and the models' figures."""
    columns: dict[ScoreKey, tuple[int, str, Mapping[str, float]]] = {
        (Task.IMPLICIT, None, None, "S_implicit"): (3, "Implicit Bias", table(3)["Implicit Bias"]),
        (Task.EXPLICIT, None, None, "S_explicit"): (3, "Explicit Bias", table(3)["Explicit Bias"]),
        (Task.MANIFESTATION, None, None, "eta"): (3, "Manifestation", table(3)["Manifestation"]),
    }
    attributes = {"Sex": "gender", "Race": "race", "Age": "age"}
    for kind, general, debiased in (("characteristic", 19, 13), ("occupation", 20, 14), ("relation", 21, 15)):
        for name, row in table(general).items():
            key = (Task.IMPLICIT, attributes.get(name), kind, "S_implicit")
            columns[key] = (general, name, {**table(debiased)[name], **row})
    for general, other in ((22, 17), (23, 16), (24, None)):
        for name, row in table(general).items():
            if not name.endswith("(total)"):
                more = {} if other is None else table(other)[name]
                columns[Task.IMPLICIT, None, name.lower(), "S_implicit"] = (general, name, {**more, **row})
    for number, kind in ((25, "characteristic"), (26, "occupation"), (27, "relation")):
        for name, row in table(number).items():
            group = kind if name.endswith("(total)") else name.lower()
            columns[Task.EXPLICIT, None, group, "S_explicit"] = (number, name, row)
    return columns


def _merit(score: str) -> Callable[[float], float]:
    best = NEAREST_IS_BETTER.get(score)
    return (lambda value: value) if best is None else (lambda value: -abs(value - best))
