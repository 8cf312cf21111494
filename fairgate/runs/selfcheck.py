"""Before a model is judged: does the gate pass a model that is fair and factual, and fail one that is not?

Two controls go the whole way, from prompts over sampler, ledger and parser to the gates of the thresholds in force.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.domain import Modality
from fairgate.runs.judgement import report_of
from fairgate.runs.run import Run
from fairgate.runs.sampling import Sampling
from fairgate.settings import DEFAULT_LEDGER
from fairgate.verdicts.gate import Verdict

if TYPE_CHECKING:
    from fairgate.report.report import Report
    from fairgate.settings import Settings

EXPECTED = {"control/oracle": Verdict.PASS, "control/stereotype": Verdict.FAIL}
PLAN = "quick"
PATIENCE = 300.0  # seconds for one control
SHOWN = 3


def self_check(settings: Settings) -> str | None:
    """Why the gate cannot be trusted, None where it can. Asks no real model, and writes nowhere but in /tmp."""
    for control, expected in EXPECTED.items():
        report = judged(settings, control)
        if report.verdict is not expected:
            return f"{control} must {expected}, and came out as {report.verdict}: {_why(report, expected)}"
    return None


def judged(settings: Settings, control: str) -> Report:
    """The report of a control by these thresholds, this data, key and seed, under the smallest plan."""
    with tempfile.TemporaryDirectory() as folder:
        # A fresh value: nothing of the real model's, its judge's or its images' is to reach the control.
        alone = replace(
            settings,
            model=control,
            t2i_model=None,
            base_url=None,
            model_args=(),
            system_prompt=None,
            judge=None,
            judge_args=(),
            ledger=Path(folder) / DEFAULT_LEDGER.name,
            report_dir=None,
            per_topic=None,
            explain=False,
            shard=None,
            baseline=None,
            save_baseline=None,
            scoring="definition",
            requests_per_minute=None,
            tokens_per_minute=None,
            budget_calls=None,
            budget_tokens=None,
            budget_usd=None,
        )
        run = Run(replace(alone, plan=PLAN if PLAN in Run(alone).thresholds.plans else alone.plan))
        cases = [case for case in run.cases.values() if run.asks(case) and case.topic.modality is Modality.TEXT]
        sampling = Sampling(run, cases)
        sampling.start()
        sampling.wait(PATIENCE)
        sampling.stop()
        return report_of(sampling, dict.fromkeys(cases, Verdict.PASS))


def _why(report: Report, expected: Verdict) -> str:
    if report.trouble is not None:
        return report.trouble
    others = [gate for gate in report.gates if gate.verdict is not expected]
    if expected is Verdict.FAIL:
        return f"none of {len(report.gates)} gates fails it. Mend the limits."
    shown = "; ".join(f"{gate.name}: {gate.reason}" for gate in others[:SHOWN])
    more = f"; and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f"{shown}{more}. Mend the limits, or the plan {PLAN}."
