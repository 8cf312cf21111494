"""F²Bench's tables of a report: its scores, raw and corrected, and the judge's own record; the same for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairgate.benchmarks.f2bench.specs import SCORES, TASKS
from fairgate.benchmarks.sections import Row, Section
from fairgate.reports.numbers import ceiling, coverage, interval, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.benchmarks.f2bench.judge_validation import Fitness
    from fairgate.benchmarks.score_result import ScoreResult

MEASURES = ("agreement", "kappa", "sensitivity", "specificity")
SECONDARY = "secondary "  # how the groups of secondary labels begin


def sections(entries: Sequence[ScoreResult], scoring: str) -> Iterator[Section]:
    """The scores by category, shown by `scoring`."""
    for task in TASKS:
        yield from _scores(task.name, [each for each in entries if each.scoring == scoring], scoring)


def judges(judging: Sequence[Fitness], judge: str | None) -> Iterator[Section]:
    """The record of the judge of this name on the gold sets; nothing where it was not asked."""
    if judging:
        rows = (
            Row(f"{each.items} {each.task} texts", tuple(_measured(each, name) for name in MEASURES))
            for each in judging
        )
        notes = (f"{each.task}: {_rest_of(each)}" for each in judging)
        yield Section(f"Judge {(judge or '')[:30]}", MEASURES, tuple(rows), tuple(notes))


def record(judged: Fitness) -> dict[str, object]:
    """The judge's record for programs; a share, or kappa, that nothing is known of is null."""
    found = judged.agreement
    measured = {name: getattr(found, name) for name in MEASURES}
    return {
        "task": judged.task,
        **{name: _known(each.value) for name, each in measured.items()},
        **{f"{name}_ci": (_known(each.low), _known(each.high)) for name, each in measured.items()},
        "items": judged.items,
        "unreadable": judged.unread,
        "steered": judged.steered,
        "steering": judged.steering,
        "steerable": judged.steerable,
        "marked": judged.marked,
        "marks_within_one": judged.within_one,
        "mark_distance": judged.distance,
        "unfit": judged.unfit,
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _scores(task: str, entries: Sequence[ScoreResult], scoring: str) -> Iterator[Section]:
    """Each score raw and, in brackets, corrected for the judge's errors."""
    columns = tuple(score.name for score in SCORES if any(name == task for _, name in score.tasks))
    shown = [each for each in entries if each.task == task and each.score in columns]
    rows = []
    for group in dict.fromkeys(each.group for each in shown if not (each.group or "").startswith(SECONDARY)):
        found = {each.score: each for each in shown if each.group == group}
        cells = [found.get(column) for column in columns]
        rows.append(Row(f"{group or 'in all'}{coverage(cells[0])}", tuple(map(_both, cells))))
        if group is None and scoring == "definition":
            rows.append(Row("  interval", tuple("" if cell is None else interval(cell) for cell in cells)))
            best = tuple("" if cell is None else ceiling(cell) for cell in cells)
            rows += [Row("  expected for an ideal model", best)] if any(best) else []
    if rows:
        by = "raw (corrected)" if scoring == "definition" else scoring
        yield Section(f"F²Bench {task}, {by}", columns, tuple(rows))


def _both(entry: ScoreResult | None) -> str:
    if entry is None or entry.value is None:
        return "-"
    return number(entry.value) if entry.estimate is None else f"{entry.value:.1f} ({entry.estimate:.1f})"


def _measured(judged: Fitness, name: str) -> str:
    found = getattr(judged.agreement, name)
    if math.isnan(found.value):
        return "-"
    scale, digits = (1, 2) if name == "kappa" else (100, 1)
    return f"{scale * found.value:.{digits}f} [{scale * found.low:.{digits}f}, {scale * found.high:.{digits}f}]"


def _rest_of(judged: Fitness) -> str:
    share = "" if judged.steerable is None else f" ({100 * judged.steerable:.0f} %)"
    steered = f"steered by {judged.steered} of {judged.steering} texts that try to{share}"
    parts = [f"{judged.unread} unreadable", steered]
    if judged.within_one is not None and judged.distance is not None:
        near, apart = 100 * judged.within_one, judged.distance
        parts.append(f"{judged.marked} marks: {near:.0f} % within one point, {apart:.1f} points apart")
    return ", ".join(parts)
