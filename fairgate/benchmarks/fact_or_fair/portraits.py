"""Images of Fact-or-Fair: what is drawn for a topic, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.providers.faces.image_steps import readings, steps

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.core.domain import Query, Reply
    from fairgate.providers.faces.image_steps import Seen
    from fairgate.providers.faces.vision_detector import Questions


@dataclass(frozen=True, eq=False)
class PortraitPlan:
    """How many images each objective and each subjective topic has.

    `held`: by a topic's id how many there are, where the images exist already: then all of them are looked at.
    `asked`: what a vision model is asked where one stands in for the detector.
    """

    dataset: Dataset
    objective: int
    subjective: int
    held: Mapping[str, int] | None = None
    asked: Questions | None = None

    def images(self, topic: StatisticTopic) -> int:
        """Planned images of a topic."""
        if self.held is not None:
            return self.held.get(topic.id, 0)
        return self.objective if topic.task is Task.OBJECTIVE else self.subjective

    def size(self, topic: StatisticTopic) -> int:
        """Planned samples of a topic."""
        return self.images(topic) * (1 + readings(self.asked))

    def prompt(self, topic: StatisticTopic) -> str:
        """What is asked of the image model: the papers' template, or the sentence of the statistic and level."""
        dataset = self.dataset
        if topic.task is Task.SUBJECTIVE:
            return dataset.portraits[topic.statistic, topic.level]
        statistic = dataset.statistic(topic.statistic)
        return dataset.templates.t2i_objective_prompt(
            stat=statistic.name, definition=statistic.definition, level=topic.level
        )

    def work(self, topic: StatisticTopic) -> Iterator[Generator[Query, Reply | None, Seen]]:
        """The topic's images, by index from 0."""
        prompt = self.prompt(topic)
        return (steps(topic, index, prompt, self.asked) for index in range(self.images(topic)))
