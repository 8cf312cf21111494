"""Why a run has its verdict, and what to do next, in a few sentences: the same in the terminal and on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.limits import RATES
from fairgate.core.plural import counted
from fairgate.gating.gate import further_answers
from fairgate.reports import claims, wording
from fairgate.reports.report import NO_CERTIFICATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.reports.report import Report

REASONS = 3  # scores that are told
NEXT_STEPS = {
    Verdict.ERROR: "Next: remove the cause and run again. The replies so far are in {ledger} and are reused.",
    Verdict.FAIL: "Next: read the replies behind the failure, {where}.",
    Verdict.INCONCLUSIVE: "Next: run again with more samples (--plan paper, or --per-topic N){further}. The replies "
    "so far are in {ledger} and are reused.",
    Verdict.PASS: NO_CERTIFICATE,
}


def reasons(report: Report) -> Iterator[str]:
    """Why the verdict is what it is, in a few sentences: of each score that fails its first gate, with its numbers."""
    if report.calls.since:
        yield (
            f"No answer is new: all {report.calls.reused:,} are from {report.ledger}, given since {report.calls.since}."
            " Of a model that changed since, ask anew: name another --ledger."
        )
    failed = by_score([gate for gate in report.gates if gate.verdict is Verdict.FAIL and not gate.entry.validity])
    said = {found.gate: found.sentence for found in report.findings}
    for score, gates in list(failed.items())[:REASONS]:
        sentence = said.get(gates[0].name) or claims.claim(gates[0], report.benchmarks)
        yield f"{wording.capitalised(sentence)}{_second(gates)}.{_of_score(score, report.gates)}"
    if len(failed) > REASONS:
        more = f"{', '.join(list(failed)[REASONS:])} {'fails' if len(failed) == REASONS + 1 else 'fail'}"
        yield f"Also {more}."
    if report.cases.failed:
        fail = "fails by itself" if report.cases.failed == 1 else "fail by themselves"
        yield f"{report.cases.failed:,} of {counted(report.cases.total, 'test')} {fail}."
    if report.verdict is Verdict.INCONCLUSIVE and report.error is None:
        n = sum(gate.verdict is Verdict.INCONCLUSIVE for gate in report.gates)
        why = "an interval straddles its limit or samples are missing."
        undecided = f"{n} of {counted(len(report.gates), 'gate')} {'is' if n == 1 else 'are'} undecided: {why}"
        yield undecided if report.gates else "No gate could be judged."
    if report.verdict is Verdict.PASS and (closest := _closest(report.gates)) is not None:
        near = f"{wording.short(closest.entry)}, {claims.against_limit(closest)}"
        yield f"No score is beyond its limit. Closest to its limit: {near}."


def next_step(report: Report, where: str = "in the report") -> str:
    """What to do next; of a run that is inconclusive, with about how many further answers would decide it.

    `where`: where the samples are.
    """
    told = further(report)
    return NEXT_STEPS[report.verdict].format(ledger=report.ledger, where=where, further=f": {told}" if told else "")


def further(report: Report) -> str:
    """About how many further answers would decide how many undecided gates; empty where that is not known."""
    answers, decided = further_answers(report.gates)
    undecided = sum(gate.verdict is Verdict.INCONCLUSIVE for gate in report.gates)
    return f"about {answers:,} further answers would decide {decided} of {undecided} undecided gates" if decided else ""


def _second(gates: Sequence[GateResult]) -> str:
    """The second failed gate of a score, named by what tells it from the first, with its numbers."""
    if len(gates) == 1 or wording.is_change(gates[0]):
        return ""
    first, second = (gate.entry for gate in gates[:2])
    pairs = ((first.task, second.task), (first.context, second.context), (first.attribute, second.attribute))
    other = " ".join(str(there) for here, there in pairs if there is not None and here != there)
    alike = gates[0].bounds == gates[1].bounds
    return f"; {other or 'another'} too: {claims.estimated(gates[1]) if alike else claims.against_limit(gates[1])}"


def _of_score(score: str, gates: Sequence[GateResult]) -> str:
    """How the gates on a score ended, where there are several."""
    ends = [gate.verdict for gate in gates if gate.entry.score == score]
    told = [
        f"{n} {word}"
        for verdict, word in ((Verdict.FAIL, "failed"), (Verdict.WAIVED, "waived"), (Verdict.PASS, "passed"))
        if (n := ends.count(verdict))
    ]
    if n := ends.count(Verdict.INCONCLUSIVE):
        told.append(f"{n} {'is' if n == 1 else 'are'} undecided")
    together = " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))
    return f" Of {len(ends)} gates on {score} {together}." if len(ends) > 1 else ""


def by_score(gates: Iterable[GateResult]) -> dict[str, list[GateResult]]:
    """The gates of each score, in their order."""
    found: dict[str, list[GateResult]] = {}
    for gate in gates:
        found.setdefault(gate.entry.score, []).append(gate)
    return found


def margin(gate: GateResult) -> float:
    """Points from the nearer end of the interval, or from the estimate, to the limit."""
    least, most = wording.bounds(gate)
    low, high = gate.entry.ci
    value = gate.entry.value if gate.entry.estimate is None else gate.entry.estimate
    low, high = (value if low is None else low), (value if high is None else high)
    margins = [] if least is None or low is None else [low - least]
    margins += [] if most is None or high is None else [most - high]
    return min(margins, default=float("inf"))


def _closest(gates: Sequence[GateResult]) -> GateResult | None:
    return min((gate for gate in gates if gate.entry.score not in RATES), key=margin, default=None)
