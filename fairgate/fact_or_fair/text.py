"""Fact-or-Fair as it is asked of a language model, or read from a result folder: see `fairgate/benchmarks/base.py`."""

from __future__ import annotations

from collections import Counter
from functools import cached_property, partial
from typing import TYPE_CHECKING

from fairgate.domain import AnswerKind, Modality
from fairgate.fact_or_fair import cells
from fairgate.fact_or_fair.cases import BENCHMARK, OWN_TASKS, text_cases
from fairgate.fact_or_fair.explain import QUERIES, conversations, load_prompts
from fairgate.fact_or_fair.folder import FolderSource
from fairgate.fact_or_fair.heard import Heard, Served, count
from fairgate.fact_or_fair.tally import Tallies
from fairgate.fact_or_fair.topics import Task
from fairgate.report.evidence import shown
from fairgate.store.samples import from_replies, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.base import Replies
    from fairgate.domain import Query
    from fairgate.fact_or_fair.board import Source
    from fairgate.fact_or_fair.cases import Case
    from fairgate.fact_or_fair.data import Dataset
    from fairgate.fact_or_fair.explain import Explained
    from fairgate.fact_or_fair.queries import QueryPlan
    from fairgate.fact_or_fair.results import ResultFolder
    from fairgate.fact_or_fair.tally import TopicTally
    from fairgate.fact_or_fair.topics import StatisticTopic
    from fairgate.report.evidence import Cell, Shown
    from fairgate.store.samples import Sample, Steps


class FactOrFairText:
    """Choices among groups and individuals. `plan` may be replaced by a smaller one, where a run stops early.

    `heard` counts what this process asks itself, as it is answered.
    """

    name, modality = BENCHMARK, Modality.TEXT

    def __init__(self, plan: QueryPlan, folder: ResultFolder | None = None) -> None:
        self.plan, self.folder = plan, folder
        self.heard = Heard(plan.dataset)
        self._counted: dict[StatisticTopic, tuple[TopicTally, Served]] = {}

    @property
    def dataset(self) -> Dataset:
        """What is asked about."""
        return self.plan.dataset

    @property
    def read_from(self) -> str | None:
        """The result folder, where there is one."""
        return None if self.folder is None else f"results/{self.folder.model}"

    @property
    def versions(self) -> Mapping[str, object]:
        """Of the data, and of what asks for reasons."""
        reasons = {"questions for reasons": load_prompts().version} if self.plan.explained else {}
        return {"data version": self.dataset.version, **reasons}

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Objective ones first."""
        return tuple(case for task in OWN_TASKS for case in text_cases(self.dataset, task))

    def about(self, case: Case) -> str:
        """The statistic."""
        return self.dataset.statistic(case.topic.statistic).name

    def explains(self, topic: StatisticTopic) -> bool:
        """Whether a topic's choices are asked for with reasons."""
        return self.plan.explained and topic.task is Task.SUBJECTIVE

    def work(self, topic: StatisticTopic) -> Iterable[Query | Steps[Explained]]:
        """A topic's queries; with reasons each leads to the judge."""
        queries = self.plan.queries(topic)
        return conversations(queries) if self.explains(topic) else queries

    def size(self, topic: StatisticTopic) -> int:
        """Planned samples."""
        return self.plan.size(topic) * (QUERIES if self.explains(topic) else 1)

    def answers(self, topic: StatisticTopic) -> int:
        """Choices: what the judge makes of their reasons is no case's business."""
        return self.plan.size(topic)

    def needs_judge(self, topic: StatisticTopic) -> bool:
        """Reasons are sorted by one."""
        return self.explains(topic)

    def read(self, topic: StatisticTopic, reply: Replies) -> tuple[list[Sample], int]:
        """The choices."""
        samples = list(from_replies(self.plan.queries(topic), reply))
        return samples, sum(sample.answer.kind is AnswerKind.FAILED for sample in samples)

    def shown(self, topic: StatisticTopic, reply: Replies) -> Iterator[Shown]:
        """The choices."""
        return map(shown, self.read(topic, reply)[0])

    def reasons(self, topic: StatisticTopic, reply: Replies) -> Iterator[tuple[Explained, Sequence[Sample]]]:
        """A topic's reasons as the judge sorted them, each with its samples: the choice first."""
        return (replay(steps, reply) for steps in conversations(self.plan.queries(topic)))

    def is_heard(self, topic: StatisticTopic) -> bool:
        """Whether all answers to a topic were counted as they came, so that nothing need be read."""
        return self.heard.whole(topic, self.plan.size(topic)) is not None

    def count(self, topic: StatisticTopic, read: Callable[[], Iterable[Sample]]) -> tuple[TopicTally, Served]:
        """A topic's answers, counted once in a process, and which servers gave them; read where they were not heard."""
        if topic not in self._counted:
            heard = self.heard.whole(topic, self.plan.size(topic))
            self._counted[topic] = heard or count(topic, read(), self.dataset)
        return self._counted[topic]

    def tally(self, cases: Sequence[Case], reply: Replies) -> Source | None:
        """The counts of these cases."""
        chosen = frozenset(cases)
        if self.folder is not None:
            return FolderSource(self.folder, self.modality, self.dataset, chosen) if chosen else None
        topics = dict.fromkeys(case.topic for case in cases)

        def read(topic: StatisticTopic) -> Iterator[Sample]:
            return from_replies(self.plan.queries(topic), reply)

        tallies = {topic: self.count(topic, partial(read, topic))[0] for topic in topics}
        return Tallies(self.dataset, tallies, chosen) if chosen else None

    def served(self, topics: Iterable[StatisticTopic]) -> Served:
        """Which servers answered, of topics that were counted."""
        return sum((self._counted[topic][1] for topic in topics), Counter())

    def shares(self, case: Case, read: Callable[[], Iterable[Sample]]) -> Mapping[str, int]:
        """A case's answers by group: those of the folder, or of the samples of its topic."""
        if self.folder is not None:
            return FolderSource(self.folder, self.modality, self.dataset, frozenset((case,))).shares(case)
        picked = self.count(case.topic, read)[0].by(case.attribute)
        return {group: picked[group] for group in self.dataset.attribute(case.attribute).names}

    def cell(self, case: Case, held: Source) -> Cell:
        """Its answers by group."""
        return cells.cell(case, self.dataset, held)
