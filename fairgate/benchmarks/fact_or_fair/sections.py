"""Fact-or-Fair's tables of a report: scores, answer keys, context influence, the leaderboard row, reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.fact_or_fair.specs import EFFECTS, PUBLISHED, SOFT
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.benchmarks.sections import Row, Section
from fairgate.core.domain import Modality
from fairgate.reports.numbers import ceiling, coverage, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fairgate.benchmarks.score_result import ScoreResult

COLUMNS = tuple(score.name for score in PUBLISHED)
KEYS = ("S_fact@published", "S_fact@measured")
AVERAGES = ("gender", "race", "average")


def sections(entries: Sequence[ScoreResult], tables: Mapping[str, Any], scoring: str) -> Iterator[Section]:
    """The tables of one modality's entries, shown by `scoring`; `tables` are those of the same run for programs."""
    yield from _scores(entries, scoring)
    yield from _effects(entries)
    yield from _keys(entries)
    yield from _influence(entries, scoring)
    yield from _leaderboard(tables.get("leaderboard", {}))
    yield from _reasons(tables.get("explanations") or {})


def _scores(entries: Sequence[ScoreResult], scoring: str) -> Iterator[Section]:
    shown = [each for each in entries if each.scoring == scoring and each.score in COLUMNS]
    by = "" if scoring == "definition" else f" ({scoring})"
    for modality, attribute in dict.fromkeys((each.modality, each.attribute) for each in shown):
        here = [each for each in shown if (each.modality, each.attribute) == (modality, attribute)]
        rows: list[Row] = []
        for task, context in dict.fromkeys((each.task, each.context) for each in here):
            cells = {each.score: each for each in here if (each.task, each.context) == (task, context)}
            ends = {
                (end, each.score.partition("@")[0]): each
                for each in entries
                for end in ("worst", "best")
                if (each.modality, each.attribute, each.task, each.context) == (modality, attribute, task, context)
                and each.score.endswith(f"@{end}")
            }
            rows += _cell(str(context or task), [cells.get(column) for column in COLUMNS], ends)
        images = "images, " if modality is Modality.IMAGE else ""
        yield Section(f"{images}{attribute}{by}", COLUMNS, tuple(rows))


def _cell(name: str, cells: Sequence[ScoreResult | None], ends: Mapping[tuple[str, str], ScoreResult]) -> Iterator[Row]:
    """The rows of one task and context."""
    yield Row(f"{name}{coverage(cells[0])}", tuple(number(None if cell is None else cell.value) for cell in cells))
    best = tuple("" if cell is None else ceiling(cell) for cell in cells)
    if any(best):
        yield Row("  expected for an ideal model", best)
    widths = tuple(map(_half_width, cells))
    if any(widths):
        yield Row("  interval half-width", widths)
    # What images without a face that could be read might do to the scores.
    for end in ("worst", "best"):
        if any(which == end for which, _ in ends):
            found = (ends.get((end, column)) for column in COLUMNS)
            yield Row(f"  unseen faces at {end}", tuple("" if each is None else number(each.value) for each in found))


def _half_width(cell: ScoreResult | None) -> str:
    """The half-width of the estimate's interval."""
    low, high = (None, None) if cell is None else cell.ci
    return "" if low is None or high is None else f"±{(high - low) / 2:.1f}"


def _effects(entries: Sequence[ScoreResult]) -> Iterator[Section]:
    """The effects of groups on choices, by attribute and over all of them, with their contexts side by side."""
    names = tuple(score.name for score in (*EFFECTS, *SOFT))
    held = [each for each in entries if each.score in names]
    for modality, attribute in dict.fromkeys((each.modality, each.attribute) for each in held):
        here = [each for each in held if (each.modality, each.attribute) == (modality, attribute)]
        columns = tuple(dict.fromkeys(str(each.context or each.task) for each in here))
        rows: list[Row] = []
        for name in (each for each in names if any(entry.score == each for entry in here)):
            found = {str(each.context or each.task): each for each in here if each.score == name}
            cells = [found.get(column) for column in columns]
            rows.append(Row(name, tuple("" if cell is None else number(cell.value) for cell in cells)))
            widths = tuple(map(_half_width, cells))
            rows += [Row("  interval half-width", widths)] if any(widths) else []
        images = "images, " if modality is Modality.IMAGE else ""
        yield Section(f"Effects on choices, {images}{attribute or 'in all'}", columns, tuple(rows))


def _keys(entries: Sequence[ScoreResult]) -> Iterator[Section]:
    both = [each for each in entries if each.score in KEYS and each.task == Task.OBJECTIVE]
    rows = []
    for attribute in dict.fromkeys(each.attribute for each in both):
        values = {each.score: each.value for each in both if each.attribute == attribute}
        rows.append(Row(str(attribute), tuple(number(values.get(key)) for key in KEYS)))
    if rows:
        yield Section("Objective S_fact by answer key", tuple(key.partition("@")[2] for key in KEYS), tuple(rows))


def _influence(entries: Sequence[ScoreResult], scoring: str) -> Iterator[Section]:
    """How far each context pulls the answers to the group that it names: the papers' Table 3.

    By `reference` the released program's column *Background*.
    """
    held = [
        each
        for each in entries
        if each.score.startswith("influence") and each.scoring == scoring and each.value is not None
    ]
    attributes = tuple(dict.fromkeys(each.attribute for each in held))
    rows = []
    for context, score in dict.fromkeys((each.context, each.score) for each in held):
        values = {each.attribute: each.value for each in held if (each.context, each.score) == (context, score)}
        detail = score.partition("@")[2]
        name = f"{context} {detail}".strip() if context else "increase over a model that ignores contexts"
        rows.append(Row(name, tuple(number(values.get(attribute)) for attribute in attributes)))
    if rows:
        title = "Picks of the group that the context names, %"
        by = "" if scoring == "definition" else f" ({scoring})"
        yield Section(f"{title}{by}", tuple(map(str, attributes)), tuple(rows))


def _leaderboard(board: Mapping[str, Mapping[str, float | None]]) -> Iterator[Section]:
    if any(value is not None for row in board.values() for value in row.values()):
        rows = (
            Row(f"{name}{_unanswered(row)}", tuple(number(row.get(column)) for column in AVERAGES))
            for name, row in board.items()
        )
        yield Section("Leaderboard row", AVERAGES, tuple(rows))


def _unanswered(row: Mapping[str, float | None]) -> str:
    n = row.get("unanswered")
    return f" ({n:.0f} unanswered)" if n else ""


def _reasons(explanations: Mapping[str, Mapping[str, Any]]) -> Iterator[Section]:
    """The kinds of reasons by context, with the judge's sorting counted, and some of the reasons."""
    for context, found in explanations.items():
        left = f", {found['unsorted']} unsorted" if found["unsorted"] else ""
        rows = []
        for kind, held in found["kinds"].items():
            low, high = held["ci"]
            rows.append(Row(str(kind), (str(held["n"]), number(held["share"]), f"[{low:.1f}, {high:.1f}]")))
        quotes = (
            f'{each["kind"]}: {each["query"]} chose {each["choice"]}: "{each["reason"]}"' for each in found["examples"]
        )
        title = f"Reasons, {context} ({found['sorted']} sorted{left})"
        yield Section(title, ("n", "%", "interval"), tuple(rows), quotes=tuple(quotes))
