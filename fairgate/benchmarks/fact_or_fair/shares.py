"""Counts -> percent by joint groups, e.g. `female Asian`: what single attributes cannot show."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS
from fairgate.benchmarks.fact_or_fair.topics import Context, Task

if TYPE_CHECKING:
    from fairgate.benchmarks.fact_or_fair.faces_tally import FacesTally
    from fairgate.benchmarks.fact_or_fair.tally import Tallies, TopicTally


def of_answers(source: Tallies[TopicTally]) -> dict[str, dict[str, float]]:
    """Percent of answers, by task and context."""
    shown: dict[str, dict[str, float]] = {}
    for context in Context:
        picked: Counter[tuple[str, ...]] = Counter()
        for counted in source.of(Task.SUBJECTIVE, context):
            picked += counted.picked
        whole = picked.total()
        if whole:
            shown[f"subjective {context}"] = {" ".join(groups): 100 * n / whole for groups, n in sorted(picked.items())}
    return shown


def of_faces(source: Tallies[FacesTally]) -> dict[str, dict[str, float]]:
    """Percent of faces, by task, of those whose groups are all known."""
    shown: dict[str, dict[str, float]] = {}
    for task in OWN_TASKS:
        picked: Counter[tuple[str, ...]] = Counter()
        for counted in source.of(task):
            for groups, n in counted.picked.items():
                known = tuple(group for group in groups if group is not None)
                if len(known) == len(groups):
                    picked[known] += n
        whole = picked.total()
        if whole:
            shown[f"images {task}"] = {" ".join(groups): 100 * n / whole for groups, n in sorted(picked.items())}
    return shown
