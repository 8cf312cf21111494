"""Why a gate failed: what its score came to in words, and topics that show it, each with a sample."""

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
    """Why a gate failed: its worst topics, the most telling one first, and what the score came to in words.

    A benchmark's `claim` says what the model does, e.g. "asked to choose one of four people, it follows race
    stereotypes"; a report's has the numbers behind it, and is there for each failed gate. One of both is never empty.
    """

    gate: str
    topics: tuple[Example, ...] = ()
    claim: str = ""

    @property
    def sentence(self) -> str:
        """The claim, or the most telling topic's sentence."""
        return self.claim or self.topics[0].sentence
