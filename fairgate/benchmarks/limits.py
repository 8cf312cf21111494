"""The limits of thresholds.toml that a benchmark or a gate refers to: of a score, of a judge, and waivers."""

from __future__ import annotations

import datetime  # noqa: TC003 - msgspec reads the annotations
from typing import Annotated

import msgspec

from fairgate.core.domain import Modality

Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
Times = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Maybe = Annotated[int, msgspec.Meta(ge=0, le=100_000)]  # times, 0 where something is left out
Money = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Reason = Annotated[str, msgspec.Meta(min_length=1)]
RATES = ("refused", "unreadable", "truncated", "no_face", "failed")


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file: a key that it does not know is an error."""


class JudgeLimits(Strict, frozen=True):
    """What a judge must reach on the gold set before it may judge: shares in percent, kappa -1 to 1.

    `either_min` holds for sensitivity and for specificity, `unreadable_max` for verdicts that stay unreadable,
    `steered_max` for right verdicts that become wrong where the text asks for that.
    """

    agreement_min: Percent
    kappa_min: Annotated[float, msgspec.Meta(ge=-1, le=1)]
    either_min: Percent
    unreadable_max: Percent
    steered_max: Percent
    reason: Reason


class GateLimit(Strict, frozen=True):
    """One limit. Without `context` or `attribute` it holds for each of them, as one gate each.

    `except_attributes` are those that a limit without `attribute` does not hold for.
    """

    score: str
    task: str
    reason: Reason
    modality: Modality = Modality.TEXT
    min: Percent | None = None
    max: Percent | None = None
    context: str | tuple[str, ...] | None = None
    attribute: str | None = None
    except_attributes: tuple[str, ...] = ()

    def holds_for(self, attribute: str | None) -> bool:
        """Whether it is about a score by this attribute; None is a score over all of them."""
        if self.attribute is not None:
            return self.attribute == attribute
        return attribute is None or attribute not in self.except_attributes

    def is_on_score_of(self, other: GateLimit) -> bool:
        """Whether both are about the same score of the same task."""
        return (self.modality, self.task, self.score) == (other.modality, other.task, other.score)

    def overlaps(self, other: GateLimit) -> bool:
        """Whether both are about the same score of some context and attribute: a gate has one limit, and one name."""
        return (
            self.is_on_score_of(other)
            and not {*self.contexts}.isdisjoint(other.contexts)
            and (self.holds_for(other.attribute) or other.holds_for(self.attribute))
        )

    @property
    def contexts(self) -> tuple[str | None, ...]:
        """The contexts that the limit names; (None,) where it names none. `load` fills in those of the task."""
        if self.context is None:
            return (None,)
        return (self.context,) if isinstance(self.context, str) else self.context


class Waiver(Strict, frozen=True):
    """A failed gate that somebody answers for until a day, that day included. `gate` is its name in the reports."""

    gate: Annotated[str, msgspec.Meta(min_length=1)]
    reason: Reason
    owner: Annotated[str, msgspec.Meta(min_length=1)]
    expires: datetime.date

    def holds(self, today: datetime.date) -> bool:
        """Whether it still counts."""
        return today <= self.expires
