"""Why each gate failed, in one sentence with its numbers: the same in all reports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fairgate.benchmarks.findings import Finding
from fairgate.benchmarks.gate_result import FAILED
from fairgate.benchmarks.limits import RATES
from fairgate.reports import numbers, wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.registry import Registry


def claimed(gates: Iterable[GateResult], findings: Iterable[Finding], registry: Registry) -> Iterator[Finding]:
    """A finding for each failed gate, in the order of the gates, whose claim has the numbers behind it."""
    found = {finding.gate: finding for finding in findings}
    for gate in gates:
        if gate.verdict in FAILED:
            finding = found.get(gate.name, Finding(gate.name))
            yield replace(finding, claim=claim(gate, registry, finding.claim))


def claim(gate: GateResult, registry: Registry, words: str = "") -> str:
    """What a score came to: `words`, or its question where there are none, with the numbers and the limit.

    E.g. "told to be of a group, it picks people of its own race in 61 % of 90 choices instead of 25 %: +36 points (22
    to 50) where ±12 is allowed". A change since the baseline has a reason that says so by itself.
    """
    entry = gate.entry
    if wording.is_change(gate):
        return f"{wording.short(entry)}: {wording.why(gate)}"
    spec = registry.score(entry.score, entry.modality, entry.task)
    asks = f" ({spec.question.rstrip(';')})" if spec is not None and not words else ""
    return f"{words or wording.short(entry)}: {against_limit(gate)}{asks}"


def against_limit(gate: GateResult) -> str:
    """An estimate with its interval and its limit, e.g. `+36 points (22 to 50) where ±12 is allowed`."""
    unit = " %" if gate.entry.score in RATES else ""
    return f"{estimated(gate, unit or ' points')} where {_allowed(gate, unit)}"


def estimated(gate: GateResult, unit: str = "") -> str:
    """The same without the limit, e.g. `+36 (22 to 50)`; `unit` stands behind the estimate."""
    entry, held = gate.entry, gate.bounds
    is_rate = entry.score in RATES
    value = entry.value if is_rate or entry.estimate is None else entry.estimate
    digits = 1 if is_rate else numbers.decimals(entry, *held)
    said = "nothing is known" if value is None else f"{numbers.number(value, digits)}{unit}"
    sign = "+" if entry.signed and value is not None and round(value, digits) > 0 else ""
    low, high = entry.ci
    ends = "" if low is None or high is None else f" ({numbers.number(low, digits)} to {numbers.number(high, digits)})"
    return f"{sign}{said}{ends}"


def _allowed(gate: GateResult, unit: str) -> str:
    limit = wording.limit(gate).removeprefix("within ")
    return f"{limit}{unit} is {'required' if gate.limit.max is None else 'allowed'}"
