"""The one sampler of a run: what it is to ask, in which order, and what ended it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.errors import LedgerError
from fairgate.runs.interim_analysis import EarlyRounds, clear
from fairgate.runs.manifest import about
from fairgate.runs.recorded_run import RecordedSampler
from fairgate.runs.selection import Selection
from fairgate.sampling.ledger_lock import LedgerLock
from fairgate.sampling.sampler import Progress, Sampler
from fairgate.store.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.base import Case, Circumstances, InterimAnalysis
    from fairgate.domain import Topic
    from fairgate.errors import FairgateError
    from fairgate.runs.run import Run


class Sampling(Selection):
    """The controlling process's part of a run: one sampler for all selected cases."""

    def __init__(self, run: Run, selected: Iterable[Case]) -> None:
        super().__init__(run, selected)
        run.sampling = self
        self._turn: LedgerLock | None = None
        self._sampler: Sampler | RecordedSampler | None = None
        if self.asked:
            self._sampler = self._make_sampler() if run.past is None else RecordedSampler(run, run.past, self.asked)

    @property
    def planned(self) -> int:
        """Samples of the plan, and the judgements that are asked once more."""
        return self.progress.planned

    def _make_sampler(self) -> Sampler:
        # What is wrong with the model's name, the calibration or the ledger's file is said before anything is asked.
        run, models = self.run, self.run.participants.models
        settings, now = run.settings, run.circumstances(lambda _: None)
        for benchmark in run.benchmarks.all:
            benchmark.check(now)
        named = filter(None, (settings.model_spec, settings.t2i_model))
        with Ledger(settings.ledger) as ledger:
            self._turn = LedgerLock(settings.ledger, " and ".join(named), settings.ledger_wait)
            try:
                # Whoever had the turn before may have sent some.
                self._keep_batches(ledger)
            except LedgerError:
                self._turn.release()
                raise
        return Sampler(
            # The judge is judged first: one that is not fit would be paid for nothing.
            first=self.first,
            topics=(each for each in self.asked if each not in self.first and each not in self._in_rounds),
            asks=self._asks,
            queries=lambda topic: run.benchmarks.of(topic).work(topic),
            planned=sum(map(run.size, self.asked)),
            models=models,
            ledger=run.settings.ledger,
            run=run.id,
            line=run.participants.line,
            about=about(run, self.cases),
            tell=lambda sample: run.whole.of(sample.query.topic).hear(sample),
            rounds=self._rounds() if self._in_rounds else None,
        )

    @property
    def _in_rounds(self) -> tuple[Topic, ...]:
        """The topics of which no more is asked than it takes."""
        return tuple(filter(self.run.benchmarks.in_rounds, self.asked)) if self.run.settings.stop_early else ()

    def _rounds(self) -> EarlyRounds:
        run = self.run

        def is_clear(look: InterimAnalysis) -> bool:
            """Whether every gate on what is asked in rounds has passed or failed, by what the ledger holds."""
            with Ledger(run.settings.ledger, make=False) as ledger:
                return clear(run.whole.at(look), self._cases_in_rounds, run.thresholds, self._now(ledger, look))

        return EarlyRounds(run.whole, self._in_rounds, is_clear, self._settle)

    @property
    def _cases_in_rounds(self) -> tuple[Case, ...]:
        topics = frozenset(self._in_rounds)
        return tuple(case for case in self.cases if case.topic in topics)

    def _now(self, ledger: Ledger, look: InterimAnalysis) -> Circumstances:
        return replace(self.run.circumstances(self.run.participants.replies(ledger)), confidence=look.confidence)

    def _settle(self, look: InterimAnalysis) -> None:
        """Before anybody is told that the topics are sampled: of how much they are."""
        run, before = self.run, sum(map(self.run.size, self._in_rounds))
        run.settle(look)
        self.progress.planned -= before - sum(map(run.size, self._in_rounds))
        with Ledger(run.settings.ledger, make=False) as ledger:
            ledger.note_run(run.id, about(run, self.cases))

    @cached_property
    def _unfit(self) -> bool:
        with self.run.participants.stored() as reply:
            return bool(self.first) and self.run.benchmarks.unfit(reply) is not None

    def _asks(self, topic: Topic) -> bool:
        return not (self.run.benchmarks.of(topic).needs_judge(topic) and self._unfit)

    def _keep_batches(self, ledger: Ledger) -> None:
        """What is in a batch is paid for: whoever would ask it directly is told so."""
        for model in {} if self.run.settings.batch else self.run.participants.models.values():
            waiting = sum(len(keys) for _, _, keys in ledger.batches(model.identity))
            if waiting:
                raise LedgerError(
                    f"{waiting:,} samples of {model.identity.label} are in a batch that was sent, and not fetched yet.",
                    where=str(ledger.path),
                    hint="Run with --batch to fetch them; `python -m fairgate ledger … prune --batches` forgets them.",
                )

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress() if self._sampler is None else self._sampler.progress

    @property
    def trouble(self) -> FairgateError | None:
        """What ended the sampling early, if anything did."""
        return None if self._sampler is None else self._sampler.error

    def start(self) -> None:
        """Begin to ask, in the background."""
        if self._sampler is not None:
            self._sampler.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Ask no more, and wait for the sampler to give its connections back."""
        if self._sampler is not None:
            self._sampler.stop()
            # While it still asks, nobody else may: then the end of this process gives the turn back.
            if self._sampler.wait(timeout) and self._turn is not None:
                self._turn.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the sampling."""
        return self._sampler is None or self._sampler.wait(timeout)
