"""How every renderer says a score, a limit and a number, so that all of them say the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import FAILED, Verdict
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.redaction import without_orders
from fairgate.reports.numbers import estimate, interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.evidence import Shown
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.score_result import ScoreResult

CHANGES = (
    "What is beyond chance since the baseline is told by a test, query by query, with all that are compared in view; "
    "an interval is of one change alone, and wider, so that it can seem to say otherwise. A limit on a change fails "
    "where the change is beyond chance and its estimate beyond the limit; it passes where the interval is within."
)
IDEAL = (
    "value: of these replies alone; with few replies it is biased, so that it can lie outside the interval of the "
    "estimate, which corrects that. ideal: expected for an ideal model with as many replies; chance puts a model a "
    "little above or below it."
)
# What the row of a gate shows by its interval and its limit.
DECIDED = re.compile(
    r"the whole interval (\[[^]]*\] )?is "
    r"(on the right side|(?P<beyond>above|below) the limit( of [-.0-9]+)?)([;,] (but )?)?"
)


def is_change(gate: GateResult) -> bool:
    """Whether a gate is a limit on what moved since the baseline."""
    return gate.entry.score.endswith("@change")


def short(entry: ScoreResult) -> str:
    """An entry's name for readers who know the benchmark: a context tells its task, which is left out then."""
    kind = "images" if entry.modality is Modality.IMAGE else None
    task = None if entry.context else entry.task
    return " ".join(str(part) for part in (kind, task, entry.context, entry.attribute, entry.score) if part)


def limit(gate: GateResult) -> str:
    """A gate's limit as a reader says it, e.g. `at least 75`."""
    if is_two_sided(gate):
        return f"within ±{gate.limit.max:g}"
    parts = []
    if gate.limit.min is not None:
        parts.append(f"at least {gate.limit.min:g}")
    if gate.limit.max is not None:
        parts.append(f"at most {gate.limit.max:g}")
    return ", ".join(parts)


def brief_limit(gate: GateResult) -> str:
    """The same in a narrow column, e.g. `>= 75`, `40-60`, `±20`."""
    if is_two_sided(gate):
        return f"±{gate.limit.max:g}"
    if gate.limit.min is not None and gate.limit.max is not None:
        return f"{gate.limit.min:g}-{gate.limit.max:g}"
    return limit(gate).replace("at least", ">=").replace("at most", "<=")


def bounds(gate: GateResult) -> tuple[float | None, float | None]:
    """What a gate is held against."""
    return gate.bounds


def is_two_sided(gate: GateResult) -> bool:
    """Whether a limit holds to both sides of 0."""
    return gate.entry.signed and gate.limit.min is None and gate.limit.max is not None


