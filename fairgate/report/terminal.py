"""The report as plain lines of at most 80 columns: the verdict first, then the numbers it stands on."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from fairgate.bigbench.data import BENCHMARK as BIGBENCH
from fairgate.bigbench.data import Acquired
from fairgate.domain import Modality
from fairgate.f2bench.topics import Task as F2Task
from fairgate.fact_or_fair.topics import Task
from fairgate.models.redaction import without_orders
from fairgate.report import wording
from fairgate.report.evidence import NOT_ASKED
from fairgate.report.report import NO_CERTIFICATE, WORDS
from fairgate.report.wording import interval, number, visible
from fairgate.verdicts.gate import Verdict
from fairgate.verdicts.thresholds import RATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.f2bench.fitness import Fitness
    from fairgate.fact_or_fair.topics import Context
    from fairgate.report.evidence import Shown
    from fairgate.report.report import Drawn, Report
    from fairgate.verdicts.gate import GateResult
    from fairgate.verdicts.scoreboard import Entry

WIDTH = 80
NAME = 33  # columns of a gate's name
REPLY = 200  # characters of a reply that are shown
COLUMNS = ("S_fact", "S_E", "S_KLD", "S_fair", "TV", "d")
JUDGED = {F2Task.DIALOGUE: ("S_dialogue",), F2Task.BALANCE: ("S_fairness", "S_factuality", "FF1")}
DRAWN = ("S_implicit", "TV", "S_explicit", "eta")
EFFECTS = 5  # of an asked attribute on another that are shown
ENOUGH = 20  # images, below which such an effect is mostly chance
RECORDS = ("agreement", "kappa", "sensitivity", "specificity")


def lines(report: Report) -> list[str]:
    """The whole report, one string a line."""
    return [
        *_wrapped(report.headline),
        *([] if report.trouble is None else _wrapped(f"Trouble: {report.trouble}")),
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
        yield f"{f'{word} ({len(gates)})':<35}{'value':>6}{'estimate':>9}{'interval':>15}{'at best':>8}{'limit':>7}"
        for gate in listed:
            yield from _gate(gate)
        if len(listed) < len(gates):
            yield f"  and {len(gates) - len(listed)} limits on refused, unreadable and failed samples"
    if any(map(wording.is_change, report.gates)):
        yield ""
        yield from _wrapped(wording.CHANGES)


def _gate(gate: GateResult) -> Iterator[str]:
    entry, held = gate.entry, wording.bounds(gate)
    name = wording.short(entry)
    cells = (
        f"{number(entry.value):>6}{wording.estimate(entry, *held):>9}{interval(entry, *held):>15}"
        f"{wording.ceiling(entry):>8}{wording.brief_limit(gate):>7}"
    )
    if len(name) > NAME:
        yield f"  {name}"
        name = ""
    yield f"  {name:<{NAME}}{cells}"
    if gate.verdict is not Verdict.PASS:
        yield from _wrapped(wording.why(gate), bullet="    ")


def _findings(report: Report) -> Iterator[str]:
    """Of each failed gate the three worst topics, each with one telling reply."""
    found = wording.merged(report)
    if found:
        yield ""
        yield "Why, each with one reply (words of the model, which can offend):"
    for gates, finding in found:
        yield from _wrapped(f"{wording.together(gates)}:", bullet="- ")
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
    yield from _tables(report)
    yield from _keys(report)
    yield from _influence(report)
    yield from _leaderboard(report)
    yield from _judged(report)
    yield from _drawn(report)
    yield from _reasons(report)
    yield from _rates(report)
    yield from _calls(report)


def _wrapped(text: str, bullet: str = "") -> list[str]:
    lines = textwrap.wrap(
        visible(text), WIDTH, initial_indent=bullet, subsequent_indent=" " * len(bullet), break_on_hyphens=False
    )
    # A word within the text may be an order at the beginning of a line.
    return [without_orders(line) for line in lines]


def _tables(report: Report) -> Iterator[str]:
    shown = [
        e for e in report.entries if e.scoring == report.scoring and e.score in COLUMNS and e.benchmark != BIGBENCH
    ]
    tables = dict.fromkeys((entry.modality, entry.attribute) for entry in shown)
    scoring = "" if report.scoring == "definition" else f" ({report.scoring})"
    for modality, attribute in tables:
        images = "images, " if modality is Modality.IMAGE else ""
        yield ""
        yield f"{f'{images}{attribute}{scoring}':<30}" + "".join(f"{column:>8}" for column in COLUMNS)
        here = [entry for entry in shown if (entry.modality, entry.attribute) == (modality, attribute)]
        for task, context in dict.fromkeys((entry.task, entry.context) for entry in here):
            row = {entry.score: entry for entry in here if (entry.task, entry.context) == (task, context)}
            cells = [row.get(column) for column in COLUMNS]
            name = str(context or task)
            yield f"  {name + _coverage(cells):<28}" + "".join(_cell(cell) for cell in cells)
            best = [None if cell is None or cell.ceiling is None else cell.ceiling[0] for cell in cells]
            if any(mean is not None for mean in best):
                yield f"  {'  of at best':<28}" + "".join(f"{'' if mean is None else number(mean):>8}" for mean in best)
            if any(cell is not None and None not in cell.ci for cell in cells):
                yield f"  {'  estimate, give or take':<28}" + "".join(f"{_give_or_take(cell):>8}" for cell in cells)
            yield from _unseen(report, modality, attribute, task, context)


def _unseen(
    report: Report, modality: Modality, attribute: str | None, task: str, context: Context | None
) -> Iterator[str]:
    """What images without a face that could be read might do to the scores."""
    mine = (modality, attribute, task, context)
    for end in ("worst", "best"):
        found = {
            e.score.partition("@")[0]: e.value
            for e in report.entries
            if (e.modality, e.attribute, e.task, e.context) == mine and e.score.endswith(f"@{end}")
        }
        if found:
            cells = (number(found[column]) if column in found else "" for column in COLUMNS)
            yield f"  {f'  unseen faces at {end}':<28}" + "".join(f"{cell:>8}" for cell in cells)


def _cell(cell: Entry | None) -> str:
    return f"{'-' if cell is None else number(cell.value):>8}"


def _give_or_take(cell: Entry | None) -> str:
    """The half-width of the estimate's interval."""
    low, high = (None, None) if cell is None else cell.ci
    return "" if low is None or high is None else f"±{(high - low) / 2:.1f}"


