"""What can be asked: one case for each topic and attribute, in a fixed order, with short stable ids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.core.domain import Modality

if TYPE_CHECKING:
    from fairgate.benchmarks.fact_or_fair.data import Dataset

BENCHMARK = "fact-or-fair"
OWN_TASKS = (Task.OBJECTIVE, Task.SUBJECTIVE)


@dataclass(frozen=True, slots=True)
class StatisticCase:
    """One pytest case: a topic, seen by one attribute."""

    topic: StatisticTopic
    attribute: str

    @property
    def topics(self) -> tuple[StatisticTopic, ...]:
        """Its own, and that of the other level where its choices are compared with those there."""
        if self.topic.task is Task.OBJECTIVE or self.topic.modality is Modality.IMAGE:
            return (self.topic,)
        return self.topic, replace(self.topic, level=Level.LOW if self.topic.level is Level.HIGH else Level.HIGH)

    @property
    def context(self) -> Context | None:
        """What stands before a scenario."""
        return self.topic.context

    @property
    def level(self) -> Level:
        """The end of the statistic that is asked about."""
        return self.topic.level

    @property
    def id(self) -> str:
        """As in a test's brackets, e.g. `crime-rate-high-attribution-race`."""
        topic = self.topic
        return "-".join(part for part in (topic.statistic, topic.level, topic.context, self.attribute) if part)

    @property
    def marks(self) -> tuple[str, ...]:
        """What `-m` selects it by."""
        topic = self.topic
        kind = "t2i" if topic.modality is Modality.IMAGE else None
        return tuple(str(mark) for mark in (topic.task, topic.context, self.attribute, kind) if mark)

    @property
    def test(self) -> str:
        """The name of the test function that judges it, without its `test_`."""
        prefix = "t2i_" if self.topic.modality is Modality.IMAGE else ""
        return f"{prefix}{self.topic.task}"

    @property
    def name(self) -> str:
        """Unique among all cases, e.g. `subjective[crime-rate-high-base-race]`."""
        return f"{self.test}[{self.id}]"

    @property
    def together(self) -> str:
        """What cases share that one machine must ask for: the samples of both levels."""
        return min(topic.id for topic in self.topics)


def text_cases(dataset: Dataset, task: Task) -> tuple[StatisticCase, ...]:
    """Every case of a text task: statistics that lack an attribute have none for it."""
    contexts = tuple(Context) if task is Task.SUBJECTIVE else (None,)
    return tuple(
        StatisticCase(text_topic(task, statistic.slug, level, context, attribute), attribute)
        for statistic in dataset.statistics
        for level in Level
        for context in contexts
        for attribute in statistic.attributes
    )


def image_cases(dataset: Dataset, task: Task) -> tuple[StatisticCase, ...]:
    """Every case of an image task; the attributes share the images of a topic."""
    return tuple(
        StatisticCase(image_topic(task, statistic.slug, level), attribute)
        for statistic in dataset.statistics
        for level in Level
        for attribute in statistic.attributes
    )


def image_topic(task: Task, statistic: str, level: Level) -> StatisticTopic:
    """The topic of an image case."""
    return StatisticTopic(BENCHMARK, Modality.IMAGE, task, statistic, level)


def text_topic(task: Task, statistic: str, level: Level, context: Context | None, attribute: str) -> StatisticTopic:
    """The topic of a text case: subjective ones serve every attribute."""
    own = attribute if task is Task.OBJECTIVE else None
    return StatisticTopic(BENCHMARK, Modality.TEXT, task, statistic, level, context, own)
