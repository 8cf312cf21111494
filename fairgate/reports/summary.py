"""summary.json: the report for programs (schema 1, scale 0 to 100, nothing rounded)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fairgate.reports import wording
from fairgate.reports.report import NO_CERTIFICATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.reports.report import Comparison, Report

# The places of two keys of the core among those of benchmarks: see SummaryKey.
COMPARISON, NOTES = 20, 40


def to_json(report: Report) -> str:
    """The whole report as JSON text."""
    return json.dumps(document(report), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def document(report: Report) -> dict[str, object]:
    """The whole report, of values that JSON has."""
    return {
        "schema": 1,
        "fairgate": report.version,
        "data": report.data_version,
        "model": report.model,
        "t2i_model": report.t2i_model,
        "judge": report.judge,
        "detector": report.detector,
        "control": report.control or report.t2i_control,
        "date": report.date,
        "limits": {"file": report.limits, "sha256": report.limits_hash},
        "plan": report.plan,
        "selected": {"cases": report.cases.total, "of": report.cases.planned},
        **({} if report.shard is None else {"shard": report.shard}),
        "seed": report.seed,
        "profiles": report.profiles,
        "key": report.key,
        "verdict": report.verdict,
        "exit": report.exit,
        "notice": NO_CERTIFICATE,
        "headline": report.headline,
        "error": report.error,
        "invalid": wording.invalid(report.gates, report.findings),
        "scores": [_entry(entry) for entry in report.entries],
        "gates": [_gate(gate) for gate in report.gates],
        "findings": [
            {"gate": found.gate, "sentence": found.sentence, "topics": [topic.sentence for topic in found.topics]}
            for found in report.findings
        ],
        "cases": {
            "passed": report.cases.passed,
            "failed": report.cases.failed,
            "inconclusive": report.cases.inconclusive,
            "error": report.cases.broken,
        },
        "rates": {benchmark: _rates(outcomes) for benchmark, outcomes in report.outcomes.items()},
        "outcomes": report.outcomes,
        "calls": {
            "planned": report.calls.planned,
            "asked": report.calls.asked,
            "reused": report.calls.reused,
            "missing": report.calls.missing,
            "retried": report.calls.retried,
            "failed": report.calls.failed,
        },
        "tokens": {
            "prompt": report.tokens.prompt,
            "completion": report.tokens.completion,
            "uncounted": report.tokens.uncounted,
        },
        "cost": report.cost,
        **_ordered(report),
    }


def _ordered(report: Report) -> dict[str, object]:
    """The keys that benchmarks add, with those of the core that stand among them, in the order of their places."""
    found: list[tuple[int, str, object]] = []
    if report.comparison is not None:
        found.append((COMPARISON, "comparison", _comparison(report.comparison)))
    found.append((NOTES, "notes", report.notes))
    found += (
        (each.place, each.name, report.tables.get(each.name, each.empty))
        for plugin in report.benchmarks.plugins
        for each in plugin.summary
        if each.name in report.tables or not each.optional
    )
    return {name: value for _, name, value in sorted(found, key=lambda each: each[0])}


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "baseline": comparison.baseline,
        "queries": comparison.queries,
        "sentences": comparison.sentences,
        "changes": [
            _entry(each.entry)
            | {"before": each.before, "after": each.after, "proven": each.proven, "better": each.better}
            | {"invalid": each.invalid}
            for each in comparison.changes
        ],
    }


def _rates(outcomes: Mapping[str, int]) -> dict[str, float | None]:
    """Percent of the samples that became of each kind but an answer; null over nothing."""
    samples = outcomes["samples"]
    return {name: 100 * n / samples if samples else None for name, n in outcomes.items() if name != "samples"}


def _keys(entry: ScoreResult) -> dict[str, object]:
    return {
        "benchmark": entry.benchmark,
        "modality": entry.modality,
        "task": entry.task,
        "context": entry.context,
        "attribute": entry.attribute,
        "group": entry.group,
        "score": entry.score,
        "scoring": entry.scoring,
    }


def _numbers(entry: ScoreResult) -> dict[str, object]:
    ceiling = entry.ceiling
    return {
        "value": entry.value,
        "ceiling": None if ceiling is None else ceiling[0],
        "ceiling_range": None if ceiling is None else ceiling[1:],
        "estimate": entry.estimate,
        "ci": entry.ci,
        "reliable": entry.reliable,
        "n": entry.n,
        "topics": entry.topics,
        "unanswered": entry.unanswered,
    }


def _entry(entry: ScoreResult) -> dict[str, object]:
    return _keys(entry) | _numbers(entry) | {"validity": entry.validity}


def _gate(gate: GateResult) -> dict[str, object]:
    numbers = _numbers(gate.entry)
    return (
        _keys(gate.entry)
        | numbers
        | {
            "min": gate.limit.min,
            "max": gate.limit.max,
            "verdict": gate.verdict,
            "reason": gate.reason,
            "limit_reason": gate.limit.reason,
            "waiver": None
            if gate.waiver is None
            else {
                "owner": gate.waiver.owner,
                "reason": gate.waiver.reason,
                "expires": gate.waiver.expires.isoformat(),
            },
        }
    )
