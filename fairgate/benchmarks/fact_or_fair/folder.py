"""A result folder as a source of counts, where the ledger's samples are one otherwise."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair.cases import StatisticCase, image_topic, text_topic
from fairgate.benchmarks.fact_or_fair.counts import Counts
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.core.domain import AnswerKind, Modality

if TYPE_CHECKING:
    from fairgate.benchmarks.fact_or_fair.counts import BoolArray, IntArray
    from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind
    from fairgate.benchmarks.fact_or_fair.results import ResultCounts, ResultFolder
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic

LEVELS = tuple(Level)


@dataclass(frozen=True)
class FolderSource:
    """The counts of the selected cases, from a folder. What it does not say is not known, and never zero."""

    folder: ResultFolder
    modality: Modality
    dataset: Dataset
    selected: frozenset[StatisticCase]

    def counts(self, task: Task, context: Context | None, attribute: str, key: KeyKind) -> Counts | None:
        """The counts of one cell, None where none of its cases was selected or the folder has nothing of it."""
        found = self.folder.of(task, context, attribute)
        cell = [case for case in self.selected if (case.topic.task, case.topic.context) == (task, context)]
        if found is None or not any(case.attribute == attribute for case in cell):
            return None
        shown = self._shown(task, context, attribute)
        chosen = np.where(shown[..., np.newaxis], found.chosen, 0)
        answered: IntArray = chosen.sum(axis=-1)
        refused: IntArray = np.where(shown, found.refused, 0)
        nothing: IntArray = np.zeros_like(refused)
        return Counts(
            statistics=found.statistics,
            attribute=attribute,
            groups=found.groups,
            chosen=chosen,
            key=self._key(key, attribute, found),
            planned=answered + refused,
            # Which profiles were on offer is not recorded; an image model may always draw the right group.
            offered=answered if task is Task.OBJECTIVE or self.modality is Modality.IMAGE else None,
            # The folder keeps no prompts: its answers are taken as independent.
            distinct=answered,
            refused=refused,
            unreadable=nothing,
            failed=nothing,
            listed=found.listed & shown[..., np.newaxis],
            rounded=np.where(shown[..., np.newaxis], found.rounded, np.nan),
            # The program writes no file where every answer was refused.
            asked=shown,
        )

    def named(self, context: Context, attribute: str) -> IntArray:
        """Answers in the group that the context named, [S, 2].

        After statistics, that is the group of the published key: there the program counts a group drawn by chance,
        which its prompt does not name.
        """
        found = self.folder.of(Task.SUBJECTIVE, context, attribute)
        if found is None:
            return np.zeros((len(self.dataset.statistics), len(LEVELS)), np.int64)
        if context is Context.REPRESENTATIVENESS:
            named: IntArray = np.where(self._key("published", attribute, found), found.chosen, 0).sum(axis=-1)
            return named
        return found.named_picks

    def background(self, context: Context, attribute: str) -> IntArray | None:
        """The program's own count of answers in the named group, [S, 2], whatever it means in this context."""
        found = self.folder.of(Task.SUBJECTIVE, context, attribute)
        return None if found is None else found.named_picks

    def kinds(self, task: Task, context: Context | None) -> Counter[AnswerKind]:
        """What became of the samples: gender and race are read from the same subjective answers, and faces."""
        by_attribute = [
            counts
            for attribute in self.dataset.attributes
            if (counts := self.counts(task, context, attribute.name, "published")) is not None
        ]
        answered = [int(counts.answered.sum()) for counts in by_attribute]
        refused = [int(counts.refused.sum()) for counts in by_attribute]
        own = task is Task.OBJECTIVE and self.modality is Modality.TEXT
        most = sum if own else lambda numbers: max(numbers, default=0)
        return Counter({AnswerKind.CHOSEN: most(answered), AnswerKind.REFUSED: most(refused)})

    def known(self, task: Task) -> frozenset[AnswerKind]:
        """Answers; and refusals to objective text queries, the only others that the original program keeps."""
        kept = {AnswerKind.CHOSEN}
        if task is Task.OBJECTIVE and self.modality is Modality.TEXT:
            kept.add(AnswerKind.REFUSED)
        return frozenset(kept)

    def shares(self, case: StatisticCase) -> dict[str, int]:
        """The case's answers, or faces, by group."""
        found = self.folder.of(case.topic.task, case.topic.context, case.attribute)
        groups = self.dataset.attribute(case.attribute).names
        if found is None:
            return dict.fromkeys(groups, 0)
        s, level = found.statistics.index(case.topic.statistic), LEVELS.index(case.topic.level)
        return {group: int(n) for group, n in zip(groups, found.chosen[s, level], strict=True)}

    def _shown(self, task: Task, context: Context | None, attribute: str) -> BoolArray:
        """Topics [S, 2] that were selected; those of statistics that lack the attribute, where all others were."""
        shown = np.zeros((len(self.dataset.statistics), len(LEVELS)), np.bool_)
        for s, statistic in enumerate(self.dataset.statistics):
            for level, which in enumerate(LEVELS):
                topic = self._topic(task, statistic.slug, which, context, attribute)
                seen_by = [attribute] if attribute in statistic.attributes else statistic.attributes
                shown[s, level] = any(StatisticCase(topic, name) in self.selected for name in seen_by)
        return shown

    def _topic(self, task: Task, slug: str, level: Level, context: Context | None, attribute: str) -> StatisticTopic:
        if self.modality is Modality.IMAGE:
            return image_topic(task, slug, level)
        return text_topic(task, slug, level, context, attribute)

    def _key(self, kind: KeyKind, attribute: str, found: ResultCounts) -> BoolArray:
        right = np.zeros(found.chosen.shape, np.bool_)
        for s, statistic in enumerate(self.dataset.statistics):
            for level, which in enumerate(LEVELS):
                answer = statistic.key(kind).get((attribute, which))
                if answer is not None:
                    right[s, level] = [group in answer.groups for group in found.groups]
        return right
