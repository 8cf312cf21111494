"""kill -9 of whatever process: what was answered is kept, and the run goes on from there."""

from __future__ import annotations

import math
import os
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.running import PATIENCE, Outcome, bench, finished, started, stored, wait_until_stored
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("each_transport")]

SAMPLES = 56  # of `-k crime` with two samples a topic or scenario
IN_FLIGHT = 4
MOST = SAMPLES // 2 + IN_FLIGHT  # so that no run can be done before it is killed


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(latency=0.15) as running:
        yield running


def given(stub: ChatStub, *more: str) -> tuple[str, ...]:
    server = ("--model=openai/tiny", f"--base-url={stub.base_url}", f"--max-in-flight={IN_FLIGHT}")
    return (*server, "-k", "crime", *more)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Counter[str]]:
    """A run that nobody killed, and the prompts that it asked."""
    with ChatStub() as stub:
        run = bench(tmp_path_factory.mktemp("undisturbed"), *given(stub, "-p", "no:xdist"))
        assert run.code == 0, run.output
        return run, Counter(stub.prompts)


def prompts(ledger: Path) -> Counter[str]:
    with closing(sqlite3.connect(ledger)) as database:
        return Counter(prompt for (prompt,) in database.execute("SELECT prompt FROM samples"))


def assert_the_same_result(run: Outcome, undisturbed: Outcome) -> None:
    for part in ("verdict", "scores", "gates", "findings", "rates", "shares", "leaderboard", "cases"):
        assert run.summary[part] == undisturbed.summary[part]


def goes_on(
    tmp_path: Path,
    stub: ChatStub,
    undisturbed: tuple[Outcome, Counter[str]],
    workers: Sequence[str],
    kill: Callable[[int, int], None],
) -> None:
    """Kill a run half way, and see that the next one asks only for what is missing, and ends as an undisturbed one."""
    expected, planned = undisturbed
    ledger = tmp_path / "ledger.sqlite"
    stub.most = MOST
    with started(tmp_path, *given(stub, *workers)) as process:
        wait_until_stored(ledger, SAMPLES // 2, process)
        kill(process.pid, signal.SIGKILL)
        # Read to the end: a worker that lived on would hold the pipe open.
        assert finished(process, tmp_path).code == -signal.SIGKILL
    stub.let_go()
    kept, asked = prompts(ledger), len(stub.prompts)
    assert SAMPLES // 2 <= kept.total() < SAMPLES
    # Only requests in flight may have been lost.
    assert asked - kept.total() <= IN_FLIGHT
    again = bench(tmp_path, *given(stub, "-p", "no:xdist"))
    assert again.code == 0, again.output
    assert Counter(stub.prompts[asked:]) == planned - kept
    assert again.summary["calls"]["reused"] == kept.total()
    assert prompts(ledger) == planned
    assert_the_same_result(again, expected)


def test_the_whole_run(tmp_path: Path, stub: ChatStub, undisturbed: tuple[Outcome, Counter[str]]) -> None:
    goes_on(tmp_path, stub, undisturbed, ("-p", "no:xdist"), os.killpg)


def test_the_controller(tmp_path: Path, stub: ChatStub, undisturbed: tuple[Outcome, Counter[str]]) -> None:
    """Its workers end by themselves."""
    goes_on(tmp_path, stub, undisturbed, ("-n", "1"), os.kill)


def test_a_worker(tmp_path: Path, stub: ChatStub, undisturbed: tuple[Outcome, Counter[str]]) -> None:
    expected, planned = undisturbed
    ledger = tmp_path / "ledger.sqlite"
    pids = tmp_path / "pids"
    pids.mkdir()
    stub.most = 5  # so that neither worker can be done before it is killed
    run = given(stub, "-n", "2", "-p", "tests.plugin.roll_call")
    with started(tmp_path, *run, env={"PIDS": str(pids)}) as process:
        end = time.monotonic() + PATIENCE
        while len(workers := sorted(pids.iterdir())) < 2:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        wait_until_stored(ledger, 5, process)
        os.kill(int(workers[0].name), signal.SIGKILL)
        stub.most = math.inf
        killed = finished(process, tmp_path)
    # The case that the worker was judging has no verdict: no pass, whatever the others say.
    assert killed.code == 7, killed.output
    assert killed.summary["cases"]["error"] == 1
    assert killed.summary["calls"]["asked"] == SAMPLES
    assert Counter(stub.prompts) == planned
    again = bench(tmp_path, *given(stub, "-p", "no:xdist"))
    assert again.code == 0, again.output
    assert again.summary["calls"]["asked"] == 0
    assert stub.answered == SAMPLES
    assert stored(ledger) == SAMPLES
    assert_the_same_result(again, expected)
