"""`fairgate gate`: a ledger's last run judged again, offline: other limits, another key, a newer parser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairgate import launch
from fairgate.core.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from fairgate.reports.report import Report
    from fairgate.runs.past_run import Past

# What the user gives. What the run asked is read from the ledger as typed values, and is never a part of the command.
INPUTS = ("thresholds", "data", "scenarios", "f2bench", "f2bench-prompts")
PATHS = (*INPUTS, "report-dir", "baseline", "save-baseline", "junitxml", "alluredir")
JUDGED_BY = ("key", "scoring", "as-of")
WORDS = (*JUDGED_BY, "inconclusive")
HELP = {
    "thresholds": "the limits that it is judged by. Default: those of fairgate",
    "data": "where the run's --data stands now",
    "scenarios": "where the run's --scenarios stands now",
    "f2bench": "where the run's --f2bench stands now",
    "f2bench-prompts": "where the run's --f2bench-prompts stands now",
    "report-dir": "write the reports there",
    "baseline": "compare with the run that was saved there",
    "save-baseline": "save this run there, as a baseline for others",
    "junitxml": "pytest's own: every case and gate, for a CI server",
    "alluredir": "allure-pytest's own: results for an Allure report",
    "key": "the answer key: published or measured",
    "scoring": "the scoring that is shown: definition or reference",
    "inconclusive": "what an inconclusive run exits with: trouble (6), pass (0) or fail (1)",
    "as-of": "the day that waivers are held against, as 2026-11-30. Default: today (UTC)",
}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    gate = commands.add_parser(
        "gate",
        help="judge a ledger's last run again, offline",
        description="Judges the last run of a ledger, or the shards that were merged into it, again: no model is asked "
        "and no key needed. Same report and exit codes as a run's: 0 pass, 1 fail, 6 inconclusive, 7 trouble.",
    )
    add_inputs(gate, PATHS, WORDS)
    gate.add_argument(
        "--compare-common", action="store_true", help="compare what both runs hold, whatever else differs"
    )
    gate.add_argument("-v", "--verbose", action="store_true", help="name every case and gate")
    gate.set_defaults(command=_gate)


def add_inputs(
    parser: argparse.ArgumentParser,
    paths: Sequence[str] = INPUTS,
    words: Sequence[str] = JUDGED_BY,
    ledger: tuple[str, str] = ("LEDGER", "the file that the run's --ledger named"),
) -> None:
    """Add the ledger, by its metavar and help, the run of it, and what it is judged by."""
    parser.add_argument("ledger", type=Path, metavar=ledger[0], help=ledger[1])
    for name in paths:
        parser.add_argument(f"--{name}", type=Path, metavar="PATH", help=HELP[name])
    for name in words:
        parser.add_argument(f"--{name}", metavar="DATE" if name == "as-of" else "WORD", help=HELP[name])
    parser.add_argument(
        "--run", metavar="ID", help="the run whose id begins so. Default: the last one, where all asked the same models"
    )


def _gate(options: argparse.Namespace) -> tuple[str, int]:
    found(options)
    given = ["-p", "no:cacheprovider", "-n", "0", "-v" if options.verbose else "-q", *_given(options)]
    return "", launch.start(given)


def judged(options: argparse.Namespace, *more: str) -> Report:
    """The report of the run that the options name, judged again; `more` options of a run. Raises FairgateError."""
    from fairgate.api import started

    return started([*_given(options), *more])


def found(options: argparse.Namespace) -> Past:
    """The run that the options name. Raises FairgateError where there is none, or more than one."""
    from fairgate.runs.past_run import recall

    past = recall(options.ledger, options.run)
    if options.run is None:
        _check_alone(past, options.ledger)
    return past


def _check_alone(past: Past, path: Path) -> None:
    """Raise ConfigError where a ledger holds runs of several models: which of them is to be judged, nobody said."""
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.maintenance import survey

    with Ledger(path, write=False) as ledger:
        runs = {run.id: run for run in survey(ledger).runs}
    last = runs[past.id].model
    latest = {run.model: run for run in runs.values() if run.id not in past.members and run.model != last}
    if not latest:
        return
    there = "; ".join(f"{run.id[:8]} of {run.model}" for run in (*latest.values(), runs[past.id]))
    raise ConfigError(
        f"it holds runs of {len(latest) + 1} models: {there}.",
        where=str(path),
        hint=f"Say which one to judge, e.g. --run {past.id[:8]}",
    )


def _given(options: argparse.Namespace) -> Iterator[str]:
    for name in (*PATHS, *WORDS):
        value = getattr(options, name.replace("-", "_"), None)
        if value is not None:
            yield f"--{name}={value.absolute() if isinstance(value, Path) else value}"
    if getattr(options, "compare_common", False):
        yield "--compare-common"
    yield f"--ledger={options.ledger.absolute()}"
    yield "--replay"
    if options.run is not None:
        yield f"--replay-run={options.run}"
