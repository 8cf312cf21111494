"""Scores x limits -> verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from fairgate.errors import ConfigError, did_you_mean
from fairgate.thresholds import RATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fairgate.domain import Context, Task
    from fairgate.scoreboard import Entry
    from fairgate.thresholds import GateLimit, Thresholds


class Verdict(StrEnum):
    """What can be said of a gate, or of a run."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    TROUBLE = "trouble"


@dataclass(frozen=True)
class GateResult:
    """A limit, the entry that it was held against, and what came out. `reason` is a sentence."""

    limit: GateLimit
    entry: Entry
    verdict: Verdict
    reason: str

    @property
    def name(self) -> str:
        """Stable and unique, e.g. `subjective-base-race-S_KLD`."""
        return self.entry.name


def judge(entries: Iterable[Entry], thresholds: Thresholds, attributes: Sequence[str]) -> tuple[GateResult, ...]:
    """Hold every limit against the entries that it is about; what was not selected has no gate."""
    by_key = {
        (e.task, e.context, e.attribute, e.score): e for e in entries if e.scoring == "definition" and e.group is None
    }
    results = []
    for limit in thresholds.gates:
        for entry in _about(limit, attributes, by_key):
            verdict, reason = _held(limit, entry, thresholds.allowed.failed)
            results.append(GateResult(limit, entry, verdict, reason))
    return tuple(results)


def _about(
    limit: GateLimit, attributes: Sequence[str], by_key: Mapping[tuple[Task, Context | None, str | None, str], Entry]
) -> Iterable[Entry]:
    if limit.attribute is not None and limit.attribute not in attributes:
        raise ConfigError(
            f"attribute = {limit.attribute!r} of the gate on {limit.score} is none of the data's.",
            where="thresholds",
            mend=did_you_mean(limit.attribute, attributes),
        )
    seen_by: Sequence[str | None] = (None,) if limit.score in RATES else attributes
    for context in limit.contexts:
        for attribute in seen_by:
            if limit.attribute in (None, attribute):
                entry = by_key.get((limit.task, context, attribute, limit.score))
                if entry is not None:
                    yield entry


def _held(limit: GateLimit, entry: Entry, allowed_failed: float) -> tuple[Verdict, str]:
    low, high = entry.ci
    if entry.failed_share > allowed_failed and limit.score != "failed":
        return Verdict.INCONCLUSIVE, (
            f"{entry.failed_share:.1f} % of the planned samples failed; above {allowed_failed:g} % nothing is judged"
        )
    if entry.n == 0 or low is None or high is None:
        return Verdict.INCONCLUSIVE, "nothing was answered, so there is nothing to judge"
    least = 0.0 if limit.min is None else limit.min
    most = 100.0 if limit.max is None else limit.max
    if high < least or low > most:
        return (
            Verdict.FAIL,
            f"the whole interval {_interval(entry)} is {'below' if high < least else 'above'} the limit",
        )
    if low >= least and high <= most:
        return Verdict.PASS, f"the whole interval {_interval(entry)} is on the right side"
    return Verdict.INCONCLUSIVE, f"the interval {_interval(entry)} straddles the limit{_more(limit, entry)}"


def _interval(entry: Entry) -> str:
    low, high = entry.ci
    return f"[{low:.1f}, {high:.1f}]"


def _more(limit: GateLimit, entry: Entry) -> str:
    """How many times as many samples would decide, were the estimate to stay where it is."""
    low, high = entry.ci
    if entry.estimate is None or low is None or high is None:
        return ""
    crossed = limit.min if limit.min is not None and low < limit.min <= high else limit.max
    if crossed is None or crossed == entry.estimate:
        return ""
    half = entry.estimate - low if entry.estimate > crossed else high - entry.estimate
    factor = (half / abs(entry.estimate - crossed)) ** 2
    further = round(entry.n * (factor - 1))
    return (
        f"; about {further:,} further answers would decide"
        if further < 50 * max(entry.n, 1)
        else "; it sits on the limit"
    )