def _coverage(cells: Sequence[Entry | None]) -> str:
    first = cells[0]
    if first is None or not first.partial:
        return ""
    return f" ({first.topics[0]}/{first.topics[1]})"


def _keys(report: Report) -> Iterator[str]:
    both = [
        e for e in report.entries if e.score in ("S_fact@published", "S_fact@measured") and e.task == Task.OBJECTIVE
    ]
    if not both:
        return
    yield ""
    yield "Objective S_fact by answer key" + " " * 10 + f"{'published':>12}{'measured':>12}"
    for attribute in dict.fromkeys(e.attribute for e in both):
        values = {e.score: e.value for e in both if e.attribute == attribute}
        published, measured = values.get("S_fact@published"), values.get("S_fact@measured")
        yield f"  {attribute:<38}{number(published):>12}{number(measured):>12}"


def _judged(report: Report) -> Iterator[str]:
    """F²Bench: each score raw, and (corrected for the judge's errors), by category; and the judge's own record."""
    for task, columns in JUDGED.items():
        shown = [e for e in report.entries if e.task is task and e.scoring == report.scoring and e.score in columns]
        groups = [
            group for group in dict.fromkeys(e.group for e in shown) if not (group or "").startswith("secondary ")
        ]
        if not groups:
            continue
        scoring = "raw (corrected)" if report.scoring == "definition" else report.scoring
        yield ""
        yield f"{f'F²Bench {task}, {scoring}':<34}" + "".join(f"{column:>15}" for column in columns)
        for group in groups:
            row = {entry.score: entry for entry in shown if entry.group == group}
            cells = [row.get(column) for column in columns]
            yield f"  {(group or 'in all') + _coverage(cells):<32}" + "".join(f"{_both(cell):>15}" for cell in cells)
            if group is None and report.scoring == "definition":
                ranges = ["" if cell is None else interval(cell) for cell in cells]
                yield f"  {'  interval':<32}" + "".join(f"{each:>15}" for each in ranges)
                best = ["" if c is None or c.ceiling is None else number(c.ceiling[0]) for c in cells]
                yield f"  {'  of at best':<32}" + "".join(f"{each:>15}" for each in best)
    if report.judging:
        yield ""
        yield f"{f'Judge {visible(report.judge or str())[:30]}':<38}" + "".join(f"{name:>21}" for name in RECORDS[:2])
        for record in report.judging:
            texts = f"{record.items} {record.task} texts"
            for first, second in (RECORDS[:2], RECORDS[2:]):
                cells_of = [_measured(record, name) for name in (first, second)]
                head = texts if first == RECORDS[0] else f"  {first}, {second}"
                yield f"  {head:<36}" + "".join(f"{each:>21}" for each in cells_of)
            yield from _wrapped(_rest_of(record), bullet="    ")


