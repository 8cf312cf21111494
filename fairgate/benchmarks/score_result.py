"""Scores as they are shown and gated: each with its scale, its ceiling, its estimate and what it covers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from fairgate.core.domain import Modality

if TYPE_CHECKING:
    from fairgate.core.statistics.effects import Effect, Largest, Spread
    from fairgate.core.statistics.intervals import Interval

Bound = float | None
# Benchmark, modality, task and context.
Where = tuple[str, str, str, str | None]


def percent(value: float) -> Bound:
    """A share of 0 to 1 on the scale 0 to 100; None over nothing."""
    return None if math.isnan(value) else 100.0 * value


def percents(found: Interval | Effect | Largest | Spread) -> tuple[Bound, Bound]:
    """The ends of an interval on the scale 0 to 100."""
    return percent(found.low), percent(found.high)


def ceiling_percents(found: Interval | None) -> tuple[float, float, float] | None:
    """The mean and the range of a ceiling on the scale 0 to 100; None over nothing."""
    if found is None or math.isnan(found.value):
        return None
    return 100 * found.value, 100 * found.low, 100 * found.high


class Tested(Protocol):
    """An estimate that gives p-values of its own. Limits and effects are shares, 0 to 1."""

    def beyond(self, limit: float) -> float:
        """The p-value of "at most `limit`": small where the score is above it. NaN over nothing."""
        ...

    def within(self, limit: float) -> float:
        """The p-value of "at least `limit`": small where the score is below it. NaN over nothing."""
        ...


@dataclass(frozen=True, kw_only=True)
class ScoreResult:
    """One score of one task, context and attribute, on the scale 0 to 100.

    `value` is the plug-in score as published, None over nothing; `ceiling` (mean, low, high) what a perfectly fair, or
    informed, model would score under the same plan, n and missing answers; `estimate` and `ci` the population's value
    and its interval, where there is one; `reliable` False where n is too small for the interval's nominal coverage; `n`
    answered samples; `topics` (covered, all), of which `unanswered` were asked and have no answer (all refused, say);
    `failed_share` percent of the planned samples that failed; `no_estimate`
    says why there is no estimate. `tested` is the estimate of an effect, which gates test by its own p-values; `signed`
    is one that has a direction, -100 to 100: its limit holds to both sides of 0. `validity`: where a limit on it fails,
    the other scores of its task and context say nothing of the model. Of one of several looks, `share` is its part of
    the error, 0 to 1, and `level` the part that its interval may miss by. `census`: all texts there are were asked.
    """

    benchmark: str
    modality: Modality
    task: str
    context: str | None = None
    attribute: str | None = None
    score: str = ""
    scoring: str = "definition"
    group: str | None = None
    value: Bound = None
    ceiling: tuple[float, float, float] | None = None
    estimate: Bound = None
    ci: tuple[Bound, Bound] = (None, None)
    reliable: bool = True
    n: int = 0
    topics: tuple[int, int]
    unanswered: int = 0
    failed_share: float = 0.0
    no_estimate: str = ""
    tested: Tested | None = None
    signed: bool = False
    validity: bool = False
    share: float = 1.0
    level: float = 1.0
    census: bool = False

    @property
    def name(self) -> str:
        """Stable and unique within a scoring, e.g. `fact-or-fair-text-subjective-base-race-S_KLD`."""
        parts = (self.benchmark, self.modality, self.task, self.context, self.attribute, self.group, self.score)
        return "-".join(str(part) for part in parts if part is not None)

    @property
    def where(self) -> Where:
        """What it is about, whichever attribute and score."""
        return self.benchmark, self.modality, self.task, self.context

    @property
    def partial(self) -> bool:
        """Whether it covers a part of the topics only."""
        covered, whole = self.topics
        return covered < whole

    @property
    def all_asked(self) -> bool:
        """Whether every topic was asked, answered or not."""
        covered, whole = self.topics
        return covered + self.unanswered >= whole


def with_effect(entry: ScoreResult, found: Effect | Largest | Spread) -> ScoreResult:
    """The entry with an effect's value, interval and test; over too few samples it has none, and says so."""
    known = not math.isnan(found.value)
    value = percent(found.value)
    what = "images" if entry.modality is Modality.IMAGE else "answers"
    return replace(
        entry,
        value=value,
        estimate=value,
        ci=percents(found) if known else (None, None),
        no_estimate="" if known else f"too few {what} to tell an effect from chance",
        tested=found if known else None,
    )
