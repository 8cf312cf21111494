"""Queries -> samples: each is asked once, never too many at a time, and whatever ends the sampling says why."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.cases import image_topic
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.portraits import PortraitPlan
from fairgate.benchmarks.fact_or_fair.topics import Level, Task
from fairgate.core.domain import Form, Modality, Query, Reply, Role, Topic
from fairgate.core.errors import CallFailed, LedgerError, RunStopped
from fairgate.ledger.images import said
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.runs import RunState
from fairgate.options.settings import Bounds
from fairgate.replies.faces import Reading
from fairgate.sampling import sampler as sampling
from fairgate.sampling.limits import Limits
from fairgate.sampling.sampler import GONE, HOPELESS, Sampler, Work
from fairgate.sampling.scheduler import Scheduler
from tests.builders import MODEL, objective, query, subjective

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fairgate.core.domain import Identity
    from fairgate.ledger.runs import RunStatus
    from fairgate.ledger.samples import Sample, Steps

TOPICS = (subjective(), subjective(level=Level.LOW), objective())
EACH = 10
PATIENCE = 30.0  # seconds


class Model:
    """Answers as `answer` does, and notes what it was asked."""

    def __init__(self, answer: Callable[[Query], Awaitable[Reply]] | None = None) -> None:
        self.asked: list[str] = []
        self.in_flight = self.peak = 0
        self.closed = 0
        self._answer = answer

    @property
    def identity(self) -> Identity:
        return MODEL

    async def ask(self, query: Query) -> Reply:
        self.asked.append(query.id)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(0)
            return await self._answer(query) if self._answer else Reply("A", prompt_tokens=5, completion_tokens=2)
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        self.closed += 1


def queries(topic: Topic, each: int = EACH) -> Iterator[Query]:
    return (query(index, topic) for index in range(each))


def sampler(
    path: Path,
    model: Model,
    run: str = "r",
    max_in_flight: int = 4,
    ask: Callable[[Topic], Iterator[Query]] = queries,
    tell: Callable[[Sample], None] = lambda _: None,
    budget: int | None = None,
) -> Sampler:
    return Sampler(
        Work(
            topics=TOPICS,
            queries=ask,
            planned={Modality.TEXT: EACH * len(TOPICS)},
        ),
        {Role.MODEL: model},
        ledger=path,
        run=run,
        line=Scheduler(Limits(Bounds(in_flight=max_in_flight, tokens=budget))),
        tell=tell,
    )


def to_the_end(work: Sampler) -> Sampler:
    work.start()
    assert work.wait(PATIENCE), "the sampler hangs"
    return work


def status(path: Path, run: str = "r") -> RunStatus:
    with Ledger(path) as ledger:
        found = ledger.runs.status(run)
    assert found is not None
    return found


def held(path: Path) -> set[str]:
    with Ledger(path) as ledger:
        return {each.id for topic in TOPICS for each in queries(topic) if ledger.holds(MODEL, each)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.mark.parametrize("max_in_flight", [1, 4, 1000])
def test_each_planned_sample_is_asked_once(path: Path, max_in_flight: int) -> None:
    model = Model()
    work = to_the_end(sampler(path, model, max_in_flight=max_in_flight))
    assert work.error is None
    assert Counter(model.asked) == Counter(each.id for topic in TOPICS for each in queries(topic))
    assert held(path) == set(model.asked)
    assert (work.progress.asked, work.progress.reused, work.progress.done) == (30, 0, 30)
    assert (work.progress.prompt_tokens, work.progress.completion_tokens) == (150, 60)
    assert status(path).state is RunState.DONE
    assert model.closed == 1
    with Ledger(path) as ledger:
        assert all(ledger.runs.is_sampled("r", topic.id) for topic in TOPICS)


def test_asyncios_own_loop_serves_where_uvloop_has_no_wheel(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loops = set[str]()

    async def answer(_: Query) -> Reply:
        loops.add(type(asyncio.get_running_loop()).__module__.partition(".")[0])
        return Reply("A")

    assert to_the_end(sampler(path, Model(answer))).error is None
    assert loops == {"asyncio"}


def test_a_second_run_asks_nothing_and_marks_its_own_topics(path: Path) -> None:
    to_the_end(sampler(path, Model()))
    again = Model()
    work = to_the_end(sampler(path, again, run="r2"))
    assert again.asked == []
    assert (work.progress.asked, work.progress.reused) == (0, 30)
    with Ledger(path) as ledger:
        assert all(ledger.runs.is_sampled("r2", topic.id) for topic in TOPICS)


def test_only_what_is_missing_is_asked(path: Path) -> None:
    to_the_end(sampler(path, Model(), ask=lambda topic: queries(topic, 4)))
    again = Model()
    to_the_end(sampler(path, again, run="r2"))
    assert set(again.asked) == {query(index, topic).id for topic in TOPICS for index in range(4, EACH)}


def test_never_more_are_in_flight_than_allowed(path: Path) -> None:
    async def slowly(_: Query) -> Reply:
        await asyncio.sleep(0.001)
        return Reply("A")

    model = Model(slowly)
    to_the_end(sampler(path, model, max_in_flight=3))
    assert model.peak == 3


def test_topics_are_in_flight_together(path: Path) -> None:
    together = asyncio.Event()
    model = Model()

    async def wait_for_the_others(_: Query) -> Reply:
        # Every sample of every topic is under way before the first is answered.
        if model.in_flight == EACH * len(TOPICS):
            together.set()
        await asyncio.wait_for(together.wait(), PATIENCE)
        return Reply("A")

    model = Model(wait_for_the_others)
    assert to_the_end(sampler(path, model, max_in_flight=30)).error is None


def test_a_failed_sample_is_recorded_and_asked_again_by_the_next_run(path: Path) -> None:
    async def third_fails(asked: Query) -> Reply:
        if asked.index == 3:
            raise CallFailed("HTTP 500 six times.")
        return Reply("A")

    work = to_the_end(sampler(path, Model(third_fails)))
    assert work.error is None
    assert (work.progress.asked, work.progress.failed, work.progress.done) == (27, 3, 30)
    assert work.progress.last_failure == "HTTP 500 six times."
    with Ledger(path) as ledger:
        for topic in TOPICS:
            assert ledger.failure("r", MODEL, query(3, topic)) == "HTTP 500 six times."
            assert ledger.runs.is_sampled("r", topic.id)
    again = Model()
    to_the_end(sampler(path, again, run="r2"))
    assert set(again.asked) == {query(3, topic).id for topic in TOPICS}


def test_trouble_ends_the_run_with_its_reason_and_keeps_what_was_answered(path: Path) -> None:
    async def key_expires(asked: Query) -> Reply:
        if asked.index == 7 and asked.topic == TOPICS[1]:
            raise RunStopped("the key is wrong.", hint="Set OPENAI_API_KEY.")
        return Reply("A")

    model = Model(key_expires)
    work = to_the_end(sampler(path, model))
    assert isinstance(work.error, RunStopped)
    assert str(work.error) == "the key is wrong. Set OPENAI_API_KEY."
    found = status(path)
    assert (found.state, found.message) == (RunState.STOPPED, str(work.error))
    assert len(model.asked) < 30
    assert len(held(path)) == work.progress.asked >= EACH
    assert model.closed == 1
    with Ledger(path) as ledger:
        assert ledger.runs.is_sampled("r", TOPICS[0].id)
        assert not ledger.runs.is_sampled("r", TOPICS[1].id)


def test_what_was_in_flight_beside_the_trouble_is_given_up(path: Path) -> None:
    async def never(asked: Query) -> Reply:
        if asked.index == 0:
            raise RunStopped("the quota is spent.")
        await asyncio.sleep(3600)
        return Reply("A")

    work = to_the_end(sampler(path, Model(never), max_in_flight=10))
    assert isinstance(work.error, RunStopped)
    assert held(path) == set()


def test_an_endpoint_that_never_answered_is_hopeless_after_twenty(path: Path) -> None:
    async def dead(_: Query) -> Reply:
        raise CallFailed("connection refused six times.")

    model = Model(dead)
    work = to_the_end(sampler(path, model, max_in_flight=1))
    assert HOPELESS == 20
    assert len(model.asked) == 20
    assert isinstance(work.error, RunStopped)
    assert "connection refused" in status(path).message


def test_one_answer_is_hope(path: Path) -> None:
    async def nearly_dead(asked: Query) -> Reply:
        if asked.index or asked.topic != TOPICS[0]:
            raise CallFailed("connection refused six times.")
        return Reply("A")

    model = Model(nearly_dead)
    work = to_the_end(sampler(path, model, max_in_flight=1))
    assert work.error is None
    assert (len(model.asked), work.progress.failed) == (30, 29)


def test_an_endpoint_that_has_gone_for_good_ends_the_run(path: Path) -> None:
    async def dies(asked: Query) -> Reply:
        if asked.index < 5:
            return Reply("A")
        raise CallFailed("connection refused six times.", attempts=6)

    model = Model(dies)
    work = to_the_end(sampler(path, model, max_in_flight=1, ask=lambda topic: queries(topic, 500)))
    assert (work.progress.failed, work.progress.retried) == (GONE, 5 * GONE)
    assert "samples in a row failed" in status(path).message


def test_queries_that_are_rejected_one_by_one_end_nothing(path: Path) -> None:
    async def too_long(asked: Query) -> Reply:
        if asked.index < 5:
            return Reply("A")
        raise CallFailed("the server rejects this query.")

    work = to_the_end(sampler(path, Model(too_long), ask=lambda topic: queries(topic, 2 * GONE)))
    assert (work.error, work.progress.failed) == (None, 3 * (2 * GONE - 5))


def test_a_bug_in_a_model_is_the_runs_trouble_and_never_silence(path: Path) -> None:
    async def broken(_: Query) -> Reply:
        raise KeyError("oops")

    work = to_the_end(sampler(path, Model(broken)))
    assert isinstance(work.error, RunStopped)
    assert "KeyError" in str(work.error)
    found = status(path)
    assert found.state is RunState.STOPPED
    assert "the sampler broke" in found.message


def test_stop_keeps_what_was_answered_and_gives_up_the_rest(path: Path) -> None:
    answered = threading.Event()

    async def five_then_none(asked: Query) -> Reply:
        if asked.index < 5 and asked.topic == TOPICS[0]:
            return Reply("A")
        answered.set()
        await asyncio.sleep(3600)
        return Reply("A")

    model = Model(five_then_none)
    work = sampler(path, model, max_in_flight=1)
    work.start()
    assert answered.wait(PATIENCE)
    work.stop()
    assert work.wait(PATIENCE)
    assert held(path) == {query(index, TOPICS[0]).id for index in range(5)}
    assert status(path).state is RunState.STOPPED
    assert model.closed == 1


def test_stop_reaches_a_model_that_never_waits(path: Path) -> None:
    many = threading.Event()

    async def at_once(asked: Query) -> Reply:
        if asked.index == 100:
            many.set()
        return Reply("A")

    class Eager(Model):
        async def ask(self, query: Query) -> Reply:
            return await at_once(query)

    work = sampler(path, Eager(), ask=lambda topic: queries(topic, 1_000_000))
    work.start()
    assert many.wait(PATIENCE)
    work.stop()
    assert work.wait(PATIENCE)
    assert status(path).state is RunState.STOPPED


def test_the_heart_beats_beside_a_model_that_never_waits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "HEARTBEAT", 0.0)

    class Eager(Model):
        async def ask(self, query: Query) -> Reply:  # noqa: ARG002
            return Reply("A")

    to_the_end(sampler(path, Eager()))
    assert status(path).beat > 5


def test_a_ledger_that_is_moved_away_ends_the_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is answered from then on would be lost."""
    monkeypatch.setattr(sampling, "HEARTBEAT", 0.01)

    def move() -> None:
        if path.exists():
            path.rename(path.with_name("moved.sqlite"))

    class Mover(Model):
        async def ask(self, query: Query) -> Reply:
            move()
            await asyncio.sleep(0.05)
            return await super().ask(query)

    model = Mover()
    work = to_the_end(sampler(path, model, max_in_flight=1))
    assert "was removed, moved or replaced" in str(work.error)
    assert len(model.asked) < EACH * len(TOPICS)


