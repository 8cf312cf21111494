"""`fairgate published`: where a model stands among the published ones, and the audit of the published tables.

Both are Markdown tables: plain text of two decimals, never cut to a terminal's width.
"""

from __future__ import annotations

import textwrap
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fairgate.benchmarks.published import disagreements
from fairgate.benchmarks.registry import registry
from fairgate.core.typed import plain
from fairgate.ledger.paths import is_ledger

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from fairgate.benchmarks.published import CellCheck, Published, Standing

WIDTH = 115  # of a paragraph
USAGE = """
`fairgate published LEDGER` prints where your model stands among the published ones.
`fairgate published --audit` prints every cell, and which do not agree.
"""
PART = "(n/m) marks a score over the n of m topics that have an answer; the others were asked and have none."


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    published = commands.add_parser(
        "published",
        help="where a model stands among the published ones, and the audit of the published tables",
        description="With a ledger or a summary.json, prints where its model stands among the models of each "
        "benchmark's paper. --audit prints each derived cell of the published tables beside what its own row gives.",
    )
    published.add_argument(
        "path", nargs="?", type=Path, metavar="LEDGER|SUMMARY", help="a ledger (its last run) or a summary.json"
    )
    published.add_argument("--audit", action="store_true", help="print every derived cell, recomputed")
    published.set_defaults(command=_published)


def tables() -> tuple[Published, ...]:
    """The tables of the installed benchmarks that carry any."""
    found = (plugin.published for plugin in registry().plugins)
    return tuple(each for each in found if each is not None)


def _published(options: argparse.Namespace) -> str:
    held = tables()
    standing = "" if options.path is None else f"{standings(options.path, held)}\n"
    if options.audit:
        return standing + render_audit(held)
    return standing or f"{summary(held)}{USAGE}"


def summary(held: Sequence[Published]) -> str:
    """How many derived cells of each table agree with what their own rows give, a line each."""
    checks = [check for each in held for check in each.audit()]
    lines = ["Cells of the published tables that agree with what their own rows give:"]
    for (benchmark, kind), group in groupby(checks, key=lambda check: (check.benchmark, check.kind.name)):
        part = list(group)
        lines.append(f"  {sum(check.agrees for check in part):>5} of {len(part):<5} {benchmark}, {kind}")
    return "\n".join(lines) + "\n"


def standings(path: Path, held: Sequence[Published]) -> str:
    """Where the models of a ledger's last run, or of a summary, stand. Raises FairgateError for any other file."""
    models, entries = _of_ledger(path) if is_ledger(path) else _of_summary(path)
    ranks = [each.ranks for each in held if each.ranks]
    return "\n".join(render_standing(found, ranks) for each in held for found in each.standings(models, entries))


def render_audit(held: Sequence[Published]) -> str:
    """Every derived cell beside what its own row gives, then the cells that do not agree, named and why."""
    checks = [check for each in held for check in each.audit()]
    lines = ["# The published tables, recomputed from their own cells", ""]
    for (benchmark, kind), group in groupby(checks, key=lambda check: (check.benchmark, check.kind.name)):
        part = list(group)
        tables = ", ".join(sorted({check.table for check in part}))
        agreed = sum(check.agrees for check in part)
        lines += [
            f"## {benchmark}, {tables}: {kind}",
            "",
            f"{agreed} of {len(part)} cells agree within {part[0].tolerance:.2f}.",
            "",
            *_table(
                ("row", "column", "printed", "from its row", "apart", ""),
                [
                    (
                        check.row,
                        check.column,
                        f"{check.printed:.2f}",
                        f"{check.recomputed:.2f}",
                        f"{abs(check.printed - check.recomputed):.2f}",
                        "" if check.agrees else "does not agree",
                    )
                    for check in part
                ],
                right=(2, 3, 4),
            ),
            "",
        ]
    wrong, built_on = disagreements(checks), [check for each in held for check in each.inherited()]
    lines += [
        f"## The cells that do not agree: {len(wrong)} of {len(checks)}",
        "",
        *_findings(wrong),
        "",
        f"## Averages that agree with their parts, and rest on those cells: {len(built_on)}",
        "",
        *_findings(built_on),
    ]
    return "\n".join(lines) + "\n"


def render_standing(found: Standing, ranks: Sequence[str] = ()) -> str:
    """A model's place in each published column, with the caveats; a sentence where there is none to show.

    `ranks`: in which columns the largest value is not the best.
    """
    parts = [] if found.places is None else [_places(found, ranks)]
    return "\n".join([*parts, *(f"{remark}\n" for remark in found.remarks)])


def _places(found: Standing, ranks: Sequence[str]) -> str:
    lines = [f"# Where {found.model} stands among {found.among}", ""]
    if not found.places:
        return "\n".join([*lines, "None of its scores has a published column."]) + "\n"
    rows = [
        (
            place.column if place.topics is None else f"{place.column} ({place.topics[0]}/{place.topics[1]})",
            f"{place.value:.2f}",
            f"{place.rank} of {place.of}" + ("*" if place.doubted else ""),
            f"{place.nearest} ({place.nearest_value:.2f})",
        )
        for place in found.places
    ]
    table = _table(("column", "value", "rank", "nearest"), rows, right=(1, 2))
    part = [PART] if any(place.topics for place in found.places) else []
    return "\n".join([*lines, *_caveats(ranks), *part, "", *table]) + "\n"


def _caveats(ranks: Sequence[str]) -> list[str]:
    compared = (
        "By `reference` scores, the arithmetic of the released programs. The published models were asked other "
        "sentences with other samples, so that small differences mean nothing. "
        f"{', '.join(['Rank 1 is the largest value', *ranks])}."
    )
    doubted = (
        "An asterisk marks a column in which the audit does not bear out every published cell; it is ranked as printed."
    )
    return [*textwrap.wrap(compared, WIDTH), doubted]


def _findings(checks: Iterable[CellCheck]) -> list[str]:
    rows = [
        (
            f"{check.benchmark}, {check.table}",
            check.row,
            check.column,
            f"{check.printed:.2f}",
            f"{check.recomputed:.2f}",
            check.why,
        )
        for check in checks
    ]
    return _table(("table", "row", "column", "printed", "recomputed", "why"), rows, right=(3, 4))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int]) -> list[str]:
    widths = [max(3, *(len(row[i]) for row in (header, *rows))) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    ruler = ("-" * (width - 1) + (":" if i in right else "-") for i, width in enumerate(widths))
    return [line(header), f"| {' | '.join(ruler)} |", *(line(row) for row in rows)]


def _of_ledger(path: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    from fairgate.runs.rescoring import judged_again

    past = judged_again(path, key="published").report
    fields = (
        "benchmark",
        "modality",
        "task",
        "context",
        "attribute",
        "group",
        "score",
        "scoring",
        "topics",
        "unanswered",
        "value",
    )
    named = {"text": past.model, "image": past.t2i_model}
    return {modality: model for modality, model in named.items() if model is not None}, [
        {name: getattr(each, name) for name in fields} for each in past.entries
    ]


def _of_summary(path: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    from fairgate.comparison.saved_summary import read_summary

    found = read_summary(path)
    named = {"text": found.model, "image": found.t2i_model}
    entries = [asdict(each) for each in found.scores]
    return {modality: plain(model) for modality, model in named.items() if model is not None}, entries
