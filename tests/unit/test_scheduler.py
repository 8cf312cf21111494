"""Standing in line: places, who goes first, what a spent budget does. No test waits for the clock."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fairgate.core.domain import Reply
from fairgate.core.errors import BudgetSpent, RunStopped
from fairgate.options.settings import Bounds
from fairgate.providers.retries import TransientError
from fairgate.sampling.limits import Bill, Limits
from fairgate.sampling.scheduler import ASIDE, Scheduler

if TYPE_CHECKING:
    from collections.abc import Coroutine

BILL = Bill(69, 0)  # of 20 characters, as long as nothing was answered
ANSWER = Reply("A", prompt_tokens=5, completion_tokens=64)


def line(**bounds: float) -> Scheduler:
    return Scheduler(Limits(Bounds(**bounds)))  # type: ignore[arg-type] # filled in by name


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def run(story: Coroutine[object, object, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 10))


def leave(of: Scheduler, reply: Reply | None = ANSWER) -> None:
    of.leave("m/a", 20, BILL, reply)


def test_no_more_are_in_flight_than_there_are_places() -> None:
    async def story() -> None:
        places = line(in_flight=2)
        entered = [asyncio.create_task(places.enter("m/a", 20)) for _ in range(3)]
        await turns()
        assert ([each.done() for each in entered], places.in_flight) == ([True, True, False], 2)
        leave(places)
        await turns()
        assert (entered[2].done(), places.in_flight) == (True, 2)

    run(story())


def test_who_waits_to_be_asked_again_holds_no_place_and_goes_first_when_it_comes_back() -> None:
    async def story() -> None:
        places = line(in_flight=1)
        await places.enter("m/a", 20)
        back = asyncio.create_task(places.step_aside(0.01, TransientError("429", crowded=True)))
        await turns()
        assert places.in_flight == 0
        await places.enter("m/a", 20)
        new = asyncio.create_task(places.enter("m/a", 20))
        await asyncio.sleep(0.02)
        assert not back.done()
        leave(places)
        await turns()
        assert (back.done(), new.done(), places.in_flight) == (True, False, 1)

    run(story())


def test_who_is_aside_comes_back_as_soon_as_the_trouble_is_over() -> None:
    async def story() -> None:
        places, over = line(in_flight=1), asyncio.get_running_loop().create_future()
        await places.enter("m/a", 20)
        back = asyncio.create_task(places.step_aside(3600, TransientError("connection refused", over=over)))
        await turns()
        assert (back.done(), places.in_flight) == (False, 0)
        over.set_result(None)
        await turns()
        assert (back.done(), places.in_flight) == (True, 1)

    run(story())


def test_why_a_request_is_repeated_is_told_at_once_and_until_one_is_answered() -> None:
    async def story() -> None:
        places, told = line(in_flight=2), list[str]()
        places.report_to(told.append)
        await places.enter("m/a", 20)
        await places.enter("m/a", 20)
        back = asyncio.create_task(places.step_aside(3600, TransientError("connection refused")))
        await turns()
        assert told == ["connection refused"]
        leave(places, None)
        assert told == ["connection refused"]
        await places.enter("m/a", 20)
        leave(places)
        assert told == ["connection refused", ""]
        back.cancel()

    run(story())


def test_a_budget_that_waits_for_one_who_is_aside_lets_it_come_back() -> None:
    """One place, and a budget that the one aside may use up: whoever is new waits without the place."""

    async def story() -> None:
        places = line(in_flight=1, tokens=75)
        await places.enter("m/a", 20)
        back = asyncio.create_task(places.step_aside(0.01, TransientError("500")))
        await turns()
        new = asyncio.create_task(places.enter("m/a", 20))
        await back
        assert (new.done(), places.in_flight) == (False, 1)
        leave(places, None)
        await new
        leave(places)
        with pytest.raises(BudgetSpent):
            await places.enter("m/a", 20)

    run(story())


def test_a_spent_budget_tells_all_who_wait() -> None:
    async def story() -> None:
        places = line(in_flight=1, calls=1)
        await places.begin()
        await places.enter("m/a", 20)
        waiting = [
            asyncio.create_task(each) for each in (places.enter("m/a", 20), places.enter("m/a", 20), places.begin())
        ]
        await turns()
        assert not any(each.done() for each in waiting)
        leave(places)
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(each, BudgetSpent) for each in ended)

    run(story())


def test_a_closed_line_wakes_who_rests_and_counts_right() -> None:
    async def story() -> None:
        places = line(in_flight=4)
        await places.enter("m/a", 20)
        resting = asyncio.create_task(places.step_aside(3600, TransientError("500")))
        await turns()
        places.close(RunStopped("the key is wrong."))
        with pytest.raises(RunStopped, match="key is wrong"):
            await resting
        leave(places, None)
        assert places.in_flight == 0
        for refused in (places.enter("m/a", 20), places.begin()):
            with pytest.raises(RunStopped):
                await refused

    run(story())


def test_new_samples_begin_while_others_are_aside_but_not_without_end() -> None:
    async def story() -> None:
        places = line(in_flight=2)
        for _ in range(2 * ASIDE):
            await asyncio.wait_for(places.begin(), 1)
            await places.enter("m/a", 20)
            task = asyncio.create_task(places.step_aside(3600, TransientError("500")))
            await turns(2)
            assert not task.done()
        one_more = asyncio.create_task(places.begin())
        await turns()
        assert not one_more.done()
        places.close(RunStopped("enough."))
        await asyncio.gather(one_more, return_exceptions=True)

    run(story())


def test_a_sample_is_begun_when_there_is_a_place_for_it() -> None:
    async def story() -> None:
        places = line(in_flight=1)
        await places.begin()
        second = asyncio.create_task(places.begin())
        await turns()
        assert not second.done()
        places.end()
        await second

    run(story())


def test_who_is_called_off_in_line_leaves_no_hole() -> None:
    async def story() -> None:
        places = line(in_flight=1)
        await places.enter("m/a", 20)
        first, second = (asyncio.create_task(places.enter("m/a", 20)) for _ in range(2))
        await turns()
        first.cancel()
        leave(places)
        await second
        third = asyncio.create_task(places.enter("m/a", 20))
        await turns()
        leave(places)
        third.cancel()  # its turn has come already
        await asyncio.gather(third, return_exceptions=True)
        assert places.in_flight == 0

    run(story())


def test_a_rate_lets_one_go_after_another() -> None:
    async def story() -> None:
        now = 0.0
        places = Scheduler(Limits(Bounds(in_flight=8, requests_a_minute=600)), clock=lambda: now)
        waiting = [asyncio.create_task(places.enter("m/a", 20)) for _ in range(3)]
        await turns()
        assert [each.done() for each in waiting] == [True, False, False]
        for gone in (2, 3):
            now += 0.1
            leave(places)
            await turns()
            assert sum(each.done() for each in waiting) == gone

    run(story())


def test_who_has_just_rested_when_the_line_closes_is_told_so_too() -> None:
    async def story() -> None:
        places, reason = line(in_flight=2), RunStopped("the key is wrong")
        await places.enter("m/a", 20)
        aside = asyncio.create_task(places.step_aside(0.0, TransientError("500")))
        await asyncio.sleep(0)
        # Both are due at once: the rest ends, and before anybody wakes from it the line closes.
        asyncio.get_running_loop().call_later(0.0, places.close, reason)
        with pytest.raises(RunStopped, match="the key is wrong"):
            await aside

    run(story())
