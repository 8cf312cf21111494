"""The published tables, recomputed from their own cells.

Whatever a row prints beside its own parts is computed again from them: S_fair from S_E and S_KLD, d from S_fact and
S_E, FF1 from its two scores, every average from what it averages. The tolerances are what two-decimal rounding of the
parts and of the result can add up to; d and S_fair allow a little more, since their parts pass through products and a
minimisation. BIGbench's tables are audited in `bigbench`: many of their totals are of parts that are not all printed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from fairgate.fact_or_fair.reference import local_distance
from fairgate.fact_or_fair.scores import s_fair
from fairgate.fact_or_fair.topics import Task
from fairgate.maths.distributions import distance
from fairgate.published.tables import (
    F2BENCH_AVERAGE,
    GROUPS,
    F2Row,
    ScoreRow,
    context_influence,
    distance_averages,
    f2bench_comparison,
    f2bench_scores,
    fact_or_fair_scores,
    fact_or_fair_summary,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Absorbs binary representation only: 84.79 - 84.78 is a hair more than 0.01.
ROUNDING = 1e-9

NO_CAUSE = "no cause is visible in the tables"


class Kind(StrEnum):
    """What a derived cell is made of, and so which formula recomputes it."""

    S_FAIR = "S_fair from S_E and S_KLD"
    DISTANCE = "d from S_fact and S_E"
    SUMMARY = "leaderboard from its parts"
    DISTANCE_AVERAGE = "average of d"
    INFLUENCE = "average increase over the baselines"
    FF1 = "FF1 from fairness and factuality"
    CATEGORY_MEAN = "mean of the ten categories"
    COPY = "figure repeated from another table"
    ATTRIBUTES = "total from gender, race and age by 0.4, 0.4, 0.2"
    RANGE = "total within the range of its parts"
    MEAN = "mean of the rows above"
    VARIANCE = "variance of two runs, mean of three scores"


TOLERANCE = {
    Kind.S_FAIR: 0.06,
    Kind.DISTANCE: 0.03,
    Kind.SUMMARY: 0.01,
    Kind.DISTANCE_AVERAGE: 0.01,
    Kind.INFLUENCE: 0.01,
    Kind.FF1: 0.02,
    Kind.CATEGORY_MEAN: 0.01,
    Kind.COPY: 0.0,
    Kind.ATTRIBUTES: 0.02,
    Kind.RANGE: 0.01,
    Kind.MEAN: 0.01,
    # Two digits are printed; the largest has the exponent -1.
    Kind.VARIANCE: 0.006,
}


@dataclass(frozen=True, slots=True)
class Check:
    """One published cell beside what its own row gives (scale 0 to 100). `why` is set where the two do not agree."""

    benchmark: str
    table: str
    kind: Kind
    row: str
    column: str
    printed: float
    recomputed: float
    why: str = ""

    @property
    def tolerance(self) -> float:
        """How far rounding alone can put the two apart."""
        return TOLERANCE[self.kind]

    @property
    def agrees(self) -> bool:
        """Whether rounding can explain the difference."""
        return abs(self.printed - self.recomputed) <= self.tolerance + ROUNDING


def audit() -> tuple[Check, ...]:
    """Every derived cell of Fact-or-Fair and F²Bench, in the tables' order."""
    return (*_fact_or_fair(), *_f2bench())


