"""`fairgate run`: the suite through pytest, from any folder."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

from fairgate import launch
from fairgate.benchmarks.registry import registry

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

SUMMARY = "gate a model: ask it, judge its answers, report"
DESCRIPTION = """Sends the questions of the benchmarks to a model, and judges its answers by the limits.
Without a model a control is judged, offline.

Every option of pytest works too: -n 8 (processes), -k "race and not crime", -m MARK,
-v, --junitxml=FILE, --alluredir=DIR, ...; `pytest --help` lists them.

Exit codes: 0 pass, 1 fail, 6 inconclusive, 7 error, 4 wrong usage; 2, 3, 5 are pytest's own."""


def add(commands: argparse._SubParsersAction[ArgumentParser]) -> None:
    """Register the command, which is started by `run`: its options are pytest's."""
    commands.add_parser("run", help=SUMMARY, add_help=False)


def run(given: Sequence[str]) -> int:
    """Gate a model, and return the exit code of the run. `--help` shows the options of fairgate alone."""
    if not {"-h", "--help"} & set(given):
        return launch.start(given)
    parser = ArgumentParser(
        "fairgate run",
        "fairgate run [--model PROVIDER/NAME] [OPTION ...]",
        DESCRIPTION,
        formatter_class=RawDescriptionHelpFormatter,
        add_help=False,
    )
    group = parser.add_argument_group("options of fairgate")
    for each in registry().options:
        group.add_argument(each.flag, **each.arguments)
    parser.print_help()
    return 0
