"""Queries -> samples: one event loop in the controlling process asks for all that the ledger does not hold."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fairgate.core.domain import AnswerKind, Form, Query
from fairgate.core.errors import BudgetSpent, CallFailed, FairgateError, RunStopped
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.runs import RunState
from fairgate.ledger.samples import Sample, read, spares, weighed
from fairgate.sampling.canary import Canary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fairgate.core.domain import Modality, Reply, Role, Topic
    from fairgate.ledger.samples import Steps
    from fairgate.providers.base import ChatModel
    from fairgate.sampling.scheduler import Scheduler

# An endpoint that never answered is down or misconfigured: so many failures in a row, and no answer yet, end the run.
HOPELESS = 20
# One that answered before has gone for good: so many samples in a row that were repeated in vain.
GONE = 100
HEARTBEAT = 2.0  # seconds
# What is in flight when an error ends the run may be paid for already: so long it is waited for.
GRACE = 5.0  # seconds
# Cases are judged beside the sampler: it needs the interpreter for moments, but often, and would wait 5 ms each time.
SWITCH = 0.0005  # seconds


@dataclass
class Progress:
    """How far a sampler is. Written by the sampler's thread alone, read by any.

    `requests` counts repeated ones too, `cost` is in USD, None where a price is not known. `asked_of` and `left_of`
    count by modality, whose samples take times of their own: asked for in this run, and still to be settled. `problem`
    is why requests are repeated, where none was answered since.
    """

    planned: int = 0
    asked: int = 0
    reused: int = 0
    failed: int = 0
    retried: int = 0
    refused: int = 0
    unreadable: int = 0
    truncated: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    requests: int = 0
    cost: float | None = None
    last_failure: str = ""
    problem: str = ""
    asked_of: Counter[Modality] = field(default_factory=Counter)
    left_of: Counter[Modality] = field(default_factory=Counter)

    def plan(self, modality: Modality, samples: int) -> None:
        """So many more samples are planned; fewer where it is below 0."""
        self.planned += samples
        self.left_of[modality] += samples

    def reuse(self, modality: Modality) -> None:
        """One more sample was there before."""
        self.reused += 1
        self.left_of[modality] -= 1

    def answer(self, sample: Sample, reply: Reply, cost: float | None) -> None:
        """One more sample was answered; `cost` is that of all so far."""
        self._settle(sample.query.topic.modality, reply.attempts)
        self.asked += 1
        self.refused += sample.answer.kind is AnswerKind.REFUSED
        self.unreadable += sample.answer.kind is AnswerKind.UNREADABLE
        self.truncated += sample.answer.kind is AnswerKind.TRUNCATED
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0
        self.uncounted += reply.prompt_tokens is None
        self.cost = cost

    def fail(self, modality: Modality, failure: CallFailed) -> None:
        """One more sample failed for good."""
        self._settle(modality, failure.attempts)
        self.failed += 1
        self.last_failure = str(failure)

    def _settle(self, modality: Modality, attempts: int) -> None:
        self.asked_of[modality] += 1
        self.left_of[modality] -= 1
        self.retried += attempts - 1

    def note(self, problem: str) -> None:
        """Requests are repeated for this reason."""
        self.problem = problem

    def send(self, requests: int) -> None:
        """So many requests were sent so far."""
        self.requests = requests

    @property
    def done(self) -> int:
        """Samples that are settled: answered now or before, or failed for good."""
        return self.asked + self.reused + self.failed


class _Open:
    """A topic whose samples are being asked for."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self._waiting, self._issued = 0, False

    def begin(self) -> None:
        """One more of its samples is asked for."""
        self._waiting += 1

    def end(self) -> None:
        """One of these is settled."""
        self._waiting -= 1

    def issue(self) -> None:
        """All of its samples were begun."""
        self._issued = True

    @property
    def is_sampled(self) -> bool:
        """Whether all of its samples are settled."""
        return self._issued and not self._waiting


