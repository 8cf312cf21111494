"""The selected cases of a run, and what has to be asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.bigbench.cases import SitterCase
from fairgate.f2bench.cases import ThemeCase
from fairgate.fact_or_fair.cases import Case

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.domain import Modality, Topic
    from fairgate.fact_or_fair.topics import StatisticTopic
    from fairgate.runs.benchmarks import AnyCase
    from fairgate.runs.run import Run


class Selection:
    """The cases, in the order of the data, whatever order they run in; and what they take.

    `gold` is what the judge is judged on, `asked` all topics that are asked.
    """

    def __init__(self, run: Run, selected: Iterable[AnyCase]) -> None:
        self.run = run
        chosen = frozenset(selected)
        self.cases = tuple(case for case in run.cases.values() if case in chosen)
        self.themes = tuple(case for case in self.cases if isinstance(case, ThemeCase))
        self.sitters = tuple(case for case in self.cases if isinstance(case, SitterCase))
        self.statistics = tuple(case for case in self.cases if isinstance(case, Case))
        self.gold = run.f2bench.gold(self.themes)
        self.topics = tuple(
            dict.fromkeys(case.topic for case in self.statistics if case.topic.modality in run.cast.sampled)
        )
        painted = dict.fromkeys(topic for case in self.sitters for topic in case.topics)
        self.asked: tuple[Topic, ...] = (
            *self.gold,
            *(case.topic for case in self.themes),
            *self.topics,
            *(painted if run.bigbench.aligned is None else ()),
        )

    def of(self, modality: Modality) -> tuple[Case, ...]:
        """The cases of Fact-or-Fair in a modality."""
        return tuple(case for case in self.statistics if case.topic.modality is modality)

    def topics_of(self, modality: Modality) -> tuple[StatisticTopic, ...]:
        """Their topics, where a model is asked for them."""
        return tuple(topic for topic in self.topics if topic.modality is modality)
