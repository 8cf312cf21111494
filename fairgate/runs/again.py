"""A ledger's last run, judged again in this very process: by the same path, and without asking anything."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fairgate.runs import options
from fairgate.runs.judgement import report_of
from fairgate.runs.keeping import kept
from fairgate.runs.past import recall
from fairgate.runs.run import Run
from fairgate.runs.sampling import Sampling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.comparison.baseline import Baseline
    from fairgate.report.report import Report
    from fairgate.runs.settings import Settings


@dataclass(frozen=True)
class Again:
    """The run, its report without the cases' own verdicts, and what it could be saved as."""

    run: Run
    report: Report
    answered: Baseline


def judged_again(ledger: Path) -> Again:
    """Raises FairgateError, naming the ledger, where it holds no run that can be judged."""
    past = recall(ledger)
    run = Run(_settings([*past.options(), f"--ledger={ledger.absolute()}", "--replay"]), past=past)
    sampling = Sampling(run, [case for case in run.cases.values() if run.asks(case)])
    return Again(run, report_of(sampling, {}), kept(sampling))


def _settings(given: Sequence[str]) -> Settings:
    """The settings that these options of pytest's say."""
    parser = argparse.ArgumentParser()
    group = SimpleNamespace(addoption=parser.add_argument)
    options.add_options(SimpleNamespace(getgroup=lambda *_: group))  # type: ignore[arg-type] # all that it asks of pytest's
    known: dict[str, Any] = vars(parser.parse_args(given))
    config = SimpleNamespace(getoption=known.get, invocation_params=SimpleNamespace(dir=Path.cwd()))
    return options.read(config)  # type: ignore[arg-type] # as above
