"""Calls that wait together: one call of a slow function answers as many of them as fit."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fairgate.core.errors import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Call = TypeVar("Call", bound="Callable[..., Any]")
Asked = TypeVar("Asked")
Told = TypeVar("Told")
GATHER = 0.005  # seconds for calls of the same moment to come together
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

    async def ask(self, asked: Asked) -> Told | BaseException:
        """The answer, or the exception that came in its place: raised by a thread it could end the loop."""
        told: asyncio.Future[Told | BaseException] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, told))
        if len(self._working) < self._at_once:
            task = asyncio.create_task(self._work())
            self._working.add(task)
            task.add_done_callback(self._working.discard)
        return await told

    async def close(self) -> None:
        """Give back the threads, when the calls under way have ended."""
        threads, self._threads = self._threads, None
        if threads is not None:
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    async def _work(self) -> None:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._at_once, thread_name_prefix="fairgate-batch")
        await asyncio.sleep(GATHER)
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(self.size, len(self._waiting)))]
            outcomes = await asyncio.get_running_loop().run_in_executor(
                self._threads, self._outcomes, [asked for asked, _ in batch]
            )
            for (_, told), outcome in zip(batch, outcomes, strict=True):
                if not told.done():
                    told.set_result(outcome)
            await asyncio.sleep(0)  # callers that were answered may join the next batch

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
