"""A ledger's last run, judged again in this very process: by the same path, and without asking anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.benchmarks.registry import registry
from fairgate.runs.judgement import report_of
from fairgate.runs.opening import open_run
from fairgate.runs.past_run import recall
from fairgate.runs.sampling import Sampling
from fairgate.runs.save_baseline import kept

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.benchmarks.paired import Baseline
    from fairgate.reports.report import Report
    from fairgate.runs.run import Run


@dataclass(frozen=True)
class Again:
    """The run, its report without the cases' own verdicts, and what it could be saved as."""

    run: Run
    report: Report
    answered: Baseline


def judged_again(ledger: Path, **other: object) -> Again:
    """Judge it, with `other` settings in place of those of the run.

    Raises FairgateError, naming the ledger, where it holds no run that can be judged.
    """
    past = recall(ledger)
    settings = registry().options.made({**past.asked, "ledger": ledger.absolute(), "replay": True, **other})
    run = open_run(settings, past=past)
    sampled = Sampling(run, [case for case in run.cases.values() if run.asks(case)]).sampled
    return Again(run, report_of(sampled, {}), kept(run, sampled.selection))
