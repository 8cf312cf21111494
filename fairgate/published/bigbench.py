"""The published tables of BIGbench, held against one another.

Totals by protected attribute can be recomputed by the weights of equation 2. Those over categories cannot, since the
weights of the prompts in each are not printed with them; but a weighted mean lies between the least and the greatest of
its parts, and the same figure is the same wherever it stands.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, variance
from typing import TYPE_CHECKING

from fairgate.published.audit import NO_CAUSE, Check, Kind
from fairgate.published.tables import bigbench as table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BENCHMARK = "BIGbench"
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


def audit() -> tuple[Check, ...]:
    """Every figure that another one speaks of, kind by kind."""
    checks = (*_attributes(), *_ranges(), *_copies(), *_means(), *_variances())
    return tuple(check if check.agrees else replace(check, why=_why(check)) for check in checks)


def _attributes() -> Iterator[Check]:
    for number, total in BY_ATTRIBUTE.items():
        rows = table(number)
        for model, printed in rows[total].items():
            yield _check(number, Kind.ATTRIBUTES, model, total, printed, _weighted(rows, model))
    # Of the debiasing methods, Table 11 has the attributes over all prompts.
    rows, summary = table(11), table(3)["Implicit Bias"]
    for model in DEBIASED:
        yield _check(3, Kind.ATTRIBUTES, model, "Implicit Bias", summary[model], _weighted(rows, model))


def _ranges() -> Iterator[Check]:
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


def _copies() -> Iterator[Check]:
    for number, origins in COPIES.items():
        rows = table(number)
        for name, (origin, total) in origins.items():
            for model, printed in rows[name].items():
                yield _check(number, Kind.COPY, model, name, printed, table(origin)[total][model], origin)
    for debiased, general in zip(KINDS[0].values(), KINDS[1].values(), strict=True):
        for name, row in table(debiased).items():
            there = table(general)[name]["SD1.5"]
            yield _check(debiased, Kind.COPY, "SD1.5", name, row["SD1.5"], there, general)


def _means() -> Iterator[Check]:
    for number in STABILITY:
        rows = table(number)
        for model, printed in rows["Average"].items():
            mean = fmean(row[model] for name, row in rows.items() if name != "Average")
            yield _check(number, Kind.MEAN, model, "Average", printed, mean)
    for model, row in table(2).items():
        yield _check(2, Kind.MEAN, model, "Sum", row["Sum"], fmean(row[each] for each in WEIGHTS))


def _variances() -> Iterator[Check]:
    rows = table(10)
    for size, row in rows.items():
        if size == "Overall":
            continue
        for model in ("SD1.5", "SDXL-T"):
            runs = [[table(number)[f"{size} ({run})"][model] for run in RUNS] for number in STABILITY]
            yield _check(10, Kind.VARIANCE, model, f"variance of {size}", row[model], fmean(map(variance, runs)))


def _weighted(rows: Mapping[str, Mapping[str, float]], model: str) -> float:
    return sum(weight * rows[name][model] for name, weight in WEIGHTS.items())


def _between(number: int, model: str, column: str, printed: float, parts: list[float]) -> Check:
    nearest = min(max(printed, min(parts)), max(parts))
    why = f"outside its parts, which are {min(parts):.2f} to {max(parts):.2f}"
    return replace(_check(number, Kind.RANGE, model, column, printed, nearest), why="" if nearest == printed else why)


def _check(
    number: int, kind: Kind, model: str, column: str, printed: float, recomputed: float, origin: int | None = None
) -> Check:
    why = "" if origin is None or printed == recomputed else f"Table {origin} has the other figure"
    return Check(BENCHMARK, f"Table {number}", kind, model, column, printed, recomputed, why)


def _why(check: Check) -> str:
    if check.why:
        return check.why
    digits = f"{check.printed:.2f}", f"{check.recomputed:.2f}"
    if len(digits[0]) == len(digits[1]) and sum(a != b for a, b in zip(*digits, strict=True)) == 1:
        return "one digit differs from what its parts give"
    return f"{NO_CAUSE}: its parts give another figure"
