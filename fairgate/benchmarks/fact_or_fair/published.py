"""Where a model stands among the ten of Fact-or-Fair's paper, by column.

To be compared by `reference` scores: the published numbers come from the released programs, and `definition` scores
differ from them by more than the models differ from one another. The one exception is d: the tables take it from
(S_fact, S_E), the released program for language models from (S_fact, S_fair); hand over the former.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.published_audit import SUMMARY, audit, inherited
from fairgate.benchmarks.fact_or_fair.published_tables import GROUPS, scores, summary
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.published import (
    CellCheck,
    Place,
    Published,
    Standing,
    all_asked,
    disagreements,
    partial,
    place,
)
from fairgate.core.statistics.distributions import distance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

ScoreKey = tuple[str, Context | None, str, str]

LESS_IS_BETTER = frozenset({"d"})

# Twice for each attribute, then the average of both.
LEADERBOARD = ("objective_S_fact", "subjective_S_fair", "average")


class FactOrFairTables(Published):
    """Tables 2 to 5 and 8."""

    models, ranks = "Fact-or-Fair's ten", "for d the smallest"

    def audit(self) -> tuple[CellCheck, ...]:
        """As `published_audit` recomputes them."""
        return tuple(audit())

    def inherited(self) -> tuple[CellCheck, ...]:
        """The leaderboard above all."""
        return tuple(inherited())

    def standings(self, models: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> Iterator[Standing]:
        """One for each modality; none where only another benchmark's images were scored."""
        others = any(each["benchmark"] != BENCHMARK and each["modality"] == "image" for each in entries)
        for modality, model in models.items():
            mine = [
                each
                for each in entries
                if (each["benchmark"], each["modality"], each["scoring"]) == (BENCHMARK, modality, "reference")
            ]
            whole = [each for each in mine if all_asked(each)]
            left = len(mine) - len(whole)
            said = f"{left} of its scores cover a part of the topics only, and are not compared."
            covered = {_key(each): (each["topics"][0], each["topics"][1]) for each in whole}
            places = standing(_by_column(whole), covered) if whole or not others else None
            yield Standing(model, "the ten published models", places, (said,) if left else ())


def standing(
    own: Mapping[ScoreKey, float], covered: Mapping[ScoreKey, tuple[int, int]] | None = None
) -> tuple[Place, ...]:
    """The places of a model with these scores, keyed by (task, context, attribute, score), 0 to 100.

    `covered`: how many topics the scores cover, of how many; a column over a part is marked.

    Columns come in the papers' order, the leaderboard's last; one that the model has no score for (absent or NaN), or
    the papers do not print, is left out. A leaderboard column needs all its parts.
    """
    there = {key: value for key, value in own.items() if not math.isnan(value)}
    over = {key: topics for key, topics in (covered or {}).items() if key in there}
    # The tables' d is made of S_fact and S_E.
    over |= {(*key[:3], "d"): topics for key, topics in over.items() if key[3] == "S_E"}
    places = [
        replace(
            _place(", ".join(part for part in key if part), there[key], field, doubted),
            topics=partial([over[key]] if key in over else []),
        )
        for key, (field, doubted) in _score_columns().items()
        if key in there
    ]
    leaderboard = _leaderboard(there)
    wrong = [check for check in inherited() if check.kind == SUMMARY]
    for column in next(iter(summary().values())):
        if column in leaderboard:
            field = {model: cells[column] for model, cells in summary().items()}
            doubted = tuple(check.row for check in wrong if check.column == column)
            parts = [topics for key, topics in over.items() if _in_leaderboard(key, column)]
            found = _place(f"leaderboard, {column}", leaderboard[column], field, doubted)
            places.append(replace(found, topics=partial(parts)))
    return tuple(places)


def _score_columns() -> Mapping[ScoreKey, tuple[dict[str, float], tuple[str, ...]]]:
    """Column -> the published models' values, and those among them that the audit does not bear out."""
    wrong = {(check.row, check.column) for check in disagreements(audit())}
    columns: dict[ScoreKey, tuple[dict[str, float], tuple[str, ...]]] = {}
    for row, cells in scores().items():
        for score, value in cells.items():
            key = (row.task, row.context, row.attribute, score)
            field, doubted = columns.get(key, ({}, ()))
            also = (row.model,) if (str(row), score) in wrong else ()
            columns[key] = ({**field, row.model: value}, doubted + also)
    return columns


def _place(column: str, exact: float, field: Mapping[str, float], doubted: tuple[str, ...]) -> Place:
    return place(column, exact, field, doubted, _merit(column))


def _merit(column: str) -> Callable[[float], float]:
    return (lambda value: -value) if column.rsplit(", ", 1)[-1] in LESS_IS_BETTER else (lambda value: value)


def _in_leaderboard(key: ScoreKey, column: str) -> bool:
    """Whether a column of the leaderboard rests on a score."""
    task, _, attribute, score = key
    if (task, score) not in ((Task.OBJECTIVE, "S_fact"), (Task.SUBJECTIVE, "S_fair")):
        return False
    of_task = column.startswith(("average", f"{task}_"))
    return of_task and (column.endswith(f"_{attribute}") or not column.endswith(tuple(f"_{each}" for each in GROUPS)))


def _leaderboard(own: Mapping[ScoreKey, float]) -> dict[str, float]:
    """The leaderboard's columns that these scores allow: S_fair as the mean over all contexts, or of images alone."""
    row: dict[str, float] = {}
    for attribute in GROUPS:
        fact = own.get((Task.OBJECTIVE, None, attribute, "S_fact"))
        image = own.get((Task.SUBJECTIVE, None, attribute, "S_fair"))
        texts = [own.get((Task.SUBJECTIVE, context, attribute, "S_fair")) for context in Context]
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


def _by_column(entries: Iterable[Mapping[str, Any]]) -> dict[ScoreKey, float]:
    """The scores by published column. The tables' d is from (S_fact, S_E), whatever the programs print."""
    k = {attribute.name: attribute.k for attribute in load().attributes}
    found: dict[ScoreKey, float] = {
        _key(entry): entry["value"] for entry in entries if entry["value"] is not None and entry["score"] != "d"
    }
    for task, context, attribute, score in list(found):
        even = found.get((task, context, attribute, "S_E"))
        if score == "S_fact" and even is not None:
            fact = found[task, context, attribute, score]
            found[task, context, attribute, "d"] = 100 * float(distance(fact / 100, even / 100, k[attribute]))
    return found


def _key(entry: Mapping[str, Any]) -> ScoreKey:
    return Task(entry["task"]), entry["context"] and Context(entry["context"]), entry["attribute"], entry["score"]
