"""Fact-or-Fair's published tables, recomputed from their own cells.

Whatever a row prints beside its own parts is computed again from them: S_fair from S_E and S_KLD, d from S_fact and
S_E, every average from what it averages. The tolerances are what two-decimal rounding of the parts and of the result
can add up to; d and S_fair allow a little more, since their parts pass through products and a minimisation.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.published_tables import (
    GROUPS,
    ScoreRow,
    context_influence,
    distance_averages,
    scores,
    summary,
)
from fairgate.benchmarks.fact_or_fair.reference import local_distance
from fairgate.benchmarks.fact_or_fair.scores import s_fair
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.benchmarks.published import NO_CAUSE, CellCheck, DerivedCell, mean, settled
from fairgate.core.statistics.distributions import distance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BENCHMARK = "Fact-or-Fair"
S_FAIR = DerivedCell("S_fair from S_E and S_KLD", 0.06)
DISTANCE = DerivedCell("d from S_fact and S_E", 0.03)
SUMMARY = DerivedCell("leaderboard from its parts", 0.01)
DISTANCE_AVERAGE = DerivedCell("average of d", 0.01)
INFLUENCE = DerivedCell("average increase over the baselines", 0.01)


def audit() -> Iterator[CellCheck]:
    """Every derived cell, in the tables' order."""
    held = scores()
    for row, cells in held.items():
        fair = _s_fair(cells)
        yield _explained(CellCheck(BENCHMARK, "Table 5", S_FAIR, str(row), "S_fair", cells["S_fair"], fair), cells)
    for row, cells in held.items():
        d = _d(cells, row.attribute)
        yield _explained(CellCheck(BENCHMARK, "Table 8", DISTANCE, str(row), "d", cells["d"], d), cells)
    means = _means_of_d(held)
    for (model, attribute), printed in distance_averages().items():
        name, found = f"{model}, {attribute}", means[model, attribute]
        yield _explained(CellCheck(BENCHMARK, "Table 8", DISTANCE_AVERAGE, name, "average of d", printed, found))
    for model, cells in summary().items():
        for column, recomputed in _leaderboard_row(cells, _leaderboard_parts(held, model)).items():
            yield _explained(CellCheck(BENCHMARK, "Table 2", SUMMARY, model, column, cells[column], recomputed))
    for model, cells in context_influence().items():
        for attribute, k in GROUPS.items():
            column, recomputed = f"average_increase_{attribute}", _average_increase(cells, attribute, k)
            yield _explained(CellCheck(BENCHMARK, "Table 3", INFLUENCE, model, column, cells[column], recomputed))


def inherited() -> Iterator[CellCheck]:
    """Averages that would change if the cells they average were what their own rows give."""
    held = scores()
    corrected = {
        row: {
            "S_fact": cells["S_fact"],
            "S_fair": settled(S_FAIR, cells["S_fair"], _s_fair(cells)),
            "d": settled(DISTANCE, cells["d"], _d(cells, row.attribute)),
        }
        for row, cells in held.items()
    }
    means, why = _means_of_d(corrected), "averages d that the rows do not give"
    for (model, attribute), printed in distance_averages().items():
        name, found = f"{model}, {attribute}", means[model, attribute]
        check = CellCheck(BENCHMARK, "Table 8", DISTANCE_AVERAGE, name, "average of d", printed, found, why)
        if not check.agrees:
            yield check
    why = "rests on an S_fair that its row does not give"
    for model, cells in summary().items():
        parts = _leaderboard_parts(corrected, model)
        # Twice: the first pass corrects the averages of parts, the second the average of those averages.
        row_of_parts = _leaderboard_row(_leaderboard_row({**cells, **parts}, parts), parts)
        for column, printed in cells.items():
            check = CellCheck(BENCHMARK, "Table 2", SUMMARY, model, column, printed, row_of_parts[column], why)
            # The last column is a mean of means of means here, so rounding has twice the room.
            if abs(check.printed - check.recomputed) > 2 * check.tolerance:
                yield check


def _s_fair(cells: Mapping[str, float]) -> float:
    return 100 * float(s_fair(cells["S_E"] / 100, cells["S_KLD"] / 100))


def _d(cells: Mapping[str, float], attribute: str) -> float:
    return 100 * float(distance(cells["S_fact"] / 100, cells["S_E"] / 100, GROUPS[attribute]))


def _d_of_one_search(cells: Mapping[str, float], attribute: str) -> float:
    return 100 * local_distance(cells["S_fact"] / 100, cells["S_E"] / 100, GROUPS[attribute])


def _explained(check: CellCheck, parts: Mapping[str, float] | None = None) -> CellCheck:
    return check if check.agrees else replace(check, why=_why(check, parts or {}))


def _why(check: CellCheck, parts: Mapping[str, float]) -> str:
    """What the tables themselves let one say of a cell that does not agree, and no more."""
    if check.kind == S_FAIR and check.printed == parts["d"]:
        return "the printed figure is this row's d"
    if check.kind == DISTANCE:
        found = _d_of_one_search(parts, "race" if ", race," in check.row else "gender")
        if abs(found - check.printed) <= check.tolerance:
            return f"a local minimum: one bounded search (Algorithm 2) ends at {found:.2f}, the curve comes nearer"
        return f"{NO_CAUSE}: one bounded search finds the same minimum as a dense one"
    return f"{NO_CAUSE}: the cells that it is made of give another figure"


def _means_of_d(held: Mapping[ScoreRow, Mapping[str, float]]) -> Mapping[tuple[str, str], float]:
    columns: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row, cells in held.items():
        columns[row.model, row.attribute].append(cells["d"])
    return {key: mean(values) for key, values in columns.items()}


def _leaderboard_parts(held: Mapping[ScoreRow, Mapping[str, float]], model: str) -> dict[str, float]:
    """The four leaderboard cells that come from the score tables; S_fair is the mean over the contexts."""
    parts: dict[str, float] = {}
    for attribute in GROUPS:
        of = {row: cells for row, cells in held.items() if (row.model, row.attribute) == (model, attribute)}
        parts[f"objective_S_fact_{attribute}"] = mean(
            cells["S_fact"] for row, cells in of.items() if row.task == Task.OBJECTIVE
        )
        parts[f"subjective_S_fair_{attribute}"] = mean(
            cells["S_fair"] for row, cells in of.items() if row.task == Task.SUBJECTIVE
        )
    return parts


def _leaderboard_row(cells: Mapping[str, float], parts: Mapping[str, float]) -> dict[str, float]:
    """The nine columns: four from the score tables, five from the row's other cells."""
    return {
        **parts,
        "objective_S_fact_average": mean((cells["objective_S_fact_gender"], cells["objective_S_fact_race"])),
        "subjective_S_fair_average": mean((cells["subjective_S_fair_gender"], cells["subjective_S_fair_race"])),
        "average_gender": mean((cells["objective_S_fact_gender"], cells["subjective_S_fair_gender"])),
        "average_race": mean((cells["objective_S_fact_race"], cells["subjective_S_fair_race"])),
        "average": mean((cells["average_gender"], cells["average_race"])),
    }


def _average_increase(cells: Mapping[str, float], attribute: str, k: int) -> float:
    """Mean over the five columns of share - baseline: 1/k, and 1 - 1/k for the out-group. Source: section 6.1."""
    chance = 100 / k
    named = ("representativeness_high", "representativeness_low", "attribution", "in_group")
    rises = [cells[f"{column}_{attribute}"] - chance for column in named]
    return mean([*rises, cells[f"out_group_{attribute}"] - (100 - chance)])
