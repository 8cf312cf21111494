"""The selected cases of a run, and what has to be asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.benchmarks.case import Case
    from fairgate.core.domain import Modality, Topic
    from fairgate.runs.run import Run


class Selection:
    """The cases, in the order of the data, whatever order they run in; and what they take.

    `first` is what is asked before all else, e.g. the judge's gold set; `asked` all topics that are asked.
    """

    def __init__(self, run: Run, selected: Iterable[Case]) -> None:
        self.run = run
        chosen = frozenset(selected)
        self.cases = tuple(case for case in run.cases.values() if case in chosen)
        queried = [each for each in run.benchmarks.all if each.read_from is None]
        self.first: tuple[Topic, ...] = tuple(topic for each in queried for topic in each.first(self.of(each)))
        topics = [topic for each in queried for case in self.of(each) for topic in case.topics]
        self.asked: tuple[Topic, ...] = tuple(dict.fromkeys((*self.first, *topics)))

    def of(self, benchmark: AnyBenchmark) -> tuple[Case, ...]:
        """The cases of a benchmark in its modality."""
        name, modality = benchmark.name, benchmark.modality
        return tuple(case for case in self.cases if (case.topic.benchmark, case.topic.modality) == (name, modality))

    def topics_of(self, modality: Modality) -> tuple[Topic, ...]:
        """The topics that are asked in a modality."""
        return tuple(topic for topic in self.asked if topic.modality is modality)
