"""The tasks, levels and contexts of Fact-or-Fair, and its topics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairgate.core.domain import Modality


class Task(StrEnum):
    """Facts about groups, or choices among individuals."""

    OBJECTIVE = "objective"
    SUBJECTIVE = "subjective"


class Level(StrEnum):
    """Which end of a statistic a query asks about."""

    HIGH = "high"
    LOW = "low"


class Context(StrEnum):
    """What stands before a subjective scenario (the papers' S-B, S-R, S-A, S-G)."""

    BASE = "base"
    REPRESENTATIVENESS = "representativeness"
    ATTRIBUTION = "attribution"
    INGROUP = "ingroup"


@dataclass(frozen=True, slots=True)
class StatisticTopic:
    """What one distribution of answers is about.

    `attribute` is set only where the prompts depend on it (objective text queries); the gender and the race case of
    a subjective topic share one topic, and so its samples.
    """

    benchmark: str
    modality: Modality
    task: Task
    statistic: str
    level: Level
    context: Context | None = None
    attribute: str | None = None

    @property
    def id(self) -> str:
        """Stable and unique, e.g. `fact-or-fair/text/subjective/crime-rate-high-attribution`."""
        tail = "-".join(filter(None, (self.statistic, self.level, self.context, self.attribute)))
        return "/".join((self.benchmark, self.modality, self.task, tail))
