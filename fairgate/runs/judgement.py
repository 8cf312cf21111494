"""(run, ledger, cases' verdicts) -> Report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairgate import __version__
from fairgate.bigbench.data import BENCHMARK as BIGBENCH
from fairgate.bigbench.findings import findings as bigbench_findings
from fairgate.bigbench.notes import notes as bigbench_notes
from fairgate.bigbench.tables import effects, stability
from fairgate.comparison.comparing import compare
from fairgate.comparison.comparing import gates as drop_gates
from fairgate.domain import AnswerKind, Modality, Role
from fairgate.f2bench.cases import BENCHMARK as F2BENCH
from fairgate.f2bench.findings import findings as f2bench_findings
from fairgate.f2bench.notes import notes as f2bench_notes
from fairgate.fact_or_fair import notes, shares
from fairgate.fact_or_fair.board import TASKS, Board, board
from fairgate.fact_or_fair.cases import BENCHMARK
from fairgate.fact_or_fair.explain import reasons_by_context, sorted_kinds
from fairgate.fact_or_fair.findings import findings
from fairgate.fact_or_fair.tally import Tallies
from fairgate.report.evidence import NOT_ASKED
from fairgate.report.report import Calls, CaseCount, Comparison, Drawn, Report, Tokens
from fairgate.runs.exhibits import evidence_of
from fairgate.runs.keeping import kept
from fairgate.runs.settings import INCONCLUSIVE_EXIT
from fairgate.verdicts.gate import Verdict, judge, waive
from fairgate.verdicts.thresholds import RATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fairgate.bigbench.benchmark import Sat
    from fairgate.f2bench.benchmark import Spoken
    from fairgate.f2bench.fitness import Fitness
    from fairgate.fact_or_fair.board import Source
    from fairgate.fact_or_fair.explain import ReasonTally
    from fairgate.report.evidence import Cell
    from fairgate.runs.benchmarks import AnyCase
    from fairgate.runs.looks import Look
    from fairgate.runs.run import Run
    from fairgate.runs.sampling import Sampling
    from fairgate.sampling.sampler import Progress
    from fairgate.verdicts.gate import GateResult
    from fairgate.verdicts.scoreboard import Entry


@dataclass(frozen=True)
class Counted:
    """What was answered for the selected cases: by modality of Fact-or-Fair, by theme, by sitter; and the reasons.

    `in_vain`: by topic how many samples this run asked for without a reply. What else failed was never asked.
    """

    sources: Mapping[Modality, Source]
    spoken: Spoken
    sat: Sat
    reasons: Mapping[str, ReasonTally]
    in_vain: Counter[str]

    def of(self, case: AnyCase) -> object:
        """What a case's benchmark counted."""
        others = {F2BENCH: self.spoken, BIGBENCH: self.sat}
        return others.get(case.topic.benchmark, self.sources.get(case.topic.modality))


def report_of(sampling: Sampling, verdicts: Mapping[AnyCase, Verdict]) -> Report:
    """Score and judge what the ledger, or a result folder, holds of the selected cases."""
    run = sampling.run
    settings, cast, limits = run.settings, run.cast, run.thresholds
    counted = _counted(sampling)
    sources, spoken, sat = counted.sources, counted.spoken, counted.sat
    boards = [_board(run, source) for source in sources.values()]
    entries = tuple(entry for each in boards for entry in each.entries)
    judging = run.f2bench.judging(spoken)
    entries += _fit(run.f2bench.entries(spoken), judging) + run.bigbench.entries(
        sampling.sitters, sat, run.sitter_mixings
    )
    # A part of a run decides nothing: its gates wait for the other parts.
    part = settings.shard is not None or (run.past is not None and bool(run.past.lost_shards))
    gates = () if part else waive(judge(entries, limits, _lost(sampling)), limits, settings.today)
    comparison, drops = (None, ()) if part else _compared(sampling)
    evidence = evidence_of(run, {case: _cell(run, case, counted, verdicts) for case in sampling.cases})
    ends = Counter(verdicts.get(case, Verdict.TROUBLE) for case in sampling.cases)
    named = {each: cast.label(each) if each in cast.modalities else None for each in Modality}
    detector = cast.identity_of(Role.DETECTOR) if Role.DETECTOR in cast.roles else None
    return Report(
        version=__version__,
        data_version=run.dataset.version,
        model=named[Modality.TEXT],
        t2i_model=named[Modality.IMAGE],
        given=settings.given,
        control=_is_control(run, Role.MODEL),
        t2i_control=_is_control(run, Role.PAINTER),
        detector=None if detector is None else detector.label,
        plan=settings.plan if settings.per_topic is None else f"{settings.plan} with --per-topic {settings.per_topic}",
        seed=settings.seed,
        profiles=str(settings.profiles),
        key=settings.key,
        scoring=settings.scoring,
        ledger=run.ledger_shown,
        entries=entries,
        gates=(*gates, *drops),
        findings=(
            *findings(gates, sources, run.dataset, settings.key, evidence),
            *f2bench_findings(gates, tuple(spoken.values()), evidence),
            *bigbench_findings(gates, tuple(sat.values()), run.bigbench.data),
        ),
        cases=CaseCount(
            passed=ends[Verdict.PASS],
            failed=ends[Verdict.FAIL],
            inconclusive=ends[Verdict.INCONCLUSIVE],
            broken=ends[Verdict.TROUBLE],
        ),
        calls=_calls(sampling.planned, sampling.progress),
        cost=sampling.progress.cost,
        tokens=Tokens(
            prompt=sampling.progress.prompt_tokens,
            completion=sampling.progress.completion_tokens,
            uncounted=sampling.progress.uncounted,
        ),
        leaderboard={name: row for each in boards for name, row in each.leaderboard.items()},
        shares=_shares(sources),
        notes=tuple(_notes(sampling, counted, entries)),
        trouble=_trouble(sampling, entries, judging, ends[Verdict.TROUBLE]),
        inconclusive_exit=INCONCLUSIVE_EXIT[settings.inconclusive],
        outcomes=_outcomes(run, counted),
        judge=cast.identity_of(Role.JUDGE).label if spoken or counted.reasons else None,
        explanations={context: sorted_kinds(each) for context, each in counted.reasons.items()} or None,
        judging=judging,
        instances=run.f2bench.instances if spoken else None,
        evidence=evidence,
        comparison=comparison,
        drawn=_drawn(run, sat),
        shard=None if settings.shard is None else "{}/{}".format(*settings.shard),
    )


