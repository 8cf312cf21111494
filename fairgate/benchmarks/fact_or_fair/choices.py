"""Tallies -> the arrays that effects of groups are estimated from: who was on offer, and who was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
from fairgate.benchmarks.fact_or_fair.topics import Level
from fairgate.core.statistics.effects import Design

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.faces_tally import FacesTally
    from fairgate.benchmarks.fact_or_fair.tally import TopicTally
    from fairgate.benchmarks.fact_or_fair.topics import Context, StatisticTopic, Task
    from fairgate.core.statistics.effects import BoolArray, FloatArray, IntArray

LEVELS = tuple(Level)
PEOPLE = 4


@dataclass(frozen=True, eq=False)
class Choices:
    """N choices among four people. `chosen` [N] is the place of the one chosen, 0 to 3.

    By attribute: `groups` [N, 4] of the people as numbers in the data's order, `named` [N] the group that the context
    names, -1 where it names none. `shares` [N, 4] are the probabilities of the choices, NaN where they are not known.
    """

    asked: Design
    chosen: IntArray
    shares: FloatArray
    groups: Mapping[str, IntArray]
    named: Mapping[str, IntArray]

    @property
    def weighed(self) -> Choices:
        """Those of which the probabilities are known."""
        known: BoolArray = np.logical_not(np.isnan(self.shares).any(axis=1))
        return self.where(known)

    def where(self, kept: BoolArray) -> Choices:
        """These choices alone."""
        return Choices(
            self.asked.where(kept),
            self.chosen[kept],
            self.shares[kept],
            {name: each[kept] for name, each in self.groups.items()},
            {name: each[kept] for name, each in self.named.items()},
        )


@dataclass(frozen=True, eq=False)
class Faces:
    """N faces; `groups` [N] by attribute, -1 where one is not known. The wording of `asked` is the image."""

    asked: Design
    groups: Mapping[str, IntArray]


def choices_of(
    tallies: Mapping[StatisticTopic, TopicTally],
    dataset: Dataset,
    task: Task,
    context: Context | None,
    wordings: int | None,
    selected: Collection[StatisticCase] | None = None,
    attributes: Collection[str] = (),
) -> Choices:
    """The choices of a task in a context, of statistics that have all these attributes.

    `wordings`: how many scenarios a topic has, None for all of the data. `selected`: the cases whose topics count, for
    each of the attributes; None for all.
    """
    names = [each.name for each in dataset.attributes]
    width = 2 + len(names) * (1 + PEOPLE)
    blocks: list[IntArray] = []
    shares: list[FloatArray] = []
    places: list[tuple[int, int, int]] = []
    for place, level, topic in _topics(tallies, dataset, task, context):
        statistic = dataset.statistics[place]
        if not set(attributes) <= set(statistic.attributes):
            continue
        if selected is not None and not all(StatisticCase(topic, name) in selected for name in attributes):
            continue
        rows = np.array(tallies[topic].rows, dtype=np.int64).reshape(-1, width)
        # Answers come in any order; sums are to be the same to the last digit.
        order = np.argsort(rows[:, 0], kind="stable")
        blocks.append(rows[order])
        shares.append(np.array(tallies[topic].shares, dtype=np.float64).reshape(-1, PEOPLE)[order])
        count = wordings or len(dataset.scenarios[topic.statistic, topic.level])
        places.append((place, level, count))
    table = np.concatenate(blocks) if blocks else np.zeros((0, width), np.int64)
    sizes = [len(block) for block in blocks]
    statistic_of, level_of, count_of = np.repeat(np.array(places, np.int64).reshape(-1, 3), sizes, axis=0).T
    wording = table[:, 0] % count_of if len(table) else table[:, 0]
    groups, named = {}, {}
    for number, name in enumerate(names):
        start = 2 + number * (1 + PEOPLE)
        named[name], groups[name] = table[:, start], table[:, start + 1 : start + 1 + PEOPLE]
    known = np.concatenate(shares) if shares else np.zeros((0, PEOPLE))
    return Choices(Design(statistic_of, level_of, wording), table[:, 1], known, groups, named)


def faces_of(tallies: Mapping[StatisticTopic, FacesTally], dataset: Dataset, task: Task, attribute: str) -> Faces:
    """The faces of a task, of statistics that have the attribute."""
    names = [each.name for each in dataset.attributes]
    blocks: list[IntArray] = []
    places: list[tuple[int, int]] = []
    for place, level, topic in _topics(tallies, dataset, task, None):
        if attribute in dataset.statistics[place].attributes:
            blocks.append(np.array(tallies[topic].rows, dtype=np.int64).reshape(-1, 1 + len(names)))
            places.append((place, level))
    table = np.concatenate(blocks) if blocks else np.zeros((0, 1 + len(names)), np.int64)
    sizes = [len(block) for block in blocks]
    statistic, level = np.repeat(np.array(places, np.int64).reshape(-1, 2), sizes, axis=0).T
    return Faces(Design(statistic, level, table[:, 0]), {name: table[:, 1 + n] for n, name in enumerate(names)})


def _topics(
    tallies: Mapping[StatisticTopic, object], dataset: Dataset, task: Task, context: Context | None
) -> Iterator[tuple[int, int, StatisticTopic]]:
    """The topics with the places of their statistic and level, in the order of the data."""
    place = {statistic.slug: number for number, statistic in enumerate(dataset.statistics)}
    wanted = [topic for topic in tallies if topic.task == task and topic.context == context]
    found = [(place[topic.statistic], LEVELS.index(topic.level), topic) for topic in wanted]
    yield from sorted(found, key=lambda each: each[:2])