def test_queries_are_made_as_they_are_needed(path: Path) -> None:
    made = 0
    ahead: list[int] = []

    def counted(topic: Topic) -> Iterator[Query]:
        nonlocal made
        for each in queries(topic, 200):
            made += 1
            yield each

    async def look(_: Query) -> Reply:
        await asyncio.sleep(0)
        ahead.append(made - len(ahead))
        return Reply("A")

    to_the_end(sampler(path, Model(look), max_in_flight=4, ask=counted))
    assert made == 200 * len(TOPICS)
    assert max(ahead) <= 5


def test_a_ledger_that_cannot_be_opened_is_the_runs_trouble(tmp_path: Path) -> None:
    work = to_the_end(sampler(tmp_path, Model()))
    assert isinstance(work.error, LedgerError)


def test_whoever_counts_is_told_of_all_that_is_answered_now_or_before(path: Path) -> None:
    async def all_but_the_third(asked: Query) -> Reply:
        if asked.index == 3:
            raise CallFailed("no.", where="here", attempts=1)
        return Reply('{"answer": "A"}')

    for run, answer, expected in (("r", all_but_the_third, EACH - 1), ("r2", None, EACH)):
        told: list[Sample] = []
        work = sampler(path, Model(answer), run, tell=told.append)
        to_the_end(work)
        assert {each.query.id for each in told} == held(path)
        assert len(told) == expected * len(TOPICS)


