"""The audit and a model's standing as Markdown tables: plain text of two decimals, never cut to a terminal's width."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from fairgate.published.audit import Check, audit, disagreements, inherited
from fairgate.published.bigbench import audit as bigbench_audit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairgate.published.standing import Place

CAVEATS = (
    "By `reference` scores, the arithmetic of the released programs. The published models were asked other sentences",
    "with other samples, so that small differences mean nothing. Rank 1 is the largest value, for d the smallest, for",
    "eta the nearest to 50.",
    "An asterisk marks a column in which the audit does not bear out every published cell; it is ranked as printed.",
)


def render_audit() -> str:
    """Every derived cell beside what its own row gives, then the cells that do not agree, named and why."""
    checks = (*audit(), *bigbench_audit())
    lines = ["# The published tables, recomputed from their own cells", ""]
    for (benchmark, kind), group in groupby(checks, key=lambda check: (check.benchmark, check.kind)):
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
    wrong, built_on = disagreements(checks), inherited()
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


def render_standing(model: str, places: Sequence[Place], among: str = "the ten published models") -> str:
    """A model's place in each published column, with the caveats; a sentence where there is none to show."""
    lines = [f"# Where {model} stands among {among}", ""]
    if not places:
        return "\n".join([*lines, "None of its scores has a published column."]) + "\n"
    rows = [
        (
            place.column,
            f"{place.value:.2f}",
            f"{place.rank} of {place.of}" + ("*" if place.doubted else ""),
            f"{place.nearest} ({place.nearest_value:.2f})",
        )
        for place in places
    ]
    table = _table(("column", "value", "rank", "nearest"), rows, right=(1, 2))
    return "\n".join([*lines, *CAVEATS, "", *table]) + "\n"


def _findings(checks: Iterable[Check]) -> list[str]:
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