def disagreements(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The checks whose cell its own row does not give."""
    return tuple(check for check in checks if not check.agrees)


def inherited() -> tuple[Check, ...]:
    """Averages that agree with the cells they average, and would change if those were what their own rows give.

    Not faults of their own: what the faults of `disagreements` add up to, the leaderboard above all.
    """
    return (*_inherited_fact_or_fair(), *_inherited_f2bench())


def _s_fair(cells: Mapping[str, float]) -> float:
    return 100 * float(s_fair(cells["S_E"] / 100, cells["S_KLD"] / 100))


def _d(cells: Mapping[str, float], attribute: str) -> float:
    return 100 * float(distance(cells["S_fact"] / 100, cells["S_E"] / 100, GROUPS[attribute]))


def _d_of_one_search(cells: Mapping[str, float], attribute: str) -> float:
    return 100 * local_distance(cells["S_fact"] / 100, cells["S_E"] / 100, GROUPS[attribute])


def harmonic_mean(a: float, b: float) -> float:
    """2ab/(a+b), 0 where both are 0. Source: F²Bench, section 5.2, without its factor 100 too many."""
    return 2 * a * b / (a + b) if a + b else 0.0


def _fact_or_fair() -> Iterator[Check]:
    benchmark, scores = "Fact-or-Fair", fact_or_fair_scores()
    for row, cells in scores.items():
        fair = _s_fair(cells)
        yield _explained(Check(benchmark, "Table 5", Kind.S_FAIR, str(row), "S_fair", cells["S_fair"], fair), cells)
    for row, cells in scores.items():
        d = _d(cells, row.attribute)
        yield _explained(Check(benchmark, "Table 8", Kind.DISTANCE, str(row), "d", cells["d"], d), cells)
    means = _means_of_d(scores)
    for (model, attribute), printed in distance_averages().items():
        name, mean = f"{model}, {attribute}", means[model, attribute]
        yield _explained(Check(benchmark, "Table 8", Kind.DISTANCE_AVERAGE, name, "average of d", printed, mean))
    for model, cells in fact_or_fair_summary().items():
        for column, recomputed in _leaderboard_row(cells, _leaderboard_parts(scores, model)).items():
            yield _explained(Check(benchmark, "Table 2", Kind.SUMMARY, model, column, cells[column], recomputed))
    for model, cells in context_influence().items():
        for attribute, k in GROUPS.items():
            column, recomputed = f"average_increase_{attribute}", _average_increase(cells, attribute, k)
            yield _explained(Check(benchmark, "Table 3", Kind.INFLUENCE, model, column, cells[column], recomputed))


def _f2bench() -> Iterator[Check]:
    benchmark, scores = "F²Bench", f2bench_scores()
    for row, cells in scores.items():
        for category, parts in _f2_parts(scores, row).items():
            printed, recomputed = cells[category], harmonic_mean(*parts.values())
            check = Check(benchmark, "Table 6", Kind.FF1, row.model, f"FF1 {category}", printed, recomputed)
            yield _explained(check, parts)
    for row, cells in scores.items():
        table, printed, mean = _f2_table(row), cells[F2BENCH_AVERAGE], _category_mean(cells)
        yield _explained(Check(benchmark, table, Kind.CATEGORY_MEAN, row.model, _average_column(row), printed, mean))
    for model, cells in f2bench_comparison().items():
        for column, origin in _f2_origins(model).items():
            printed, original = cells[column], scores[origin][F2BENCH_AVERAGE]
            yield _explained(Check(benchmark, "Table 7", Kind.COPY, model, column, printed, original))


def _inherited_fact_or_fair() -> Iterator[Check]:
    benchmark, scores = "Fact-or-Fair", fact_or_fair_scores()
    mended = {
        row: {
            "S_fact": cells["S_fact"],
            "S_fair": _settled(Kind.S_FAIR, cells["S_fair"], _s_fair(cells)),
            "d": _settled(Kind.DISTANCE, cells["d"], _d(cells, row.attribute)),
        }
        for row, cells in scores.items()
    }
    means, why = _means_of_d(mended), "averages d that the rows do not give"
    for (model, attribute), printed in distance_averages().items():
        name, mean = f"{model}, {attribute}", means[model, attribute]
        check = Check(benchmark, "Table 8", Kind.DISTANCE_AVERAGE, name, "average of d", printed, mean, why)
        if not check.agrees:
            yield check
    why = "rests on an S_fair that its row does not give"
    for model, cells in fact_or_fair_summary().items():
        parts = _leaderboard_parts(mended, model)
        # Twice: the first pass mends the averages of parts, the second the average of those averages.
        row_of_parts = _leaderboard_row(_leaderboard_row({**cells, **parts}, parts), parts)
        for column, printed in cells.items():
            check = Check(benchmark, "Table 2", Kind.SUMMARY, model, column, printed, row_of_parts[column], why)
            # The last column is a mean of means of means here, so rounding has twice the room.
            if abs(check.printed - check.recomputed) > 2 * check.tolerance:
                yield check


def _inherited_f2bench() -> Iterator[Check]:
    benchmark, scores = "F²Bench", f2bench_scores()
    wrong = {(check.row, check.column): check for check in disagreements(_f2bench())}
    why = "averages an FF1 that its two scores do not give"
    for row, cells in scores.items():
        parts = _f2_parts(scores, row)
        if not parts or (row.model, _average_column(row)) in wrong:
            continue
        mean = _mean(_settled(Kind.FF1, cells[name], harmonic_mean(*pair.values())) for name, pair in parts.items())
        printed, column = cells[F2BENCH_AVERAGE], _average_column(row)
        check = Check(benchmark, "Table 6", Kind.CATEGORY_MEAN, row.model, column, printed, mean, why)
        if not check.agrees:
            yield check
    why = "repeats an average that the ten categories do not give"
    for model, cells in f2bench_comparison().items():
        for column, origin in _f2_origins(model).items():
            original = wrong.get((model, _average_column(origin)))
            if original:
                yield Check(benchmark, "Table 7", Kind.COPY, model, column, cells[column], original.recomputed, why)


def _explained(check: Check, parts: Mapping[str, float] | None = None) -> Check:
    return check if check.agrees else replace(check, why=_why(check, parts or {}))


def _why(check: Check, parts: Mapping[str, float]) -> str:
    """What the tables themselves let one say of a cell that does not agree, and no more."""
    if check.kind is Kind.S_FAIR and check.printed == parts["d"]:
        return "the printed figure is this row's d"
    if check.kind is Kind.DISTANCE:
        found = _d_of_one_search(parts, "race" if ", race," in check.row else "gender")
        if abs(found - check.printed) <= check.tolerance:
            return f"a local minimum: one bounded search (Algorithm 2) ends at {found:.2f}, the curve comes nearer"
        return f"{NO_CAUSE}: one bounded search finds the same minimum as a dense one"
    if check.kind is Kind.FF1:
        if check.printed > max(parts.values()):
            return f"{NO_CAUSE}: the printed figure is above both scores that it is the harmonic mean of"
        if check.printed > check.recomputed:
            return f"{NO_CAUSE}: averaging FF1 over runs could only give less than the printed parts do"
    if check.kind is Kind.CATEGORY_MEAN and _one_digit_apart(check.printed, check.recomputed):
        return "one digit differs from the mean of the ten cells"
    return f"{NO_CAUSE}: the cells that it is made of give another figure"


def _one_digit_apart(a: float, b: float) -> bool:
    left, right = f"{a:.2f}", f"{b:.2f}"
    return len(left) == len(right) and sum(x != y for x, y in zip(left, right, strict=True)) == 1


def _settled(kind: Kind, printed: float, recomputed: float) -> float:
    """The printed cell where its row gives it, else what the row gives."""
    return printed if abs(printed - recomputed) <= TOLERANCE[kind] + ROUNDING else recomputed


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _means_of_d(scores: Mapping[ScoreRow, Mapping[str, float]]) -> Mapping[tuple[str, str], float]:
    columns: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row, cells in scores.items():
        columns[row.model, row.attribute].append(cells["d"])
    return {key: _mean(values) for key, values in columns.items()}


def _leaderboard_parts(scores: Mapping[ScoreRow, Mapping[str, float]], model: str) -> dict[str, float]:
    """The four leaderboard cells that come from the score tables; S_fair is the mean over the contexts."""
    parts: dict[str, float] = {}
    for attribute in GROUPS:
        of = {row: cells for row, cells in scores.items() if (row.model, row.attribute) == (model, attribute)}
        parts[f"objective_S_fact_{attribute}"] = _mean(
            cells["S_fact"] for row, cells in of.items() if row.task is Task.OBJECTIVE
        )
        parts[f"subjective_S_fair_{attribute}"] = _mean(
            cells["S_fair"] for row, cells in of.items() if row.task is Task.SUBJECTIVE
        )
    return parts


def _leaderboard_row(cells: Mapping[str, float], parts: Mapping[str, float]) -> dict[str, float]:
    """The nine columns: four from the score tables, five from the row's other cells."""
    return {
        **parts,
        "objective_S_fact_average": _mean((cells["objective_S_fact_gender"], cells["objective_S_fact_race"])),
        "subjective_S_fair_average": _mean((cells["subjective_S_fair_gender"], cells["subjective_S_fair_race"])),
        "average_gender": _mean((cells["objective_S_fact_gender"], cells["subjective_S_fair_gender"])),
        "average_race": _mean((cells["objective_S_fact_race"], cells["subjective_S_fair_race"])),
        "average": _mean((cells["average_gender"], cells["average_race"])),
    }


def _average_increase(cells: Mapping[str, float], attribute: str, k: int) -> float:
    """Mean over the five columns of share - baseline: 1/k, and 1 - 1/k for the out-group. Source: section 6.1."""
    chance = 100 / k
    named = ("representativeness_high", "representativeness_low", "attribution", "in_group")
    rises = [cells[f"{column}_{attribute}"] - chance for column in named]
    return _mean([*rises, cells[f"out_group_{attribute}"] - (100 - chance)])


def _f2_parts(scores: Mapping[F2Row, Mapping[str, float]], row: F2Row) -> Mapping[str, Mapping[str, float]]:
    """Category -> the two scores that an FF1 cell is made of; nothing for a row of another score."""
    if row.score != "FF1":
        return {}
    pair = {score: scores[F2Row(row.model, row.task, score)] for score in ("S_fairness", "S_factuality")}
    return {
        category: {score: cells[category] for score, cells in pair.items()}
        for category in scores[row]
        if category != F2BENCH_AVERAGE
    }


def _f2_table(row: F2Row) -> str:
    return "Table 5" if row.task == "dialogue" else "Table 6"


def _average_column(row: F2Row) -> str:
    return "dialogue average" if row.task == "dialogue" else f"{row.score} average"


def _category_mean(cells: Mapping[str, float]) -> float:
    return _mean(value for category, value in cells.items() if category != F2BENCH_AVERAGE)


def _f2_origins(model: str) -> Mapping[str, F2Row]:
    """Table 7's columns -> the rows of Tables 5 and 6 whose averages they repeat."""
    balance = {score: F2Row(model, "balance", score) for score in ("FF1", "S_fairness", "S_factuality")}
    return {"dialogue": F2Row(model, "dialogue", "score"), **balance}
