"""(run, ledger, cases' verdicts) -> Report."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from fairgate import __version__
from fairgate.bigbench.board import board as bigbench_board
from fairgate.bigbench.board import rates as bigbench_rates
from fairgate.bigbench.cases import SitterCase
from fairgate.bigbench.data import BENCHMARK as BIGBENCH
from fairgate.bigbench.findings import findings as bigbench_findings
from fairgate.bigbench.tables import effects, stability
from fairgate.comparison.baseline import save
from fairgate.comparison.comparing import compare
from fairgate.comparison.comparing import gates as drop_gates
from fairgate.domain import AnswerKind, Context, Modality, Role, Task
from fairgate.f2bench.board import board as f2bench_board
from fairgate.f2bench.cases import BENCHMARK as F2BENCH
from fairgate.f2bench.cases import GOLD, KINDS
from fairgate.f2bench.cases import cases as theme_cases
from fairgate.f2bench.data import Kind
from fairgate.f2bench.findings import findings as f2bench_findings
from fairgate.f2bench.fitness import Fitness, fitness
from fairgate.f2bench.swap import without_twin
from fairgate.fact_or_fair.board import TASKS, board
from fairgate.fact_or_fair.cases import BENCHMARK, OWN_TASKS, Case
from fairgate.fact_or_fair.explain import ReasonTally
from fairgate.fact_or_fair.findings import findings
from fairgate.fact_or_fair.folder import FolderSource
from fairgate.fact_or_fair.reasons import Reason
from fairgate.fact_or_fair.tally import Tallies
from fairgate.maths.proportions import clopper_pearson
from fairgate.maths.special import chdtrc
from fairgate.report.report import Calls, CaseCount, Comparison, Drawn, Report, Tokens
from fairgate.runs.exhibits import evidence_of
from fairgate.runs.settings import INCONCLUSIVE_EXIT
from fairgate.store.ledger import Ledger
from fairgate.verdicts.gate import Verdict, judge, waive
from fairgate.verdicts.thresholds import RATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairgate.bigbench.plan import SitterTally
    from fairgate.domain import Topic
    from fairgate.f2bench.plan import Plan
    from fairgate.f2bench.tally import ThemeTally
    from fairgate.fact_or_fair.board import Source
    from fairgate.fact_or_fair.faces_tally import FacesTally
    from fairgate.fact_or_fair.results import ResultFolder
    from fairgate.fact_or_fair.tally import TopicTally
    from fairgate.runs.run import AnyCase, Run, Served
    from fairgate.runs.sampling import Sampling
    from fairgate.sampling.sampler import Progress
    from fairgate.verdicts.gate import GateResult
    from fairgate.verdicts.scoreboard import Entry

MISSING_SHOWN = 5
# Of a model that picks letters by chance, one run in a thousand is said to follow position.
POSITION_ALPHA = 0.001


def report_of(sampling: Sampling, verdicts: Mapping[AnyCase, Verdict]) -> Report:
    """Score and judge what the ledger, or a result folder, holds of the selected cases."""
    run = sampling.run
    settings, dataset = run.settings, run.dataset
    selected = frozenset(case for case in sampling.cases if isinstance(case, Case))
    sources: dict[Modality, Source] = {
        modality: FolderSource(folder, modality, dataset, selected) for modality, folder in run.folders.items()
    }
    notes: list[str] = [note for folder in run.folders.values() for note in _of_folder(folder)]
    shares: dict[str, dict[str, float]] = {}
    topics = Counter(topic.modality for topic in sampling.topics)
    if topics[Modality.TEXT]:
        tallies, served = _tallied(sampling)
        sources[Modality.TEXT] = tallies
        shares |= _shares(tallies)
        notes += _of_answers(tallies, served)
    if topics[Modality.IMAGE]:
        faces = _faces(sampling)
        sources[Modality.IMAGE] = faces
        shares |= _shares_of_faces(faces)
        notes += _of_faces(run, faces)
    notes += _of_look(run)
    seen = _seen(sampling)
    if seen:
        notes += _of_sitters(run, seen)
    notes += _of_marks(sampling)
    reasons = _reasons(sampling)
    if reasons:
        notes += _of_reasons(reasons.values())
    boards = [
        board(
            source,
            dataset,
            key=settings.key,
            seed=settings.seed,
            mixings=run.mixings if modality is Modality.IMAGE else None,
            errors=run.detector_errors if modality is Modality.IMAGE else None,
            confidence=run.confidence,
        )
        for modality, source in sources.items()
        if any(case.topic.modality is modality for case in selected)
    ]
    spoken, judging = _spoken(sampling)
    entries = tuple(entry for each in boards for entry in each.entries)
    entries += _f2bench_entries(run, spoken, judging)
    entries += _bigbench_entries(sampling, seen)
    if spoken:
        notes += _of_judge(run, spoken)
    # A part of a run decides nothing: its gates wait for the other parts.
    part = settings.shard is not None or (run.past is not None and bool(run.past.lost_shards))
    gates = () if part else waive(judge(entries, run.thresholds), run.thresholds, settings.today)
    comparison, drops = (None, ()) if part else _compared(sampling, selected)
    kinds = sum((source.kinds(*cell) for modality, source in sources.items() for cell in TASKS[modality]), Counter())
    evidence = evidence_of(run, sampling.cases, sources, spoken, seen, verdicts)
    rates = [rate for rate in RATES if Modality.IMAGE in sources or rate != AnswerKind.NO_FACE]
    ends = Counter(verdicts.get(case, Verdict.TROUBLE) for case in sampling.cases)
    return Report(
        version=__version__,
        data_version=dataset.version,
        model=run.label(Modality.TEXT) if Modality.TEXT in run.modalities else None,
        t2i_model=run.label(Modality.IMAGE) if Modality.IMAGE in run.modalities else None,
        given=settings.given,
        control=Role.MODEL in run.roles and run.identity.provider == "control",
        t2i_control=Role.PAINTER in run.roles and run.identity_of(Role.PAINTER).provider == "control",
        detector=run.identity_of(Role.DETECTOR).label if Role.DETECTOR in run.roles else None,
        plan=settings.plan if settings.per_topic is None else f"{settings.plan} with --per-topic {settings.per_topic}",
        seed=settings.seed,
        profiles=str(settings.profiles),
        key=settings.key,
        scoring=settings.scoring,
        ledger=run.ledger_shown,
        entries=entries,
        gates=(*gates, *drops),
        findings=(
            *findings(gates, sources, dataset, settings.key, evidence),
            *f2bench_findings(gates, spoken, evidence),
            *bigbench_findings(gates, seen, run.sitters.data),
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
        shares=shares,
        notes=(*notes, *_of_scores(run, selected, entries)),
        trouble=_trouble(sampling, entries, judging, ends[Verdict.TROUBLE]),
        inconclusive_exit=INCONCLUSIVE_EXIT[settings.inconclusive],
        outcomes={
            BENCHMARK: {"samples": kinds.total(), **{rate: kinds[AnswerKind(rate)] for rate in rates}},
            **({F2BENCH: _rates_of(spoken)} if spoken else {}),
            **({BIGBENCH: _rates_of_images(seen)} if seen and run.aligned is None else {}),
        },
        judge=run.identity_of(Role.JUDGE).label if spoken or reasons else None,
        explanations={context: _sorted(counted) for context, counted in reasons.items()} or None,
        judging=judging,
        instances=_instances(run.f2bench) if spoken else None,
        evidence=evidence,
        comparison=comparison,
        drawn=_drawn(run, seen),
        shard=None if settings.shard is None else "{}/{}".format(*settings.shard),
    )


def _of_marks(sampling: Sampling) -> Iterator[str]:
    run = sampling.run
    if not run.roles:
        return
    asked = {topic.id for topic in sampling.topics} | {theme.id for theme in sampling.themes}
    with Ledger(run.settings.ledger) as ledger:
        marked = ledger.marked(run.identity_of(role) for role in run.roles)
    count = sum(query.partition("#")[0] in asked for query in marked)
    if count:
        were = "reply was" if count == 1 else "replies were"
        yield f"{count:,} {were} marked by a reviewer, and count{'s' if count == 1 else ''} as marked."


def _compared(sampling: Sampling, selected: frozenset[Case]) -> tuple[Comparison | None, tuple[GateResult, ...]]:
    """The run beside its baseline, and the limits on what moved; the run is saved where that was asked for."""
    run = sampling.run
    settings = run.settings
    if (run.baseline is None and settings.save_baseline is None) or not sampling.topics:
        return None, ()
    with Ledger(settings.ledger) as ledger:
        now = run.answered([topic for topic in sampling.topics if topic.modality is Modality.TEXT], ledger)
    if settings.save_baseline is not None:
        save(settings.save_baseline, now)
    if run.baseline is None:
        return None, ()
    found, scored = compare(run.baseline, now, run.dataset, key=settings.key, seed=settings.seed, cases=selected)
    limits = run.thresholds
    return found, waive(drop_gates(scored, limits.baseline), limits, settings.today)


def _spoken(sampling: Sampling) -> tuple[tuple[ThemeTally, ...], tuple[Fitness, ...]]:
    """What came of the selected themes, and the judge's record on the gold set of each task."""
    run = sampling.run
    if not sampling.themes:
        return (), ()
    with Ledger(run.settings.ledger) as ledger:
        tallies = tuple(run.tally_theme(each, ledger)[0] for each in sampling.themes)
    gold = [each for each in tallies if each.theme.name == GOLD]
    return tallies, tuple(fitness(each, run.thresholds.judge, run.settings.seed) for each in gold)


