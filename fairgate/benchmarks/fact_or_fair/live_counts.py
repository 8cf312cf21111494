"""Counts of the replies that this process received for each topic, so that the ledger need not be read again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.tally import TopicTally, tally
from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.ledger.samples import Sample

# Samples by the model and the fingerprint that their server gave itself.
Served = Counter[tuple[str | None, str | None]]


class LiveCounts:
    """The answers to single queries, counted as they come, in whatever order.

    Written by the sampler's thread, and read of a topic once the ledger says that it is sampled.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._counts: dict[StatisticTopic, tuple[TopicTally, Served]] = {}

    def add(self, sample: Sample) -> None:
        """Count one answered sample."""
        topic = sample.query.topic
        if isinstance(topic, StatisticTopic):
            if topic not in self._counts:
                self._counts[topic] = count(topic, (), self._dataset)
            _add(sample, *self._counts[topic])

    def whole(self, topic: StatisticTopic, planned: int) -> tuple[TopicTally, Served] | None:
        """A topic's counts, None where not all of its planned samples were answered: the ledger knows what became of
        the others.
        """
        found = self._counts.get(topic)
        return None if found is None or found[0].planned != planned else found


def count(topic: StatisticTopic, samples: Iterable[Sample], dataset: Dataset) -> tuple[TopicTally, Served]:
    """A topic's answers, counted, and which servers gave them."""
    counted = tally(topic, (), dataset), Counter[tuple[str | None, str | None]]()
    for sample in samples:
        _add(sample, *counted)
    return counted


def _add(sample: Sample, counted: TopicTally, served: Served) -> None:
    counted.add(sample)
    if sample.reply is not None:
        served[sample.reply.served_model, sample.reply.fingerprint] += 1