def test_threads_take_turns_as_before_when_a_run_is_over(path: Path) -> None:
    before = sys.getswitchinterval()
    to_the_end(sampler(path, Model()))
    assert sys.getswitchinterval() == before


def test_what_the_replies_say_is_counted(path: Path) -> None:
    said = ["A", "I can't choose between people.", "lorem ipsum dolor"]

    async def each(asked: Query) -> Reply:
        return Reply(said[asked.index % 3], attempts=2)

    progress = to_the_end(sampler(path, Model(each))).progress
    assert (progress.refused, progress.unreadable, progress.retried, progress.uncounted) == (9, 9, 30, 30)


def test_what_was_billed_for_no_reply_counts_for_the_budget(path: Path) -> None:
    async def each(_: Query) -> Reply:
        raise CallFailed("no choices in the answer.", attempts=6, tokens=(300, 300))

    ended = to_the_end(sampler(path, Model(each), max_in_flight=1, budget=1000))
    assert "budget of 1,000 tokens is spent: 1,200 were used" in status(path).message
    assert ended.progress.failed == 2


# Conversations: each query depends on the reply before


def talk(topic: Topic, number: int, turns: int = 3) -> Steps[str]:
    said = ""
    for turn in range(turns):
        reply = yield replace(query(number, topic, f"{number} {said}"), step=f"turn-{turn}", form=Form.TEXT)
        if reply is None:
            return "cut short"
        said = reply.text
    yield replace(query(number, topic, f"judge {said}"), step="judge", to=Role.JUDGE, form=Form.VERDICT)
    return said


