"""Gates as test reports: pytest counts them, prints those that failed, and writes them to --junitxml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from fairgate.benchmarks.gate_result import Verdict
from fairgate.reports.wording import limit, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.reports.report import Report

BROKEN: tuple[tuple[Literal["setup", "teardown"], Literal["failed", "passed"]], ...] = (
    ("setup", "failed"),
    ("teardown", "passed"),
)
PHASES: tuple[Literal["call", "teardown"], ...] = ("call", "teardown")
OUTCOMES: dict[Verdict, Literal["passed", "failed", "skipped"]] = {
    Verdict.PASS: "passed",
    Verdict.FAIL: "failed",
    Verdict.INCONCLUSIVE: "skipped",
    Verdict.WAIVED: "skipped",
}


def gate_reports(report: Report) -> Iterator[pytest.TestReport]:
    """A call and a teardown for each gate, and for the run's error: JUnit closes a case at its teardown only."""
    if report.error is not None:
        for phase, outcome in BROKEN:
            yield pytest.TestReport(
                nodeid="gates::error",
                location=("gates", None, "error"),
                keywords={},
                outcome=outcome,
                longrepr=visible(report.error) if outcome == "failed" else None,
                when=phase,
                fairgate_verdict=Verdict.ERROR,
                fairgate_gate=True,
            )
    sentences = {found.gate: found.sentence for found in report.findings}
    for gate in report.gates:
        reason = gate.reason if gate.waiver is not None else sentences.get(gate.name, gate.reason)
        message = visible(f"{gate.name}: {reason}")
        for when in PHASES:
            verdict = gate.verdict if when == "call" else Verdict.PASS
            yield pytest.TestReport(
                nodeid=f"gates::{gate.name}",
                location=("gates", None, gate.name),
                keywords={},
                outcome=OUTCOMES[verdict],
                longrepr=_longrepr(verdict, message),
                when=when,
                user_properties=_properties(gate),
                fairgate_verdict=verdict,
                fairgate_gate=True,
            )


def _longrepr(verdict: Verdict, message: str) -> str | tuple[str, int, str] | None:
    if verdict is Verdict.PASS:
        return None
    return message if verdict is Verdict.FAIL else ("gates", 0, f"{verdict}: {message}")


def _properties(gate: GateResult) -> list[tuple[str, object]]:
    entry = gate.entry
    low, high = entry.ci
    best = None if entry.ceiling is None else entry.ceiling[0]
    numbers = (
        *(("value", entry.value), ("estimate", entry.estimate), ("ci_low", low), ("ci_high", high)),
        *(("ceiling", best), ("n", entry.n)),
    )
    return [
        *((name, number) for name, number in numbers if number is not None),
        ("limit", limit(gate)),
        ("verdict", str(gate.verdict)),
        ("reason", gate.limit.reason),
    ]
