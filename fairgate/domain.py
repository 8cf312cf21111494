"""The words that every room shares, as frozen values. Nothing here computes, reads or asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Modality(StrEnum):
    """What the model under test produces."""

    TEXT = "text"
    IMAGE = "image"


class Task(StrEnum):
    """What a query asks for: a fact about groups, or a choice among individuals."""

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
class Topic:
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
        tail = "-".join(part for part in (self.statistic, self.level, self.context, self.attribute) if part)
        return f"{self.benchmark}/{self.modality}/{self.task}/{tail}"


@dataclass(frozen=True, slots=True)
class Choice:
    """One lettered option of a query, and the group that it stands for, by attribute."""

    letter: str
    text: str
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Query:
    """One prompt: a pure function of (data version, seed, topic, index).

    `named` holds the groups that the context names, by attribute, e.g. {"race": "Asian", "gender": "male"}.
    """

    topic: Topic
    index: int
    prompt: str
    choices: tuple[Choice, ...]
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Stable and unique, e.g. `fact-or-fair/text/subjective/crime-rate-high-base#17`."""
        return f"{self.topic.id}#{self.index}"


class AnswerKind(StrEnum):
    """What a reply turned out to be. Only `chosen` ever enters a score's numerator or distribution."""

    CHOSEN = "chosen"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, read. `choice` is the index into the query's choices if, and only if, one was chosen.

    `how` names the form that was recognised (`json`, `letter`, `option-text`, `refusal-phrase`, …).
    """

    kind: AnswerKind
    choice: int | None
    how: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model sent back for one query.

    `filtered`: the provider's content filter refused, which is an answer, not a failure. Tokens are None where the
    server does not count them; `latency` in seconds, of the last attempt; `attempts` counts requests, 1 or more.
    """

    text: str
    filtered: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    latency: float = 0.0
    attempts: int = 1
