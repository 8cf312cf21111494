"""Where samples stand in line: for a place in flight, and until limits and budgets let their requests go."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from math import inf
from typing import TYPE_CHECKING

from fairgate.core.errors import BudgetSpent
from fairgate.sampling.limits import Bill, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.core.domain import Reply
    from fairgate.core.errors import FairgateError
    from fairgate.providers.retries import TransientError

# Samples that wait to be asked again, for each place: beyond that, nothing new is begun.
ASIDE = 8

# Done when its turn has come, with what the request is expected to cost; None where nothing is to be paid anew.
Slot = asyncio.Future[Bill | None]


class Scheduler:
    """The waiting of a run, in one event loop. Whoever is asked again goes before whoever is new.

    A sample begins (`begin`) and ends (`end`). Each of its requests takes a place (`enter`) and gives it back
    (`leave`). While it waits to be asked again it steps aside (`step_aside`), so that another can use its place. Nobody
    holds a place while limits or budgets keep him waiting: the one whom he waits for may need it.
    """

    def __init__(self, limits: Limits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits or Limits()
        self.in_flight = 0
        self._tell: Callable[[str], None] = lambda _: None
        self._clock = clock
        self._open = self._aside = 0
        self._returning: deque[Slot] = deque()
        self._arriving: deque[tuple[str, int, Slot]] = deque()
        self._resting: set[Slot] = set()
        self._beginning: Slot | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed: FairgateError | None = None

    def report_to(self, tell: Callable[[str], None]) -> None:
        """Tell why a request is to be repeated, and an empty text as soon as one is answered."""
        self._tell = tell

    async def begin(self) -> None:
        """Wait until there is a use for one more sample. Only one may wait here. Raises what the line closed with."""
        while not self._has_use():
            self._beginning = _turn()
            await self._beginning
        if self._closed is not None:
            raise self._closed
        self._open += 1

    def end(self) -> None:
        """A sample that began has ended, with a reply or without."""
        self._open -= 1
        self._call_in()

    async def enter(self, model: str, characters: int) -> Bill:
        """Take a place for a request of a prompt so long, as soon as it may go; what it is expected to cost.

        Raises BudgetSpent where it never may.
        """
        if self._closed is not None:
            raise self._closed
        if not self._returning and not self._arriving and self._has_place():
            expected = self.limits.meter(model).expect(characters)
            if self.limits.wait(self._clock(), expected) <= 0:
                self.limits.take(expected)
                self.in_flight += 1
                return expected
        turn = _turn()
        self._arriving.append((model, characters, turn))
        self._call_in()
        return await self._wait(turn) or Bill(0, 0)

    def leave(self, model: str, characters: int, expected: Bill, reply: Reply | None) -> None:
        """Give the place back, and tell the limits what came of the request: None where it failed."""
        self.in_flight -= 1
        self.limits.settle(model, characters, expected, reply)
        if reply is not None:
            self._tell("")
            self.limits.window.answered(reply.latency)
        if self._returning or self._arriving:
            self._call_in()

    async def step_aside(self, seconds: float, problem: TransientError) -> None:
        """Wait so long without a place, or until the problem is over, then take one again."""
        self._tell(problem.kind)
        if problem.crowded:
            self.limits.window.refused()
        self._aside += 1
        self.in_flight -= 1
        self._call_in()
        try:
            await self._rest(seconds, problem.over)
            turn = _turn()
            self._returning.append(turn)
            self._call_in()
            await self._wait(turn)
        except BaseException:
            # Whoever entered leaves, even who is told not to come back.
            self.in_flight += 1
            raise
        finally:
            self._aside -= 1

    def close(self, reason: FairgateError) -> None:
        """Let nobody begin or go any more: all who wait are told why. What is in flight goes on."""
        if self._closed is not None:
            return
        self._closed = reason
        for turn in [*self._resting, *self._returning, *(turn for *_, turn in self._arriving)]:
            if not turn.done():
                turn.set_exception(reason)
        self._returning.clear()
        self._arriving.clear()
        self._call_in()

    def _has_place(self) -> bool:
        return self.in_flight < self.limits.window.size

    def _has_use(self) -> bool:
        """A sample that is not aside has a request in flight, or is about to have one."""
        most = self.limits.bounds.in_flight
        return self._closed is not None or (
            self._open - self._aside < self.limits.window.size and self._aside < ASIDE * most
        )

    async def _rest(self, seconds: float, over: asyncio.Future[None] | None) -> None:
        if self._closed is not None:
            raise self._closed
        rest = _turn()

        def wake(_: object = None) -> None:
            _wake(rest)

        timer = asyncio.get_running_loop().call_later(seconds, wake)
        self._resting.add(rest)
        if over is not None:
            over.add_done_callback(wake)
        try:
            await rest
        finally:
            timer.cancel()
            self._resting.discard(rest)
            if over is not None:
                over.remove_done_callback(wake)
        if self._closed is not None:
            # It closed between the end of the rest and this moment: nobody would ever call another turn.
            raise self._closed

    async def _wait(self, turn: Slot) -> Bill | None:
        try:
            return await turn
        except asyncio.CancelledError:
            # Called off in the very moment in which its turn had come: the place is for the next.
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.in_flight -= 1
                self._call_in()
            raise

    def _call_in(self) -> None:
        """Let in who may, and let begin what there is use for; come back when the next one may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while (self._returning or self._arriving) and self._has_place():
            expected, again = None, bool(self._returning)
            if again:
                turn = self._returning[0]
            else:
                # Only now, because much may have been learnt of what calls cost since it came.
                model, characters, turn = self._arriving[0]
                expected = self.limits.meter(model).expect(characters)
            if not turn.done():
                try:
                    wait = self.limits.wait(self._clock(), expected)
                except BudgetSpent as spent:
                    self.close(spent)
                    return
                if wait > 0:
                    if wait < inf:
                        self._timer = asyncio.get_running_loop().call_later(wait, self._call_in)
                    break
                self.limits.take(expected)
                self.in_flight += 1
                turn.set_result(expected)
            (self._returning if again else self._arriving).popleft()
        if self._beginning is not None and self._has_use():
            _wake(self._beginning)
            self._beginning = None


def _turn() -> Slot:
    return asyncio.get_running_loop().create_future()


def _wake(turn: Slot) -> None:
    if not turn.done():
        turn.set_result(None)