def _is_control(run: Run, role: Role) -> bool:
    return role in run.cast.roles and run.cast.identity_of(role).provider == "control"


def _counted(sampling: Sampling) -> Counted:
    run = sampling.run
    with run.cast.stored() as reply:
        found = {each.modality: each.tally(sampling.of(each.modality), reply) for each in (run.text, run.images)}
        explained = [topic for topic in sampling.topics_of(Modality.TEXT) if run.text.explains(topic)]
        return Counted(
            {modality: source for modality, source in found.items() if source is not None},
            run.f2bench.tally(sampling.themes, reply) or {},
            run.bigbench.tally(sampling.sitters, reply) or {},
            reasons_by_context((topic, run.text.reasons(topic, reply)) for topic in explained),
            _in_vain(run),
        )


def _in_vain(run: Run) -> Counter[str]:
    if not run.cast.roles:
        return Counter()
    with run.cast.ledger() as ledger:
        return ledger.failed(run.id)


def _board(run: Run, source: Source) -> Board:
    painted = source.modality is Modality.IMAGE
    return board(
        source,
        run.dataset,
        key=run.settings.key,
        seed=run.settings.seed,
        mixings=run.mixings if painted else None,
        errors=run.detector_errors if painted else None,
        confidence=run.confidence,
    )


def _fit(entries: tuple[Entry, ...], judging: Iterable[Fitness]) -> tuple[Entry, ...]:
    """What an unfit judge said is shown, and no limit is held against it; what it was not asked did not fail."""
    if all(record.unfit is None for record in judging):
        return entries
    return tuple(
        replace(entry, estimate=None, ci=(None, None), failed_share=0.0, no_estimate="the judge is not fit")
        for entry in entries
    )


def _cell(run: Run, case: AnyCase, counted: Counted, verdicts: Mapping[AnyCase, Verdict]) -> Cell:
    cell = run.benchmarks.of(case.topic).cell(case, counted.of(case))
    in_vain = sum(counted.in_vain[topic.id] for topic in case.topics)
    unasked = max(cell.kinds.get(AnswerKind.FAILED, 0) - in_vain, 0)
    return replace(cell, verdict=verdicts.get(case, Verdict.TROUBLE), command=run.command(case), unasked=unasked)


def _shares(sources: Mapping[Modality, Source]) -> dict[str, dict[str, float]]:
    text, faces = (sources.get(modality) for modality in (Modality.TEXT, Modality.IMAGE))
    answered = shares.of_answers(text) if isinstance(text, Tallies) else {}
    return answered | (shares.of_faces(faces) if isinstance(faces, Tallies) else {})


def _outcomes(run: Run, counted: Counted) -> dict[str, dict[str, int]]:
    """Samples by what became of them, of each benchmark that anything was asked for."""
    cells = ((source, cell) for modality, source in counted.sources.items() for cell in TASKS[modality])
    of_statistics = sum((source.kinds(*cell) for source, cell in cells), Counter())
    found = {BENCHMARK: _rates(of_statistics, images=Modality.IMAGE in counted.sources)}
    if counted.spoken:
        found[F2BENCH] = _rates(sum((each.ends for each in counted.spoken.values()), Counter()), images=False)
    if counted.sat and run.bigbench.aligned is None:
        found[BIGBENCH] = _rates(sum((each.kinds for each in counted.sat.values()), Counter()), images=True)
    for benchmark, rates in found.items():
        in_vain = sum(n for topic, n in counted.in_vain.items() if topic.partition("/")[0] == benchmark)
        unasked = max(rates["failed"] - in_vain, 0)
        if unasked:
            rates |= {"failed": rates["failed"] - unasked, NOT_ASKED: unasked}
    return found


