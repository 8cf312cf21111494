"""Samples -> the counts and scores of each benchmark, and what reports show of them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.evidence import NOT_ASKED
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.letter_probability_counts import Weighed
from fairgate.benchmarks.limits import RATES
from fairgate.benchmarks.registry import registry
from fairgate.core.domain import AnswerKind
from fairgate.core.errors import FairgateError
from fairgate.reports.claims import claimed
from fairgate.reports.rate_findings import rate_findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fairgate.benchmarks.base import AnyBenchmark, Circumstances, Scored
    from fairgate.benchmarks.case import Case
    from fairgate.benchmarks.evidence import Cell, Evidence
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.plot_spec import Sketch
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.benchmarks.selection_rates import SelectionRates
    from fairgate.core.domain import Topic
    from fairgate.runs.run import Run
    from fairgate.runs.selection import Selection


@dataclass(frozen=True)
class BenchmarkScores:
    """What came of one benchmark: its selected cases, their counts, and the scores."""

    benchmark: AnyBenchmark
    cases: tuple[Case, ...]
    held: Any
    scored: Scored

    def has(self, about: ScoreResult | Cell) -> bool:
        """Whether a score, or a cell, is this benchmark's."""
        return (about.benchmark, about.modality) == (self.benchmark.name, self.benchmark.modality)


@dataclass(frozen=True)
class RunScores:
    """What came of all of them. `now`: what the scores depend on beside the samples."""

    parts: tuple[BenchmarkScores, ...]
    now: Circumstances

    @cached_property
    def entries(self) -> tuple[ScoreResult, ...]:
        """The scores, in the order of reports."""
        return tuple(entry for part in self.parts for entry in part.scored.entries)

    @property
    def unfit(self) -> str | None:
        """Why the judge's answers are no verdicts, None where they are."""
        return next((part.scored.unfit for part in self.parts if part.scored.unfit is not None), None)

    @cached_property
    def weighed(self) -> Weighed:
        """What came of asking for the probabilities of choices."""
        return Weighed.of(part.scored.weighed for part in self.parts)

    @property
    def tables(self) -> dict[str, Any]:
        """The tables for programs, by key; a table that several add to has what each of them added."""
        found: dict[str, Any] = {}
        for name, table in (each for part in self.parts for each in part.scored.tables.items()):
            there = found.get(name)
            found[name] = {**there, **table} if isinstance(there, Mapping) else table
        return found

    def cells(self, run: Run, failed: Counter[str], verdicts: Mapping[Case, Verdict]) -> Iterator[tuple[Case, Cell]]:
        """The counts of each case. `failed`: by topic how many samples were asked for without a reply."""
        for part in self.parts:
            for case in part.cases:
                cell = part.benchmark.cell(case, part.held)
                asked = sum(failed[topic.id] for topic in counted_topics(case))
                unasked = max(cell.kinds.get(AnswerKind.FAILED, 0) - asked, 0)
                verdict = verdicts.get(case, Verdict.ERROR)
                yield case, replace(cell, verdict=verdict, command=run.command(case), unasked=unasked)

    def findings(self, gates: Sequence[GateResult], evidence: Evidence) -> Iterator[Finding]:
        """Why each gate failed, one for each that did, in the order of the gates."""
        found = [*rate_findings(gates, evidence)]
        for part in self.parts:
            own = [gate for gate in gates if part.has(gate.entry) and gate.entry.score not in RATES]
            found += part.benchmark.findings(own, part.held, self.now, evidence)
        yield from claimed(gates, found, registry())

    def sketches(self, evidence: Evidence) -> Iterator[Sketch]:
        """The plots of the benchmarks' own."""
        for part in self.parts:
            cells = [cell for cell in evidence.cells if part.has(cell)]
            yield from part.benchmark.sketches(part.scored.entries, cells)

    def selection_rates(self) -> Iterator[SelectionRates]:
        """How often each group was chosen."""
        for part in self.parts:
            yield from part.benchmark.selection_rates(part.held)


def scored(run: Run, selection: Selection) -> RunScores:
    """The scores of what the ledger, or a result folder, holds of the selected cases.

    Raises FairgateError where there is not enough memory for it.
    """
    with run.participants.stored() as reply:
        now = run.circumstances(reply)
        try:
            return RunScores(tuple(_parts(run, selection, now)), now)
        except (MemoryError, ImportError) as error:
            # A library that finds no memory while it is loaded is an ImportError.
            raise FairgateError(
                f"the samples cannot be scored: {type(error).__name__}: {error}.",
                where=str(run.settings.ledger),
                hint="Every sample is stored. Give the process more memory, then judge the ledger again.",
            ) from error


def _parts(run: Run, selection: Selection, now: Circumstances) -> Iterator[BenchmarkScores]:
    for benchmark in run.benchmarks.all:
        cases = selection.cases_of(benchmark)
        held = benchmark.tally(cases, now.reply) if cases else None
        if held is not None:
            yield BenchmarkScores(benchmark, cases, held, benchmark.score(cases, held, now))


def counted_topics(case: Case) -> Sequence[Topic]:
    """The topics that a case counts: its own, where it compares that with others; else all."""
    return (case.topic,) if case.topic in case.topics else case.topics


def outcomes_of(parts: Iterable[BenchmarkScores], failed: Counter[str]) -> dict[str, dict[str, int]]:
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
