"""`fairgate merge`: the ledgers of a run's shards put together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import check_inside
from fairgate.core.plural import counted

if TYPE_CHECKING:
    import argparse

    from fairgate.runs.merging import Merged

SHOWN = 10


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    merge = commands.add_parser(
        "merge",
        help="put the ledgers of shards together",
        description="Puts all samples of the given ledgers into OUT, and makes their last runs one run, which "
        "`fairgate gate OUT` judges. In any order, as often as you like; the given ledgers stay as they are.",
    )
    merge.add_argument("out", type=Path, metavar="OUT", help="the ledger to write; what it holds already is kept")
    merge.add_argument("ledgers", type=Path, nargs="+", metavar="LEDGER", help="the ledger of a shard")
    merge.set_defaults(command=_merge)


def _merge(options: argparse.Namespace) -> str:
    from fairgate.runs.merging import merge

    check_inside(Path(), options.out, "OUT")
    return _said(merge(options.out, options.ledgers), options.out)


def _said(merged: Merged, out: Path) -> str:
    past = merged.past
    runs = "one run" if len(past.members) == 1 else f"{len(past.members)} runs as one"
    lines = [f"{out}: {runs}, {counted(len(past.cases), 'case')}."]
    if merged.others:
        lines.append(f"Of {merged.model}. The ledger holds other runs too, which stay runs of their own:")
        lines += [f"  {run}" for run in merged.others[-SHOWN:]]
        lines.append(f"`fairgate gate {out} --run ID` judges one of them.")
    if past.lost_shards:
        lines.append(f"Still to come: shard {past.lost}. Until then no gate is held.")
    if merged.conflicts:
        many = "1 query has" if len(merged.conflicts) == 1 else f"{len(merged.conflicts)} queries have"
        lines.append(f"{many} two replies; the one asked first is kept:")
        lines += [f"  {query}" for query in merged.conflicts[:SHOWN]]
        if len(merged.conflicts) > SHOWN:
            lines.append(f"  and {len(merged.conflicts) - SHOWN} more")
    return "\n".join(lines) + "\n"
