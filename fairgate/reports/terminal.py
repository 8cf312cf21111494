"""The report as plain lines of at most 80 columns: the verdict first, then the numbers it stands on."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fairgate.benchmarks.evidence import NOT_ASKED
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.limits import RATES
from fairgate.core.plural import counted
from fairgate.core.redaction import without_orders
from fairgate.reports import numbers as told_as
from fairgate.reports import wording
from fairgate.reports.numbers import interval, number
from fairgate.reports.report import NO_CERTIFICATE, WORDS
from fairgate.reports.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.benchmarks.evidence import Shown
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.sections import Section
    from fairgate.reports.report import Report

WIDTH = 80
NAME = 33  # columns of a gate's name
REPLY = 200  # characters of a reply that are shown
LEAST = 30  # columns of the names of a table's rows, at least


def lines(report: Report) -> list[str]:
    """The whole report, one string a line."""
    return [
        *_wrapped(report.headline),
        *([] if report.error is None else _wrapped(f"Error: {report.error}")),
        *(line for sentence in wording.invalid(report.gates, report.findings) for line in _wrapped(sentence)),
        *_since(report),
        *_gates(report),
        *_findings(report),
        *numbers(report),
        *(line for example in examples(report) for line in _wrapped(example, bullet="  ")),
        *(line for note in report.notes for line in _wrapped(note, bullet="! ")),
        *_wrapped(NO_CERTIFICATE),
    ]


def _since(report: Report) -> Iterator[str]:
    """Both sides of what moved since the baseline, in words."""
    if report.comparison is not None:
        yield from _wrapped(f"Since the baseline ({report.comparison.over}):")
        for sentence in report.comparison.sentences:
            yield from _wrapped(sentence, bullet="- ")


def _gates(report: Report) -> Iterator[str]:
    """One table of all gates, those that need somebody first; passed limits on rates are counted, not listed."""
    for verdict, word in WORDS:
        gates = [gate for gate in report.gates if gate.verdict is verdict]
        listed = [gate for gate in gates if verdict is not Verdict.PASS or gate.entry.score not in RATES]
        if not gates:
            continue
        yield ""
        yield f"{f'{word} ({len(gates)})':<35}{'value':>6}{'estimate':>9}{'interval':>15}{'ideal':>8}{'limit':>7}"
        for gate in listed:
            yield from _gate(gate)
        if len(listed) < len(gates):
            rates = counted(len(gates) - len(listed), "limit")
            yield f"  and {rates} on refused, unreadable, truncated and failed samples"
    if report.gates:
        yield from _wrapped(wording.IDEAL, bullet="  ")
    if any(map(wording.is_change, report.gates)):
        yield ""
        yield from _wrapped(wording.CHANGES)


def _gate(gate: GateResult) -> Iterator[str]:
    entry, held = gate.entry, wording.bounds(gate)
    name = wording.short(entry)
    cells = (
        f"{number(entry.value):>6}{told_as.estimate(entry, *held):>9}{interval(entry, *held):>15}"
        f"{told_as.ceiling(entry):>8}{wording.brief_limit(gate):>7}"
    )
    if len(name) > NAME:
        yield f"  {name}"
        name = ""
    yield f"  {name:<{NAME}}{cells}"
    if gate.verdict is not Verdict.PASS:
        yield from _wrapped(wording.why(gate), bullet="    ")


def _findings(report: Report) -> Iterator[str]:
    """Of each failed gate the three worst topics, each with one telling reply."""
    found = wording.merged(report.gates, report.findings)
    if found:
        yield ""
        yield "Why, each with one reply (words of the model, which can offend):"
    for gates, finding in found:
        yield from _wrapped(f"{wording.together(gates)}: {finding.claim}".removesuffix(" "), bullet="- ")
        for topic in finding.topics:
            yield from _wrapped(topic.sentence, bullet="  - ")
            if topic.reply is not None:
                yield from _wrapped(told(topic.reply), bullet="    > ")


def told(reply: Shown) -> str:
    """A sample in a line or two: the question, the reply, what it means; each shortened, none of it markup."""
    meant = wording.meant(reply)
    if wording.is_image(reply):
        return f"{visible(wording.asked(reply))} → {visible(meant)}"
    parts = (
        f"{visible(wording.asked(reply))} →",
        "no reply" if reply.reply is None else wording.shortened(visible(reply.reply), REPLY),
        f"({visible(meant)})" if meant else "",
    )
    return " ".join(filter(None, parts))


def numbers(report: Report) -> Iterator[str]:
    """The tables alone, without verdict and notes."""
    for section in report.sections:
        yield from _section(section)
    yield from _rates(report)
    yield from _calls(report)


def _wrapped(text: str, bullet: str = "") -> list[str]:
    lines = textwrap.wrap(
        visible(text), WIDTH, initial_indent=bullet, subsequent_indent=" " * len(bullet), break_on_hyphens=False
    )
    # A word within the text may be an order at the beginning of a line.
    return [without_orders(line) for line in lines]


def _section(section: Section) -> Iterator[str]:
    """A table, its columns as wide as they must be; those that find no room stand in a second one below."""
    widths = [
        max(8, 2 + max(len(visible(cell)) for cell in (name, *(row.cells[place] for row in section.rows))))
        for place, name in enumerate(section.columns)
    ]
    for columns in _side_by_side(widths):
        room = WIDTH - sum(widths[place] for place in columns)
        names = [section.title, *(f"  {row.name}" for row in section.rows)]
        width = min(room, max(LEAST, *(len(name) for name in names)))
        cells = [section.columns, *(row.cells for row in section.rows)]
        yield ""
        for name, row in zip(names, cells, strict=True):
            indent = len(name) - len(name.lstrip())
            told = textwrap.wrap(visible(name), max(width - indent, 1)) or [""]
            yield from (f"{' ' * indent}{each}" for each in told[:-1])
            head = f"{' ' * indent}{told[-1]}"
            line = f"{head:<{width}}" + "".join(f"{visible(row[place]):>{widths[place]}}" for place in columns)
            yield without_orders(line.rstrip())
    for note in section.notes:
        yield from _wrapped(note, bullet="    ")


def _side_by_side(widths: Sequence[int]) -> Iterator[list[int]]:
    """The columns that stand beside one another, by their places."""
    places: list[int] = []
    for place, width in enumerate(widths):
        if places and sum(widths[each] for each in places) + width > WIDTH - LEAST:
            yield places
            places = []
        places.append(place)
    yield places


def examples(report: Report) -> Iterator[str]:
    """Words of a model that stand below tables, each on one line: to be made harmless."""
    for section in report.sections:
        yield from section.quotes


def _rates(report: Report) -> Iterator[str]:
    yield ""
    for benchmark, outcomes in report.outcomes.items():
        whole = outcomes["samples"]
        if not whole:
            continue
        told = {name.replace(NOT_ASKED, "not asked"): n for name, n in outcomes.items() if name != "samples"}
        parts = [f"{name} {n:,} ({100 * n / whole:.1f} %)" for name, n in told.items()]
        yield from _wrapped(f"{benchmark}: {', '.join(parts)}, of {counted(whole, 'sample')}")


def _calls(report: Report) -> Iterator[str]:
    calls, tokens = report.calls, report.tokens
    missing = f", {calls.missing:,} missing" if calls.missing else ""
    failed = f" ({calls.failed:,} failed)" if calls.failed else ""
    yield from _wrapped(
        f"calls: {calls.asked:,} asked{failed}, {calls.reused:,} reused from {report.ledger}{missing}, "
        f"{counted(calls.retried, 'request')} retried"
    )
    if tokens.prompt or tokens.completion:
        uncounted = f"; {counted(tokens.uncounted, 'sample')} uncounted by the server" if tokens.uncounted else ""
        yield from _wrapped(f"tokens: {tokens.prompt:,} in prompts, {tokens.completion:,} in replies{uncounted}")
    if report.cost is not None:
        yield f"cost: {report.cost:.4f} USD, by [prices] of the thresholds file"
