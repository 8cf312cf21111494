"""A whole sampling over HTTP, from servers that fail: nothing is lost, and only what failed is asked again."""

from __future__ import annotations

import asyncio
import math
import re
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.topics import Level
from fairgate.core.domain import Modality, Query, Role
from fairgate.core.errors import RunStopped
from fairgate.ledger.ledger import Ledger
from fairgate.options.settings import Bounds
from fairgate.providers.chat.openai import OpenAIChat
from fairgate.providers.endpoint import Server
from fairgate.providers.retries import Backoff, Retries
from fairgate.sampling.limits import Limits
from fairgate.sampling.sampler import Sampler, Work
from fairgate.sampling.scheduler import Scheduler
from tests.builders import objective, query, subjective
from tests.running import environment
from tests.servers.chat import (
    ChatStub,
    Fault,
    cut,
    every_time,
    half_written,
    in_order,
    insufficient_quota,
    now_and_then,
    rate_limited,
    server_error,
    slow_loris,
    torn,
    unknown_model,
    wrong_content_type,
    wrong_key,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairgate.core.domain import Topic
    from fairgate.providers.retries import TransientError

pytestmark = pytest.mark.usefixtures("each_transport")

TOPICS = (subjective(), subjective(level=Level.LOW), objective())
EACH = 50
WHOLE = EACH * len(TOPICS)
PATIENCE = 60.0  # seconds


def queries(topic: Topic) -> Iterator[Query]:
    return (query(index, topic, f"{topic.id} {index}?\nA. one\nB. two") for index in range(EACH))


def sample(
    path: Path,
    stub: ChatStub,
    run: str = "r",
    *,
    host: str = "127.0.0.1",
    timeout: float = 10,
    stands_in: type[Scheduler] = Scheduler,
    **bounds: float,
) -> Sampler:
    line = stands_in(Limits(Bounds(**{"in_flight": 16, **bounds})))  # type: ignore[arg-type] # filled in by name
    work = Sampler(
        Work(
            topics=TOPICS,
            queries=queries,
            planned={Modality.TEXT: WHOLE},
        ),
        {
            Role.MODEL: OpenAIChat(
                "tiny",
                Server(
                    f"http://{host}:{stub.port}/v1",
                    timeout=timeout,
                    retries=Retries(waits=Backoff(base=0.05), aside=line.step_aside),
                ),
            )
        },
        ledger=path,
        run=run,
        line=line,
    )
    work.start()
    return work


def kept(path: Path, work: Sampler) -> int:
    [model] = set(work._models.values())  # noqa: SLF001
    with Ledger(path) as ledger:
        return sum(ledger.holds(model.identity, each) for topic in TOPICS for each in queries(topic))


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end, "it never comes"
        time.sleep(0.001)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub() as running:
        yield running


@pytest.mark.parametrize(
    "fault",
    [rate_limited("0.05"), server_error(), cut(), torn(), half_written(), wrong_content_type(), slow_loris()],
    ids=lambda fault: fault.name,
)
def test_a_tenth_of_failures_loses_nothing_and_only_they_are_repeated(path: Path, stub: ChatStub, fault: Fault) -> None:
    stub.plan = now_and_then(fault, 0.1)
    work = sample(path, stub, timeout=0.5 if fault.name == "slow-loris" else 10)
    assert work.wait(PATIENCE), "the sampler hangs"
    progress = work.progress
    assert (work.error, progress.asked, progress.failed) == (None, WHOLE, 0)
    assert kept(path, work) == WHOLE
    assert len(stub.prompts) == len(set(stub.prompts)) == WHOLE
    assert progress.retried == stub.faults[fault.name] > 0
    assert progress.requests == stub.requests == WHOLE + progress.retried


def test_a_server_that_restarts_loses_nothing(path: Path, stub: ChatStub) -> None:
    stub.most = WHOLE // 2
    work = sample(path, stub)
    until(lambda: stub.answered == WHOLE // 2 and stub.in_flight > 0)
    stub.most = math.inf
    stub.restart(0.1)
    assert work.wait(PATIENCE), "the sampler hangs"
    assert (work.error, work.progress.asked) == (None, WHOLE)
    assert kept(path, work) == WHOLE


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (insufficient_quota(), "quota is spent"),
        (wrong_key(), "wants a key"),
        (unknown_model(), "has no model 'tiny'"),
    ],
    ids=lambda each: each.name if isinstance(each, Fault) else "",
)
def test_what_cannot_pass_ends_the_run_at_once_with_its_reason(
    path: Path, stub: ChatStub, fault: Fault, reason: str
) -> None:
    stub.plan = every_time(fault)
    work = sample(path, stub)
    assert work.wait(PATIENCE), "the sampler hangs"
    assert isinstance(work.error, RunStopped)
    assert reason in str(work.error)
    assert stub.requests <= 16


