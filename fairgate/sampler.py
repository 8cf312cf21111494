"""Queries -> samples: one event loop in the controlling process asks for all that the ledger does not hold."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairgate.domain import AnswerKind, Query, Role
from fairgate.errors import CallFailed, FairgateError, RunStopped
from fairgate.ledger import Ledger, RunState
from fairgate.samples import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from fairgate.domain import Reply, Theme, Topic
    from fairgate.models.base import ChatModel
    from fairgate.samples import Steps

# An endpoint that never answered is down or misconfigured: so many failures in a row, and no answer yet, end the run.
HOPELESS = 20
HEARTBEAT = 2.0  # seconds


@dataclass
class Progress:
    """How far a sampler is. Written by the sampler's thread alone, read by any."""

    planned: int = 0
    asked: int = 0
    reused: int = 0
    failed: int = 0
    retried: int = 0
    refused: int = 0
    unreadable: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    served: set[tuple[str | None, str | None]] = field(default_factory=set)
    last_failure: str = ""

    @property
    def done(self) -> int:
        """Samples that are settled: answered now or before, or failed for good."""
        return self.asked + self.reused + self.failed


@dataclass
class _Open:
    """A topic whose samples are being asked for."""

    topic: Topic | Theme
    waiting: int = 0
    issued: bool = False


class Sampler:
    """Fills the ledger for the given topics, in the background.

    `queries(topic)` yields a topic's queries, or conversations, whose next query depends on the replies. The number of
    samples in flight is at most `max_in_flight`, whatever the number of topics. `model` answers the queries to
    `Role.MODEL`, `others` those to the other roles.
    """

    def __init__(
        self,
        *,
        topics: Iterable[Topic | Theme],
        queries: Callable[[Topic | Theme], Iterable[Query | Steps[object]]],
        planned: int,
        model: ChatModel,
        others: Mapping[Role, ChatModel] | None = None,
        ledger: Path,
        run: str,
        max_in_flight: int,
        about: str = "{}",
    ) -> None:
        self.progress = Progress(planned=planned)
        self.error: FairgateError | None = None
        self._topics, self._queries = tuple(topics), queries
        self._models = {Role.MODEL: model, **(others or {})}
        self._ledger_path, self._run, self._max_in_flight = ledger, run, max_in_flight
        self._about = about
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
        try:
            asyncio.run(self._sample())
        except asyncio.CancelledError:
            pass
        except FairgateError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - whatever breaks the sampler is the run's trouble, never silence
            self.error = RunStopped(f"the sampler broke: {type(error).__name__}: {error}.")

    async def _sample(self) -> None:
        self._loop = asyncio.get_running_loop()
        with Ledger(self._ledger_path) as ledger:
            ledger.start_run(self._run, self._about)
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
                ledger.end_run(self._run, state, message)

    async def _beat(self, ledger: Ledger) -> None:
        while True:
            ledger.beat(self._run)
            await asyncio.sleep(HEARTBEAT)

    async def _ask_all(self, ledger: Ledger) -> None:
        pending = self._pending(ledger)
        # Workers share one iterator: memory stays flat however many samples the plan has.
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._max_in_flight):
                    group.create_task(self._ask_on(pending, ledger))
        except ExceptionGroup as trouble:
            raise _first(trouble) from None
        finally:
            # One model may play two roles; not every model can be hashed.
            for model in {id(model): model for model in self._models.values()}.values():
                await model.close()

    def _pending(self, ledger: Ledger) -> Iterator[tuple[Query | Steps[object], _Open]]:
        for topic in self._topics:
            open_topic = _Open(topic)
            for query in self._queries(topic):
                if self._stopping.is_set():
                    return
                if isinstance(query, Query) and ledger.holds(self._models[query.to].identity, query):
                    self.progress.reused += 1
                    continue
                open_topic.waiting += 1
                yield query, open_topic
            open_topic.issued = True
            self._close_if_sampled(ledger, open_topic)

    def _close_if_sampled(self, ledger: Ledger, open_topic: _Open) -> None:
        if open_topic.issued and open_topic.waiting == 0:
            ledger.mark_sampled(self._run, open_topic.topic.id)

    async def _ask_on(self, pending: Iterator[tuple[Query | Steps[object], _Open]], ledger: Ledger) -> None:
        for query, open_topic in pending:
            if isinstance(query, Query):
                await self._ask(query, ledger)
            else:
                await self._converse(query, ledger)
            open_topic.waiting -= 1
            self._close_if_sampled(ledger, open_topic)
            # A model that answers without waiting would leave the heartbeat, and who wants to stop, no turn.
            await asyncio.sleep(0)

    async def _converse(self, steps: Steps[object], ledger: Ledger) -> None:
        """One query after the other, what the ledger holds from there."""
        progress = self.progress
        try:
            query = next(steps)
            while True:
                progress.planned += query.again
                reply = ledger.reply(self._models[query.to].identity, query)
                if reply is None:
                    reply = await self._ask(query, ledger)
                else:
                    progress.reused += 1
                query = steps.send(reply)
        except StopIteration:
            return

    async def _ask(self, query: Query, ledger: Ledger) -> Reply | None:
        progress, model = self.progress, self._models[query.to]
        try:
            reply = await model.ask(query)
        except CallFailed as failure:
            progress.failed += 1
            progress.last_failure = str(failure)
            ledger.add_failure(self._run, model.identity, query, str(failure))
            if progress.failed >= HOPELESS and progress.asked == 0:
                raise RunStopped(
                    f"the first {progress.failed} samples all failed; the last: {failure}",
                    where=model.identity.label,
                    mend="Nothing was answered, so nothing more is asked.",
                ) from None
            return None
        answer = read(query, reply)
        ledger.add(self._run, model.identity, query, reply, answer)
        progress.asked += 1
        progress.retried += reply.attempts - 1
        progress.refused += answer.kind is AnswerKind.REFUSED
        progress.unreadable += answer.kind is AnswerKind.UNREADABLE
        progress.prompt_tokens += reply.prompt_tokens or 0
        progress.completion_tokens += reply.completion_tokens or 0
        progress.uncounted += reply.prompt_tokens is None
        progress.served.add((reply.served_model, reply.fingerprint))
        return reply


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """What ended the run, trouble that names itself before any other; what it made of the tasks beside it is noise."""
    error: Exception = group.subgroup(FairgateError) or group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
