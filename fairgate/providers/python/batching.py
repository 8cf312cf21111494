"""Calls that wait together: one call of a slow function answers as many of them as fit."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fairgate.core.errors import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Call = TypeVar("Call", bound="Callable[..., Any]")
Asked = TypeVar("Asked")
Told = TypeVar("Told")
GATHER = 0.005  # seconds for calls of the same moment to come together
# Of a batch's time, for which the next one waits to be filled. Without it callers part into a large batch and a small
# one by turns, where a GPU takes hardly longer for one of all.
PATIENCE = 0.1
MEMORY = "OutOfMemoryError"  # as torch calls it, which is not imported here


def batched(size: int, *, max_in_flight: int = 1) -> Callable[[Call], Call]:
    """A decorator for `python/pkg.module:callable`, which takes a list of up to `size` prompts and returns the replies.

    `max_in_flight` batches are called at once, each in a thread of its own.
    """

    def declared(call: Call) -> Call:
        call.batch, call.max_in_flight = size, max_in_flight  # type: ignore[attr-defined]
        return call

    return declared


class CallBatches(Generic[Asked, Told]):
    """Answers calls by `run`, which takes at most `size` of them at once, in `at_once` threads; one is a lock.

    Where `run` fails for several calls, each half of them is tried anew, so that one bad call costs no other its
    answer. Where the memory is what failed, later batches are no larger than that half.
    """

    def __init__(self, run: Callable[[Sequence[Asked]], Sequence[Told]], size: int, at_once: int = 1) -> None:
        self._run, self.size, self._at_once = run, size, at_once
        self._waiting: deque[tuple[Asked, asyncio.Future[Told | BaseException]]] = deque()
        self._working: set[asyncio.Task[None]] = set()
        self._threads: ThreadPoolExecutor | None = None
        self._came = asyncio.Event()

    async def ask(self, asked: Asked) -> Told | BaseException:
        """The answer, or the exception that came in its place: raised by a thread it could end the loop."""
        told: asyncio.Future[Told | BaseException] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, told))
        self._came.set()
        if len(self._working) < self._at_once:
            self._working.add(asyncio.create_task(self._work()))
        return await told

    async def close(self) -> None:
        """Give back the threads, when the calls under way have ended."""
        threads, self._threads, self._came = self._threads, None, asyncio.Event()
        if threads is not None:
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    async def _work(self) -> None:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._at_once, thread_name_prefix="fairgate-batch")
        try:
            await asyncio.sleep(GATHER)
            while self._waiting:
                await self._answer_batch(self._threads)
        finally:
            # Here, not in a callback of the task: a call that comes before that would be left without a worker.
            self._working.discard(asyncio.current_task())

    async def _answer_batch(self, threads: ThreadPoolExecutor) -> None:
        batch = [self._waiting.popleft() for _ in range(min(self.size, len(self._waiting)))]
        began = perf_counter()
        outcomes = await asyncio.get_running_loop().run_in_executor(
            threads, self._outcomes, [asked for asked, _ in batch]
        )
        patience = max(GATHER, PATIENCE * (perf_counter() - began))
        for (_, told), outcome in zip(batch, outcomes, strict=True):
            if not told.done():
                told.set_result(outcome)
        # Callers that were answered may join the next batch.
        await self._gathered(len(batch) + len(self._waiting), patience)

    async def _gathered(self, callers: int, patience: float) -> None:
        """Wait for a full batch, or for all of so many callers, at most so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while len(self._waiting) < min(callers, self.size):
                    self._came.clear()
                    await self._came.wait()

    def _outcomes(self, asked: Sequence[Asked]) -> list[Told | BaseException]:
        try:
            told = self._run(asked)
            if len(told) == len(asked):
                return list(told)
            return [ValueError(f"{len(told)} answers to {len(asked)} calls") for _ in asked]
        except RunStopped as error:
            return [error for _ in asked]
        except BaseException as error:  # noqa: BLE001 - whatever it raises is the failure of these calls
            if len(asked) == 1:
                return [error]
            half = len(asked) // 2
            if type(error).__name__ == MEMORY:
                self.size = min(self.size, half)
            return self._outcomes(asked[:half]) + self._outcomes(asked[half:])
