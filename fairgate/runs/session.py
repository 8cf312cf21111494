"""One process's part of a run: cases wait here for their samples, and the controlling process starts the sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.core.domain import AnswerKind
from fairgate.core.errors import Unsampled
from fairgate.runs.manifest_reader import decode_note
from fairgate.runs.sampling import Sampling
from fairgate.runs.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairgate.benchmarks.case import Case
    from fairgate.core.domain import Topic
    from fairgate.core.errors import FairgateError
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.samples import Sample
    from fairgate.runs.run import Run


class RunSession:
    """What changes while a run goes on. `controller`: in a worker, the process that fills the ledger."""

    def __init__(self, run: Run, controller: int | None = None) -> None:
        self._run = run
        self._sampling: Sampling | None = None
        self._waiting = Waiting(run.id, controller, self._error)
        self._latest: tuple[Topic, Sequence[Sample]] | None = None

    @property
    def run(self) -> Run:
        """The run; after a wait for a topic that is asked in rounds, with the plan at which asking ended."""
        return self._run

    def sample(self, selected: Iterable[Case]) -> Sampling:
        """The sampling of these cases, which the process that calls this is to start."""
        self._sampling = Sampling(self._run, selected)
        self._run = self._sampling.sampled.run
        return self._sampling

    def wait_for(self, topic: Topic) -> Sequence[Sample]:
        """Wait until the topic is sampled, and give its samples. Raises Unsampled where too many are missing."""
        if self._latest is None or self._latest[0] != topic:
            # The cases of a topic's attributes follow one another.
            with self._run.participants.ledger() as ledger:
                self._latest = topic, self._samples(topic, ledger, self._wait(topic, ledger))
        return self._latest[1]

    def wait_until_answered(self, topic: Topic) -> None:
        """The same, where what this process counted as it came makes reading needless."""
        if self._sampling is not None and not self._is_counted(topic):
            with self._run.participants.ledger() as ledger:
                self._wait(topic, ledger)
        if not self._is_counted(topic):
            self.wait_for(topic)

    def _is_counted(self, topic: Topic) -> bool:
        return self._run.benchmarks.of(topic).is_counted(topic)

    def _wait(self, topic: Topic, ledger: Ledger) -> str | None:
        """None once the topic is sampled, or why the run stopped before."""
        past = self._run.past
        if past is not None:
            over = self._error() is None or ledger.runs.is_sampled(self._run.id, topic.id)
            return None if over else past.message or "the run was cut off"
        stopped = self._waiting.until_sampled(topic, ledger)
        run = self._run
        if run.in_rounds and run.whole.stratum(topic) is not None and not run.benchmarks.settled:
            where = str(ledger.path)
            note, _ = decode_note(ledger.runs.about(self._run.id), where)
            self._run = self._run.noted(note.looks, where)
        return stopped

    def _samples(self, topic: Topic, ledger: Ledger, stopped: str | None) -> Sequence[Sample]:
        run, benchmark = self._run, self._run.benchmarks.of(topic)
        reply = run.participants.replies(ledger)
        samples, missing = benchmark.read(topic, reply)
        planned = benchmark.answers(topic)
        if missing and stopped is not None:
            raise Unsampled(f"{missing} of {planned} samples were not asked: {stopped}")
        if missing and benchmark.needs_judge(topic) and (unfit := run.benchmarks.unfit(reply)) is not None:
            raise Unsampled(f"{missing} of {planned} samples were not asked: the judge is not fit: {unfit}")
        # One lost call of three says nothing against a topic; the rate over all of them has a limit of its own.
        if missing > max(1, run.thresholds.allowed.failed * planned / 100):
            last = [sample.query for sample in samples if sample.answer.kind is AnswerKind.FAILED][-1]
            reason = ledger.failure(run.id, run.participants.identity_of(last.to), last) or "no reason is known"
            raise Unsampled(
                f"{missing} of {planned} samples failed, more than {run.thresholds.allowed.failed:g} %."
                f" The last: {reason}",
                where=topic.id,
                hint="Run again: what was answered is kept, only these are asked.",
            )
        return samples

    def _error(self) -> FairgateError | None:
        return None if self._sampling is None else self._sampling.error