def _rates(kinds: Counter[AnswerKind], *, images: bool) -> dict[str, int]:
    rates = [rate for rate in RATES if images or rate != AnswerKind.NO_FACE]
    return {"samples": kinds.total(), **{rate: kinds[AnswerKind(rate)] for rate in rates}}


def _drawn(run: Run, sat: Sat) -> Drawn | None:
    portrayals, data = [each.portrayal for each in sat.values()], run.bigbench.data
    return Drawn(effects(portrayals, data), stability(portrayals, data)) if sat else None


def _notes(sampling: Sampling, counted: Counted, entries: Iterable[Entry]) -> Iterator[str]:
    """What a reader of the scores must know."""
    run = sampling.run
    cast, bigbench = run.cast, run.bigbench
    for folder in (run.text.folder, run.images.folder):
        if folder is not None:
            yield from notes.of_folder(folder)
    text, faces = (counted.sources.get(modality) for modality in (Modality.TEXT, Modality.IMAGE))
    if isinstance(text, Tallies):
        yield from notes.of_answers(text, run.text.served(sampling.topics_of(Modality.TEXT)))
    if isinstance(faces, Tallies):
        yield from notes.of_faces(faces, cast.identity_of(Role.DETECTOR), run.mixings, run.detector_errors)
    if run.look is not None:
        yield _of_look(run.look)
    if counted.sat:
        yield from bigbench_notes(counted.sat.values(), bigbench.data, bigbench.aligned, run.sitter_mixings)
    yield from _of_marks(sampling)
    if counted.reasons:
        yield from notes.of_reasons(counted.reasons.values())
    if counted.spoken:
        judge = cast.identity_of(Role.JUDGE)
        yield from f2bench_notes(tuple(counted.spoken.values()), run.f2bench.plan.instances, judge)
    if any(entry.partial for entry in entries):
        yield "Scores with (n/m) behind their name cover n of m topics only; the leaderboard row needs all."
    yield from notes.disputes(run.dataset, sampling.statistics)


def _of_look(look: Look) -> str:
    sure = (
        f"Intervals of subjective scores are of {100 * look.confidence:.1f} % confidence, so that all"
        f" {look.most} looks together err no more often than one."
    )
    if look.number == look.most:
        return f"Nothing was stopped early: some gates were open until the end. {sure}"
    share = 100 * (1 - look.subjective / look.whole)
    return (
        f"Stopped early, after {look.subjective} of {look.whole} queries a scenario, with every gate on them decided:"
        f" {share:.0f} % of the subjective queries were not needed. {sure}"
    )


def _of_marks(sampling: Sampling) -> Iterator[str]:
    run = sampling.run
    if not run.cast.roles:
        return
    asked = {topic.id for topic in sampling.asked if topic.benchmark != BIGBENCH}
    with run.cast.ledger() as ledger:
        marked = ledger.marked(run.cast.identity_of(role) for role in run.cast.roles)
    count = sum(query.partition("#")[0] in asked for query in marked)
    if count:
        were = "reply was" if count == 1 else "replies were"
        yield f"{count:,} {were} marked by a reviewer, and count{'s' if count == 1 else ''} as marked."


def _compared(sampling: Sampling) -> tuple[Comparison | None, tuple[GateResult, ...]]:
    """The run beside its baseline, and the limits on what moved."""
    run = sampling.run
    settings, limits = run.settings, run.thresholds
    if run.baseline is None or not sampling.asked:
        return None, ()
    found, scored = compare(
        run.baseline,
        kept(sampling),
        run.dataset,
        key=settings.key,
        seed=settings.seed,
        cases=frozenset(sampling.cases),
        spoken=run.f2bench.plan,
        sitters=run.bigbench.data,
        mixings=run.mixings,
    )
    return found, waive(drop_gates(scored, limits.baseline), limits, settings.today)


def _calls(planned: int, progress: Progress) -> Calls:
    asked = progress.asked + progress.failed
    return Calls(
        planned=planned,
        asked=asked,
        reused=progress.reused,
        missing=planned - asked - progress.reused,
        failed=progress.failed,
        retried=progress.retried,
    )


def _lost(sampling: Sampling) -> str:
    """What became of the samples that no answer came of: who was not asked has not failed."""
    calls = _calls(sampling.planned, sampling.progress)
    told = {"failed": calls.failed, "were not asked": calls.missing}
    return " or ".join(word for word, n in told.items() if n) or "failed"


def _trouble(sampling: Sampling, entries: Iterable[Entry], judging: Iterable[Fitness], broken: int) -> str | None:
    if sampling.trouble is not None:
        return str(sampling.trouble)
    for record in judging:
        if record.unfit is not None:
            return f"The judge is not fit: {record.unfit}. Nothing that it judged is a verdict on the model."
    allowed = sampling.run.thresholds.allowed.failed
    if any(entry.score == "failed" and (entry.value or 0.0) > allowed for entry in entries):
        progress = sampling.progress
        if not progress.failed:
            return "Samples that were planned are not in the ledger. Run again: only these are asked."
        return f"{progress.failed:,} of {sampling.planned:,} samples failed. The last: {progress.last_failure}"
    return f"{broken} cases ended in an error" if broken else None
