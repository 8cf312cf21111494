"""(what was sampled, cases' verdicts) -> Report."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from fairgate import __version__
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.paired import Basis
from fairgate.benchmarks.registry import registry
from fairgate.benchmarks.sections import merged
from fairgate.comparison.paired_comparison import compare, due_of
from fairgate.comparison.paired_comparison import gates as drop_gates
from fairgate.core.domain import Modality, Role
from fairgate.gating.gate import judge, waive
from fairgate.options.settings import INCONCLUSIVE_EXIT
from fairgate.reports.report import Calls, CaseCount, Comparison, Report, Tokens
from fairgate.runs.evidence import evidence_of
from fairgate.runs.report_notes import notes_of, rounds_of
from fairgate.runs.save_baseline import kept, sides_of
from fairgate.runs.scoring import outcomes_of, scored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fairgate.benchmarks.case import Case
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.comparison.paired_comparison import Due
    from fairgate.runs.run import Run
    from fairgate.runs.sampling import Sampled
    from fairgate.runs.scoring import RunScores
    from fairgate.runs.selection import Selection
    from fairgate.sampling.sampler import Progress

KNOWN = 0.9  # of choices must have probabilities where these are what is judged
# What a run's error is called where only its cases know more of it.
BROKEN = "cases ended in an error"


def report_of(sampled: Sampled, verdicts: Mapping[Case, Verdict]) -> Report:
    """Score and judge what the ledger, or a result folder, holds of the selected cases."""
    run, selection, progress = sampled.run, sampled.selection, sampled.progress
    settings, participants = run.settings, run.participants
    scores, calls = scored(run, selection), _calls(run, progress)
    # A part of a run decides nothing: its gates wait for the other parts.
    shard = settings.shard is not None or (run.past is not None and bool(run.past.lost_shards))
    held = judge(scores.entries, run.thresholds.under(settings.plan), _lost(calls))
    gates = () if shard else waive(held, run.thresholds, settings.today)
    comparison, drops = (None, ()) if shard else _compared(run, selection)
    failed = _failed(run)
    evidence = evidence_of(run, dict(scores.cells(run, failed, verdicts)))
    # Shards that are not here are no selection, and said apart.
    planned = len(selection.cases) if shard else sum(map(run.can_ask, run.cases.values()))
    cases = _case_count((verdicts.get(case, Verdict.ERROR) for case in selection.cases), planned)
    rounds, stopped = rounds_of(run, selection, gates, calls.asked + calls.reused)
    named = {each: participants.label(each) if each in participants.modalities else None for each in Modality}
    return Report(
        version=__version__,
        data_version=run.whole.data_version,
        model=named[Modality.TEXT],
        t2i_model=named[Modality.IMAGE],
        given=settings.given,
        control=_is_control(run, Role.MODEL),
        t2i_control=_is_control(run, Role.IMAGE_MODEL),
        detector=None if scores.now.detector is None else scores.now.detector.label,
        plan=settings.plan if settings.per_topic is None else f"{settings.plan} with --per-topic {settings.per_topic}",
        seed=settings.seed,
        profiles=run.whole.profiles,
        key=settings.key,
        scoring=settings.scoring,
        ledger=settings.ledger_shown,
        entries=scores.entries,
        gates=(*gates, *drops),
        findings=tuple(scores.findings(gates, evidence)),
        cases=cases,
        calls=calls,
        cost=progress.cost,
        tokens=Tokens(progress.prompt_tokens, progress.completion_tokens, progress.uncounted),
        benchmarks=registry(),
        tables=scores.tables,
        sections=merged(section for part in scores.parts for section in part.scored.sections),
        sketches=partial(scores.sketches, evidence),
        instruments=tuple(section for part in scores.parts for section in part.scored.instruments),
        selection_rates=scores.selection_rates,
        notes=tuple(notes_of(run, selection, scores, rounds)),
        rounds=rounds,
        stopped=stopped,
        error=_error(sampled, scores, cases.broken),
        weighed=scores.weighed,
        inconclusive_exit=INCONCLUSIVE_EXIT[settings.inconclusive],
        outcomes=outcomes_of(scores.parts, failed),
        judge=_judge(run, selection),
        evidence=evidence,
        date=settings.today.isoformat(),
        limits=settings.thresholds.name,
        limits_hash=run.limits_hash,
        comparison=comparison,
        shard=None if settings.shard is None else "{}/{}".format(*settings.shard),
    )


def _case_count(verdicts: Iterable[Verdict], planned: int) -> CaseCount:
    ends = Counter(verdicts)
    return CaseCount(
        passed=ends[Verdict.PASS],
        failed=ends[Verdict.FAIL],
        inconclusive=ends[Verdict.INCONCLUSIVE],
        broken=ends[Verdict.ERROR],
        planned=planned,
    )


def _judge(run: Run, selection: Selection) -> str | None:
    """The judge, where anything of what was asked needs one."""
    judged = any(run.benchmarks.of(topic).needs_judge(topic) for topic in selection.asked)
    there = judged and Role.JUDGE in run.participants.roles
    return run.participants.identity_of(Role.JUDGE).label if there else None


def _is_control(run: Run, role: Role) -> bool:
    return role in run.participants.roles and run.participants.identity_of(role).provider == "control"


def _failed(run: Run) -> Counter[str]:
    """By topic how many samples this run asked for without a reply."""
    if not run.participants.roles:
        return Counter()
    with run.participants.ledger() as ledger:
        return ledger.failed(run.id)


def _compared(run: Run, selection: Selection) -> tuple[Comparison | None, tuple[GateResult, ...]]:
    """The run beside its baseline, and the limits on what moved."""
    settings, limits = run.settings, run.thresholds
    if run.baseline is None or not selection.asked:
        return None, ()
    now = run.circumstances(lambda _: None)
    basis = Basis(now.key, now.seed, now.calibration, now.detector)
    cases = frozenset(selection.cases)
    answered, sides = kept(run, selection), sides_of(run)
    found, moved = compare(run.baseline, answered, sides, basis, limits, cases)
    due: Sequence[Due] = ()
    if run.of_drift or not settings.compare_common:
        due = due_of(answered, sides, basis, limits, cases, queries=run.of_drift)
    return found, waive(drop_gates(moved, limits.baseline, settings.plan, due), limits, settings.today)


def _calls(run: Run, progress: Progress) -> Calls:
    asked = progress.asked + progress.failed
    # A past run that is judged again asks nobody, and a control never changes.
    old = bool(progress.reused) and not asked and run.past is None
    remote = [role for role in (Role.MODEL, Role.IMAGE_MODEL) if role in run.participants.roles]
    remote = [role for role in remote if old and not _is_control(run, role)]
    return Calls(
        planned=progress.planned,
        asked=asked,
        reused=progress.reused,
        missing=progress.planned - asked - progress.reused,
        failed=progress.failed,
        retried=progress.retried,
        since=_since(run, remote) if remote else "",
    )


def _since(run: Run, roles: Sequence[Role]) -> str:
    """The day of the oldest reply of these models."""
    with run.participants.ledger() as ledger:
        found = [ledger.answered_since(run.participants.identity_of(role)) for role in roles]
    oldest = min((each for each in found if each is not None), default=None)
    try:
        return "" if oldest is None else datetime.fromtimestamp(oldest, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):  # no time at all: the file may be anybody's
        return ""


def _lost(calls: Calls) -> str:
    """What became of the samples that no answer came of: who was not asked has not failed."""
    told = {"failed": calls.failed, "were not asked": calls.missing}
    return " or ".join(word for word, n in told.items() if n) or "failed"


def _error(sampled: Sampled, scores: RunScores, broken: int) -> str | None:
    """Why there is no verdict on the model, None where there is one."""
    if sampled.error is not None:
        return str(sampled.error)
    if scores.unfit is not None:
        return f"The judge is not fit: {scores.unfit}. Nothing that it judged is a verdict on the model."
    allowed = sampled.run.thresholds.allowed.failed
    if any(entry.score == "failed" and (entry.value or 0.0) > allowed for entry in scores.entries):
        progress = sampled.progress
        if not progress.failed:
            return "Samples that were planned are not in the ledger. Run again: only these are asked."
        return f"{progress.failed:,} of {progress.planned:,} samples failed. The last: {progress.last_failure}"
    weighed = scores.weighed
    if sampled.run.of_drift and weighed.known < KNOWN * weighed.counts.total():
        return f"{weighed.sentence} Fewer than {100 * KNOWN:.0f} % are no base for what moved."
    if sampled.run.of_drift and weighed.is_contradicted:
        return f"{weighed.sentence} These are no probabilities of what was chosen, and no base for what moved."
    return f"{broken} {BROKEN}" if broken else None
