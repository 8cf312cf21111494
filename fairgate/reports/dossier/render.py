"""A dossier as Markdown, as one HTML file, and as JSON. Every text is escaped: none becomes markup."""

from __future__ import annotations

import json
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.reports import summary, wording
from fairgate.reports.dossier.contents import chapters, failed
from fairgate.reports.dossier.frameworks import FRAMEWORKS, NOT_SHOWN
from fairgate.reports.markdown import escaped
from fairgate.reports.page import hash_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.benchmarks.sections import Section
    from fairgate.benchmarks.selection_rates import SelectionRates
    from fairgate.reports.dossier.contents import Provenance
    from fairgate.reports.report import Report

STYLE = Path(__file__).parents[1] / "assets" / "dossier.css"


def to_markdown(report: Report, origin: Provenance) -> str:
    """The dossier as Markdown."""
    return "\n\n".join(_markdown(report, origin)) + "\n"


def _markdown(report: Report, origin: Provenance) -> Iterator[str]:
    yield f"# Evidence: {escaped(report.subject)}"
    for chapter in chapters(report, origin):
        yield f"## {chapter.title}"
        yield from map(escaped, chapter.sentences)
        for table in chapter.tables:
            lines = [(table.title, *table.columns), ("---",) * (1 + len(table.columns))]
            rows = [tuple(map(escaped, (row.name, *row.cells))) for row in table.rows]
            yield "\n".join(f"| {' | '.join(cells)} |" for cells in (tuple(map(escaped, lines[0])), lines[1], *rows))
            yield from map(escaped, table.notes)


def to_html(report: Report, origin: Provenance) -> str:
    """The dossier as one file without a script; its policy lets a browser load nothing but its own style."""
    style = STYLE.read_text(encoding="utf-8")
    policy = f"default-src 'none'; style-src {hash_of(style)}; base-uri 'none'; form-action 'none'"
    body = "".join(_body(report, origin))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>Evidence: {_text(report.subject)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>Evidence: {_text(report.subject)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def _body(report: Report, origin: Provenance) -> Iterator[str]:
    for chapter in chapters(report, origin):
        yield f"<section>\n<h2>{_text(chapter.title)}</h2>\n"
        yield from (f"<p>{_text(sentence)}</p>\n" for sentence in chapter.sentences)
        yield from map(_table, chapter.tables)
        yield "</section>\n"


def _table(table: Section) -> str:
    heads = "".join(f'<th scope="col">{_text(each)}</th>' for each in (table.title, *table.columns))
    rows = "".join(
        f'<tr><th scope="row">{_text(row.name)}</th>{"".join(f"<td>{_text(cell)}</td>" for cell in row.cells)}</tr>\n'
        for row in table.rows
    )
    notes = "".join(f"<p>{_text(note)}</p>\n" for note in table.notes)
    # A wide table scrolls by itself, by keyboard too.
    label = f'role="region" tabindex="0" aria-label="{_text(table.title)}"'
    return f"<div {label}><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n{notes}"


def _text(text: str) -> str:
    return escape(wording.visible(text))


def to_json(report: Report, origin: Provenance) -> str:
    """The dossier for programs (schema 1): `summary` is what summary.json holds, nothing is rounded."""
    document = {
        "schema": 1,
        "kind": "fairgate evidence",
        "subject": report.subject,
        "verdict": report.verdict,
        "failed": failed(report),
        "provenance": asdict(origin),
        "instruments": [asdict(each) for each in report.instruments],
        "selection_rates": [_rates(each) for each in report.selection_rates()],
        "not_shown": NOT_SHOWN,
        "frameworks": [asdict(each) for each in FRAMEWORKS],
        "summary": summary.document(report),
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rates(rates: SelectionRates) -> dict[str, object]:
    groups = [
        asdict(each) | {"selection_rate": each.rate, "impact_ratio": rates.impact_ratio(each)} for each in rates.groups
    ]
    return {"benchmark": rates.benchmark, "choices": rates.choices, "by": rates.by, "n": rates.n, "groups": groups}
