"""`fairgate compare`: several models or runs side by side."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import check_inside
from fairgate.core.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from fairgate.benchmarks.paired import Part
    from fairgate.comparison.side_by_side import Column


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    compare = commands.add_parser(
        "compare",
        help="several models or runs side by side",
        description="Prints the estimates of several runs side by side, each from a ledger (its last run), a "
        "summary.json, or a baseline; and what moved from the first to the others, query by query, where the answers "
        "are at hand.",
    )
    compare.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="LEDGER|SUMMARY|BASELINE",
        help="a run; the first is what the others are compared with",
    )
    compare.add_argument("--plot", type=Path, metavar="FILE", help="draw them too (.svg, .png, .pdf); needs matplotlib")
    compare.add_argument(
        "--format", choices=("text", "markdown"), default="text", help="of the table: text (default) or markdown"
    )
    compare.set_defaults(command=_compare)


def _compare(options: argparse.Namespace) -> str:
    from fairgate.benchmarks.registry import registry
    from fairgate.comparison.side_by_side import draw, moves, table

    if len(options.runs) < 2:
        raise ConfigError("only one run is given.", where="compare", hint="Name two or more.")
    if options.plot is not None and find_spec("matplotlib") is None:
        raise ConfigError("matplotlib is not installed.", where="--plot", hint="pip install 'fairgate[plots]'")
    if options.plot is not None:
        check_inside(Path(), options.plot, "--plot")
    parts = [part for plugin in registry().plugins for part in plugin.parts]
    columns = [_column(path, parts) for path in options.runs]
    if options.plot is not None:
        try:
            draw(columns, options.plot, parts)
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot be written: {error}", where=f"--plot {options.plot}") from error
    return f"{table(columns, parts, markdown=options.format == 'markdown')}\n{moves(columns)}"


def _column(path: Path, parts: Sequence[Part]) -> Column:
    """Read a run. Raises FairgateError, naming the file, for what is neither ledger nor summary nor baseline."""
    from fairgate.comparison.side_by_side import of_file, of_run
    from fairgate.ledger.paths import is_ledger
    from fairgate.runs.rescoring import judged_again
    from fairgate.runs.save_baseline import sides_of

    if not is_ledger(path):
        return of_file(path, parts)
    again = judged_again(path)
    return of_run(again.answered, again.report.entries, sides_of(again.run))