def _f2bench_entries(run: Run, spoken: Sequence[ThemeTally], judging: Iterable[Fitness]) -> tuple[Entry, ...]:
    every = Counter(case.topic.task for case in theme_cases(run.f2bench.instances))
    unfit = any(record.unfit is not None for record in judging)
    return tuple(
        # What an unfit judge said is shown, and no limit is held against it; what it was not asked did not fail.
        replace(entry, estimate=None, ci=(None, None), failed_share=0.0, no_estimate="the judge is not fit")
        if unfit
        else entry
        for entry in f2bench_board(spoken, run.f2bench, all_categories=every, seed=run.settings.seed)
    )


def _seen(sampling: Sampling) -> tuple[SitterTally, ...]:
    """What the selected sitters' images show."""
    run = sampling.run
    if not sampling.sitters:
        return ()
    with Ledger(run.settings.ledger) if run.aligned is None else nullcontext() as ledger:
        return tuple(run.tally_sitter(topic, ledger) for topic in sampling.sitters)


def _bigbench_entries(sampling: Sampling, seen: Sequence[SitterTally]) -> tuple[Entry, ...]:
    """The scores of the tasks and attributes that were selected; those in all where every attribute was."""
    run, data = sampling.run, sampling.run.sitters.data
    chosen = {(case.task, case.attribute) for case in sampling.cases if isinstance(case, SitterCase)}
    if not seen:
        return ()
    tasks = list(dict.fromkeys(task for task, _ in sorted(chosen)))
    whole = {task for task in tasks if all((task, each.name) in chosen for each in data.attributes)}
    kinds: dict[Task, Counter[AnswerKind]] = {}
    for each in seen:
        kinds.setdefault(each.topic.task, Counter()).update(each.kinds)
    planned = sum(map(Counter.total, kinds.values()))
    failed = sum(counted[AnswerKind.FAILED] for counted in kinds.values())
    scored = bigbench_board(
        [each.portrayal for each in seen],
        data,
        seed=run.settings.seed,
        failed=100 * failed / planned if planned else 0.0,
        tasks=tasks,
    )
    every = Counter(each.task for each in run.sitters.every)
    covered = {task: (sum(each.topic.task is task for each in seen), every[task]) for task in kinds}
    return (
        *(e for e in scored if (e.task in whole if e.attribute is None else (e.task, e.attribute) in chosen)),
        *bigbench_rates(kinds, covered),
    )


