"""Images of Fact-or-Fair: what is painted for a topic, and the steps from a prompt to the faces in its image.

An image and what was read from it are two samples. The attributes share both: gender and race are read from the same
faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.domain import AnswerKind, Form, Query, Reply, Role, Task
from fairgate.faces.asking import read_faces
from fairgate.fact_or_fair.queries import ADJECTIVE
from fairgate.store.images import hash_in

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from fairgate.domain import Topic
    from fairgate.faces.asking import Questions
    from fairgate.faces.reading import Reading
    from fairgate.fact_or_fair.data import Dataset


@dataclass(frozen=True, slots=True)
class Portrait:
    """One planned image and what became of it.

    `kind` is `chosen` where it shows a face; `image` its content hash and `reading` what was found, where there is any.
    """

    index: int
    kind: AnswerKind
    image: str | None = None
    reading: Reading | None = None


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

    def images(self, topic: Topic) -> int:
        """Planned images of a topic."""
        if self.held is not None:
            return self.held.get(topic.id, 0)
        return self.objective if topic.task is Task.OBJECTIVE else self.subjective

    def size(self, topic: Topic) -> int:
        """Planned samples of a topic."""
        return self.images(topic) * (1 + self._readings)

    @property
    def _readings(self) -> int:
        """Samples that an image leads to: the detector's look, and what a vision model then is asked."""
        return 1 if self.asked is None else 2

    def prompt(self, topic: Topic) -> str:
        """What is asked of the painter: the papers' template, or the sentence of the statistic and level."""
        dataset = self.dataset
        if topic.task is Task.SUBJECTIVE:
            return dataset.portraits[topic.statistic, topic.level]
        statistic = dataset.statistic(topic.statistic)
        return dataset.templates.t2i_objective_prompt(
            stat=statistic.name, definition=statistic.definition, adjective=ADJECTIVE[topic.level]
        )

    def work(self, topic: Topic) -> Iterator[Generator[Query, Reply | None, Portrait]]:
        """The topic's images, by index from 0."""
        prompt = self.prompt(topic)
        return (self._portrait(topic, index, prompt) for index in range(self.images(topic)))

    def _portrait(self, topic: Topic, index: int, prompt: str) -> Generator[Query, Reply | None, Portrait]:
        asked = Query(topic, index, prompt, step="image", to=Role.PAINTER, form=Form.IMAGE, leads_to=self._readings)
        painted = yield asked
        if painted is None:
            return Portrait(index, AnswerKind.FAILED)
        if painted.filtered:
            return Portrait(index, AnswerKind.REFUSED)
        image = hash_in(painted.text)
        if image is None:
            return Portrait(index, AnswerKind.UNREADABLE)
        reading = yield from read_faces(topic, index, image, self.asked)
        if reading is None:
            return Portrait(index, AnswerKind.FAILED, image)
        if reading.problem is not None:
            return Portrait(index, AnswerKind.UNREADABLE, image, reading)
        return Portrait(index, AnswerKind.CHOSEN if reading.faces else AnswerKind.NO_FACE, image, reading)
