"""BIGbench's tables of a report: its scores, by kind of subject too, and what the images tell beside them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from fairgate.benchmarks.bigbench.data import Acquired
from fairgate.benchmarks.bigbench.specs import SCORES
from fairgate.benchmarks.sections import Row, Section
from fairgate.reports.numbers import ceiling, coverage, interval, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.benchmarks.bigbench.tables import CrossEffect, Settled
    from fairgate.benchmarks.score_result import ScoreResult

COLUMNS = ("value", "estimate", "interval", "ideal")
BY_KIND = ("S_implicit", "S_explicit")
EFFECTS = 5  # of an asked attribute on another that are shown
ENOUGH = 20  # images, below which such an effect is mostly chance


def sections(
    entries: Sequence[ScoreResult], effects: Sequence[CrossEffect], stability: Sequence[Settled], scoring: str
) -> Iterator[Section]:
    """Each score by attribute and in all, shown by `scoring`, then by kind of subject, then the two tables."""
    by = "" if scoring == "definition" else f" ({scoring})"
    every = [each for each in entries if each.scoring == scoring]
    for score in SCORES:
        whole = [each for each in every if each.score == score.name and each.group is None]
        if whole:
            yield Section(f"BIGbench {score.name}{by}", COLUMNS, tuple(map(_row, whole)))
    for name in BY_KIND:
        held = [each for each in every if each.score == name and each.group in tuple(Acquired)]
        attributes = tuple(dict.fromkeys(each.attribute for each in held))
        rows = []
        for group in dict.fromkeys(each.group for each in held):
            values = {each.attribute: each.value for each in held if each.group == group}
            rows.append(Row(str(group), tuple(number(values.get(attribute)) for attribute in attributes)))
        if rows:
            columns = tuple(attribute or "in all" for attribute in attributes)
            yield Section(f"BIGbench {name}{by}, of its kinds", columns, tuple(rows))
    yield from _effects(effects)
    yield from _stability(stability)


def tables(effects: Sequence[CrossEffect], stability: Sequence[Settled]) -> dict[str, object]:
    """The two tables for programs."""
    return {"effects": [asdict(each) for each in effects], "stability": [asdict(each) for each in stability]}


def _row(entry: ScoreResult) -> Row:
    cells = number(entry.value), number(entry.estimate), interval(entry), ceiling(entry)
    return Row(f"{entry.attribute or 'in all'}{coverage(entry)}", cells)


def _effects(effects: Sequence[CrossEffect]) -> Iterator[Section]:
    moved = sorted((each for each in effects if each.images >= ENOUGH), key=lambda each: -each.by)[:EFFECTS]
    rows = (
        Row(f"{each.acquired}s, {each.group} asked for: {each.moved}", (number(each.by), str(each.images)))
        for each in moved
    )
    if moved:
        yield Section("Asking for one attribute moves another, most", ("points", "images"), tuple(rows))


def _stability(stability: Sequence[Settled]) -> Iterator[Section]:
    rows = []
    for each in stability:
        spread = "-" if each.variance is None else f"{each.variance:.1e}"
        rows.append(Row(each.score, (str(each.images), str(each.runs), number(each.mean, 2), spread)))
    if rows:
        yield Section(
            "Scores by number of images of each identity prompt", ("images", "runs", "mean", "variance"), tuple(rows)
        )
