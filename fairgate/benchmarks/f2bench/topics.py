"""The tasks of F²Bench, and its topics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairgate.core.domain import Modality


class Task(StrEnum):
    """Dialogue induction, or the fairness-factuality balance."""

    DIALOGUE = "dialogue"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class Theme:
    """What a set of conversations is about: a category of F²Bench in one task, or the judge's gold set for it."""

    benchmark: str
    modality: Modality
    task: Task
    name: str

    @property
    def id(self) -> str:
        """Stable and unique, e.g. `f2bench/text/dialogue/gender`."""
        return f"{self.benchmark}/{self.modality}/{self.task}/{self.name}"
