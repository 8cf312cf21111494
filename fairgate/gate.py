"""Scores x limits -> verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from fairgate.errors import ConfigError, did_you_mean
from fairgate.maths.estimates import Estimate, further_samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairgate.scoreboard import Entry
    from fairgate.thresholds import GateLimit, Thresholds

# More than so many times the answers at hand is nothing that anybody would ask.
MOST_FURTHER = 50


FEW = 30  # answers below which an interval does not shrink as the square root of their number


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


def check_attributes(thresholds: Thresholds, attributes: Sequence[str], where: str) -> None:
    """Raise ConfigError for a limit on an attribute that the data does not have, before anything is asked."""
    for number, limit in enumerate(thresholds.gates):
        if limit.attribute is not None and limit.attribute not in attributes:
            raise ConfigError(
                f"attribute = {limit.attribute!r} is none of the data's.",
                where=f"{where}: gates[{number}]",
                mend=did_you_mean(limit.attribute, attributes),
            )


def judge(entries: Iterable[Entry], thresholds: Thresholds) -> tuple[GateResult, ...]:
    """Hold every limit against the entries that it is about; what was not selected has no gate."""
    judged = [entry for entry in entries if entry.scoring == "definition" and entry.group is None]
    results = []
    for limit in thresholds.gates:
        for entry in judged:
            if _is_about(limit, entry):
                verdict, reason = _held(limit, entry, thresholds.allowed.failed)
                results.append(GateResult(limit, entry, verdict, reason))
    return tuple(results)


def _is_about(limit: GateLimit, entry: Entry) -> bool:
    return (
        (entry.modality, entry.task, entry.score) == (limit.modality, limit.task, limit.score)
        and entry.context in limit.contexts
        and limit.attribute in (None, entry.attribute)
    )


def _held(limit: GateLimit, entry: Entry, allowed_failed: float) -> tuple[Verdict, str]:
    low, high = entry.ci
    if entry.failed_share > allowed_failed and limit.score != "failed":
        return Verdict.INCONCLUSIVE, (
            f"{entry.failed_share:.1f} % of the planned samples failed; above {allowed_failed:g} % nothing is judged"
        )
    if entry.n == 0 or low is None or high is None:
        why = "nothing was answered, so there is nothing to judge"
        if entry.n > 0 and entry.value is None:
            why = "no statistic was answered at both levels, which this score compares"
        elif entry.value is not None:
            shares = "only shares are known, not of how many answers, so nothing says how sure they are"
            why = entry.no_estimate or shares
        return Verdict.INCONCLUSIVE, why
    least = 0.0 if limit.min is None else limit.min
    most = 100.0 if limit.max is None else limit.max
    if high < least or low > most:
        side = "below" if high < least else "above"
        return Verdict.FAIL, f"the whole interval {_interval(entry)} is {side} the limit"
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
    if not entry.reliable or entry.n < FEW:
        return "; too few answers to say how many more would decide"
    crossed = limit.min if limit.min is not None and low < limit.min <= high else limit.max
    if crossed is None:
        return ""
    if not entry.reliable or entry.n < FEW:
        return "; too few answers to say how many more would decide"
    found = Estimate(entry.estimate / 100, low / 100, high / 100, reliable=True)
    multiple = further_samples(found, crossed / 100)
    if multiple is None or multiple > MOST_FURTHER:
        return "; it sits on the limit"
    return f"; about {round(entry.n * multiple):,} further answers would decide"
