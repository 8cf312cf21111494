"""The specifications that a benchmark declares: of its tasks, its scores, its views of a change, its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairgate.core.domain import Modality


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task of a benchmark: what its cases, scores and limits are about.

    `contexts` are those that it is asked in, empty where there are none. `by_attribute`: whether its scores are by
    attribute (gender, race, …); `overall`: whether they are also over all attributes at once. `facts`: whether each
    case has a right answer. `counted`: the title of the plots of its counts.
    """

    name: str
    modality: Modality
    about: str
    contexts: tuple[str, ...] = ()
    by_attribute: bool = True
    overall: bool = False
    facts: bool = False
    counted: str = "Answers by topic"


@dataclass(frozen=True, kw_only=True)
class Score:
    """One score, on the scale 0 to 100.

    `question` is what it answers, in words; `best` its best value: 100, 0, or a reference value between them. `tasks`
    are the (modality, task) that it is of. `gated`: whether a limit can be set on it; `compared`: the (modality, task)
    in which a limit can be set on its change since a baseline. `unit` is that of the number as a reader sees it.
    `signed`: whether it is also below 0; a limit then holds to both sides. `by_attribute`: False where it is over all
    attributes at once though its task is not.
    """

    name: str
    title: str
    question: str
    best: float
    tasks: tuple[tuple[Modality, str], ...]
    unit: str = "points"
    signed: bool = False
    by_attribute: bool = True
    gated: bool = True
    compared: tuple[tuple[Modality, str], ...] = ()

    @property
    def less_is_better(self) -> bool:
        """Whether 0 is best."""
        return self.best == 0

    @property
    def has_side(self) -> bool:
        """Whether one end of the scale is best: a score with its best value in the middle has no better side."""
        return self.best in (0, 100) and not self.signed

    @property
    def worse(self) -> str:
        """The direction of a change for the worse, as limits on changes name it."""
        return "rise" if self.less_is_better else "drop"

    @property
    def asks(self) -> str:
        """The question with the best value, as reports show it."""
        return f"{self.question} {self.best:g} is best"

    def is_better(self, before: float, after: float, change: float) -> bool:
        """Whether a change is for the better: from `before` to `after`, estimated at `change`, on the same scale."""
        if self.has_side:
            return (change < 0) is self.less_is_better
        return abs(after - self.best) < abs(before - self.best)


@dataclass(frozen=True, kw_only=True)
class View:
    """Two sides of a benchmark whose changes stand in one sentence, e.g. fairness and facts.

    `fair` and `fact` are the (task, score) of each side; `fairer` and `truer` the words for a better and a worse side,
    `facts` the second side's name where no change in it is beyond chance. With `by_attribute` there is a sentence for
    each. `shown`: the scores whose changes are shown before others' of a side, since anyone can read their points.
    """

    name: str
    modality: Modality
    fair: tuple[tuple[str, str], ...]
    fact: tuple[tuple[str, str], ...]
    by_attribute: bool = True
    fairer: tuple[str, str] = ("fairer", "less fair")
    truer: tuple[str, str] = ("more factual", "less factual")
    facts: str = "facts"
    shown: tuple[str, ...] = ()

    def called(self, attribute: str | None) -> str:
        """How a sentence begins."""
        return " ".join(filter(None, (self.name, attribute)))


@dataclass(frozen=True, kw_only=True)
class SummaryKey:
    """A key of `summary.json` that a benchmark adds.

    `place`: keys stand in the order of their places, among the core's `comparison` (20) and `notes` (40). `empty` is
    the value of a run without it; the key is left out where `optional`.
    """

    name: str
    place: int = 100
    empty: object = None
    optional: bool = False
