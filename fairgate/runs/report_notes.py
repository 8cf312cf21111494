"""What a reader of a run's scores must know, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import Verdict
from fairgate.core.plural import counted
from fairgate.gating.gate import further

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.benchmarks.base import InterimAnalysis
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.score_result import Where
    from fairgate.runs.run import Run
    from fairgate.runs.scoring import RunScores
    from fairgate.runs.selection import Selection


def notes_of(run: Run, selection: Selection, scores: RunScores, rounds: str) -> Iterator[str]:
    """Of the benchmarks, of `rounds`, of reviewers' marks and of how choices were asked for."""
    answer_format = run.settings.answer_format
    yield from dict.fromkeys(note for part in scores.parts for note in part.scored.notes)
    if looks := run.benchmarks.settled:
        ends = [100 * end(look.confidence for look in looks.values()) for end in (min, max)]
        sure = " to ".join(dict.fromkeys(f"{each:.1f}" for each in ends))
        yield (
            f"{rounds} Intervals of what was asked in rounds have {sure} % confidence, so "
            "that all looks together err no more often than one."
        )
    yield from _of_marks(run, selection)
    if scores.weighed.asked:
        yield f"{scores.weighed.sentence} Scores @soft are of the known: what the model would choose, drawing by them."
    if answer_format != "text":
        yield (
            f"Choices were asked for with --answer-format {answer_format}: the server kept them to a form."
            " Without it a model may refuse more, or be less readable."
        )
    if any(entry.partial for entry in scores.entries):
        yield "Scores with (n/m) behind their name cover n of m topics only; the leaderboard row needs all asked."


def rounds_of(run: Run, selection: Selection, gates: Sequence[GateResult], calls: int) -> tuple[str, str]:
    """How far a run in rounds went, and what stopped it before all was decided; empty of another.

    `calls`: of the whole run.
    """
    looks = run.benchmarks.settled
    if not looks:
        return "", ""
    topics = [topic for topic in selection.asked if run.benchmarks.stratum(topic) in looks]
    asked, whole = (sum(plan.of(each).answers(each) for each in topics) for plan in (run.benchmarks, run.whole))
    ends = {gate.verdict for gate in gates}
    stratum_of = _strata(run, selection)
    undecided = [gate for gate in gates if gate.verdict is Verdict.INCONCLUSIVE]
    still_open = {stratum_of.get(gate.entry.where, "") for gate in undecided} & looks.keys()
    if Verdict.FAIL in ends:
        decided = sum(_is_decided(gate, looks.get(stratum_of.get(gate.entry.where, ""))) for gate in undecided)
        told = f"about {decided:,} of the {counted(len(undecided), 'undecided gate')}" if decided else "single tests"
        again = f"run again with --no-stop-early ({counted(whole - asked, 'more call')})"
        why = "a gate failed"
        stopped = f"The run stopped early, since a gate failed. To decide {told}: {again}." if asked < whole else ""
    elif Verdict.INCONCLUSIVE not in ends:
        why, stopped = "every gate is decided", ""
    elif any(looks[stratum].asked < looks[stratum].whole for stratum in still_open):
        ended = "the run did not ask further about gates that are undecided by these limits"
        why = ended if run.settings.replay else "the budget does not allow a further round"
        stopped = f"The run stopped early: {why}."
    else:
        why, stopped = "gates that are undecided were asked about to the end of the plan", ""
    at_once = calls - asked
    others = f" (and {at_once:,} that are asked at once: {calls:,} in all)" if at_once > 0 else ""
    return f"Asked in rounds, {asked:,} of {whole:,} calls{others}: {why}.", stopped


def _strata(run: Run, selection: Selection) -> dict[Where, str]:
    """The strata whose answers scores count, by what the scores are about; of what is asked in rounds alone."""
    return {
        (case.topic.benchmark, case.topic.modality, case.topic.task, case.context): stratum
        for case in selection.cases
        if (stratum := run.benchmarks.stratum(case.topic)) is not None
    }


def _is_decided(gate: GateResult, look: InterimAnalysis | None) -> bool:
    """Whether the rest of the plan would decide an open gate, were its estimate to stay where it is."""
    multiple = None if look is None else further(gate.limit, gate.entry)
    return look is not None and multiple is not None and multiple <= look.whole / look.asked - 1


def _of_marks(run: Run, selection: Selection) -> Iterator[str]:
    if not run.participants.roles:
        return
    asked = {topic.id for topic in selection.asked}
    with run.participants.ledger() as ledger:
        marked = ledger.marks.marked(run.participants.identity_of(role) for role in run.participants.roles)
    count = sum(query.partition("#")[0] in asked for query in marked)
    if count:
        were = "reply was" if count == 1 else "replies were"
        yield f"{count:,} {were} marked by a reviewer, and count{'s' if count == 1 else ''} as marked."
