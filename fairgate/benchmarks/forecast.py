"""What a plan can tell of a benchmark's scores before anything is asked: used by `--dry-run`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from fairgate.benchmarks.case import Replies


@dataclass(frozen=True)
class Target:
    """A limit on a score in one task, context and attribute; `limit` is on the scale 0 to 1."""

    score: str
    task: str
    context: str | None
    attribute: str | None
    limit: float


@dataclass(frozen=True)
class Detectable:
    """The smallest effect that is found in four of five runs, on the scale 0 to 1.

    `beyond`: how far beyond the limit the true score must be; None where no distance is found, or where that is not
    known. `error`: the standard error of the estimate next to the limit. `sizes`: a value that differs where the plan's
    sizes do: limits with the same sizes share one row.
    """

    beyond: float | None = None
    error: float | None = None
    sizes: object = ()


class PowerAnalysis(ABC):
    """The power of a benchmark's plan, in one modality. Cases are those that are selected of this benchmark."""

    @abstractmethod
    def attributes(self, task: str) -> Sequence[str | None]:
        """The attributes that a task's scores are by: (None,) where there are none, empty for an unknown task."""

    @abstractmethod
    def cells(self, cases: Iterable[Any]) -> Iterator[tuple[str, str | None, str | None]]:
        """The task, context and attribute of each of the cases."""

    @abstractmethod
    def detectable(self, target: Target, cases: Sequence[Any], reply: Replies, rng: np.random.Generator) -> Detectable:
        """The smallest effect that the selected cases find. `reply`: the stored replies, e.g. to a gold set."""

    def notes(self, cases: Sequence[Any]) -> Iterator[str]:
        """What a reader of the forecast must know."""
        del cases
        yield from ()