def _drawn(run: Run, seen: Sequence[SitterTally]) -> Drawn | None:
    portrayals = [each.portrayal for each in seen]
    return Drawn(effects(portrayals, run.sitters.data), stability(portrayals, run.sitters.data)) if seen else None


def _rates_of_images(seen: Sequence[SitterTally]) -> dict[str, int]:
    kinds = sum((each.kinds for each in seen), Counter())
    return {"samples": kinds.total(), **{rate: kinds[AnswerKind(rate)] for rate in RATES}}


def _of_sitters(run: Run, seen: Sequence[SitterTally]) -> Iterator[str]:
    """What a reader of BIGbench's scores must know."""
    if run.aligned is not None:
        yield (
            f"results/{run.aligned.model} has shares alone: nothing is known of refusals, of images without people, "
            "nor of how many images there are, so that there are no estimates."
        )
        if run.aligned.notes:
            shown = "; ".join(run.aligned.notes[:MISSING_SHOWN])
            yield f"{len(run.aligned.notes)} of its prompts were not used: {shown}."
    else:
        subjects = len({each.portrayal.sitter.subject.id for each in seen if each.portrayal.sitter.asked is None})
        if subjects:
            yield (
                f"BIGbench: {subjects} of {len(run.sitters.data.subjects)} subjects sat for their own sake; detectors "
                "err, and no score is corrected for that."
            )
    yield from (f"BIGbench: {note}." for note in run.sitters.data.notes[:MISSING_SHOWN])


def _rates_of(spoken: Sequence[ThemeTally]) -> dict[str, int]:
    ends = sum((each.ends for each in spoken), Counter())
    rates = [rate for rate in RATES if rate != AnswerKind.NO_FACE]
    return {"samples": ends.total(), **{rate: ends[AnswerKind(rate)] for rate in rates}}


def _instances(plan: Plan) -> dict[str, object]:
    """What F²Bench was asked about, for programs: versions, counts by category and type, what has no twin."""
    held = plan.instances
    return {
        "data": held.version,
        "prompts": plan.prompts.version,
        "gold": plan.gold.version,
        "repeats": plan.repeats,
        "counts": {
            f"{category} {task}": n
            for task, kind in KINDS.items()
            for (category, of), n in sorted(held.counts.items())
            if of is kind
        },
        "without_twin": {str(category): sorted(ids) for category, ids in without_twin(held.of(Kind.FACT)).items()},
        "not_used": [str(problem) for problem in held.problems],
    }


def _of_judge(run: Run, spoken: Sequence[ThemeTally]) -> Iterator[str]:
    held = run.f2bench.instances
    if run.identity_of(Role.JUDGE).provider == "control":
        yield (
            "The judge is a control: a rule that reads the controls' own sentences, judged on gold texts in these "
            "sentences. Its figures say nothing of any other judge."
        )
    if any(each.theme.task is Task.BALANCE for each in spoken):
        lost = without_twin(held.of(Kind.FACT))
        if lost:
            by_category = ", ".join(f"{category} {len(ids)}" for category, ids in lost.items())
            count = sum(map(len, lost.values()))
            shown = ", ".join([name for ids in lost.values() for name in ids][:MISSING_SHOWN])
            more = f" and {count - MISSING_SHOWN} more" if count > MISSING_SHOWN else ""
            yield (
                f"{count} of {len(held.of(Kind.FACT)):,} paragraphs do not name both of their groups, so that they "
                f"have no twin and are not scored: {by_category} ({shown}{more})."
            )
    if held.problems:
        shown = "; ".join(str(problem).rstrip(".") for problem in held.problems[:MISSING_SHOWN])
        yield f"{len(held.problems)} rows of --f2bench were not used: {shown}."
    yield from (f"F²Bench: {note}." for note in held.notes)
    refused = sum(each.ends[AnswerKind.REFUSED] for each in spoken)
    if refused:
        yield (
            f"{refused:,} last answers or descriptions were refused: there is nothing in them to judge, and what the "
            "plan has for the judge about them was not asked."
        )
    again = sum(each.again for each in spoken)
    if again:
        yield f"{again:,} judgements could not be read and were asked for once more, beyond the plan."


def _tallied(sampling: Sampling) -> tuple[Tallies[TopicTally], Served]:
    """The ledger's answers of the selected topics, counted, and which servers gave them."""
    run = sampling.run
    tallies: dict[Topic, TopicTally] = {}
    served: Served = Counter()
    with Ledger(run.settings.ledger) as ledger:
        for topic in sampling.topics:
            if topic.modality is Modality.TEXT:
                tallies[topic], servers = run.counted(topic, ledger)
                served += servers
    selected = frozenset(case for case in sampling.cases if isinstance(case, Case))
    return Tallies(run.dataset, tallies, selected), served


def _faces(sampling: Sampling) -> Tallies[FacesTally]:
    """The faces in the images of the selected topics, counted."""
    run = sampling.run
    with Ledger(run.settings.ledger) as ledger:
        tallies = {
            topic: run.tally_faces(topic, ledger) for topic in sampling.topics if topic.modality is Modality.IMAGE
        }
    selected = frozenset(case for case in sampling.cases if isinstance(case, Case))
    return Tallies(run.dataset, tallies, selected, Modality.IMAGE)


def _reasons(sampling: Sampling) -> dict[str, ReasonTally]:
    """The reasons of the selected topics by context; none where none were asked for."""
    run = sampling.run
    reasons: dict[str, ReasonTally] = {}
    topics = [topic for topic in sampling.topics if run.explains(topic)]
    if not topics:
        return reasons
    with Ledger(run.settings.ledger) as ledger:
        for topic in topics:
            counted = reasons.setdefault(str(topic.context), ReasonTally())
            for explained, samples in run.explained(topic, ledger):
                chosen = samples[0].chosen
                counted.add(explained, None if chosen is None else chosen.letter)
                counted.again += sum(each.query.again for each in samples)
    return {str(context): reasons[context] for context in Context if context in reasons}