def visible(text: str) -> str:
    """On one line, and without what a terminal or a CI's runner obeys: a server's words may hold escape sequences."""
    kept = (c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return without_orders(" ".join("".join(kept).split()))


def shortened(text: str, most: int) -> str:
    """At most so many characters, and how many there were where they were more."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def asked(reply: Shown, most: int = 160) -> str:
    """The question that a sample was asked: its last question without the options; the beginning where there is none.

    What a prompt says of the form of a reply stands behind the question, and the groups that its context names before.
    """
    groups = f"[named: {', '.join(reply.named.values())}] " if reply.named else ""
    return f"{groups}{question(reply, most)}"


def question(reply: Shown, most: int) -> str:
    """The same without the groups."""
    text = reply.prompt
    if reply.options:
        text = text.partition(f"\n{reply.options[0].letter}. ")[0]
    text = " ".join(text.split())
    questions = [each for each in re.split(r"(?<=[.!?])\s+", text) if each.endswith("?")]
    if questions:
        last = questions[-1]
        return last if len(last) <= most else f"…{last[-most:]}"
    return text if len(text) <= most else f"{text[:most]}…"


def is_image(reply: Shown) -> bool:
    """Whether an image is all of a reply: its hash tells a reader nothing, what is seen in it all."""
    return reply.drawn is not None and reply.drawn.image is not None


def meant(reply: Shown) -> str:
    """The option that a reply chose, in words, or what became of it where it chose none."""
    if reply.drawn is not None:
        faces = reply.drawn.faces
        shown = (" ".join(name for name, _ in face.groups.values() if name is not None) for face in faces)
        return f"an image: {'; '.join(filter(None, shown)) or reply.drawn.state}"
    if reply.chosen is None:
        return "" if reply.kind is AnswerKind.SAID else str(reply.kind)
    option = reply.options[reply.chosen]
    groups = " ".join(option.groups.values())
    return f"{option.letter}: {option.text.rstrip('.') or groups}"


def why(gate: GateResult) -> str:
    """A gate's reason without what its row says already: nothing where that is all of it."""
    if (decided := DECIDED.match(gate.reason)) is not None:
        more = gate.reason[decided.end() :]
        is_open = gate.verdict is Verdict.INCONCLUSIVE and decided["beyond"] is not None
        return f"beyond the limit by itself, but {more}" if is_open else more
    return gate.reason.partition("straddles the limit; ")[2] or gate.reason


def strays(entry: ScoreResult) -> bool:
    """Whether a value lies outside the interval of its own estimate."""
    low, high = entry.ci
    return entry.value is not None and low is not None and high is not None and not low <= entry.value <= high


def held(gate: GateResult) -> str:
    """The score, estimate and interval that a limit was held against, with the limit."""
    entry, limits = gate.entry, bounds(gate)
    return f"{entry.score} {estimate(entry, *limits)} {interval(entry, *limits)}; the limit: {limit(gate)}"


def invalid(judged: Sequence[GateResult], findings: Sequence[Finding]) -> tuple[str, ...]:
    """What makes choices say nothing of groups, a sentence each: it stands beside the verdict."""
    found: dict[str, list[GateResult]] = {}
    for gate in judged:
        if gate.entry.validity and gate.verdict in FAILED:
            found.setdefault(f"{gate.entry.benchmark} {gate.entry.task} {gate.entry.score}", []).append(gate)
    sentences = {finding.gate: finding.sentence for finding in findings}
    return tuple(_invalid(gates, sentences) for gates in found.values())


def _invalid(gates: Sequence[GateResult], sentences: Mapping[str, str]) -> str:
    score, contexts = gates[0].entry.score, [gate.entry.context or gate.entry.task for gate in gates]
    shown = sentences.get(gates[0].name)
    example = "" if shown is None else f"{capitalised(shown)}. "
    return f"{example}The model follows {score} ({', '.join(contexts)}): its choices there say nothing of groups."


def capitalised(sentence: str) -> str:
    """With a capital letter at its beginning, and all others as they are."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def merged(
    judged: Sequence[GateResult], findings: Sequence[Finding]
) -> tuple[tuple[tuple[GateResult, ...], Finding], ...]:
    """The findings, with all the gates that failed over the same topics put together, in the gates' order."""
    gates = {gate.name: gate for gate in judged}
    over: dict[tuple[str, ...], tuple[list[GateResult], Finding]] = {}
    for found in findings:
        if found.gate in gates:
            # Nothing but its own claim tells a gate without topics from others.
            sentences = tuple(topic.sentence for topic in found.topics) or (found.gate,)
            over.setdefault(sentences, ([], found))[0].append(gates[found.gate])
    return tuple((tuple(failed), found) for failed, found in over.values())


def together(gates: tuple[GateResult, ...]) -> str:
    """Several gates as one name where they differ in the score alone: what they share, then the scores."""
    names = [short(gate.entry) for gate in gates]
    heads = {name.rpartition(" ")[0] for name in names}
    if len(heads) > 1:
        return "; ".join(names)
    return f"{names[0]}{''.join(f', {gate.entry.score}' for gate in gates[1:])}"
