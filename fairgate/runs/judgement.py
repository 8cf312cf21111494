"""(run, ledger, cases' verdicts) -> Report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fairgate import __version__
from fairgate.benchmarks.evidence import NOT_ASKED
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.limits import RATES
from fairgate.benchmarks.paired import Basis
from fairgate.benchmarks.registry import registry
from fairgate.benchmarks.sections import merged
from fairgate.benchmarks.weighed import Weighed
from fairgate.comparison.paired_comparison import compare
from fairgate.comparison.paired_comparison import gates as drop_gates
from fairgate.core.domain import AnswerKind, Modality, Role
from fairgate.core.errors import FairgateError
from fairgate.gating.gate import judge, waive
from fairgate.options.settings import INCONCLUSIVE_EXIT
from fairgate.reports.rate_findings import rate_findings
from fairgate.reports.report import Calls, CaseCount, Comparison, Report, Tokens
from fairgate.runs.evidence import evidence_of
from fairgate.runs.save_baseline import kept, sides_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fairgate.benchmarks.base import AnyBenchmark, Circumstances, Scored
    from fairgate.benchmarks.case import Case
    from fairgate.benchmarks.evidence import Cell, Evidence
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.plot_spec import Sketch
    from fairgate.benchmarks.selection_rates import SelectionRates
    from fairgate.core.domain import Topic
    from fairgate.runs.run import Run
    from fairgate.runs.sampling import Sampling
    from fairgate.sampling.sampler import Progress

KNOWN = 0.9  # of choices must have probabilities where these are what is judged
# What a run's error is called where only its cases know more of it.
BROKEN = "cases ended in an error"


@dataclass(frozen=True)
class Part:
    """What came of one benchmark: its selected cases, their counts, and the scores."""

    benchmark: AnyBenchmark
    cases: tuple[Case, ...]
    held: Any
    scored: Scored


def report_of(sampling: Sampling, verdicts: Mapping[Case, Verdict]) -> Report:
    """Score and judge what the ledger, or a result folder, holds of the selected cases."""
    run = sampling.run
    settings, participants, limits = run.settings, run.participants, run.thresholds
    with participants.stored() as reply:
        now = run.circumstances(reply)
        try:
            parts = tuple(_parts(sampling, now))
        except (MemoryError, ImportError) as error:
            # A library that finds no memory while it is loaded is an ImportError.
            raise FairgateError(
                f"the samples cannot be scored: {type(error).__name__}: {error}.",
                where=str(settings.ledger),
                hint="Every sample is stored. Give the process more memory, then judge the ledger again.",
            ) from error
    entries = tuple(entry for part in parts for entry in part.scored.entries)
    # A part of a run decides nothing: its gates wait for the other parts.
    shard = settings.shard is not None or (run.past is not None and bool(run.past.lost_shards))
    held = judge(entries, limits.under(settings.plan), _lost(sampling))
    gates = () if shard else waive(held, limits, settings.today)
    comparison, drops = (None, ()) if shard else _compared(sampling)
    failed = _failed(run)
    evidence = evidence_of(
        run, {case: _cell(run, part, case, failed, verdicts) for part in parts for case in part.cases}
    )
    ends = Counter(verdicts.get(case, Verdict.TROUBLE) for case in sampling.cases)
    named = {each: participants.label(each) if each in participants.modalities else None for each in Modality}
    judged = Role.JUDGE in participants.roles and any(
        run.benchmarks.of(topic).needs_judge(topic) for topic in sampling.asked
    )
    return Report(
        version=__version__,
        data_version=run.data_version,
        model=named[Modality.TEXT],
        t2i_model=named[Modality.IMAGE],
        given=settings.given,
        control=_is_control(run, Role.MODEL),
        t2i_control=_is_control(run, Role.IMAGE_MODEL),
        detector=None if now.detector is None else now.detector.label,
        plan=settings.plan if settings.per_topic is None else f"{settings.plan} with --per-topic {settings.per_topic}",
        seed=settings.seed,
        profiles=run.profiles,
        key=settings.key,
        scoring=settings.scoring,
        ledger=run.ledger_shown,
        entries=entries,
        gates=(*gates, *drops),
        findings=tuple(_findings(parts, gates, now, evidence)),
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
        benchmarks=registry(),
        tables=_tables(parts),
        sections=merged(section for part in parts for section in part.scored.sections),
        sketches=partial(_sketches, parts, evidence),
        instruments=tuple(section for part in parts for section in part.scored.instruments),
        selection_rates=partial(_selection_rates, parts),
        notes=tuple(_notes(sampling, parts, gates)),
        rounds=_rounds(sampling, gates),
        weighed=Weighed.of(part.scored.weighed for part in parts),
        trouble=_trouble(sampling, parts, ends[Verdict.TROUBLE]),
        inconclusive_exit=INCONCLUSIVE_EXIT[settings.inconclusive],
        outcomes=outcomes_of(parts, failed),
        judge=participants.identity_of(Role.JUDGE).label if judged else None,
        evidence=evidence,
        date=settings.today.isoformat(),
        limits=settings.thresholds.name,
        limits_hash=sha256(settings.thresholds.read_bytes()).hexdigest(),
        comparison=comparison,
        shard=None if settings.shard is None else "{}/{}".format(*settings.shard),
    )


def _parts(sampling: Sampling, now: Circumstances) -> Iterator[Part]:
    for benchmark in sampling.run.benchmarks.all:
        cases = sampling.of(benchmark)
        held = benchmark.tally(cases, now.reply) if cases else None
        if held is not None:
            yield Part(benchmark, cases, held, benchmark.score(cases, held, now))


def _tables(parts: Iterable[Part]) -> dict[str, Any]:
    """The tables for programs, by key; a table that several add to has what each of them added."""
    found: dict[str, Any] = {}
    for name, table in (each for part in parts for each in part.scored.tables.items()):
        there = found.get(name)
        found[name] = {**there, **table} if isinstance(there, Mapping) else table
    return found


def _sketches(parts: Iterable[Part], evidence: Evidence) -> Iterator[Sketch]:
    for part in parts:
        name, modality = part.benchmark.name, part.benchmark.modality
        cells = [each for each in evidence.cells if (each.benchmark, each.modality) == (name, modality)]
        yield from part.benchmark.sketches(part.scored.entries, cells)


def _selection_rates(parts: Iterable[Part]) -> Iterator[SelectionRates]:
    for part in parts:
        yield from part.benchmark.selection_rates(part.held)


def _is_control(run: Run, role: Role) -> bool:
    return role in run.participants.roles and run.participants.identity_of(role).provider == "control"


def _failed(run: Run) -> Counter[str]:
    """By topic how many samples this run asked for without a reply."""
    if not run.participants.roles:
        return Counter()
    with run.participants.ledger() as ledger:
        return ledger.failed(run.id)


def _cell(run: Run, part: Part, case: Case, failed: Counter[str], verdicts: Mapping[Case, Verdict]) -> Cell:
    cell = part.benchmark.cell(case, part.held)
    asked = sum(failed[topic.id] for topic in counted_topics(case))
    unasked = max(cell.kinds.get(AnswerKind.FAILED, 0) - asked, 0)
    return replace(cell, verdict=verdicts.get(case, Verdict.TROUBLE), command=run.command(case), unasked=unasked)


def _findings(
    parts: Iterable[Part], gates: Sequence[GateResult], now: Circumstances, evidence: Evidence
) -> Iterator[Finding]:
    """Why each gate failed, in the order of the gates."""
    found = [*rate_findings(gates, evidence)]
    for part in parts:
        name, modality = part.benchmark.name, part.benchmark.modality
        own = [
            g for g in gates if (g.entry.benchmark, g.entry.modality) == (name, modality) and g.entry.score not in RATES
        ]
        found += part.benchmark.findings(own, part.held, now, evidence)
    places = {gate.name: place for place, gate in enumerate(gates)}
    yield from sorted(found, key=lambda each: places[each.gate])


def counted_topics(case: Case) -> Sequence[Topic]:
    """The topics that a case counts: its own, where it compares that with others; else all."""
    return (case.topic,) if case.topic in case.topics else case.topics


def outcomes_of(parts: Sequence[Part], failed: Counter[str]) -> dict[str, dict[str, int]]:
    """Samples by what became of them, of each benchmark that anything was asked for.

    `failed`: by topic how many samples were asked for in vain.
    """
    cases = [case for part in parts for case in part.cases]
    counted = {topic.id for case in cases for topic in counted_topics(case)}
    compared = {topic.id for case in cases for topic in case.topics} - counted
    kinds: dict[str, Counter[AnswerKind]] = {}
    images = set[str]()
    for part in parts:
        if part.scored.outcomes is not None:
            kinds.setdefault(part.benchmark.name, Counter()).update(part.scored.outcomes)
            images |= {part.benchmark.name} if part.scored.images else set()
    found = {name: _rates(counted, images=name in images) for name, counted in kinds.items()}
    for benchmark, rates in found.items():
        own = (topic for topic in failed if topic.partition("/")[0] == benchmark and topic not in compared)
        asked = sum(failed[topic] for topic in own)
        unasked = max(rates["failed"] - asked, 0)
        if unasked:
            rates |= {"failed": rates["failed"] - unasked, NOT_ASKED: unasked}
    return found


def _rates(kinds: Counter[AnswerKind], *, images: bool) -> dict[str, int]:
    others = AnswerKind.TRUNCATED if images else AnswerKind.NO_FACE
    rates = [rate for rate in RATES if rate != others]
    return {"samples": kinds.total(), **{rate: kinds[AnswerKind(rate)] for rate in rates}}


def _notes(sampling: Sampling, parts: Sequence[Part], gates: Sequence[GateResult]) -> Iterator[str]:
    """What a reader of the scores must know."""
    answer_format = sampling.run.settings.answer_format
    yield from dict.fromkeys(note for part in parts for note in part.scored.notes)
    if looks := sampling.run.benchmarks.settled:
        ends = [100 * end(look.confidence for look in looks.values()) for end in (min, max)]
        sure = " to ".join(dict.fromkeys(f"{each:.1f}" for each in ends))
        yield (
            f"{_rounds(sampling, gates)} Intervals of what was asked in rounds have {sure} % confidence, so that all "
            "looks together err no more often than one."
        )
    yield from _of_marks(sampling)
    if sentence := Weighed.of(part.scored.weighed for part in parts).sentence:
        yield f"{sentence} Scores @soft are of these alone: what the model would choose if it drew by them."
    if answer_format != "text":
        yield (
            f"Choices were asked for with --answer-format {answer_format}: the server kept them to a form."
            " Without it a model may refuse more, or be less readable."
        )
    if any(entry.partial for part in parts for entry in part.scored.entries):
        yield "Scores with (n/m) behind their name cover n of m topics only; the leaderboard row needs all asked."


def _rounds(sampling: Sampling, gates: Sequence[GateResult]) -> str:
    """How far a run in rounds went, and why no further; empty of another."""
    run, looks = sampling.run, sampling.run.benchmarks.settled
    if not looks:
        return ""
    topics = [topic for topic in sampling.asked if run.benchmarks.stratum(topic) in looks]
    asked, whole = (sum(plan.of(each).answers(each) for each in topics) for plan in (run.benchmarks, run.whole))
    ends = {gate.verdict for gate in gates}
    if Verdict.FAIL in ends:
        why = "a gate failed. More answers would decide open gates, and single tests (--no-stop-early)"
    elif Verdict.INCONCLUSIVE not in ends:
        why = "every gate is decided"
    elif any(looks[stratum].asked < looks[stratum].whole for stratum in _open_strata(sampling, gates) & looks.keys()):
        why = "the budget does not allow a further round"
    else:
        why = "gates that are open were asked about to the end of the plan"
    return f"Asked in rounds, {asked:,} of {whole:,} calls: {why}."


def _open_strata(sampling: Sampling, gates: Sequence[GateResult]) -> set[str]:
    """The strata of which a gate is open."""
    entries = [gate.entry for gate in gates if gate.verdict is Verdict.INCONCLUSIVE]
    there = {(entry.benchmark, entry.modality, entry.task, entry.context) for entry in entries}
    topics = {
        case.topic
        for case in sampling.cases
        if (case.topic.benchmark, case.topic.modality, case.topic.task, case.context) in there
    }
    return {stratum for topic in topics if (stratum := sampling.run.benchmarks.stratum(topic)) is not None}


def _of_marks(sampling: Sampling) -> Iterator[str]:
    run = sampling.run
    if not run.participants.roles:
        return
    asked = {topic.id for topic in sampling.asked}
    with run.participants.ledger() as ledger:
        marked = ledger.marks.marked(run.participants.identity_of(role) for role in run.participants.roles)
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
    now = run.circumstances(lambda _: None)
    basis = Basis(now.key, now.seed, now.calibration, now.detector)
    found, scored = compare(run.baseline, kept(sampling), sides_of(run), basis, frozenset(sampling.cases))
    return found, waive(drop_gates(scored, limits.baseline, settings.plan), limits, settings.today)


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


def _trouble(sampling: Sampling, parts: Sequence[Part], broken: int) -> str | None:
    if sampling.trouble is not None:
        return str(sampling.trouble)
    unfit = next((part.scored.unfit for part in parts if part.scored.unfit is not None), None)
    if unfit is not None:
        return f"The judge is not fit: {unfit}. Nothing that it judged is a verdict on the model."
    allowed = sampling.run.thresholds.allowed.failed
    entries = (entry for part in parts for entry in part.scored.entries)
    if any(entry.score == "failed" and (entry.value or 0.0) > allowed for entry in entries):
        progress = sampling.progress
        if not progress.failed:
            return "Samples that were planned are not in the ledger. Run again: only these are asked."
        return f"{progress.failed:,} of {sampling.planned:,} samples failed. The last: {progress.last_failure}"
    if sampling.run.of_drift and (few := _too_few(parts)) is not None:
        return few
    return f"{broken} {BROKEN}" if broken else None


def _too_few(parts: Iterable[Part]) -> str | None:
    """Why drift cannot be judged: too few choices have probabilities, and those that have are a selection."""
    found = Weighed.of(part.scored.weighed for part in parts)
    if found.known >= KNOWN * found.counts.total():
        return None
    return f"{found.sentence} Fewer than {100 * KNOWN:.0f} % are no base for what moved."