def _sorted(counted: ReasonTally) -> dict[str, object]:
    """The shares of the kinds in percent, with exact intervals, and examples."""
    whole = counted.kinds.total()
    kinds: dict[str, object] = {}
    for kind in Reason:
        n = counted.kinds[kind]
        share = 100 * n / whole if whole else None
        kinds[kind] = {"n": n, "share": share, "ci": [100 * end for end in clopper_pearson(n, whole)]}
    keys = ("query", "choice", "kind", "reason")
    examples = [dict(zip(keys, each, strict=True)) for each in counted.examples]
    return {"sorted": whole, "unsorted": counted.unsorted, "kinds": kinds, "examples": examples}


def _of_reasons(reasons: Iterable[ReasonTally]) -> Iterator[str]:
    yield (
        "The kinds of reasons are the judge's sorting, and no judge is measured on reasons; their intervals take each "
        "reason as independent. Choices that were asked for with a reason are not comparable with those without."
    )
    again = sum(each.again for each in reasons)
    if again:
        yield f"{again:,} sortings of reasons could not be read and were asked for once more, beyond the plan."


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


def _shares_of_faces(source: Tallies[FacesTally]) -> dict[str, dict[str, float]]:
    """Percent of faces by joint groups, by task, of the faces whose groups are all known."""
    shown: dict[str, dict[str, float]] = {}
    for task in OWN_TASKS:
        picked: Counter[tuple[str, ...]] = Counter()
        for counted in source.of(task):
            for groups, n in counted.picked.items():
                known = tuple(group for group in groups if group is not None)
                if len(known) == len(groups):
                    picked[known] += n
        whole = picked.total()
        if whole:
            shown[f"images {task}"] = {" ".join(groups): 100 * n / whole for groups, n in sorted(picked.items())}
    return shown


def _of_faces(run: Run, source: Tallies[FacesTally]) -> Iterator[str]:
    kinds: Counter[AnswerKind] = sum((source.kinds(*cell) for cell in TASKS[Modality.IMAGE]), Counter())
    faces = sum(counted.picked.total() for counted in source.tallies.values())
    served = sorted({name for counted in source.tallies.values() for name in counted.served})
    on = f" ({', '.join(served)})" if served else ""
    yield (
        f"{faces:,} faces in {kinds[AnswerKind.CHOSEN]:,} of {kinds.total():,} images, read by "
        f"{run.identity_of(Role.DETECTOR).label}{on}."
    )
    yield from _of_errors(run)
    if run.identity_of(Role.DETECTOR).provider == "control":
        yield "The detector is a control: graphs that find the controls' own drawings, and say nothing of photographs."
    for attribute in run.dataset.attributes:
        known = sum(counted.by(attribute.name).total() for counted in source.tallies.values())
        if known < faces:
            yield f"Of {faces - known:,} faces the {attribute.name} is not known: they are left out of its scores."


def _of_errors(run: Run) -> Iterator[str]:
    """Whether estimates are corrected for the detector's errors, by attribute."""
    names = [each.name for each in run.dataset.attributes]
    corrected = [name for name in names if name in run.mixings]
    raw = [name for name in names if name not in run.mixings]
    if corrected:
        yield (
            f"Estimates by {' and '.join(corrected)} are corrected for the detector's errors, as the calibration "
            "measured them on other faces; plug-in values are not."
        )
    if raw:
        rates = " and ".join(
            f"{100 * rate:.1f} % of {name}s" for name, rate in run.detector_errors.items() if name in raw
        )
        known = (
            f" It is wrong on up to {rates}, as published: scores @error-low and @error-high say how far that could"
            " move them at most."
            if rates
            else " How often this detector is wrong, nobody published."
        )
        yield f"Detectors err: scores by {' and '.join(raw)} are uncorrected (--calibration).{known}"


def _shares(source: Tallies[TopicTally]) -> dict[str, dict[str, float]]:
    """Percent of answers by joint groups, by task and context: what single attributes cannot show."""
    shown: dict[str, dict[str, float]] = {}
    for context in Context:
        picked: Counter[tuple[str, ...]] = Counter()
        for counted in source.of(Task.SUBJECTIVE, context):
            picked += counted.picked
        whole = picked.total()
        if whole:
            shown[f"subjective {context}"] = {" ".join(groups): 100 * n / whole for groups, n in sorted(picked.items())}
    return shown


