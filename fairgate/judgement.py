"""(run, ledger, cases' verdicts) -> Report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scipy.special import chdtrc

from fairgate import __version__
from fairgate.domain import AnswerKind, Context, Modality, Task
from fairgate.fact_or_fair.board import TASKS, board
from fairgate.fact_or_fair.cases import BENCHMARK
from fairgate.fact_or_fair.findings import findings
from fairgate.fact_or_fair.folder import FolderSource
from fairgate.fact_or_fair.tally import Tallies, tally
from fairgate.gate import Verdict, judge
from fairgate.ledger import Ledger
from fairgate.report.report import Calls, CaseCount, Report, Tokens
from fairgate.samples import from_ledger
from fairgate.settings import INCONCLUSIVE_EXIT
from fairgate.thresholds import RATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fairgate.fact_or_fair.board import Source
    from fairgate.fact_or_fair.cases import Case
    from fairgate.fact_or_fair.results import ResultFolder
    from fairgate.fact_or_fair.tally import TopicTally
    from fairgate.run import Run, Sampling
    from fairgate.sampler import Progress
    from fairgate.samples import Sample
    from fairgate.scoreboard import Entry

Served = Counter[tuple[str | None, str | None]]

MISSING_SHOWN = 5
# Of a model that picks letters by chance, one run in a thousand is said to follow position.
POSITION_ALPHA = 0.001


def report_of(sampling: Sampling, verdicts: Mapping[Case, Verdict]) -> Report:
    """Score and judge what the ledger, or a result folder, holds of the selected cases."""
    run = sampling.run
    settings, dataset = run.settings, run.dataset
    selected = frozenset(sampling.cases)
    sources: dict[Modality, Source] = {
        modality: FolderSource(folder, modality, dataset, selected) for modality, folder in run.folders.items()
    }
    notes: list[str] = [note for folder in run.folders.values() for note in _of_folder(folder)]
    shares: dict[str, dict[str, float]] = {}
    if sampling.topics:
        tallies, served = _tallied(sampling)
        sources[Modality.TEXT] = tallies
        shares = _shares(tallies)
        notes += _of_answers(tallies, served)
    boards = [
        board(source, dataset, key=settings.key, seed=settings.seed)
        for modality, source in sources.items()
        if any(case.topic.modality is modality for case in selected)
    ]
    entries = tuple(entry for each in boards for entry in each.entries)
    gates = judge(entries, run.thresholds)
    kinds = sum((source.kinds(*cell) for modality, source in sources.items() for cell in TASKS[modality]), Counter())
    ends = Counter(verdicts.get(case, Verdict.TROUBLE) for case in sampling.cases)
    return Report(
        version=__version__,
        data_version=dataset.version,
        model=run.label(Modality.TEXT) if Modality.TEXT in run.modalities else None,
        t2i_model=run.label(Modality.IMAGE) if Modality.IMAGE in run.modalities else None,
        given=settings.given,
        control=Modality.TEXT in run.sampled and run.identity.provider == "control",
        plan=settings.plan if settings.per_topic is None else f"{settings.plan} with --per-topic {settings.per_topic}",
        seed=settings.seed,
        profiles=str(settings.profiles),
        key=settings.key,
        scoring=settings.scoring,
        ledger=run.ledger_shown,
        entries=entries,
        gates=gates,
        findings=tuple(findings(gates, sources, dataset, settings.key)),
        cases=CaseCount(
            passed=ends[Verdict.PASS],
            failed=ends[Verdict.FAIL],
            inconclusive=ends[Verdict.INCONCLUSIVE],
            broken=ends[Verdict.TROUBLE],
        ),
        calls=_calls(sampling.planned, sampling.progress),
        tokens=Tokens(
            prompt=sampling.progress.prompt_tokens,
            completion=sampling.progress.completion_tokens,
            uncounted=sampling.progress.uncounted,
        ),
        leaderboard={name: row for each in boards for name, row in each.leaderboard.items()},
        shares=shares,
        notes=(*notes, *_of_scores(run, selected, entries)),
        trouble=_trouble(sampling, entries, ends[Verdict.TROUBLE]),
        inconclusive_exit=INCONCLUSIVE_EXIT[settings.inconclusive],
        outcomes={BENCHMARK: {"samples": kinds.total(), **{rate: kinds[AnswerKind(rate)] for rate in RATES}}},
    )


def _tallied(sampling: Sampling) -> tuple[Tallies, Served]:
    """The ledger's answers of the selected topics, counted, and which servers gave them."""
    run = sampling.run
    served: Served = Counter()
    with Ledger(run.settings.ledger) as ledger:

        def seen(samples: Iterable[Sample]) -> Iterator[Sample]:
            for sample in samples:
                if sample.reply is not None:
                    served[sample.reply.served_model, sample.reply.fingerprint] += 1
                yield sample

        tallies = {
            topic: tally(topic, seen(from_ledger(ledger, run.identity, run.plan.queries(topic))), run.dataset)
            for topic in sampling.topics
        }
    return Tallies(run.dataset, tallies, frozenset(sampling.cases)), served


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


def _trouble(sampling: Sampling, entries: Iterable[Entry], broken: int) -> str | None:
    if sampling.trouble is not None:
        return str(sampling.trouble)
    allowed = sampling.run.thresholds.allowed.failed
    if any(entry.score == "failed" and (entry.value or 0.0) > allowed for entry in entries):
        progress = sampling.progress
        return f"{progress.failed:,} of {sampling.planned:,} samples failed. The last: {progress.last_failure}"
    return f"{broken} cases ended in an error" if broken else None


def _shares(source: Tallies) -> dict[str, dict[str, float]]:
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


def _of_answers(source: Tallies, served: Served) -> Iterator[str]:
    for task in Task:
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
