"""The report on one screen: the verdict, why, what to do, where the report lies, and one table of the gates."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fairgate.benchmarks.evidence import NOT_ASKED
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.limits import RATES
from fairgate.core.plural import counted
from fairgate.core.redaction import without_orders
from fairgate.reports import numbers, wording
from fairgate.reports.reasons import by_score, margin, next_step, reasons
from fairgate.reports.report import WORDS
from fairgate.reports.terminal import told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.benchmarks.findings import Example
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.reports.report import Report

WIDEST = 120  # columns: longer lines of prose are hard to read
WAIVER = (
    ' To accept a gate until a date, add [[waivers]] with gate = "{gate}" to your limits file (`fairgate init` '
    "writes one)."
)
NO_BREAK = "\N{NO-BREAK SPACE}"
# What is shown of each kind; the rest is counted, and stands in the report.
ROWS = {Verdict.FAIL: 16, Verdict.WAIVED: 4, Verdict.INCONCLUSIVE: 5}
EXAMPLES, MOVES = 2, 6
PASSED = 13  # scores of a run that passes: those whose gates are closest to their limits


def expired(gates: Sequence[GateResult]) -> Iterator[str]:
    """A sentence on each waiver of a failed gate that no longer holds."""
    for gate in gates:
        if gate.waiver is not None and gate.verdict is Verdict.FAIL:
            owner, day = gate.waiver.owner, gate.waiver.expires
            yield f"The waiver of {gate.name} by {owner} expired on {day}."


def lines(report: Report, width: int, page: str, failed: Sequence[str] = ()) -> list[str]:
    """The summary, one string a line; `page` says where the report lies, `failed` which tests failed by themselves."""
    room = min(width, WIDEST)
    why = [
        *reasons(report),
        *expired(report.gates),
        next_step(report) + _waiver(report),
        *filter(None, [report.stopped]),
    ]
    # A pass leaves nothing to do: its sentences are one paragraph.
    prose = [report.headline, *_stops(report), *([" ".join(why)] if report.verdict is Verdict.PASS else why)]
    return [
        *(line for text in (*prose, page) for line in wrapped(text, room)),
        "",
        *_gates(report, room),
        *(line for text in failed for line in wrapped(text, room, "- ")),
        *_examples(report, room),
        *(line for text in _counts(report) for line in wrapped(text, room)),
    ]


def wrapped(text: str, room: int, bullet: str = "") -> list[str]:
    """The text as lines of at most so many columns, made harmless."""
    # A number stays with its unit.
    visible = wording.visible(text).replace(" %", f"{NO_BREAK}%")
    found = textwrap.wrap(visible, room, initial_indent=bullet, subsequent_indent="  ", break_on_hyphens=False)
    # A word within the text may be an order at the beginning of a line.
    return [without_orders(line.replace(NO_BREAK, " ")) for line in found]


def _waiver(report: Report) -> str:
    """How to accept the first gate that failed."""
    gate = next((each.name for each in report.gates if each.verdict is Verdict.FAIL), None)
    return "" if report.verdict is not Verdict.FAIL or gate is None else WAIVER.format(gate=gate)


def _stops(report: Report) -> Iterator[str]:
    """What stands before any score."""
    if report.error is not None:
        yield f"Error: {report.error}"
    yield from wording.invalid(report.gates, report.findings)
    if report.comparison is not None:
        yield f"Since the baseline ({report.comparison.over}):"
        yield from (f"- {sentence}" for sentence in report.comparison.sentences[:MOVES])


def _gates(report: Report, room: int) -> Iterator[str]:
    """Gates that did not pass one by one; those that did a line for each score, with the gate closest to its limit."""
    for verdict, word in WORDS[:-1]:
        gates = [gate for gate in report.gates if gate.verdict is verdict]
        if gates:
            yield from _listed(f"{word} ({len(gates)})", gates, 0 if report.error is not None else ROWS[verdict], room)
    passed = [gate for gate in report.gates if gate.verdict is Verdict.PASS]
    scored = [gate for gate in passed if gate.entry.score not in RATES]
    if report.verdict is Verdict.PASS and scored:
        yield _row(f"{'passed':<17}{'gates':>6}  closest to its limit", "estimate", "interval", "limit", room)
        held = by_score(scored)
        closest = {score: min(gates, key=margin) for score, gates in held.items()}
        near = sorted(closest, key=lambda score: margin(closest[score]))[:PASSED]
        for score in (each for each in held if each in near):
            where = wording.short(closest[score].entry).removesuffix(score).strip()
            yield _numbers(f"{score:<17}{len(held[score]):>6}  {where}", closest[score], room)
        if further := [score for score in held if score not in near]:
            others = sum(len(held[score]) for score in further)
            yield f"and {counted(len(further), 'score')} further from the limit, in {counted(others, 'gate')}: -v"
    rates = len(passed) - len(scored)
    if passed:
        scores = f"{len(scored)} of scores, " if report.verdict is not Verdict.PASS else ""
        yield f"passed: {scores}{counted(rates, 'limit')} on samples that could not be used"


def _listed(title: str, gates: Sequence[GateResult], most: int, room: int) -> Iterator[str]:
    if most:
        yield _row(title, "estimate", "interval", "limit", room)
    else:
        scores = by_score(gates)
        yield from wrapped(f"{title}: {', '.join(f'{score} {len(held)}' for score, held in scores.items())}", room)
    shown = gates[:most]
    reasons = {gate.name: wording.why(gate) for gate in shown}
    # A reason that several gates share is said once, below the last of them.
    last = {reason: gate.name for gate in shown if (reason := reasons[gate.name])}
    for gate in shown:
        yield _numbers(f"  {wording.short(gate.entry)}", gate, room)
        reason = reasons[gate.name]
        if reason and last[reason] == gate.name:
            yield from wrapped(reason, room, "    ")
    if 0 < most < len(gates):
        yield f"  and {len(gates) - most} more, in the report"


def _row(name: str, estimate: str, interval: str, limit: str, room: int) -> str:
    return f"{name:<{room - 31}.{room - 31}}{estimate:>9}{interval:>15}{limit:>7}"


def _numbers(name: str, gate: GateResult, room: int) -> str:
    entry, held = gate.entry, wording.bounds(gate)
    estimate = numbers.number(entry.value) if entry.estimate is None else numbers.estimate(entry, *held)
    return _row(name, estimate, numbers.interval(entry, *held), wording.brief_limit(gate), room)


def _examples(report: Report, room: int) -> Iterator[str]:
    """The worst topic of some failed gates, each with one reply."""
    of_score: dict[str, tuple[GateResult, Sequence[Example]]] = {}
    for gates, finding in wording.merged(report.gates, report.findings):
        if finding.topics:
            of_score.setdefault(gates[0].entry.score, (gates[0], finding.topics))
    if of_score:
        yield ""
        yield "For example (words of the model, which can offend):"
    for gate, topics in list(of_score.values())[:EXAMPLES]:
        topic = next((each for each in topics if each.reply is not None), topics[0])
        yield from wrapped(f"{wording.short(gate.entry)}: {topic.sentence}", room, "- ")
        if topic.reply is not None:
            yield from wrapped(told(topic.reply), room, "  > ")


def _counts(report: Report) -> Iterator[str]:
    totals: dict[str, int] = {}
    for outcomes in report.outcomes.values():
        for name, n in outcomes.items():
            totals[name.replace(NOT_ASKED, "not asked")] = totals.get(name.replace(NOT_ASKED, "not asked"), 0) + n
    whole = totals.pop("samples", 0)
    calls = report.calls
    parts = [f"{calls.asked:,} asked", f"{calls.reused:,} reused from {report.ledger}"]
    parts += [f"{n:,} {name}" for name, n in (("missing", calls.missing), ("retried", calls.retried)) if n]
    parts += [] if report.cost is None else [f"{report.cost:.2f} USD"]
    lost = [f"{name} {n:,} ({100 * n / whole:.1f} %)" for name, n in totals.items() if n]
    yield f"Samples: {', '.join(parts)}" + (f"; {', '.join(lost)} of {whole:,} counted" if lost else "")
    if report.weighed.asked:
        yield report.weighed.sentence
    gates = len(report.gates) + (report.error is not None)
    more = f"; {counted(len(report.notes), 'note')}: -v" if report.notes else ""
    yield f"Results: {counted(report.cases.total, 'test')} and {counted(gates, 'gate')}, counted together below{more}."