def talking(path: Path, model: Model, judge: Model, run: str = "r") -> Sampler:
    return Sampler(
        Work(
            topics=TOPICS[:1],
            queries=lambda topic: (talk(topic, number) for number in range(5)),
            planned={Modality.TEXT: 5 * 4},
        ),
        {Role.MODEL: model, Role.JUDGE: judge},
        ledger=path,
        run=run,
        line=Scheduler(Limits(Bounds(in_flight=2))),
    )


def test_a_conversation_is_asked_turn_by_turn_and_goes_on_where_it_stopped(path: Path) -> None:
    async def third_turn_fails(asked: Query) -> Reply:
        if asked.step == "turn-2" and asked.index % 2:
            raise CallFailed("no", where="here")
        return Reply(f"{asked.prompt}+")

    async def verdict(_: Query) -> Reply:
        return Reply("Yes")

    first, judge = Model(third_turn_fails), Model(verdict)
    work = to_the_end(talking(path, first, judge))
    assert (work.progress.asked, work.progress.failed, work.progress.planned) == (3 * 4 + 2 * 2, 2, 20)
    assert all(each.endswith("/judge") for each in judge.asked)

    async def answers(asked: Query) -> Reply:
        return Reply(f"{asked.prompt}+")

    second, again = Model(answers), Model(verdict)
    work = to_the_end(talking(path, second, again, run="again"))
    assert (work.progress.asked, work.progress.reused, work.progress.failed) == (4, 16, 0)
    assert sorted(each.rpartition("#")[2] for each in second.asked) == ["1/turn-2", "3/turn-2"]
    assert len(again.asked) == 2
    third = Model(answers)
    assert to_the_end(talking(path, third, Model(verdict), run="third")).progress.reused == 20
    assert third.asked == []
    with Ledger(path) as ledger:
        said = ledger.reply(MODEL, replace(query(1, TOPICS[0], "1 1 1 ++"), step="turn-2", form=Form.TEXT))
    assert said is not None
    assert said.text == "1 1 1 +++"