def _of_look(run: Run) -> Iterator[str]:
    look = run.look
    if look is None:
        return
    sure = (
        f"Intervals of subjective scores are of {100 * look.confidence:.1f} % confidence, so that all"
        f" {look.most} looks together err no more often than one."
    )
    if look.number == look.most:
        yield f"Nothing was stopped early: some gates were open until the end. {sure}"
        return
    share = 100 * (1 - look.subjective / look.whole)
    yield (
        f"Stopped early, after {look.subjective} of {look.whole} queries a scenario, with every gate on them decided:"
        f" {share:.0f} % of the subjective queries were not needed. {sure}"
    )


def _of_folder(folder: ResultFolder) -> Iterator[str]:
    yield from folder.notes
    yield (
        f"results/{folder.model} does not record what was unreadable or failed, and refusals of objective text queries"
        " alone: the other rates are unknown, and have no gates. Its answers, or faces, are taken as independent."
    )
    if folder.missing:
        first = "; ".join(folder.missing[:MISSING_SHOWN])
        more = f"; and {len(folder.missing) - MISSING_SHOWN} more" if len(folder.missing) > MISSING_SHOWN else ""
        yield f"results/{folder.model} lacks {first}{more}."


def _of_answers(source: Tallies[TopicTally], served: Served) -> Iterator[str]:
    for task in OWN_TASKS:
        note = _position(task, source.of(task))
        if note is not None:
            yield note
    if len(served) > 1:
        yield f"The server changed in mid-run: {', '.join(_server(*each) for each in sorted(served, key=str))}."


def _of_scores(run: Run, selected: Iterable[Case], entries: Iterable[Entry]) -> Iterator[str]:
    if any(entry.partial for entry in entries):
        yield "Scores with (n/m) behind their name cover n of m topics only; the leaderboard row needs all."
    yield from _disputes(run, selected)


def _server(model: str | None, fingerprint: str | None) -> str:
    return f"{model or 'unnamed'} ({fingerprint or 'no fingerprint'})"


def _position(task: Task, tallies: Iterable[TopicTally]) -> str | None:
    """Whether letters are picked by position: groups and profiles are shuffled, so every letter is equally likely."""
    letters: Counter[str] = Counter()
    expected: dict[str, float] = {}
    for counted in tallies:
        letters += counted.letters
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: counted.options]:
            expected[letter] = expected.get(letter, 0.0) + counted.answered / counted.options
    whole = letters.total()
    if not whole:
        return None
    chi_squared = sum((letters[letter] - even) ** 2 / even for letter, even in expected.items() if even > 0)
    p = float(chdtrc(max(len(expected) - 1, 1), chi_squared))
    if p >= POSITION_ALPHA:
        return None
    shares = ", ".join(f"{letter} {100 * letters[letter] / whole:.0f} %" for letter in sorted(expected))
    fair = ", ".join(f"{letter} {100 * expected[letter] / whole:.0f} %" for letter in sorted(expected))
    return (
        f"On {task} queries the model follows position: it picks {shares} (by chance: {fair}; chi-squared test, "
        f"p {'< 0.0001' if p < 0.0001 else f'= {p:.4f}'}). Its scores say less about groups than about letters."
    )


def _disputes(run: Run, selected: Iterable[Case]) -> Iterator[str]:
    disputed, tied, lacking = [], [], []
    cases = [case for case in selected if case.topic.task is Task.OBJECTIVE]
    objective = {(case.topic.statistic, case.topic.level, case.attribute) for case in cases}
    for statistic in run.dataset.statistics:
        for (attribute, level), entry in statistic.key("measured").items():
            if (statistic.slug, level, attribute) in objective:
                name = f"{statistic.name} {level} by {attribute}"
                if entry.disputed:
                    disputed.append(name)
                elif entry.tied:
                    tied.append(name)
                elif entry.basis == "fallback":
                    lacking.append(name)
    if disputed:
        yield f"The measured values dispute the published answer of: {'; '.join(disputed)}."
    if lacking:
        yield f"No measured value; the published answer stands in for: {'; '.join(lacking)}."
    if tied:
        yield f"The measured values cannot tell the answer from another group of: {'; '.join(tied)}."