def _drawn(report: Report) -> Iterator[str]:
    """BIGbench: each score by attribute and in all, then by kind of subject, then what the images tell beside them."""
    scoring = "" if report.scoring == "definition" else f" ({report.scoring})"
    every = [e for e in report.entries if e.benchmark == BIGBENCH and e.scoring == report.scoring]
    for name in DRAWN:
        whole = [e for e in every if e.score == name and e.group is None]
        if not whole:
            continue
        yield ""
        yield f"{f'BIGbench {name}{scoring}':<30}{'value':>8}{'estimate':>10}{'interval':>16}{'at best':>9}"
        for entry in whole:
            row = f"{number(entry.value):>8}{number(entry.estimate):>10}{interval(entry):>16}"
            yield f"  {(entry.attribute or 'in all') + _coverage([entry]):<28}{row}{wording.ceiling(entry):>9}"
    for score in ("S_implicit", "S_explicit"):
        rows = [e for e in every if e.score == score and e.group in tuple(Acquired)]
        attributes = tuple(dict.fromkeys(e.attribute for e in rows))
        if not rows:
            continue
        yield ""
        head = "".join(f"{attribute or 'in all':>10}" for attribute in attributes)
        yield f"{f'BIGbench {score}{scoring}, of its kinds':<38}{head}"
        for group in dict.fromkeys(e.group for e in rows):
            values = {e.attribute: e.value for e in rows if e.group == group}
            yield f"  {group:<36}" + "".join(f"{number(values.get(each)):>10}" for each in attributes)
    if report.drawn is not None:
        yield from _tables_of(report.drawn)


def _tables_of(drawn: Drawn) -> Iterator[str]:
    told = [each for each in drawn.effects if each.images >= ENOUGH]
    moved = sorted(told, key=lambda each: -each.by)[:EFFECTS]
    if moved:
        yield ""
        yield f"{'Asking for one attribute moves another, most':<52}{'points':>8}{'images':>9}"
        for each in moved:
            yield f"  {f'{each.acquired}s, {each.group} asked for: {each.moved}':<50}{each.by:>8.1f}{each.images:>9}"
    if drawn.stability:
        yield ""
        yield f"{'Scores by number of images of each sitter':<42}{'images':>8}{'runs':>6}{'mean':>9}{'variance':>11}"
        for row in drawn.stability:
            spread = "-" if row.variance is None else f"{row.variance:.1e}"
            yield f"  {row.score:<40}{row.images:>8}{row.runs:>6}{row.mean:>9.2f}{spread:>11}"


def _both(entry: Entry | None) -> str:
    if entry is None or entry.value is None:
        return "-"
    return number(entry.value) if entry.estimate is None else f"{entry.value:.1f} ({entry.estimate:.1f})"


def _measured(record: Fitness, name: str) -> str:
    found = getattr(record.agreement, name)
    if math.isnan(found.value):
        return "-"
    scale, digits = (1, 2) if name == "kappa" else (100, 1)
    return " ".join(
        [f"{scale * found.value:.{digits}f}", f"[{scale * found.low:.{digits}f}, {scale * found.high:.{digits}f}]"]
    )


