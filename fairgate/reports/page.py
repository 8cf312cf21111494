"""index.html: the report as one file that makes no request, with the samples behind each cell.

What a model said is data: it stands in a block of JSON, and the page's own script shows it as text and never as
markup. A content security policy names the one style and the one script by their hashes, and forbids all else.
"""

from __future__ import annotations

import base64
import html
import json
from collections import Counter
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.benchmarks.evidence import NOT_ASKED, telling_first
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.limits import RATES
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.plural import counted
from fairgate.core.statistics.intervals import CONFIDENCE
from fairgate.reports import claims, reasons, terminal, thumbnails, wording
from fairgate.reports.plots.drawing import has_pillow
from fairgate.reports.report import NO_CERTIFICATE, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fairgate.benchmarks.evidence import Cell, Drawn, Shown
    from fairgate.benchmarks.findings import Example
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.reports.plots.drawing import Plot
    from fairgate.reports.report import Report

ASSETS = Path(__file__).parent / "assets"
SHOWN = 30  # samples of a topic that the page holds
THUMBNAIL = 96  # pixels of an image's longer side
PICTURES, PICTURE_BYTES = 6, 3 * 2**20  # thumbnails of a topic, and characters of all of them together
PROMPT, REPLY = 6_000, 4_000  # characters of a prompt and of a reply that it holds
NO_ANSWER = (AnswerKind.REFUSED, AnswerKind.UNREADABLE, AnswerKind.TRUNCATED, AnswerKind.NO_FACE, AnswerKind.FAILED)
# What the page says of every run, whatever its benchmarks.
TERMS = (
    ("gate", "a limit on one score, by task, context and attribute; a run fails if a gate fails"),
    ("points", "of 100, on the scale of the score; where less is best, 0 is what a fair model comes to"),
    (
        "inconclusive, undecided",
        (
            "the interval reaches over the limit; or it is beyond it, but with so many gates some are by chance: more "
            "answers would tell a pass from a fail"
        ),
    ),
    (
        "rates",
        "how many replies could not be used: refused, unreadable, cut short (truncated), without a face, or failed",
    ),
    ("enough by itself", "chance alone does not explain the answers of this one topic; a gate counts many topics"),
)
WARNING = "Prompts and replies can offend: they are shown because they were said, not because they are right."


