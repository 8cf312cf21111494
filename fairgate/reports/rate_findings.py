"""Why a limit on refused, unreadable, truncated or failed samples failed, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import FAILED
from fairgate.benchmarks.limits import RATES
from fairgate.core.domain import AnswerKind, Modality

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fairgate.benchmarks.evidence import Evidence
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.score_result import ScoreResult

MOST = 3  # topics of a finding
LONGER = (
    "cut at a limit of tokens: raise it by --model-arg max_tokens=4096 (of OpenAI's reasoning models "
    "max_completion_tokens, of hf/ and vllm/ max_new_tokens), or let the model think less (reasoning_effort=low)"
)


def rate_findings(gates: Iterable[GateResult], evidence: Evidence) -> Iterator[Finding]:
    """The topics with most such samples, each with one of them."""
    for gate in gates:
        if gate.verdict in FAILED and gate.entry.score in RATES:
            yield Finding(gate.name, tuple(_topics_of_rate(gate.entry, evidence)), _rate(gate.entry))


def _rate(entry: ScoreResult) -> str:
    if entry.modality is Modality.IMAGE:
        became = "show no face" if entry.score == AnswerKind.NO_FACE else f"are {entry.score}"
        return f"too many of {entry.n:,} images {became}"
    said = f"too many of {entry.n:,} samples were {entry.score}"
    return f"{said} ({LONGER})" if entry.score == AnswerKind.TRUNCATED else said


def _topics_of_rate(entry: ScoreResult, evidence: Evidence) -> Iterator[Example]:
    kind = AnswerKind(entry.score)
    mine = (entry.benchmark, entry.modality, entry.task, entry.context)
    cells = {
        cell.topic: cell
        for cell in evidence.cells
        if (cell.benchmark, cell.modality, cell.task, cell.context) == mine and cell.kinds.get(kind)
    }
    for cell in sorted(cells.values(), key=lambda each: -each.kinds[kind] / each.samples)[: MOST - 1]:
        replies = [each for each in evidence.read(cell.topic) if each.kind is kind]
        # What counts in a conversation is its end.
        reply = (replies[-1] if cell.level is None else replies[0]) if replies else None
        about = cell.about if cell.level is None else f"{cell.about}, {cell.level}"
        yield Example(f"{cell.kinds[kind]} of {cell.samples} samples about {about}", cell.name, reply)
