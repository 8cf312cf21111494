"""Before a model is judged: does the gate pass a model that is fair and factual, and fail those that are not?

Controls go through prompts, sampler, ledger, parser, scores and the gates of the thresholds in force.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.benchmarks.controls import FAIR
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.registry import registry
from fairgate.core.domain import Modality
from fairgate.gating.thresholds import load
from fairgate.options.settings import DEFAULT_LEDGER
from fairgate.providers.chat.control import controls_of
from fairgate.runs.judgement import report_of
from fairgate.runs.opening import open_run
from fairgate.runs.sampling import Sampling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.options.settings import Settings
    from fairgate.reports.report import Report


@dataclass(frozen=True)
class Expected:
    """A control, and the verdict that it must get."""

    name: str
    verdict: Verdict

    @property
    def spec(self) -> str:
        """As --model names it."""
        return f"control/{self.name}"


# A kind of unfairness each: by statistics, one group everywhere, the group that the context names, no choice at all.
EXPECTED = (
    Expected(FAIR, Verdict.PASS),
    Expected("stereotype", Verdict.FAIL),
    Expected("women-first", Verdict.FAIL),
    Expected("in-group", Verdict.FAIL),
    Expected("always-d", Verdict.FAIL),
)
PLAN = "quick"
PATIENCE = 300.0  # seconds for one control
SHOWN = 3


@dataclass(frozen=True)
class SelfCheck:
    """What came of the check: `reason` is why the gate cannot be trusted, None where it can; `said` what was tried."""

    reason: str | None
    said: str


def self_check(settings: Settings) -> SelfCheck:
    """Whether the gate can be trusted. Asks no real model, and writes nowhere but in /tmp."""
    known = tuple(_known(settings))
    for expected in known:
        report = judged(settings, expected.name)
        if report.verdict is not expected.verdict:
            came = f"{expected.spec} must {expected.verdict}, and came out as {report.verdict}"
            return SelfCheck(f"{came}: {_why(report, expected.verdict)}", "")
    verdicts = (f"{each.spec} {each.verdict}" for each in known)
    return SelfCheck(None, ", ".join(verdicts))


def _known(settings: Settings) -> Iterator[Expected]:
    """The controls that the groups of the data allow."""
    fair = _alone(settings, FAIR, settings.ledger)
    held = controls_of(open_run(replace(fair, plan=_plan(fair))).whole.all, Modality.TEXT).values()
    for expected in EXPECTED:
        if any(expected.name in each.names for each in held):
            yield expected


def judged(settings: Settings, name: str) -> Report:
    """The report of a control by these thresholds, this data, key and seed, under the smallest plan.

    A benchmark that lacks the control would answer it as the fair one, and is left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        alone = _alone(settings, name, Path(folder) / DEFAULT_LEDGER.name)
        run = open_run(replace(alone, plan=_plan(alone)))
        held = {each for each, there in controls_of(run.whole.all, Modality.TEXT).items() if name in there.names}
        cases = [
            case
            for case in run.cases.values()
            if run.asks(case) and case.topic.modality is Modality.TEXT and case.topic.benchmark in held
        ]
        sampling = Sampling(run, cases)
        sampling.start()
        sampling.wait(PATIENCE)
        sampling.stop()
        return report_of(sampling.sampled, dict.fromkeys(cases, Verdict.PASS))


def _plan(settings: Settings) -> str:
    """The smallest plan, where the thresholds have it."""
    return PLAN if PLAN in load(settings.thresholds, registry()).plans else settings.plan


def _alone(settings: Settings, name: str, ledger: Path) -> Settings:
    """The settings of a control: nothing of the real model's, its judge's or its images' is to reach it."""
    return replace(
        settings,
        model=f"control/{name}",
        t2i_model=None,
        base_url=None,
        model_args=(),
        system_prompt=None,
        judge=None,
        judge_args=(),
        ledger=ledger,
        report_dir=None,
        per_topic=None,
        explain=False,
        shard=None,
        probabilities=False,
        baseline=None,
        save_baseline=None,
        scoring="definition",
        requests_per_minute=None,
        tokens_per_minute=None,
        budget_calls=None,
        budget_tokens=None,
        budget_usd=None,
    )


def _why(report: Report, expected: Verdict) -> str:
    if report.error is not None:
        return report.error
    others = [gate for gate in report.gates if gate.verdict is not expected]
    if expected is Verdict.FAIL:
        return f"none of {len(report.gates)} gates fails it. Change the limits."
    shown = "; ".join(f"{gate.name}: {gate.reason}" for gate in others[:SHOWN])
    more = f"; and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f"{shown}{more}. Change the limits, or the plan {PLAN}."
