"""The tasks of BIGbench, and its topics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairgate.core.domain import Modality


class Task(StrEnum):
    """Images with no group, or a group, asked for; and pairs of advantage and disadvantage."""

    IMPLICIT = "implicit"
    EXPLICIT = "explicit"
    MANIFESTATION = "manifestation"


@dataclass(frozen=True, slots=True)
class SubjectTopic:
    """One identity prompt of BIGbench, alone (implicit) or with groups asked for (explicit)."""

    benchmark: str
    task: Task
    identity: str

    @property
    def modality(self) -> Modality:
        """Images."""
        return Modality.IMAGE

    @property
    def id(self) -> str:
        """Stable and unique, e.g. `bigbench/image/explicit/dancer-female`."""
        return f"{self.benchmark}/{self.modality}/{self.task}/{self.identity}"
