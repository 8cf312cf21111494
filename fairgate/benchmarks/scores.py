"""The specification of a score: all that is known of it beside its formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairgate.domain import Modality


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task of a benchmark: what its cases, scores and limits are about.

    `contexts` are those that it is asked in, empty where there are none. `by_attribute`: whether its scores are by
    attribute (gender, race, …); `overall`: whether they are also over all attributes at once.
    """

    name: str
    modality: Modality
    about: str
    contexts: tuple[str, ...] = ()
    by_attribute: bool = True
    overall: bool = False


@dataclass(frozen=True, kw_only=True)
class Score:
    """One score, on the scale 0 to 100.

    `question` is what it answers, in words; `best` its best value: 100, 0, or a reference value between them. `tasks`
    are the (modality, task) that it is of. `gated`: whether a limit can be set on it; `compared`: the (modality, task)
    in which a limit can be set on its change since a baseline. `unit` is that of the number as a reader sees it.
    """

    name: str
    title: str
    question: str
    best: float
    tasks: tuple[tuple[Modality, str], ...]
    unit: str = "points"
    gated: bool = True
    compared: tuple[tuple[Modality, str], ...] = ()

    @property
    def less_is_better(self) -> bool:
        """Whether 0 is best."""
        return self.best == 0

    @property
    def has_side(self) -> bool:
        """Whether one end of the scale is best: a score with a reference value in the middle has no better side."""
        return self.best in (0, 100)

    @property
    def asks(self) -> str:
        """The question with the best value, as reports show it."""
        return f"{self.question} {self.best:g} is best"