def test_what_is_first_is_settled_before_it_is_said_what_is_asked_of_the_rest(path: Path) -> None:
    """The last answer to the first topic decides: nothing else may have been begun before it."""
    first, *others = TOPICS

    def asks(topic: Topic) -> bool:
        assert len(model.asked) == EACH
        assert model.in_flight == 0
        return topic == others[1]

    model = Model()
    work = Sampler(
        Work(
            first=(first,),
            topics=others,
            asks=asks,
            queries=queries,
            planned={Modality.TEXT: EACH * len(TOPICS)},
        ),
        {Role.MODEL: model},
        ledger=path,
        run="r",
        line=Scheduler(Limits(Bounds(in_flight=4))),
    )
    to_the_end(work)
    assert work.error is None
    assert Counter(each.partition("#")[0] for each in model.asked) == {first.id: EACH, others[1].id: EACH}
    with Ledger(path) as ledger:
        assert all(ledger.runs.is_sampled("r", each.id) for each in TOPICS)


# Images


HASH = "ab" * 32


def drawing(image_model: Model, detector: Model, path: Path, images: int, bounds: Bounds, run: str = "r") -> Sampler:
    plan = PortraitPlan(load(), images, images)
    topic = image_topic(Task.SUBJECTIVE, "crime-rate", Level.HIGH)
    return Sampler(
        Work(
            topics=[topic],
            queries=lambda _: plan.work(topic),
            planned={Modality.TEXT: plan.size(topic)},
        ),
        {Role.IMAGE_MODEL: image_model, Role.DETECTOR: detector},
        ledger=path,
        run=run,
        line=Scheduler(Limits(bounds)),
    )


def test_faces_are_read_out_of_line_and_no_budget_pays_for_them(path: Path) -> None:
    async def draw(_: Query) -> Reply:
        return Reply(said(HASH))

    async def read(_: Query) -> Reply:
        return Reply(Reading((8, 8)).to_json())

    detector = Model(read)
    work = to_the_end(drawing(Model(draw), detector, path, 5, Bounds(in_flight=2, calls=5)))
    assert work.error is None
    assert (work.progress.planned, work.progress.asked, len(detector.asked)) == (10, 10, 5)


def test_what_is_refused_is_planned_without_its_reading(path: Path) -> None:
    async def refuse(query: Query) -> Reply:
        return Reply("no", filtered=True) if query.index % 2 else Reply(said(HASH))

    async def read(_: Query) -> Reply:
        return Reply(Reading(problem="truncated").to_json())

    first = to_the_end(drawing(Model(refuse), Model(read), path, 4, Bounds())).progress
    again = to_the_end(drawing(Model(refuse), Model(read), path, 4, Bounds(), "again")).progress
    assert (first.planned, first.asked, first.reused, first.unreadable, first.refused) == (6, 6, 0, 2, 2)
    assert (again.planned, again.asked, again.reused) == (6, 0, 6)


def test_an_image_model_that_never_draws_ends_the_run_whatever_others_answer(path: Path) -> None:
    async def fail(_: Query) -> Reply:
        raise CallFailed("no", where="here")

    work = drawing(Model(fail), Model(), path, HOPELESS + 5, Bounds(in_flight=1))
    to_the_end(work)
    assert isinstance(work.error, RunStopped)
    assert f"the first {HOPELESS} samples all failed" in str(work.error)
