"""The one sampler of a run: what it is to ask, in which order, and what ended it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.core.domain import Modality
from fairgate.core.errors import LedgerError
from fairgate.core.plural import counted
from fairgate.ledger.ledger import Ledger
from fairgate.runs.interim_analysis import InterimVerdicts, Rounds
from fairgate.runs.manifest import about
from fairgate.runs.recorded_run import RecordedSampler
from fairgate.runs.selection import Selection
from fairgate.sampling.canary import ROLES, Canary
from fairgate.sampling.ledger_lock import LedgerLock
from fairgate.sampling.sampler import Progress, Sampler, Work

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.case import Case
    from fairgate.core.domain import Role, Topic
    from fairgate.core.errors import FairgateError
    from fairgate.runs.interim_analysis import Looks, Verdicts
    from fairgate.runs.run import Run


@dataclass(frozen=True)
class Sampled:
    """What came of a sampling: `run` with the plan at which asking ended; `error` where that ended it early."""

    run: Run
    selection: Selection
    progress: Progress
    error: FairgateError | None


class Sampling:
    """The controlling process's part of a run: one sampler for all selected cases."""

    def __init__(self, run: Run, selected: Iterable[Case]) -> None:
        benchmarks, self._count = run.whole.counting()
        self._run = run if run.past is not None else replace(run, whole=benchmarks, benchmarks=benchmarks)
        self.selection = Selection.of(run, selected)
        self._turn: LedgerLock | None = None
        self._sampler: Sampler | RecordedSampler | None = None
        if self.selection.asked:
            past, topics = run.past, self.selection.asked
            self._sampler = self._make_sampler() if past is None else RecordedSampler(run, past, topics)

    @property
    def sampled(self) -> Sampled:
        """What came of it so far."""
        return Sampled(self._run, self.selection, replace(self.progress), self.error)

    def _make_sampler(self) -> Sampler:
        # What is wrong with the model's name, the calibration or the ledger's file is said before anything is asked.
        run, asked, first = self._run, self.selection.asked, self.selection.first
        models = run.participants.models
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
        # The judge is judged first: one that is not fit would be paid for nothing. So would a model that gives no
        # probabilities, where these are what is judged.
        first = (*first, *asked[:1]) if run.of_drift else first
        work = Work(
            first=first,
            topics=tuple(each for each in asked if each not in first and each not in self._in_rounds),
            asks=self._asks,
            queries=lambda topic: run.benchmarks.of(topic).work(topic),
            planned=self._sizes(asked),
            rounds=self._rounds() if self._in_rounds else None,
        )
        return Sampler(
            work,
            models,
            ledger=run.settings.ledger,
            run=run.id,
            line=run.participants.line,
            about=about(run, self.selection.cases),
            tell=self._count,
            canary=Canary({} if settings.no_canary else self._watched, weighed=run.of_drift),
        )

    @property
    def _watched(self) -> dict[Role, str]:
        """The models whose first replies are looked at: controls behave as their names say."""
        known = {role: model.identity for role, model in self._run.participants.models.items() if role in ROLES}
        return {role: identity.label for role, identity in known.items() if identity.provider != "control"}

    def _sizes(self, topics: Iterable[Topic]) -> Counter[Modality]:
        """Planned samples of these topics, by modality."""
        found = Counter[Modality]()
        for topic in topics:
            found[topic.modality] += self._run.size(topic)
        return found

    @cached_property
    def _in_rounds(self) -> tuple[Topic, ...]:
        """The topics that are asked in rounds."""
        run, asked = self._run, self.selection.asked
        return tuple(topic for topic in asked if run.whole.stratum(topic) is not None) if run.in_rounds else ()

    def _rounds(self) -> Rounds:
        run = self._run
        verdicts = InterimVerdicts(run.whole, self.selection.cases, run.thresholds, run.settings.today)

        def judged(looks: Looks) -> Verdicts:
            with Ledger(run.settings.ledger, make=False) as ledger:
                return verdicts.at(looks, run.circumstances(run.participants.replies(ledger)))

        return Rounds(run.whole, self._in_rounds, judged, lambda: run.participants.line.limits.left, self._settle)

    def _settle(self, looks: Looks) -> None:
        """Before anybody is told that the topics are sampled: of how much they are."""
        before = self._sizes(self._in_rounds)
        self._run = self._run.at(looks)
        after = self._sizes(self._in_rounds)
        for modality, samples in before.items():
            self.progress.plan(modality, after[modality] - samples)
        with Ledger(self._run.settings.ledger, make=False) as ledger:
            ledger.runs.note(self._run.id, about(self._run, self.selection.cases))

    @cached_property
    def _unfit(self) -> bool:
        with self._run.participants.stored() as reply:
            return bool(self.selection.first) and self._run.benchmarks.unfit(reply) is not None

    def _asks(self, topic: Topic) -> bool:
        return not (self._run.benchmarks.of(topic).needs_judge(topic) and self._unfit)

    def _keep_batches(self, ledger: Ledger) -> None:
        """What is in a batch is paid for: whoever would ask it directly is told so."""
        for model in {} if self._run.settings.batch else self._run.participants.models.values():
            waiting = sum(len(keys) for _, _, keys in ledger.batches.of(model.identity))
            if waiting:
                held = f"{counted(waiting, 'sample')} of {model.identity.label} {'is' if waiting == 1 else 'are'}"
                raise LedgerError(
                    f"{held} in a batch that was sent, and not fetched yet.",
                    where=str(ledger.path),
                    hint="Run with --batch to fetch them; `fairgate ledger … prune --batches` forgets them.",
                )

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress() if self._sampler is None else self._sampler.progress

    @property
    def error(self) -> FairgateError | None:
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
