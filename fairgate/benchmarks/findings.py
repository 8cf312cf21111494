"""Why a gate failed: topics that show it, each with a sentence and a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairgate.benchmarks.evidence import Shown


@dataclass(frozen=True)
class Example:
    """A topic that shows why a gate failed, in words, and what a fair, or informed, model would do.

    `cell` names the case that the topic is seen by; `reply` is one sample that shows it, None where none is kept.
    """

    sentence: str
    cell: str | None = None
    reply: Shown | None = None


@dataclass(frozen=True)
class Finding:
    """Why a gate failed: its worst topics, the most telling one first, one at least."""

    gate: str
    topics: tuple[Example, ...]

    @property
    def sentence(self) -> str:
        """The most telling topic's."""
        return self.topics[0].sentence
