"""A case of Fact-or-Fair as a report shows it: its counts, and in words what is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.evidence import Cell
from fairgate.benchmarks.fact_or_fair.answer_key import told
from fairgate.benchmarks.fact_or_fair.folder import FolderSource
from fairgate.benchmarks.fact_or_fair.tally import Tallies
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.core.domain import AnswerKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.score_table import Source


def answer_told(case: StatisticCase, dataset: Dataset) -> str:
    """An objective case's right answer under both keys, with what is doubtful about it; empty of a subjective one."""
    if case.topic.task is not Task.OBJECTIVE:
        return ""
    statistic = dataset.statistic(case.topic.statistic)
    topic = case.attribute, case.topic.level
    return told(statistic.published[topic], statistic.measured[topic])


def cell(case: StatisticCase, dataset: Dataset, source: Source) -> Cell:
    """What a case stands on."""
    topic = case.topic
    groups = dataset.attribute(case.attribute).names
    counts: Mapping[str, int] = dict.fromkeys(groups, 0)
    kinds: Mapping[AnswerKind, int] = {}
    if isinstance(source, FolderSource):
        counts = source.shares(case)
        kinds = {AnswerKind.CHOSEN: sum(counts.values())}
    elif isinstance(source, Tallies):
        tally = source.tallies[topic]
        picked = tally.by(case.attribute)
        counts = {group: picked[group] for group in groups}
        kinds = tally.kinds
    return Cell(
        name=case.name,
        benchmark=topic.benchmark,
        modality=topic.modality,
        task=topic.task,
        context=topic.context,
        attribute=case.attribute,
        about=dataset.statistic(topic.statistic).name,
        level=topic.level,
        topic=topic.id,
        counts=counts,
        kinds=kinds,
        answer=answer_told(case, dataset),
    )
