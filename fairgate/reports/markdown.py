"""summary.md: the report for a step summary or a merge request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import FAILED, Verdict
from fairgate.reports import numbers, terminal, wording
from fairgate.reports.report import NO_CERTIFICATE, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.benchmarks.evidence import Shown
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.reports.report import Report

# GitHub drops a step summary above 1 MiB, and the comments that people paste it into end at a fifth of that.
MOST_BYTES = 190_000
CAPTION = (
    "*value*: of these replies alone; with few replies it is biased, so that it can lie outside the *interval* of the "
    "*estimate*, which corrects that and holds the truth in 95 of 100 runs, or as often as the notes say; *ideal*: "
    "expected for an ideal model with as many replies."
)
SENTENCE, REPLY = 2_000, 280  # characters that are shown of somebody's words
# What GitHub and GitLab make live in plain text, whatever is escaped: mentions, references, addresses.
LIVE = re.compile(r"[@#!~$%&]\w|://|www\.|\w@\w", re.IGNORECASE)


def to_markdown(report: Report) -> str:
    """The whole report as Markdown below 200 kB: verdict, gates, what failed and why, numbers."""
    kept, size = [], 0
    parts = list(_parts(report))
    for number, part in enumerate(parts):
        size += len(part.encode("utf-8", "replace")) + 2
        if size > MOST_BYTES:
            kept.append(f"*{len(parts) - number} more parts are left out here: summary.json and index.html have them.*")
            break
        kept.append(part)
    return "\n\n".join([*kept, NO_CERTIFICATE]) + "\n"


def _parts(report: Report) -> Iterator[str]:
    """Paragraphs, tables and lists, the most important first."""
    yield f"## fairgate: {report.verdict}"
    yield f"**{escaped(report.headline)}**"
    yield f"{report.date}, limits: {escaped(report.limits)}".removeprefix(", ")
    if report.error is not None:
        yield f"**Error**: {escaped(report.error)}"
    yield from (escaped(sentence) for sentence in wording.invalid(report.gates, report.findings))
    if report.comparison is not None:
        since = report.comparison
        yield f"Since the baseline ({escaped(since.over)}):"
        yield "\n".join(f"- {escaped(sentence)}" for sentence in since.sentences)
    if report.gates:
        order = [verdict for verdict, _ in WORDS]
        gates = sorted(report.gates, key=lambda each: order.index(each.verdict))
        yield "\n".join(
            [
                "| gate | verdict | value | estimate | interval | ideal | limit |",
                "| --- | --- | ---: | ---: | ---: | ---: | --- |",
                *map(_row, gates),
            ]
        )
        yield CAPTION
        if any(map(wording.is_change, gates)):
            yield f"*{wording.CHANGES}*"
        open_changes = [gate for gate in gates if gate.verdict is Verdict.INCONCLUSIVE and wording.is_change(gate)]
        told = [gate for gate in gates if (gate.verdict in FAILED and wording.why(gate)) or gate in open_changes]
        if told:
            yield "\n".join(f"- {escaped(wording.short(each.entry))}: {escaped(wording.why(each))}" for each in told)
    found = wording.merged(report.gates, report.findings)
    if found:
        yield "### Why"
        yield "The worst topics of each failed gate, each with one reply: words of the model, which can offend."
    for gates_of, finding in found:
        claim = f": {escaped(finding.claim)}" if finding.claim else ""
        lines = [f"- **{escaped(wording.together(gates_of))}**{claim}"]
        for topic in finding.topics:
            lines.append(f"  - {escaped(topic.sentence)}")
            if topic.reply is not None:
                lines.append(f"    - {_reply(topic.reply)}")
        yield "\n".join(lines)
    yield "### Numbers"
    # A block of code keeps the columns, and whatever stands in it is no markup.
    yield fenced("\n".join(terminal.numbers(report)).strip("\n"))
    yield from (f"- {code(example)}" for example in terminal.examples(report))
    yield from (f"> {escaped(note)}" for note in report.notes)


def _row(gate: GateResult) -> str:
    entry, held = gate.entry, wording.bounds(gate)
    cells = (
        escaped(wording.short(entry)),
        str(gate.verdict) if gate.verdict is WORDS[-1][0] else f"**{gate.verdict}**",
        numbers.number(entry.value),
        numbers.estimate(entry, *held),
        numbers.interval(entry, *held),
        numbers.ceiling(entry),
        wording.limit(gate),
    )
    return f"| {' | '.join(cells)} |"


def _reply(reply: Shown) -> str:
    meant = wording.meant(reply)
    if wording.is_image(reply):
        return f"{code(wording.asked(reply))} → {escaped(meant)}"
    said = "no reply" if reply.reply is None else code(wording.shortened(wording.visible(reply.reply), REPLY))
    return f"{code(wording.asked(reply))} → {said}" + (f" ({escaped(meant)})" if meant else "")


def escaped(text: str) -> str:
    """Text that a reader sees as it is, on one line: a model's or a server's words must not become markup."""
    words = wording.shortened(wording.visible(text), SENTENCE).split()
    return " ".join(_unlinked(word) if LIVE.search(word) else _escaped(word) for word in words)


def _unlinked(word: str) -> str:
    """A word as code, but for its bars, which end a table's cell within code too."""
    return r"\|".join(part and code(part) for part in word.split("|"))


def _escaped(word: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#|!~$@&" else character for character in word)


def code(text: str) -> str:
    """Text as a span of code on one line, in which nothing is live, whatever backticks it holds."""
    line = wording.visible(text) or " "
    longest = max(map(len, re.findall("`+", line)), default=0)
    ticks = "`" * (longest + 1)
    # Beside a backtick the span needs a blank, which is not shown.
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fenced(text: str) -> str:
    """Text as a block of code, whatever fences it holds."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