class RoundPlan(Protocol):
    """Topics that are asked in parts, until somebody has seen enough. `most` rounds at most, numbered from 0."""

    topics: Sequence[Topic]
    most: int

    def queries(self, number: int, topic: Topic) -> Iterable[Query]:
        """What a round asks, beside what those before it asked."""
        ...

    def is_enough(self, number: int) -> bool:
        """Whether this round was the last, by what the ledger holds now. Called in a thread of its own."""
        ...


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a sampler is to ask.

    `queries(topic)` yields a topic's queries, or conversations, whose next query depends on the replies; `planned`
    samples by modality. `first` are asked before the rest, whole: then `asks` says of each other topic whether it is
    asked at all. `rounds` are asked last, in parts.
    """

    topics: Iterable[Topic]
    queries: Callable[[Topic], Iterable[Query | Steps[object]]]
    planned: Mapping[Modality, int]
    first: Iterable[Topic] = ()
    asks: Callable[[Topic], bool] = lambda _: True
    rounds: RoundPlan | None = None


class Sampler:
    """Fills the ledger for the topics of its work, in the background.

    `line` says how many samples are in flight, whatever the number of topics, and when each request may go. `models`
    answer the queries to their roles. `tell` is told of each single query that is answered, now or before, in the
    sampler's thread. `canary` looks at the first replies.
    """

    def __init__(
        self,
        work: Work,
        models: Mapping[Role, ChatModel],
        *,
        ledger: Path,
        run: str,
        line: Scheduler,
        about: str = "{}",
        tell: Callable[[Sample], None] = lambda _: None,
        canary: Canary | None = None,
    ) -> None:
        self.progress = Progress(planned=sum(work.planned.values()), left_of=Counter(work.planned))
        self.error: FairgateError | None = None
        self._work, self._models = work, dict(models)
        self._answered: Counter[Role] = Counter()
        self._lost: Counter[Role] = Counter()
        self._in_vain: Counter[Role] = Counter()
        self._ledger_path, self._run, self._line = ledger, run, line
        line.report_to(self.progress.note)
        self._about, self._tell = about, tell
        self._canary = canary or Canary({})
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asking: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._main, name="fairgate-sampler", daemon=True)

    def start(self) -> None:
        """Begin to ask, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; what is in flight is given up, what was answered is in the ledger."""
        self._stopping.set()
        loop, asking = self._loop, self._asking
        if loop is not None and asking is not None and not loop.is_closed():
            loop.call_soon_threadsafe(asking.cancel)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; False where it has not come within `timeout` seconds."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _main(self) -> None:
        usual = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                runner.run(self._sample())
        except asyncio.CancelledError:
            pass
        except FairgateError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - whatever breaks the sampler is the run's error, never silence
            self.error = RunStopped(f"the sampler broke: {type(error).__name__}: {error}.")
        finally:
            sys.setswitchinterval(usual)

    async def _sample(self) -> None:
        self._loop = asyncio.get_running_loop()
        with Ledger(self._ledger_path) as ledger:
            ledger.runs.start(self._run, self._about)
            state, message = RunState.STOPPED, "interrupted"
            try:
                self._asking = asyncio.create_task(self._ask_all(ledger))
                beating = asyncio.create_task(self._beat(ledger))
                try:
                    await self._asking
                finally:
                    beating.cancel()
                if not self._stopping.is_set():
                    state, message = RunState.DONE, ""
            except FairgateError as error:
                message = str(error)
                raise
            except Exception as error:
                message = f"the sampler broke: {type(error).__name__}: {error}"
                raise
            finally:
                ledger.runs.end(self._run, state, message)

    async def _beat(self, ledger: Ledger) -> None:
        try:
            while True:
                ledger.runs.beat(self._run)
                await asyncio.sleep(HEARTBEAT)
        except FairgateError as problem:
            self._line.close(problem)

    async def _ask_all(self, ledger: Ledger) -> None:
        tasks = set[asyncio.Task[None]]()
        try:
            try:
                await self._begin_all(self._pending(self._work.first, ledger), ledger, tasks)
                await self._begin_all(self._pending(self._wanted(ledger), ledger), ledger, tasks)
                if self._work.rounds is not None:
                    await self._ask_in_rounds(self._work.rounds, ledger, tasks)
            except FairgateError as problem:
                self._line.close(problem)
                if tasks:
                    # A budget's last requests are worth every second; the retries' waits have ended already.
                    await asyncio.wait(tasks, timeout=None if isinstance(problem, BudgetSpent) else GRACE)
                raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # One model may play two roles; not every model can be hashed.
            for model in {id(model): model for model in self._models.values()}.values():
                await model.close()

    async def _ask_in_rounds(self, rounds: RoundPlan, ledger: Ledger, tasks: set[asyncio.Task[None]]) -> None:
        for number in range(rounds.most):
            parts = ((topic, rounds.queries(number, topic)) for topic in rounds.topics)
            await self._begin_all(self._issued(parts, ledger), ledger, tasks)
            # A look takes a second or two: the heartbeat goes on beside it.
            if await asyncio.to_thread(rounds.is_enough, number):
                break
        for topic in rounds.topics:
            ledger.runs.mark_sampled(self._run, topic.id)

    def _issued(
        self, parts: Iterable[tuple[Topic, Iterable[Query | Steps[object]]]], ledger: Ledger
    ) -> Iterator[tuple[Query | Steps[object], _Open]]:
        """The queries of topics that are not done when these are."""
        for topic, queries in parts:
            yield from self._unanswered(_Open(topic), queries, ledger)

    async def _begin_all(
        self, pending: Iterator[tuple[Query | Steps[object], _Open]], ledger: Ledger, tasks: set[asyncio.Task[None]]
    ) -> None:
        """Begin with each as soon as there is a use for it: memory stays flat however many the plan has."""
        line = self._line
        while True:
            await line.begin()
            found = next(pending, None)
            if found is None:
                line.end()
                break
            task = asyncio.create_task(self._sample_one(*found, ledger))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        while tasks:
            await asyncio.wait(tasks)
        await line.begin()
        line.end()

    def _wanted(self, ledger: Ledger) -> Iterator[Topic]:
        """The topics that are asked; whoever waits for one of the others is told at once that it was all."""
        for topic in self._work.topics:
            if self._work.asks(topic):
                yield topic
            else:
                ledger.runs.mark_sampled(self._run, topic.id)

    def _pending(self, topics: Iterable[Topic], ledger: Ledger) -> Iterator[tuple[Query | Steps[object], _Open]]:
        for topic in topics:
            open_topic = _Open(topic)
            yield from self._unanswered(open_topic, self._work.queries(topic), ledger)
            if self._stopping.is_set():
                return
            open_topic.issue()
            self._close_if_sampled(ledger, open_topic)

    def _unanswered(
        self, open_topic: _Open, queries: Iterable[Query | Steps[object]], ledger: Ledger
    ) -> Iterator[tuple[Query | Steps[object], _Open]]:
        for query in queries:
            if self._stopping.is_set():
                return
            if isinstance(query, Query):
                reply = ledger.reply(self._models[query.to].identity, query)
                if reply is not None:
                    self.progress.reuse(query.topic.modality)
                    sample = Sample(query, reply, read(query, reply))
                    self._canary.look(sample)
                    self._tell(sample)
                    continue
            open_topic.begin()
            yield query, open_topic

    def _close_if_sampled(self, ledger: Ledger, open_topic: _Open) -> None:
        if open_topic.is_sampled:
            ledger.runs.mark_sampled(self._run, open_topic.topic.id)

    async def _sample_one(self, query: Query | Steps[object], open_topic: _Open, ledger: Ledger) -> None:
        try:
            if isinstance(query, Query):
                sample = await self._ask(query, ledger)
                if sample is not None:
                    self._tell(sample)
            else:
                await self._converse(query, ledger)
            open_topic.end()
            self._close_if_sampled(ledger, open_topic)
        except FairgateError as problem:
            self._line.close(problem)
        except Exception as error:  # noqa: BLE001 - whatever breaks a sample is the run's error, never silence
            self._line.close(RunStopped(f"the sampler broke: {type(error).__name__}: {error}."))
        finally:
            self._line.end()

    async def _converse(self, steps: Steps[object], ledger: Ledger) -> None:
        """One query after the other, what the ledger holds from there."""
        progress = self.progress
        try:
            query = next(steps)
            while True:
                progress.plan(query.topic.modality, query.again)
                reply = ledger.reply(self._models[query.to].identity, query)
                if reply is None:
                    sample = await self._ask(query, ledger)
                    reply = None if sample is None else sample.reply
                else:
                    progress.reuse(query.topic.modality)
                progress.plan(query.topic.modality, -spares(query, reply))
                query = steps.send(reply)
        except StopIteration:
            return

    async def _ask(self, query: Query, ledger: Ledger) -> Sample | None:
        model = self._models[query.to]
        try:
            # Faces are read on this machine: no server is asked, so no limit holds, and no budget pays for it.
            reply = await (model.ask(query) if query.form is Form.FACES else self._ask_in_line(query, model))
        except CallFailed as failure:
            self._count_failure(query, model, failure, ledger)
            return None
        answer = read(query, reply)
        reply = weighed(query, reply, answer)
        ledger.add(self._run, model.identity, query, reply, answer)
        self._answered[query.to] += 1
        self._in_vain[query.to] = 0
        sample = Sample(query, reply, answer)
        self.progress.answer(sample, reply, self._line.limits.usd)
        self._canary.look(sample)
        return sample

    async def _ask_in_line(self, query: Query, model: ChatModel) -> Reply:
        line, label, characters, reply = self._line, model.identity.label, len(query.text), None
        expected = await line.enter(label, characters)
        try:
            reply = await model.ask(query)
        except CallFailed as failure:
            line.limits.meter(label).charge(failure.tokens)
            raise
        else:
            return reply
        finally:
            line.leave(label, characters, expected, reply)
            self.progress.send(line.limits.requests)

    def _count_failure(self, query: Query, model: ChatModel, failure: CallFailed, ledger: Ledger) -> None:
        self.progress.fail(query.topic.modality, failure)
        self._lost[query.to] += 1
        self._in_vain[query.to] += failure.attempts > 1
        ledger.add_failure(self._run, model.identity, query, str(failure))
        failed = f"{failure.where}: {failure.what}" if failure.where else failure.what
        if self._lost[query.to] >= HOPELESS and not self._answered[query.to]:
            raise RunStopped(
                f"the first {self._lost[query.to]} samples all failed, so nothing more is asked; the last: {failed}",
                where=model.identity.label,
                hint=failure.hint or "Check the name of the model and the address, and the server's log.",
            ) from None
        if self._in_vain[query.to] >= GONE:
            raise RunStopped(
                f"{GONE} samples in a row failed, however often they were repeated; the last: {failed}",
                where=model.identity.label,
                hint=f"Run again when it answers: what was answered is kept. {failure.hint or ''}".rstrip(),
            ) from None


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the sampler's event loop: uvloop, or asyncio's own (None) where uvloop has no wheel, as on Windows."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop
