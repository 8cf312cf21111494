"""(run, counts, verdicts of cases) -> Evidence: the cells that were counted, and a way to the samples behind each."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from fairgate.bigbench.cases import SitterCase, shown_by
from fairgate.bigbench.truth import beside_truth
from fairgate.domain import AnswerKind, Form, Modality, Task, Theme
from fairgate.errors import LedgerError
from fairgate.f2bench.cases import ThemeCase
from fairgate.f2bench.tally import tells
from fairgate.fact_or_fair.folder import FolderSource
from fairgate.fact_or_fair.tally import Tallies
from fairgate.report.evidence import Cell, Evidence, shown
from fairgate.store.images import ImageStore
from fairgate.store.ledger import Ledger
from fairgate.verdicts.gate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairgate.bigbench.plan import SitterTally
    from fairgate.domain import AnyTopic
    from fairgate.f2bench.tally import ThemeTally
    from fairgate.fact_or_fair.board import Source
    from fairgate.fact_or_fair.cases import Case
    from fairgate.report.evidence import Shown
    from fairgate.runs.run import AnyCase, Run


def evidence_of(
    run: Run,
    cases: Iterable[AnyCase],
    sources: Mapping[Modality, Source],
    spoken: Iterable[ThemeTally],
    seen: Iterable[SitterTally],
    verdicts: Mapping[AnyCase, Verdict],
) -> Evidence:
    """A cell for each case, in their order. Samples are read from the ledger when they are asked for."""
    counted = {each.theme: each for each in spoken}
    sat = {each.topic: each for each in seen}
    cells: list[Cell] = []
    topics: dict[str, tuple[AnyTopic, ...]] = {}
    for case in cases:
        verdict = verdicts.get(case, Verdict.TROUBLE)
        if isinstance(case, ThemeCase):
            cells.append(_theme_cell(run, case, counted[case.topic], verdict))
        elif isinstance(case, SitterCase):
            cells.append(_sitter_cell(run, case, [sat[each] for each in case.topics], verdict))
        else:
            cells.append(_cell(run, case, sources[case.topic.modality], verdict))
        if case.topic.modality in run.sampled:
            topics[cells[-1].topic] = case.topics

    def read(topic: str) -> Sequence[Shown]:
        if topic not in topics:
            return ()
        with Ledger(run.settings.ledger) as ledger:
            return tuple(each for part in topics[topic] for each in _shown(run, part, ledger))

    store = ImageStore(run.settings.ledger)

    def content(image: str) -> bytes:
        # A ledger may come here without its images.
        with suppress(LedgerError):
            return store.read(image)
        return b""

    return Evidence(tuple(cells), read, content)


def _shown(run: Run, topic: AnyTopic, ledger: Ledger) -> Iterator[Shown]:
    """A topic's samples. An image and its reading are one to a reader; what a vision model said stands beside it."""
    if isinstance(topic, Theme) or topic.modality is not Modality.IMAGE:
        yield from map(shown, filter(tells, run.read(topic, ledger)[0]))
        return
    for image, samples in run.pictures(topic, ledger):
        yield shown(samples[0], image)
        yield from (shown(each) for each in samples[1:] if each.query.form is not Form.FACES)


def _cell(run: Run, case: Case, source: Source, verdict: Verdict) -> Cell:
    topic = case.topic
    groups = run.dataset.attribute(case.attribute).names
    counts: Mapping[str, int] = dict.fromkeys(groups, 0)
    kinds: Mapping[AnswerKind, int] = {}
    if isinstance(source, FolderSource):
        counts = source.shares(case)
        kinds = {AnswerKind.CHOSEN: sum(counts.values())}
    elif isinstance(source, Tallies):
        tally = source.tallies[topic]
        picked = tally.by(case.attribute)
        counts = {group: picked[group] for group in groups}
        kinds = tally.kinds
    return Cell(
        name=case.name,
        benchmark=topic.benchmark,
        modality=topic.modality,
        task=topic.task,
        context=topic.context,
        attribute=case.attribute,
        about=run.dataset.statistic(topic.statistic).name,
        level=topic.level,
        topic=topic.id,
        counts=counts,
        kinds=kinds,
        answer=run.answer_told(case) if topic.task is Task.OBJECTIVE else "",
        verdict=verdict,
        command=run.command(case),
    )


def _sitter_cell(run: Run, case: SitterCase, sat: Sequence[SitterTally], verdict: Verdict) -> Cell:
    return Cell(
        name=case.name,
        benchmark=case.topic.benchmark,
        modality=case.topic.modality,
        task=case.task,
        attribute=case.attribute,
        about=case.family or "pairs of advantage and disadvantage",
        # Sitters who are asked for with a group are others for each attribute.
        topic=f"{case.topic.id}-{case.attribute}" if case.task is Task.EXPLICIT else case.topic.id,
        counts=shown_by(sat, run.sitters.data, case.attribute),
        truth=beside_truth((each.portrayal for each in sat), run.sitters.data, case.attribute),
        kinds=sum((each.kinds for each in sat), Counter()),
        verdict=verdict,
        command=run.command(case),
    )


def _theme_cell(run: Run, case: ThemeCase, counted: ThemeTally, verdict: Verdict) -> Cell:
    said = counted.verdicts
    return Cell(
        name=case.name,
        benchmark=case.topic.benchmark,
        modality=case.topic.modality,
        task=case.topic.task,
        about=case.id,
        topic=case.topic.id,
        counts={"judged yes": said[True], "judged no": said[False]},
        kinds=counted.ends,
        verdict=verdict,
        command=run.command(case),
    )
