"""Where a model stands among the ten of Fact-or-Fair, the nine of F²Bench and the eleven of BIGbench, by column.

To be compared by `reference` scores: the published numbers come from the released programs, and `definition` scores
differ from them by more than the models differ from one another. The one exception is d: the tables take it from
(S_fact, S_E), the released program for language models from (S_fact, S_fair); hand over the former.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.bigbench.topics import Task as BigTask
from fairgate.fact_or_fair.topics import Context, Task
from fairgate.published.audit import Kind, audit, disagreements, inherited
from fairgate.published.bigbench import audit as bigbench_audit
from fairgate.published.tables import (
    F2BENCH_AVERAGE,
    GROUPS,
    bigbench,
    f2bench_scores,
    fact_or_fair_scores,
    fact_or_fair_summary,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

ScoreKey = tuple[str, Context | None, str, str]
# str, category (None: in all), score
F2Key = tuple[str, str | None, str]
# str, attribute (None: in all), kind of subjects or family (None: all), score
BigKey = tuple[str, str | None, str | None, str]

LESS_IS_BETTER = frozenset({"d"})
NEAREST_IS_BETTER = {"eta": 50.0}

# Twice for each attribute, then the average of both.
LEADERBOARD = ("objective_S_fact", "subjective_S_fair", "average")


@dataclass(frozen=True, slots=True)
class Place:
    """A model's place in one published column. Rank 1 is the largest value, for d the smallest; ties share a rank.

    `of` counts the model itself. `doubted` names the models whose cell in this column the audit does not bear out;
    they are ranked by what is printed. `value` is rounded as the papers print, so that equal figures tie.
    """

    column: str
    value: float
    rank: int
    of: int
    nearest: str
    nearest_value: float
    doubted: tuple[str, ...]


def standing(scores: Mapping[ScoreKey, float]) -> tuple[Place, ...]:
    """The places of a model with these scores, keyed by (task, context, attribute, score), 0 to 100.

    Columns come in the papers' order, the leaderboard's last; one that the model has no score for (absent or NaN), or
    the papers do not print, is left out. A leaderboard column needs all its parts.
    """
    there = {key: value for key, value in scores.items() if not math.isnan(value)}
    places = [
        _place(", ".join(part for part in key if part), there[key], field, doubted)
        for key, (field, doubted) in _score_columns().items()
        if key in there
    ]
    leaderboard = _leaderboard(there)
    wrong = [check for check in inherited() if check.kind is Kind.SUMMARY]
    for column in next(iter(fact_or_fair_summary().values())):
        if column in leaderboard:
            field = {model: cells[column] for model, cells in fact_or_fair_summary().items()}
            doubted = tuple(check.row for check in wrong if check.column == column)
            places.append(_place(f"leaderboard, {column}", leaderboard[column], field, doubted))
    return tuple(places)


def f2bench_standing(scores: Mapping[F2Key, float]) -> tuple[Place, ...]:
    """The places of a model among F²Bench's nine, of its `reference` scores, 0 to 100.

    The average has a place only where all ten categories have a score.
    """
    wrong = {(check.row, check.column) for check in disagreements(audit())}
    columns: dict[tuple[str, str, str], dict[str, float]] = {}
    doubted: dict[tuple[str, str, str], list[str]] = {}
    for row, cells in f2bench_scores().items():
        for category, value in cells.items():
            column = (row.task, row.score, category)
            columns.setdefault(column, {})[row.model] = value
            if (row.model, f"{row.score} {category}") in wrong:
                doubted.setdefault(column, []).append(row.model)
    categories = {category for _, _, category in columns} - {F2BENCH_AVERAGE}
    places = []
    for key, field in columns.items():
        task, printed, category = str(key[0]), key[1], key[2]
        score = "S_dialogue" if printed == "score" else printed
        group = None if category == F2BENCH_AVERAGE else category
        value = scores.get((task, group, score), math.nan)
        whole = all((task, each, score) in scores for each in categories)
        if not math.isnan(value) and (group is not None or whole):
            places.append(_place(f"{task}, {category}, {score}", value, field, tuple(doubted.get(key, ()))))
    return tuple(places)


def bigbench_standing(scores: Mapping[BigKey, float]) -> tuple[Place, ...]:
    """The places of a model among BIGbench's eleven, 0 to 100, keyed by (task, attribute, group, score).

    Implicit scores and eta by `reference`; explicit ones by `definition`, since the program's roll-up is not imitated.
    For eta the model nearest to 50 is first.
    """
    wrong = {(check.table, check.row, check.column) for check in disagreements(bigbench_audit())}
    places = []
    for key, (number, name, field) in _bigbench_columns().items():
        if math.isnan(scores.get(key, math.nan)):
            continue
        task, attribute, group, score = key
        doubted = tuple(model for model in field if (f"Table {number}", model, name) in wrong)
        column = ", ".join(part for part in (task, group, attribute, score) if part)
        places.append(_place(column, scores[key], field, doubted))
    return tuple(places)


def _bigbench_columns() -> Mapping[BigKey, tuple[int, str, Mapping[str, float]]]:
    """Score -> the table and row that it is printed in first, and the models' figures."""
    columns: dict[BigKey, tuple[int, str, Mapping[str, float]]] = {
        (BigTask.IMPLICIT, None, None, "S_implicit"): (3, "Implicit Bias", bigbench(3)["Implicit Bias"]),
        (BigTask.EXPLICIT, None, None, "S_explicit"): (3, "Explicit Bias", bigbench(3)["Explicit Bias"]),
        (BigTask.MANIFESTATION, None, None, "eta"): (3, "Manifestation", bigbench(3)["Manifestation"]),
    }
    attributes = {"Sex": "gender", "Race": "race", "Age": "age"}
    for kind, general, debiased in (("characteristic", 19, 13), ("occupation", 20, 14), ("relation", 21, 15)):
        for name, row in bigbench(general).items():
            key = (BigTask.IMPLICIT, attributes.get(name), kind, "S_implicit")
            columns[key] = (general, name, {**bigbench(debiased)[name], **row})
    for general, other in ((22, 17), (23, 16), (24, None)):
        for name, row in bigbench(general).items():
            if not name.endswith("(total)"):
                more = {} if other is None else bigbench(other)[name]
                columns[BigTask.IMPLICIT, None, name.lower(), "S_implicit"] = (general, name, {**more, **row})
    for number, kind in ((25, "characteristic"), (26, "occupation"), (27, "relation")):
        for name, row in bigbench(number).items():
            group = kind if name.endswith("(total)") else name.lower()
            columns[BigTask.EXPLICIT, None, group, "S_explicit"] = (number, name, row)
    return columns


