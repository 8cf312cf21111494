"""A report as a notebook shows it: the verdict, why, and the gates with those that failed first."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import Verdict
from fairgate.reports import wording
from fairgate.reports.numbers import estimate, interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.benchmarks.gate_result import GateResult

ORDER = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WAIVED, Verdict.PASS)
COLUMNS = ("verdict", "score", "estimate", "interval", "limit")


def html(headline: str, reasons: Sequence[str], judged: Sequence[GateResult]) -> str:
    """A piece of HTML without script or style of its own; every text is escaped."""
    gates = sorted(judged, key=lambda gate: ORDER.index(gate.verdict))
    return "".join(
        (
            f"<p><strong>{escape(headline)}</strong></p>",
            _listed(reasons),
            f"<table><thead><tr>{_cells('th', COLUMNS)}</tr></thead><tbody>",
            *(f"<tr>{_cells('td', _row(gate))}</tr>" for gate in gates),
            "</tbody></table>",
        )
    )


def _listed(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in sentences)}</ul>" if sentences else ""


def _row(gate: GateResult) -> tuple[str, ...]:
    entry, limits = gate.entry, gate.bounds
    return gate.verdict, wording.short(entry), estimate(entry, *limits), interval(entry, *limits), wording.limit(gate)


def _cells(tag: str, texts: tuple[str, ...]) -> str:
    return "".join(f"<{tag}>{escape(each)}</{tag}>" for each in texts)