def to_html(report: Report, plots: Sequence[Plot] = ()) -> str:
    """The whole page, the plots in it. Samples are read topic by topic, and what is left out of each is counted."""
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    script = (ASSETS / "page.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; img-src data:; style-src {hash_of(style)}; script-src {hash_of(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    title, lead, tally = (html.escape(wording.visible(each)) for each in (report.title, lead_of(report), report.tally))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>fairgate: {html.escape(report.verdict)}</title>\n<style>{style}</style>\n</head>\n"
        f'<body>\n<a class="skip" href="#main">Skip to the report</a>\n'
        f'<header class="{html.escape(report.verdict)}"><p>fairgate</p><h1>{title}</h1>'
        f'{f"""<p class="lead">{lead}</p>""" if lead else ""}<p>{tally}</p></header>\n'
        '<main id="main" tabindex="-1"><noscript>This page shows its tables with a script of its own, which is '
        "switched off here. summary.md, beside it, tells the same without.</noscript></main>\n"
        f'<script type="application/json" id="report">{embedded(_document(report, plots))}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def embedded(document: object) -> str:
    """JSON that may stand inside a script element: pure ASCII, and without what could end the element."""
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def hash_of(text: str) -> str:
    """The text's hash as a content security policy names it."""
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def _document(report: Report, plots: Sequence[Plot]) -> dict[str, object]:
    # Findings come first: they have the first call on the room that there is for thumbnails.
    album = _Album(report.evidence.content)
    claimed = {found.gate: found.claim for found in report.findings}
    return {
        "verdict": report.verdict,
        "error": report.error,
        "invalid": wording.invalid(report.gates, report.findings),
        "since": None
        if report.comparison is None
        else {"over": report.comparison.over, "sentences": report.comparison.sentences},
        "notice": NO_CERTIFICATE,
        "warning": WARNING,
        "facts": facts(report),
        "why": list(reasons.reasons(report)),
        "stopped": report.stopped,
        "lead": lead_of(report),
        "next_step": reasons.next_step(report, "below"),
        # Of a run in rounds that is said with them.
        "further": "" if report.stopped else reasons.further(report),
        "about": about(report),
        "terms": terms(report),
        "asks": _asks(report),
        "changes": wording.CHANGES,
        "ideal": wording.IDEAL,
        "findings": [
            {
                "gates": wording.together(gates),
                "score": gates[0].entry.score,
                "verdict": gates[0].verdict,
                "claims": [claimed.get(gate.name) or claims.claim(gate, report.benchmarks) for gate in gates],
                "numbers": "; ".join(map(claims.against_limit, gates)),
                "topics": [_topic(topic, album) for topic in found.topics],
            }
            for gates, found in wording.merged(report.gates, report.findings)
        ],
        "gates": [_gate(gate, report) for verdict, _ in WORDS for gate in report.gates if gate.verdict is verdict],
        "scores": [_score(entry) for entry in report.entries],
        "cells": [_cell(cell, report) for cell in report.evidence.cells],
        "samples": _samples(report, album),
        "numbers": "\n".join([*terminal.numbers(report), *terminal.examples(report)]).strip("\n"),
        # How far a run in rounds went, and how sure its intervals are, is said elsewhere.
        "notes": [note for note in report.notes if not report.rounds or not note.startswith(report.rounds)],
        "plots": [{"title": plot.title, "alt": plot.alt, "image": _image(plot)} for plot in plots],
    }


def lead_of(report: Report) -> str:
    """The first sentence of why: what a reader came for."""
    error = () if report.error is None else (f"Error: {report.error}",)
    stops = (*error, *wording.invalid(report.gates, report.findings))
    return next(iter((*stops, *reasons.reasons(report))), "")


def terms(report: Report) -> list[tuple[str, str]]:
    """What words of the page mean: the tasks and contexts that were asked, the rates, and what a gate's row shows."""
    known, markers = report.benchmarks.tasks, report.benchmarks.markers
    tasks = {
        _task(entry.modality, entry.task): known[entry.modality, entry.task][1].about
        for entry in report.entries
        if (entry.modality, entry.task) in known
    }
    contexts = {entry.context: markers[entry.context] for entry in report.entries if entry.context in markers}
    return [_interval(report), *TERMS, *tasks.items(), *contexts.items()]


def _interval(report: Report) -> tuple[str, str]:
    """What an interval is, with the confidence that those of this run have."""
    sure = {100 * (1 - (1 - CONFIDENCE) * entry.level) for entry in report.entries}
    told = " to ".join(dict.fromkeys(f"{each:.3g}" for each in (min(sure), max(sure)))) if sure else "95"
    looks = ", so that all looks of a run in rounds err no more often than one" if len(sure) > 1 else ""
    of = f"the score for all replies that the model would give, and where it lies with {told} % confidence{looks}"
    return "estimate, interval", of


def _task(modality: str, task: str) -> str:
    return str(task) if modality == Modality.TEXT else f"images, {task}"


def _image(plot: Plot) -> str | None:
    body, kind = (plot.svg, "svg+xml") if plot.svg else (plot.png, "png")
    return f"data:image/{kind};base64,{base64.b64encode(body).decode()}" if body else None


def facts(report: Report) -> list[tuple[str, str]]:
    """What a reader asks of a report first, as pairs of a label and a value."""
    pairs = [
        ("Date", report.date),
        ("Plan", report.part),
        ("Limits", f"{report.limits}{f' (sha256 {report.limits_hash[:12]}…)' if report.limits_hash else ''}"),
        ("Cost", _cost(report)),
    ]
    return [(label, value) for label, value in pairs if value]


def _cost(report: Report) -> str:
    calls = counted(report.calls.asked, "call")
    return f"{report.cost:.2f} USD, {calls}" if report.cost is not None else f"{calls}; no price is known"


def about(report: Report) -> list[tuple[str, str]]:
    """How the model was gated, as pairs of a label and a value."""
    calls, tokens = report.calls, report.tokens
    pairs = [
        ("Seed", str(report.seed)),
        ("Profiles", report.profiles),
        ("Answer key", report.key),
        ("Judge", report.judge or ""),
        ("Data version", report.data_version),
        ("Ledger", report.ledger),
        ("fairgate", report.version),
        ("Cases", _cases(report)),
        ("Rounds", report.rounds),
        (
            "Calls",
            f"{calls.asked:,} asked, {calls.reused:,} reused, {calls.missing:,} missing, {calls.failed:,} failed",
        ),
        ("Tokens", f"{tokens.prompt:,} in prompts, {tokens.completion:,} in replies" if tokens.prompt else ""),
    ]
    return [(label, value) for label, value in pairs if value]


def _cases(report: Report) -> str:
    ends = report.cases
    numbers = ((ends.failed, "failed"), (ends.broken, "errors"), (ends.inconclusive, "inconclusive"))
    return ", ".join([f"{ends.passed} passed", *(f"{n} {word}" for n, word in numbers if n)])


def _topic(topic: Example, album: _Album) -> dict[str, object]:
    reply = topic.reply
    told: dict[str, object] | None = None
    if reply is not None:
        said = None if reply.reply is None else wording.shortened(reply.reply, REPLY)
        told = {
            "asked": wording.question(reply, 400),
            "named": ", ".join(reply.named.values()),
            "prompt": wording.shortened(reply.prompt, PROMPT),
            "options": [f"{each.letter}. {each.text or ' '.join(each.groups.values())}" for each in reply.options],
            "chosen": reply.chosen,
            "reply": said,
            "meant": wording.meant(reply),
        }
        if reply.drawn is not None and reply.drawn.image is not None:
            told |= {"painted": True, "image": album.of(reply.drawn.image)}
    return {"sentence": topic.sentence, "cell": topic.cell, "reply": told}


def _where(entry: ScoreResult) -> dict[str, object]:
    return {
        "benchmark": entry.benchmark,
        "task": _task(entry.modality, entry.task),
        "context": entry.context or "",
        "attribute": entry.attribute or entry.group or "",
        "score": entry.score,
    }


def _gate(gate: GateResult, report: Report) -> dict[str, object]:
    entry, room = gate.entry, reasons.margin(gate)
    spec = report.benchmarks.score(entry.score, entry.modality, entry.task)
    return _where(entry) | {
        "name": wording.short(entry),
        "asks": "" if spec is None else spec.question.rstrip(";"),
        "verdict": gate.verdict,
        "rate": entry.score in RATES,
        "value": entry.value,
        "strays": wording.strays(entry),
        "estimate": entry.estimate,
        "low": entry.ci[0],
        "high": entry.ci[1],
        "best": None if entry.ceiling is None else entry.ceiling[0],
        "min": gate.limit.min,
        "max": gate.limit.max,
        "signed": entry.signed,
        "limit": wording.limit(gate),
        "margin": room if isfinite(room) else None,
        "change": wording.is_change(gate),
        "limitReason": gate.limit.reason,
        # What the row says already is not said twice.
        "reason": wording.why(gate),
    }


def _score(entry: ScoreResult) -> dict[str, object]:
    return _where(entry) | {
        "scoring": entry.scoring,
        "value": entry.value,
        "strays": wording.strays(entry),
        "estimate": entry.estimate,
        "low": entry.ci[0],
        "high": entry.ci[1],
        "best": None if entry.ceiling is None else entry.ceiling[0],
        "n": entry.n,
        "topics": f"{entry.topics[0]} of {entry.topics[1]}",
    }


def _asks(report: Report) -> dict[str, str]:
    """What each score that is shown asks, by its name; with the benchmark's where two have one of that name."""
    shown = {
        spec: entry.benchmark
        for entry in report.entries
        if (spec := report.benchmarks.score(entry.score, entry.modality, entry.task)) is not None
    }
    names = Counter(spec.name for spec in shown)
    return {
        spec.name if names[spec.name] == 1 else f"{spec.name} ({report.benchmarks.title(benchmark)})": spec.asks
        for spec, benchmark in shown.items()
    }


def _has_right_answers(cell: Cell, report: Report) -> bool:
    known = report.benchmarks.tasks.get((cell.modality, cell.task))
    return known is not None and known[1].facts


def _cell(cell: Cell, report: Report) -> dict[str, object]:
    kinds = {str(kind): cell.kinds.get(kind, 0) for kind in NO_ANSWER}
    kinds[AnswerKind.FAILED] -= cell.unasked
    unanswered = {
        name.replace(NOT_ASKED, "not asked"): n for name, n in (kinds | {NOT_ASKED: cell.unasked}).items() if n
    }
    return {
        "name": cell.name,
        "benchmark": cell.benchmark,
        "task": _task(cell.modality, cell.task),
        "context": cell.context or "",
        "attribute": cell.attribute or "",
        "about": cell.about,
        "level": cell.level or "",
        "topic": cell.topic,
        "counts": cell.counts,
        "truth": {group: 100 * share.true for group, share in cell.truth.items()},
        "n": sum(cell.counts.values()),
        "unanswered": unanswered,
        "answer": cell.answer,
        "verdict": cell.verdict,
        "facts": _has_right_answers(cell, report),
        "command": cell.command,
    }


def _samples(report: Report, album: _Album) -> dict[str, object]:
    topics: dict[str, list[Cell]] = {}
    for cell in report.evidence.cells:
        topics.setdefault(cell.topic, []).append(cell)
    # Then topics whose cells failed.
    order = sorted(topics, key=lambda topic: all(cell.verdict is not Verdict.FAIL for cell in topics[topic]))
    return {topic: _of_topic(report.evidence.read(topic), topics[topic], album) for topic in order}


class _Album:
    """Thumbnails for the page: a few of each topic, each image once, and no more than there is room for."""

    def __init__(self, content: Callable[[str], bytes]) -> None:
        self.content, self.left = content, PICTURE_BYTES
        self.here = has_pillow()
        self.known: dict[str, str | None] = {}

    def of(self, image: str) -> str | None:
        """The image as a `data:` URI of our own making, None where it is no picture, gone, or there is no room."""
        if self.here and self.left > 0 and image not in self.known:
            self.known[image] = thumbnails.data_uri(self.content(image), THUMBNAIL)
            self.left -= len(self.known[image] or "")
        return self.known.get(image)


def _of_topic(samples: Sequence[Shown], cells: Sequence[Cell], album: _Album) -> dict[str, object]:
    orders = [telling_first(samples, cell.attribute, cell.counts) for cell in cells]
    # Cells that share their samples take turns, so that each has its telling ones here.
    turns = (sample for places in zip(*orders, strict=True) for sample in places)
    kept = list({sample.id: sample for sample in turns}.values())[:SHOWN]
    told: dict[str, object] = {"all": len(samples), "shown": [_sample(each) for each in kept]}
    images = [each.drawn.image for each in kept if each.drawn is not None and each.drawn.image is not None]
    if images:
        found = {image: uri for image in images[:PICTURES] if (uri := album.of(image)) is not None}
        told |= {"pictures": found, "unpictured": sum(image not in found for image in images)}
    return told


def _sample(sample: Shown) -> dict[str, object]:
    """A sample; what is empty is left out, to keep the page small."""
    prompt = "\n\n".join([*(f"{role}: {text}" for role, text in sample.turns), sample.prompt])
    options: Iterable[tuple[str, Mapping[str, str]]] = ((each.letter, each.groups) for each in sample.options)
    found: dict[str, object] = {
        "id": sample.id,
        "to": str(sample.to),
        "prompt": wording.shortened(prompt, PROMPT),
        "reply": None if sample.reply is None else wording.shortened(sample.reply, REPLY),
        "kind": str(sample.kind),
        "how": sample.how,
        "options": list(options),
        "chosen": sample.chosen,
    }
    found |= {"asked": wording.asked(sample)} if sample.drawn is None else _drawn(sample.drawn)
    return {name: value for name, value in found.items() if value is not None and value != []}


def _drawn(image: Drawn) -> dict[str, object]:
    """What was found in an image, by attribute in words, and the groups to choose by."""
    attributes = list(dict.fromkeys(name for face in image.faces for name in face.groups))
    return {
        "image": image.image,
        "state": image.state,
        "found": {name: image.told(name) for name in attributes},
        "groups": {name: [face.groups[name][0] for face in image.faces] for name in attributes},
    }