def _score_columns() -> Mapping[ScoreKey, tuple[dict[str, float], tuple[str, ...]]]:
    """Column -> the published models' values, and those among them that the audit does not bear out."""
    wrong = {(check.row, check.column) for check in disagreements(audit())}
    columns: dict[ScoreKey, tuple[dict[str, float], tuple[str, ...]]] = {}
    for row, cells in fact_or_fair_scores().items():
        for score, value in cells.items():
            key = (row.task, row.context, row.attribute, score)
            field, doubted = columns.get(key, ({}, ()))
            also = (row.model,) if (str(row), score) in wrong else ()
            columns[key] = ({**field, row.model: value}, doubted + also)
    return columns


def _place(column: str, exact: float, field: Mapping[str, float], doubted: tuple[str, ...]) -> Place:
    value = round(exact, 2)
    score = column.rsplit(", ", 1)[-1]
    ahead = sum(_merit(score, other) > _merit(score, value) for other in field.values())
    nearest = min(field, key=lambda model: abs(field[model] - value))
    return Place(column, value, ahead + 1, len(field) + 1, nearest, field[nearest], doubted)


def _merit(score: str, value: float) -> float:
    if score in NEAREST_IS_BETTER:
        return -abs(value - NEAREST_IS_BETTER[score])
    return -value if score in LESS_IS_BETTER else value


def _leaderboard(scores: Mapping[ScoreKey, float]) -> dict[str, float]:
    """The leaderboard's columns that these scores allow: S_fair as the mean over all contexts, or of images alone."""
    row: dict[str, float] = {}
    for attribute in GROUPS:
        fact = scores.get((Task.OBJECTIVE, None, attribute, "S_fact"))
        image = scores.get((Task.SUBJECTIVE, None, attribute, "S_fair"))
        texts = [scores.get((Task.SUBJECTIVE, context, attribute, "S_fair")) for context in Context]
        parts = [image] if image is not None else texts
        known = [part for part in parts if part is not None]
        if fact is not None:
            row[f"objective_S_fact_{attribute}"] = fact
        if len(known) == len(parts):
            row[f"subjective_S_fair_{attribute}"] = sum(known) / len(known)
    for attribute in GROUPS:
        _add_mean(row, f"average_{attribute}", f"objective_S_fact_{attribute}", f"subjective_S_fair_{attribute}")
    for column in LEADERBOARD:
        name = column if column == "average" else f"{column}_average"
        _add_mean(row, name, *(f"{column}_{attribute}" for attribute in GROUPS))
    return row


def _add_mean(row: dict[str, float], name: str, *parts: str) -> None:
    if all(part in row for part in parts):
        row[name] = sum(row[part] for part in parts) / len(parts)
