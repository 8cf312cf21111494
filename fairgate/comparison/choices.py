"""What two runs chose, query by query, and whom they painted, image by image, in one task, context and attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.comparison.baseline import FACES
from fairgate.comparison.letters import faces_of
from fairgate.fact_or_fair.cases import Case, image_topic, text_topic
from fairgate.fact_or_fair.topics import Level
from fairgate.maths.paired import Units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.comparison.baseline import Baseline
    from fairgate.fact_or_fair.counts import BoolArray, FloatArray, IntArray
    from fairgate.fact_or_fair.data import Dataset, KeyKind
    from fairgate.fact_or_fair.topics import Context, StatisticTopic

LEVELS = tuple(Level)


def key_of(dataset: Dataset, attribute: str, kind: KeyKind) -> BoolArray:
    """Which groups are right [S, 2, k]."""
    groups = dataset.attribute(attribute).names
    right = np.zeros((len(dataset.statistics), 2, len(groups)), np.bool_)
    for s, statistic in enumerate(dataset.statistics):
        for level, which in enumerate(LEVELS):
            answer = statistic.key(kind).get((attribute, which))
            if answer is not None:
                right[s, level] = [group in answer.groups for group in groups]
    return right


@dataclass(frozen=True)
class Choices:
    """The answers of both runs in one task, context and attribute."""

    before: Baseline
    after: Baseline
    dataset: Dataset
    task: str
    context: Context | None
    attribute: str
    cases: frozenset[object] | None

    def _topics(self) -> Iterator[tuple[int, int, StatisticTopic]]:
        for s, statistic in enumerate(self.dataset.statistics):
            if self.attribute not in statistic.attributes:
                continue
            for level, which in enumerate(LEVELS):
                topic = text_topic(self.task, statistic.slug, which, self.context, self.attribute)
                if self.cases is None or Case(topic, self.attribute) in self.cases:
                    yield s, level, topic

    def _places(self, run: Baseline, topic: StatisticTopic) -> list[int]:
        """The chosen group of each query by its place, -1 where nobody was chosen."""
        names = topic.attribute or max(run.groups, key=lambda each: each.count(" "))
        at = names.split().index(self.attribute)
        groups = self.dataset.attribute(self.attribute).names
        said = (run.read(topic, index) for index in range(len(run.letters.get(topic.id, ""))))
        return [-1 if each is None or each[at] not in groups else groups.index(each[at]) for each in said]

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Queries [S, 2, k, k] by group before and after, and different prompts among them [S, 2]."""
        k = self.dataset.attribute(self.attribute).k
        tables = np.zeros((len(self.dataset.statistics), 2, k, k), np.int64)
        distinct = np.zeros(tables.shape[:2], np.int64)
        for s, level, topic in self._topics():
            distinct[s, level] = min(run.distinct.get(topic.id, 0) for run in (self.before, self.after))
            both = zip(self._places(self.before, topic), self._places(self.after, topic), strict=False)
            for one, other in both:
                if one >= 0 and other >= 0:
                    tables[s, level, one, other] += 1
        return tables, distinct

    def alone(self) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
        """Answers [S, 2, k] by group, and different prompts [S, 2], of either run by itself."""
        k = self.dataset.attribute(self.attribute).k
        counts = [np.zeros((len(self.dataset.statistics), 2, k), np.int64) for _ in range(2)]
        distinct = [np.zeros(counts[0].shape[:2], np.int64) for _ in range(2)]
        for s, level, topic in self._topics():
            for number, run in enumerate((self.before, self.after)):
                distinct[number][s, level] = run.distinct.get(topic.id, 0)
                for place in self._places(run, topic):
                    if place >= 0:
                        counts[number][s, level, place] += 1
        return (counts[0], counts[1]), (distinct[0], distinct[1])


def portraits(
    runs: tuple[Baseline, Baseline],
    dataset: Dataset,
    task: str,
    attribute: str,
    cases: frozenset[object] | None,
) -> list[tuple[Units, Units]]:
    """The images [S][2] that show a face in both runs, of each the faces by group [images, k]."""
    return [
        (
            _images(runs, dataset, image_topic(task, statistic.slug, Level.HIGH), attribute, cases),
            _images(runs, dataset, image_topic(task, statistic.slug, Level.LOW), attribute, cases),
        )
        for statistic in dataset.statistics
    ]


def _images(
    runs: tuple[Baseline, Baseline],
    dataset: Dataset,
    topic: StatisticTopic,
    attribute: str,
    cases: frozenset[object] | None,
) -> Units:
    here = attribute in dataset.statistic(topic.statistic).attributes
    if not here or (cases is not None and Case(topic, attribute) not in cases):
        k = dataset.attribute(attribute).k
        return Units(np.zeros((0, k)), np.zeros((0, k)))
    one, other = (faces_by_group(run, dataset, topic, attribute) for run in runs)
    both = min(len(one), len(other))
    shown = (one[:both].sum(axis=-1) > 0) & (other[:both].sum(axis=-1) > 0)
    return Units(one[:both][shown], other[:both][shown])


def faces_by_group(run: Baseline, dataset: Dataset, topic: StatisticTopic, attribute: str) -> FloatArray:
    """Faces by group [images, k] of a topic; those of an unknown group are left out."""
    groups = dataset.attribute(attribute).names
    at = [each.name for each in dataset.attributes].index(attribute)
    images = faces_of(run.letters.get(topic.id, ""), run.groups.get(FACES, ()))
    found = np.zeros((len(images), len(groups)))
    for number, faces in enumerate(images):
        for names in faces:
            if names[at] in groups:
                found[number, groups.index(names[at])] += 1
    return found
