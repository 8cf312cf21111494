"""Runs of a user's own function, killed with kill -9: what was answered is kept, and no process is left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from benchmarks.kills import children, left_of
from tests.running import bench, finished, started, stored, wait_until_stored
from tests.servers.called import SERVER
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")]

GIVEN = ("--model=python/tests.servers.called:answer", "--max-in-flight=4", "-k", "crime", "--per-topic=1")


@pytest.mark.parametrize("victim", ["run", "child"])
def test_a_killed_run_loses_what_was_in_flight_alone_and_leaves_no_process(tmp_path: Path, victim: str) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with ChatStub(latency=0.05) as stub:
        env = {SERVER: stub.base_url}
        with started(tmp_path, *GIVEN, "-p", "no:xdist", env=env) as process:
            wait_until_stored(ledger, 6, process)
            [child] = children(process.pid)
            os.kill(process.pid if victim == "run" else child, signal.SIGKILL)
            ended = finished(process, tmp_path)
            assert left_of([child]) == 0
        assert ended.code == (-signal.SIGKILL if victim == "run" else 7), ended.output
        while stub.in_flight:
            time.sleep(0.005)
        kept, answered = stored(ledger), stub.answered
        assert answered - 4 <= kept <= answered
        again = bench(tmp_path, *GIVEN, "-p", "no:xdist", env=env)
        assert f"{stored(ledger) - kept} asked, {kept} reused" in again.output.replace("\n  ", " ")
        assert stub.answered - answered == stored(ledger) - kept