def _rest_of(record: Fitness) -> str:
    share = "" if record.steerable is None else f" ({100 * record.steerable:.0f} %)"
    steered = f"steered by {record.steered} of {record.steering} texts that try to{share}"
    parts = [f"{record.unread} unreadable", steered]
    if record.within_one is not None and record.distance is not None:
        near, apart = 100 * record.within_one, record.distance
        parts.append(f"{record.marked} marks: {near:.0f} % within one point, {apart:.1f} points apart")
    return ", ".join(parts)


def _reasons(report: Report) -> Iterator[str]:
    """The kinds of reasons by context, with the judge's sorting counted."""
    for context, found in (report.explanations or {}).items():
        yield ""
        left = f", {found['unsorted']} unsorted" if found["unsorted"] else ""
        head = f"Reasons, {context} ({found['sorted']} sorted{left})"
        yield f"{head:<52}{'n':>6}{'%':>7}{'interval':>15}"
        for kind, held in found["kinds"].items():
            low, high = held["ci"]
            yield f"  {kind:<50}{held['n']:>6}{number(held['share']):>7}{f'[{low:.1f}, {high:.1f}]':>15}"


def examples(report: Report) -> Iterator[str]:
    """Three telling reasons of each context, each on one line: a model's words, to be made harmless."""
    for found in (report.explanations or {}).values():
        for each in found["examples"]:
            yield f'{each["kind"]}: {each["query"]} chose {each["choice"]}: "{each["reason"]}"'


def _leaderboard(report: Report) -> Iterator[str]:
    board = report.leaderboard
    if not any(value is not None for row in board.values() for value in row.values()):
        return
    columns = ("gender", "race", "average")
    yield ""
    yield f"{'Leaderboard row':<40}" + "".join(f"{column:>10}" for column in columns)
    for name, row in board.items():
        yield f"  {name:<38}" + "".join(f"{number(row.get(column)):>10}" for column in columns)


def _influence(report: Report) -> Iterator[str]:
    """How far each context pulls the answers to the group that it names: the papers' Table 3."""
    rows = [e for e in report.entries if e.score.startswith("influence") and e.value is not None]
    if not rows:
        return
    attributes = tuple(dict.fromkeys(e.attribute for e in rows))
    yield ""
    yield f"{'Picks of the group that the context names, %':<46}" + "".join(f"{name!s:>12}" for name in attributes)
    for context, score in dict.fromkeys((e.context, e.score) for e in rows):
        values = {e.attribute: e.value for e in rows if (e.context, e.score) == (context, score)}
        detail = score.partition("@")[2]
        name = f"{context} {detail}".strip() if context else "increase over a model that ignores contexts"
        yield f"  {name:<44}" + "".join(f"{number(values.get(attribute)):>12}" for attribute in attributes)


def _rates(report: Report) -> Iterator[str]:
    yield ""
    for benchmark, outcomes in report.outcomes.items():
        whole = outcomes["samples"]
        if not whole:
            continue
        told = {name.replace(NOT_ASKED, "not asked"): n for name, n in outcomes.items() if name != "samples"}
        parts = [f"{name} {n:,} ({100 * n / whole:.1f} %)" for name, n in told.items()]
        yield from _wrapped(f"{benchmark}: {', '.join(parts)}, of {whole:,} samples")


def _calls(report: Report) -> Iterator[str]:
    calls, tokens = report.calls, report.tokens
    missing = f", {calls.missing:,} missing" if calls.missing else ""
    failed = f" ({calls.failed:,} failed)" if calls.failed else ""
    yield from _wrapped(
        f"calls: {calls.asked:,} asked{failed}, {calls.reused:,} reused from {report.ledger}{missing}, "
        f"{calls.retried:,} requests retried"
    )
    if tokens.prompt or tokens.completion:
        uncounted = f"; {tokens.uncounted:,} samples uncounted by the server" if tokens.uncounted else ""
        yield from _wrapped(f"tokens: {tokens.prompt:,} in prompts, {tokens.completion:,} in replies{uncounted}")
    if report.cost is not None:
        yield f"cost: {report.cost:.4f} USD, by [prices] of the thresholds file"
