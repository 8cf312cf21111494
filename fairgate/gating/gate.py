"""Scores x limits -> verdicts."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import GateResult, Verdict, bounds
from fairgate.benchmarks.limits import RATES
from fairgate.core.errors import ConfigError, did_you_mean
from fairgate.core.statistics.estimates import further_samples
from fairgate.core.statistics.intervals import Estimate
from fairgate.core.statistics.paired import holm

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator, Sequence

    from fairgate.benchmarks.limits import GateLimit, Waiver
    from fairgate.benchmarks.registry import Registry
    from fairgate.benchmarks.score_result import ScoreResult, Where
    from fairgate.gating.thresholds import Thresholds

# More than so many times the answers at hand is nothing that anybody would ask.
MOST_FURTHER = 50


FAMILY = 0.05  # the chance that a model exactly at all limits fails any of its gates
FEW = 30  # answers below which an interval does not shrink as the square root of their number


def check_attributes(thresholds: Thresholds, attributes: Sequence[str], where: str) -> None:
    """Raise ConfigError for a limit on an attribute that the data does not have, before anything is asked."""
    for number, limit in enumerate(thresholds.gates):
        if limit.attribute is not None and limit.attribute not in attributes:
            raise ConfigError(
                f"attribute = {limit.attribute!r} is not an attribute of the data.",
                where=f"{where}: gates[{number}]",
                hint=did_you_mean(limit.attribute, attributes),
            )


def names(thresholds: Thresholds, registry: Registry, attributes: Sequence[str]) -> frozenset[str]:
    """The names that gates of these limits can have, over all data with these attributes."""
    found = set[str]()
    for limit in thresholds.gates:
        plugin, task = registry.tasks[limit.modality, limit.task]
        score = registry.score(limit.score, limit.modality, limit.task)
        by_attribute = task.by_attribute and limit.score not in RATES and (score is None or score.by_attribute)
        # What has no attribute is over all of them alone.
        whole = (None,) if task.overall or not by_attribute else ()
        each = tuple(attributes) if by_attribute else ()
        seen_by = (limit.attribute,) if limit.attribute else (*each, *whole)
        contexts = limit.contexts if limit.context is not None else task.contexts or (None,)
        for context in contexts:
            for attribute in filter(limit.holds_for, seen_by):
                parts = (plugin.name, limit.modality, limit.task, context, attribute, limit.score)
                found.add("-".join(str(part) for part in parts if part is not None))
    drops = () if thresholds.baseline is None else thresholds.baseline.drops
    for drop in drops:
        plugin, task = registry.tasks[drop.modality, drop.task]
        for context in task.contexts or (None,):
            score = registry.score(drop.score, drop.modality, drop.task)
            by_attribute = task.by_attribute and (score is None or score.by_attribute)
            for attribute in tuple(attributes) if by_attribute else (None,):
                where = (plugin.name, drop.modality, drop.task, context, attribute)
                head = "-".join(str(part) for part in where if part is not None)
                found.add(f"{head}-{drop.score}@change")
    return frozenset(found)


def check_waivers(thresholds: Thresholds, registry: Registry, attributes: Sequence[str], where: str) -> None:
    """Raise ConfigError for a waiver of a gate that there is none of, or of one that is waived already."""
    known, seen = names(thresholds, registry, attributes), set[str]()
    for number, waiver in enumerate(thresholds.waivers):
        at = f"{where}: waivers[{number}]"
        if waiver.gate not in known:
            raise ConfigError(f"gate = {waiver.gate!r} is no gate.", where=at, hint=did_you_mean(waiver.gate, known))
        if waiver.gate in seen:
            raise ConfigError(f"gate = {waiver.gate!r} is waived already.", where=at, hint="Remove one of them.")
        seen.add(waiver.gate)


def waive(gates: Iterable[GateResult], thresholds: Thresholds, today: datetime.date) -> tuple[GateResult, ...]:
    """Let waivers that still hold answer for gates that failed; one that expired is named, and changes nothing."""
    by_gate = {waiver.gate: waiver for waiver in thresholds.waivers}
    return tuple(_waived(gate, by_gate.get(gate.name), today) for gate in gates)


def _waived(gate: GateResult, waiver: Waiver | None, today: datetime.date) -> GateResult:
    if waiver is None or gate.verdict is not Verdict.FAIL:
        return replace(gate, waiver=waiver)
    if not waiver.holds(today):
        return replace(
            gate, waiver=waiver, reason=f"{gate.reason}; the waiver of {waiver.owner} expired on {waiver.expires}"
        )
    answered = f"waived by {waiver.owner} until {waiver.expires}: {waiver.reason}"
    return replace(gate, verdict=Verdict.WAIVED, waiver=waiver, reason=f"{gate.reason}; {answered}")


def judge(entries: Iterable[ScoreResult], thresholds: Thresholds, lost: str = "failed") -> tuple[GateResult, ...]:
    """Hold every limit against the entries that it is about; what was not selected has no gate.

    `lost`: what became of the samples that no answer came of, in words.
    """
    judged = [entry for entry in entries if entry.scoring == "definition" and entry.group is None]
    results = []
    for limit in thresholds.gates:
        for entry in judged:
            if _is_about(limit, entry):
                verdict, reason = _held(limit, entry, thresholds.allowed.failed, lost)
                results.append(GateResult(limit, entry, verdict, reason))
    return tuple(_valid(_together(results)))


def _together(gates: Sequence[GateResult]) -> list[GateResult]:
    """Let a gate fail only where that is beyond chance with all gates in view (Holm 1979)."""
    failed = [gate for gate in gates if gate.verdict is Verdict.FAIL]
    # Every gate that is held counts, those that pass with a p-value of 1: an order of steps depends on all of them.
    p_values = [_p_value(gate.limit, gate.entry) for gate in failed] + [1.0] * (len(gates) - len(failed))
    proven = iter(holm(p_values, FAMILY))
    found = []
    for gate in gates:
        if gate.verdict is Verdict.FAIL and not next(proven):
            reason = f"{gate.reason}, but with {len(gates)} gates some are by chance: more answers would tell"
            found.append(replace(gate, verdict=Verdict.INCONCLUSIVE, reason=reason))
        else:
            found.append(gate)
    return found


def invalid(entries: Iterable[ScoreResult], thresholds: Thresholds) -> dict[Where, GateResult]:
    """Where scores say nothing of groups: the failed gate on what decides the answers there instead."""
    return _invalid(judge([entry for entry in entries if entry.validity], thresholds))


def _invalid(gates: Iterable[GateResult]) -> dict[Where, GateResult]:
    return {gate.entry.where: gate for gate in gates if gate.entry.validity and gate.verdict is Verdict.FAIL}


def _valid(gates: Sequence[GateResult]) -> Iterator[GateResult]:
    """Let no gate pass on choices that something else decided."""
    decided = _invalid(gates)
    for gate in gates:
        other = decided.get(gate.entry.where)
        if other is None or gate.entry.validity or gate.entry.score in RATES or gate.verdict is not Verdict.PASS:
            yield gate
        else:
            reason = f"{gate.reason}, but {other.entry.score} fails: these choices say nothing of groups"
            yield replace(gate, verdict=Verdict.INCONCLUSIVE, reason=reason)


def _p_value(limit: GateLimit, entry: ScoreResult) -> float:
    """The p-value of a failure: that the score is on the right side of the limit, at any look."""
    least, most = bounds(limit, entry)
    if entry.tested is not None and limit.max is not None and limit.min is None:
        return entry.tested.beyond(limit.max / 100) / entry.share
    low, high = entry.ci
    if entry.estimate is None or low is None or high is None:
        return 1.0
    # As far beyond the limit as in half widths of the interval's side that faces it, taken as normal.
    if least is not None and high < least:
        far, half = least - entry.estimate, high - entry.estimate
    else:
        far, half = entry.estimate - (most or 0.0), entry.estimate - low
    if half <= 0:
        return 0.0
    width = NormalDist().inv_cdf(1.0 - FAMILY / 2.0 * entry.level)  # of the half, in standard errors
    return math.erfc(far / half * width / math.sqrt(2.0)) / 2.0 / entry.share


def _is_about(limit: GateLimit, entry: ScoreResult) -> bool:
    return (
        (entry.modality, entry.task, entry.score) == (limit.modality, limit.task, limit.score)
        and (limit.context is None or entry.context in limit.contexts)
        and limit.holds_for(entry.attribute)
    )


def _held(limit: GateLimit, entry: ScoreResult, allowed_failed: float, lost: str) -> tuple[Verdict, str]:
    low, high = entry.ci
    if entry.failed_share > allowed_failed and limit.score != "failed":
        return Verdict.INCONCLUSIVE, (
            f"{entry.failed_share:.1f} % of the planned samples {lost}; above {allowed_failed:g} % nothing is judged"
        )
    if entry.n == 0 or low is None or high is None:
        why = entry.no_estimate or "nothing was answered, so there is nothing to judge"
        if entry.n > 0 and entry.value is None:
            why = entry.no_estimate or "no statistic was answered at both levels, which this score compares"
        elif entry.value is not None:
            shares = "only shares are known, not of how many answers, so nothing says how sure they are"
            why = entry.no_estimate or shares
        return Verdict.INCONCLUSIVE, why
    lower, upper = bounds(limit, entry)
    least, most = -math.inf if lower is None else lower, math.inf if upper is None else upper
    if high < least or low > most:
        side = "below" if high < least else "above"
        of = f" of {least if high < least else most:g}" if entry.signed else ""
        reason = f"the whole interval {_interval(entry)} is {side} the limit{of}"
        if not entry.reliable:
            return Verdict.INCONCLUSIVE, f"{reason}, but so few or so extreme answers give no reliable interval"
        return Verdict.FAIL, reason
    if low >= least and high <= most:
        return Verdict.PASS, f"the whole interval {_interval(entry)} is on the right side"
    return Verdict.INCONCLUSIVE, f"the interval {_interval(entry)} straddles the limit{_more(limit, entry)}"


def _interval(entry: ScoreResult) -> str:
    low, high = entry.ci
    return f"[{low:.1f}, {high:.1f}]"


def _more(limit: GateLimit, entry: ScoreResult) -> str:
    """How many times as many samples would decide, were the estimate to stay where it is."""
    if entry.estimate is None or None in entry.ci:
        return ""
    if entry.census:
        return "; all of its texts were asked, so that further answers tell little"
    if not entry.reliable or entry.n < FEW:
        return "; too few answers to say how many more would decide"
    multiple = further(limit, entry)
    if multiple is None or multiple > MOST_FURTHER:
        return "; it sits on the limit"
    return f"; about {round(entry.n * multiple):,} further answers would decide"


def further_answers(gates: Iterable[GateResult]) -> tuple[int, int]:
    """About how many further answers would decide how many undecided gates: none of those that sit on a limit.

    Gates on the same task and context are decided by the same answers.
    """
    needed: dict[Where, float] = {}
    decided = 0
    for gate in gates:
        entry = gate.entry
        multiple = further(gate.limit, entry) if gate.verdict is Verdict.INCONCLUSIVE else None
        if multiple is None or multiple > MOST_FURTHER or entry.census or not entry.reliable or entry.n < FEW:
            continue
        decided += 1
        needed[entry.where] = max(needed.get(entry.where, 0.0), entry.n * multiple)
    return round(sum(needed.values())), decided


def further(limit: GateLimit, entry: ScoreResult) -> float | None:
    """How many more answers, in multiples of those there, would decide an open gate; None where none are known to."""
    low, high = entry.ci
    least, most = bounds(limit, entry)
    if entry.estimate is None or low is None or high is None:
        return None
    crossed = least if least is not None and low < least <= high else most
    if crossed is None:
        return None
    found = Estimate(entry.estimate / 100, low / 100, high / 100, reliable=True)
    return further_samples(found, crossed / 100)
