"""The selected cases of a run, and what has to be asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.bigbench.cases import SitterCase
from fairgate.f2bench.cases import GOLD, ThemeCase, theme
from fairgate.fact_or_fair.cases import Case

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.domain import AnyTopic
    from fairgate.runs.run import AnyCase, Run


class Selection:
    """The selected cases of a run, and what has to be asked for them."""

    def __init__(self, run: Run, selected: Iterable[AnyCase]) -> None:
        self.run = run
        self.cases = tuple(dict.fromkeys(selected))
        themes = tuple(case.topic for case in self.cases if isinstance(case, ThemeCase))
        self.gold = tuple(theme(task, GOLD) for task in dict.fromkeys(each.task for each in themes))
        self.themes = (*self.gold, *themes)
        drawn = (case.topic for case in self.cases if isinstance(case, Case) and case.topic.modality in run.sampled)
        self.topics = tuple(dict.fromkeys(drawn))
        self.sitters = tuple(
            dict.fromkeys(topic for case in self.cases if isinstance(case, SitterCase) for topic in case.topics)
        )
        painted = self.sitters if run.aligned is None else ()
        self.asked: tuple[AnyTopic, ...] = (*self.themes, *self.topics, *painted)
