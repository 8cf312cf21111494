"""The selected cases of a run, and what has to be asked for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.benchmarks.case import Case
    from fairgate.core.domain import Topic
    from fairgate.runs.run import Run


@dataclass(frozen=True)
class Selection:
    """The cases, in the order of the data, whatever order they run in; and what they take.

    `first` is what is asked before all else, e.g. the judge's gold set; `asked` all topics that are asked.
    """

    cases: tuple[Case, ...]
    first: tuple[Topic, ...]
    asked: tuple[Topic, ...]

    @classmethod
    def of(cls, run: Run, selected: Iterable[Case]) -> Selection:
        """What was selected of a run."""
        chosen = frozenset(selected)
        cases = tuple(case for case in run.cases.values() if case in chosen)
        queried = [each for each in run.whole.all if each.read_from is None]
        first = tuple(topic for each in queried for topic in each.first(cases_of(cases, each)))
        topics = (topic for each in queried for case in cases_of(cases, each) for topic in case.topics)
        return cls(cases, first, tuple(dict.fromkeys((*first, *topics))))

    def cases_of(self, benchmark: AnyBenchmark) -> tuple[Case, ...]:
        """The cases of a benchmark in its modality."""
        return cases_of(self.cases, benchmark)


def cases_of(cases: Iterable[Case], benchmark: AnyBenchmark) -> tuple[Case, ...]:
    """Those of a benchmark in its modality."""
    name, modality = benchmark.name, benchmark.modality
    return tuple(case for case in cases if (case.topic.benchmark, case.topic.modality) == (name, modality))
