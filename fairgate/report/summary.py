"""summary.json: the report for programs (schema 1, scale 0 to 100, nothing rounded)."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from fairgate.report.report import NO_CERTIFICATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.f2bench.fitness import Fitness
    from fairgate.report.report import Comparison, Drawn, Report
    from fairgate.verdicts.gate import GateResult
    from fairgate.verdicts.scoreboard import Entry


def to_json(report: Report) -> str:
    """The whole report as JSON text."""
    document = {
        "schema": 1,
        "fairgate": report.version,
        "data": report.data_version,
        "model": report.model,
        "t2i_model": report.t2i_model,
        "judge": report.judge,
        "detector": report.detector,
        "control": report.control or report.t2i_control,
        "plan": report.plan,
        **({} if report.shard is None else {"shard": report.shard}),
        "seed": report.seed,
        "profiles": report.profiles,
        "key": report.key,
        "verdict": report.verdict,
        "exit": report.exit,
        "notice": NO_CERTIFICATE,
        "headline": report.headline,
        "trouble": report.trouble,
        "scores": [_entry(entry) for entry in report.entries],
        "gates": [_gate(gate) for gate in report.gates],
        "findings": [{"gate": found.gate, "sentence": found.sentence} for found in report.findings],
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
        "leaderboard": report.leaderboard,
        **({} if report.comparison is None else {"comparison": _comparison(report.comparison)}),
        "shares": report.shares,
        "notes": report.notes,
        "judging": [_judging(record) for record in report.judging],
        "f2bench": report.instances,
        **({} if report.drawn is None else {"bigbench": _drawn(report.drawn)}),
        **({"explanations": report.explanations} if report.explanations is not None else {}),
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "baseline": comparison.baseline,
        "queries": comparison.queries,
        "sentences": comparison.sentences,
        "changes": [
            _entry(each.entry)
            | {"before": each.before, "after": each.after, "proven": each.proven, "better": each.better}
            for each in comparison.changes
        ],
    }


def _drawn(drawn: Drawn) -> dict[str, object]:
    """The two tables of BIGbench."""
    return {
        "effects": [asdict(each) for each in drawn.effects],
        "stability": [asdict(each) for each in drawn.stability],
    }


def _rates(outcomes: Mapping[str, int]) -> dict[str, float | None]:
    """Percent of the samples that became of each kind but an answer; null over nothing."""
    samples = outcomes["samples"]
    return {name: 100 * n / samples if samples else None for name, n in outcomes.items() if name != "samples"}


def _judging(record: Fitness) -> dict[str, object]:
    """The judge's record; a share, or kappa, that nothing is known of is null."""
    found = record.agreement
    measured = {name: getattr(found, name) for name in ("agreement", "kappa", "sensitivity", "specificity")}
    return {
        "task": record.task,
        **{name: _known(each.value) for name, each in measured.items()},
        **{f"{name}_ci": (_known(each.low), _known(each.high)) for name, each in measured.items()},
        "items": record.items,
        "unreadable": record.unread,
        "steered": record.steered,
        "steering": record.steering,
        "steerable": record.steerable,
        "marked": record.marked,
        "marks_within_one": record.within_one,
        "mark_distance": record.distance,
        "unfit": record.unfit,
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _keys(entry: Entry) -> dict[str, object]:
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


def _numbers(entry: Entry) -> dict[str, object]:
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
    }


def _entry(entry: Entry) -> dict[str, object]:
    return _keys(entry) | _numbers(entry)


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
