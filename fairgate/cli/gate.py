"""`fairgate gate`: a ledger's last run judged again, offline: other limits, another key, a newer parser."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate import launch
from fairgate.benchmarks.registry import registry
from fairgate.core.errors import ConfigError, FairgateError
from fairgate.options.table import OptionTable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from fairgate.ledger.maintenance import RunSummary
    from fairgate.options.option import Declared
    from fairgate.reports.report import Report
    from fairgate.runs.past_run import Past

# pytest's own, and its plug-in's.
FILES = {
    "junitxml": "pytest's own: every case and gate, for a CI server",
    "alluredir": "allure-pytest's own: results for an Allure report",
}
SHOWN = 10  # runs
WIDEST = 60  # characters of a model's name
OF_THE_RUN = "Default: as the run had it"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    gate = commands.add_parser(
        "gate",
        help="judge a ledger's last run again, offline",
        description="Judges the last run of a ledger, or the shards that were merged into it, again: no model is asked "
        "and no key needed. Same report and exit codes as a run's: 0 pass, 1 fail, 6 inconclusive, 7 error.",
    )
    add_inputs(gate)
    _add_options(gate, (each for each in _options() if each.about.output))
    for name, about in FILES.items():
        gate.add_argument(f"--{name}", type=Path, metavar="PATH", help=about)
    gate.add_argument("-v", "--verbose", action="store_true", help="name every case and gate")
    gate.set_defaults(command=_gate)


def add_inputs(
    parser: argparse.ArgumentParser,
    ledger: tuple[str, str] = ("LEDGER", "the file that the run's --ledger named"),
) -> None:
    """Add the ledger, by its metavar and help, the run of it, and what it is judged by.

    These are options of a run that can be given anew. What the run asked is read from the ledger as typed values, and
    is never a part of the command.
    """
    parser.add_argument("ledger", type=Path, metavar=ledger[0], help=ledger[1])
    _add_options(parser, (each for each in _options() if each.about.again))
    parser.add_argument(
        "--run",
        metavar="ID",
        help="the run's ID, or its first characters. Default: the last run; required if several models were asked",
    )


def _options() -> OptionTable:
    """The options of a run; where a plug-in is broken, without any plug-in's: the command itself says which."""
    try:
        return registry().options
    except FairgateError:
        return OptionTable()


def _add_options(parser: argparse.ArgumentParser, options: Iterable[Declared]) -> None:
    """Add options of a run, with no default: only what is given counts."""
    for each in options:
        about: dict[str, Any] = each.arguments | {"default": None}
        if each.about.asked:
            about["help"] = f"{about['help'].partition(' Default:')[0].rstrip('.')}. {OF_THE_RUN}"
        parser.add_argument(each.flag, **about)
        for older in each.flags[1:]:
            parser.add_argument(older, **each.hidden | {"default": None})


def _gate(options: argparse.Namespace) -> tuple[str, int]:
    found(options)
    given = ["-p", "no:cacheprovider", "-n", "0", "-v" if options.verbose else "-q", *_given(options)]
    # What a user has pytest do in tests of his own would judge a part of the run, or nothing of it.
    with launch.by_itself():
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
        runs = [run for run in survey(ledger).runs if run.id == past.id or not run.is_empty]
    last = next(run for run in runs if run.id == past.id)
    alone = [run for run in runs if run.id not in past.members or run is last]
    models = {run.model for run in alone}
    if len(models) > 1:
        raise ConfigError(
            f"it holds runs of {len(models)} models:\n{listed(alone)}\n"
            f"Say which one to judge, e.g. --run {past.id[:8]}",
            where=str(path),
        )


def listed(runs: Sequence[RunSummary]) -> str:
    """The last of these runs, a line each: id, model, when it began, and how many samples it asked for."""
    width = min(max(len(run.model) for run in runs), WIDEST)
    lines = [f"  {'run':8}  {'model':{width}}  {'began (UTC)':16}  samples"]
    for run in runs[-SHOWN:]:
        began = datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%d %H:%M")
        lines.append(f"  {run.id[:8]}  {run.model[:WIDEST]:{width}}  {began}  {run.asked:7,}")
    if len(runs) > SHOWN:
        lines.append(f"  and {len(runs) - SHOWN:,} earlier ones")
    return "\n".join(lines)


def _given(options: argparse.Namespace) -> Iterator[str]:
    flags = {each.name: each.flag for each in _options() if each.about.again or each.about.output}
    for name, flag in (flags | {name: f"--{name}" for name in FILES}).items():
        value = getattr(options, name, None)
        if value is True:
            yield flag
        elif value is not None:
            yield f"{flag}={value.absolute() if isinstance(value, Path) else value}"
    yield f"--ledger={options.ledger.absolute()}"
    yield "--replay"
    if options.run is not None:
        yield f"--replay-run={options.run}"