def test_a_name_that_does_not_resolve_is_said_before_anything_is_repeated(path: Path, stub: ChatStub) -> None:
    work = sample(path, stub, host="no-such-host.invalid")
    assert work.wait(PATIENCE), "the sampler hangs"
    assert "'no-such-host.invalid' does not resolve" in str(work.error)
    assert stub.requests == 0


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_where_nothing_listens_on_this_machine_the_run_ends_soon_and_says_so(path: Path) -> None:
    stub, told = ChatStub(), list[str]()
    stub.port = closed_port()

    class Told(Scheduler):
        async def step_aside(self, seconds: float, problem: TransientError) -> None:
            told.append(problem.kind)
            await super().step_aside(seconds, problem)

    began = time.monotonic()
    work = sample(path, stub, stands_in=Told)
    assert work.wait(PATIENCE), "the sampler hangs"
    assert time.monotonic() - began < 10
    assert isinstance(work.error, RunStopped)
    said = rf"http://127\.0\.0\.1:{stub.port}/v1: nothing listens there \(Connection refused\)\. Start the server first"
    assert re.search(said, str(work.error))
    assert set(told) == {"connection refused"}
    assert work.progress.problem == "connection refused"


TWICE = """
import sys, threading
from pathlib import Path
from tests.end_to_end.test_faults import WHOLE, sample
from tests.servers.chat import ChatStub
assert not [name for name in sys.modules if name.startswith("pyreqwest")]
with ChatStub() as stub:
    for run in range(3):
        work = sample(Path(sys.argv[1]) / f"{run}.sqlite", stub)
        work.wait()
        assert (work.error, work.progress.asked) == (None, WHOLE), work.error
"""


def test_samplers_follow_one_another_in_one_process(tmp_path: Path) -> None:
    """Each in a thread that ends: pyreqwest, imported first in such a thread, crashed the process."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", TWICE, tmp_path], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_answers_that_are_under_way_when_trouble_comes_are_kept(path: Path, stub: ChatStub) -> None:
    stub.most = 0
    stub.plan = in_order(None, None, insufficient_quota())
    work = sample(path, stub)
    until(lambda: stub.in_flight == 16)
    stub.most = math.inf
    assert work.wait(PATIENCE), "the sampler hangs"
    assert "quota is spent" in str(work.error)
    assert kept(path, work) == stub.answered >= 15


def test_who_waits_long_does_not_hold_up_the_others(path: Path, stub: ChatStub) -> None:
    """As many as there are places are told to come back much later; all others are answered meanwhile."""
    others_are_done = threading.Event()

    class Resting(Scheduler):
        async def _rest(self, seconds: float, over: asyncio.Future[None] | None) -> None:
            assert 3 <= seconds < 4
            assert over is None
            while not others_are_done.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.001)

    stub.plan = in_order(*[rate_limited("3")] * 16)
    work = sample(path, stub, stands_in=Resting)
    until(lambda: work.progress.asked == WHOLE - 16)
    assert stub.answered == WHOLE - 16
    assert not work.wait(0.01), "it ended before those who wait came back"
    others_are_done.set()
    assert work.wait(PATIENCE), "the sampler hangs"
    assert (work.progress.asked, work.progress.retried) == (WHOLE, 16)


def test_a_budget_of_calls_is_kept_to_the_call_and_the_next_run_goes_on(path: Path, stub: ChatStub) -> None:
    stub.plan = now_and_then(server_error(), 0.1)
    work = sample(path, stub, calls=60)
    assert work.wait(PATIENCE), "the sampler hangs"
    assert "budget of 60 calls is spent" in str(work.error)
    assert stub.requests == 60
    assert kept(path, work) == stub.answered == work.progress.asked < 60
    again = sample(path, stub, "again")
    assert again.wait(PATIENCE), "the sampler hangs"
    assert (again.error, again.progress.reused) == (None, work.progress.asked)
    assert len(stub.prompts) == len(set(stub.prompts)) == WHOLE


def test_a_budget_of_tokens_is_not_overdrawn_by_what_is_in_flight(path: Path, stub: ChatStub) -> None:
    stub.latency = 0.01
    work = sample(path, stub, tokens=600)
    assert work.wait(PATIENCE), "the sampler hangs"
    assert "budget of 600 tokens is spent" in str(work.error)
    used = work.progress.prompt_tokens + work.progress.completion_tokens
    assert 500 < used <= 600
    assert kept(path, work) == stub.answered


def test_a_rate_is_kept(path: Path, stub: ChatStub) -> None:
    began = time.monotonic()
    work = sample(path, stub, requests_a_minute=60 * 300)
    assert work.wait(PATIENCE), "the sampler hangs"
    assert work.progress.asked == WHOLE
    # 300 a second, and a tenth of a second ahead at most.
    assert time.monotonic() - began > (WHOLE - 1 - 30) / 300
