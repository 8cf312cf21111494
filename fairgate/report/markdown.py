"""summary.md: the report for a step summary or a merge request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.gate import Verdict
from fairgate.report import terminal
from fairgate.report.report import NO_CERTIFICATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.gate import GateResult
    from fairgate.report.report import Report


def to_markdown(report: Report) -> str:
    """The whole report as Markdown: verdict, what failed and why, gates, numbers."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"## fairgate: {report.verdict}"
    yield ""
    yield escaped(report.headline)
    if report.trouble is not None:
        yield f"\n**Trouble**: {escaped(report.trouble)}"
    if report.findings:
        yield ""
        yield from (f"- **{found.gate}**: {escaped(found.sentence)}" for found in report.findings)
    if report.gates:
        yield "\n| gate | verdict | estimate | interval | ceiling | limit |\n| --- | --- | ---: | ---: | ---: | --- |"
        order = (Verdict.FAIL, Verdict.WAIVED, Verdict.INCONCLUSIVE, Verdict.PASS)
        yield from (_row(gate) for gate in sorted(report.gates, key=lambda each: order.index(each.verdict)))
    # A block of code keeps the columns, and whatever stands in it is no markup.
    yield "\n```text"
    yield from terminal.numbers(report)
    yield "```"
    yield from (f"\n- {escaped(example)}" for example in terminal.examples(report))
    for note in report.notes:
        yield f"\n> {escaped(note)}"
    yield f"\n{NO_CERTIFICATE}"


def _row(gate: GateResult) -> str:
    entry = gate.entry
    best = "" if entry.ceiling is None else f"{entry.ceiling[0]:.1f}"
    cells = (
        terminal.short(entry),
        f"**{gate.verdict}**" if gate.verdict is not Verdict.PASS else str(gate.verdict),
        terminal.number(entry.estimate),
        terminal.interval(entry),
        best,
        terminal.limit(gate),
    )
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text that a reader sees as it is, on one line: a model's or a server's words must not become markup."""
    one_line = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#|!~$@" else character for character in one_line)
