"""A full disk, a place where nobody may write, a damaged file, a second run: a clear word, and nothing paid is lost."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from fairgate.cli import main as cli
from fairgate.ledger.ledger import Ledger
from fairgate.sampling.ledger_lock import LedgerLock, is_taken
from tests.running import CHECKOUT, bench, environment, finished, started, stored, wait_until_stored
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

SAMPLES = 12  # of `-k "crime and base"` with two samples a topic
IN_FLIGHT = 2

FILL = """
import json, resource, sys
from pathlib import Path
from fairgate.core.domain import Answer, AnswerKind, Reply
from fairgate.core.errors import LedgerError
from fairgate.ledger.ledger import Ledger
from tests.builders import MODEL, query

stored = 0
with Ledger(Path(sys.argv[1])) as ledger:
    ledger.runs.start("r")
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    try:
        while True:
            ledger.add("r", MODEL, query(stored), Reply("x" * 1000), Answer(AnswerKind.CHOSEN, 0, "letter"))
            stored += 1
    except LedgerError as full:
        print(json.dumps([stored, str(full)]))
"""


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub() as running:
        yield running


def given(stub: ChatStub, *more: str) -> tuple[str, ...]:
    server = ("--model=openai/tiny", f"--base-url={stub.base_url}", f"--max-in-flight={IN_FLIGHT}", "-p", "no:xdist")
    return (*server, "-k", "crime and base", *more)


def test_what_was_stored_before_the_disk_was_full_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", FILL, str(path)],
        cwd=CHECKOUT, env=environment(), capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    count, message = json.loads(done.stdout)
    assert count > 5
    assert str(path) in message
    assert "Make room" in message
    assert stored(path) == count
    assert cli.main(["ledger", str(path), "verify"]) == 0
    with Ledger(path) as ledger:
        ledger.runs.start("s")


def test_a_full_disk_ends_the_run_and_the_next_one_goes_on_from_there(tmp_path: Path, stub: ChatStub) -> None:
    # Long replies fill it after a few; the verdict is written when there is room again.
    stub.reply = lambda _: '{"answer": "A"}' + " " * 40_000
    full = bench(tmp_path, *given(stub, "-p", "tests.plugin.small_disk"), env={"LARGEST": "250000"})
    assert full.code == 7, full.output
    assert "Make room" in " ".join(full.output.split())
    assert "INTERNALERROR" not in full.output
    kept = stored(tmp_path / "ledger.sqlite")
    assert 0 < kept < SAMPLES
    assert stub.answered - kept <= IN_FLIGHT
    before = stub.answered
    again = bench(tmp_path, *given(stub))
    assert again.summary["calls"]["reused"] == kept
    assert stub.answered - before == SAMPLES - kept
    assert stored(tmp_path / "ledger.sqlite") == SAMPLES


def test_a_ledger_that_may_not_be_written_is_named_before_anything_is_asked(tmp_path: Path, stub: ChatStub) -> None:
    place = tmp_path / "file"
    place.touch()
    run = bench(tmp_path, *given(stub, f"--ledger={place / 'ledger.sqlite'}"))
    assert run.code == 4, run.output
    assert "name another ledger" in " ".join(run.output.split())
    assert stub.requests == 0


def test_a_damaged_ledger_is_named_before_anything_is_asked(tmp_path: Path, stub: ChatStub) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)
    before = path.read_bytes()
    run = bench(tmp_path, *given(stub))
    assert run.code == 4, run.output
    assert stub.requests == 0
    assert path.read_bytes() == before
    assert cli.main(["ledger", str(path), "verify"]) == 7


def test_two_runs_at_once_never_ask_the_same_twice(tmp_path: Path, stub: ChatStub) -> None:
    """The second is refused, or waits and then reuses."""
    path = tmp_path / "ledger.sqlite"
    stub.most = 1  # the first is under way for as long as the others need to come
    with started(tmp_path / "first", *given(stub, f"--ledger={path}")) as first:
        wait_until_stored(path, 1, first)
        with started(tmp_path / "waits", *given(stub, f"--ledger={path}", "--ledger-wait=600")) as waiting:
            assert is_taken(path)
            refused = bench(tmp_path / "refused", *given(stub, f"--ledger={path}"))
            assert waiting.poll() is None
            stub.most = math.inf
            done = finished(first, tmp_path / "first")
            waited = finished(waiting, tmp_path / "waits")
    assert done.code == 0, done.output
    assert waited.code == 0, waited.output
    assert (done.summary["calls"]["reused"], waited.summary["calls"]["reused"]) == (0, SAMPLES)
    assert stub.answered == SAMPLES
    assert max(Counter(stub.prompts).values()) == 1
    assert refused.code == 4, refused.output
    assert "another run is asking with it" in " ".join(refused.output.split())


def test_a_second_run_is_refused_with_the_name_of_the_first(tmp_path: Path, stub: ChatStub) -> None:
    with LedgerLock(tmp_path / "ledger.sqlite", "openai/first"):
        run = bench(tmp_path, *given(stub))
    assert run.code == 4, run.output
    assert "openai/first" in run.output
    assert "--ledger-wait" in run.output
    assert stub.requests == 0


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_ledger_moved_in_mid_run_is_not_made_anew_and_holds_what_was_answered(
    tmp_path: Path, stub: ChatStub, workers: str
) -> None:
    path, moved = tmp_path / "ledger.sqlite", tmp_path / "moved.sqlite"
    more = ("-n", workers) if workers != "0" else ("-p", "no:xdist")
    stub.latency = 0.3
    named = ("--model=openai/tiny", f"--base-url={stub.base_url}", "--max-in-flight=1", *more)
    with started(tmp_path, *named, "-k", "crime and base") as process:
        wait_until_stored(path, 3, process)
        path.rename(moved)
        run = finished(process, tmp_path)
    assert run.code == 7, run.output
    assert "INTERNALERROR" not in run.output
    assert "What was answered is in the moved file" in " ".join(run.output.split())
    assert not path.exists()
    assert 3 <= stub.answered < SAMPLES
    assert stored(moved) >= stub.answered - 1  # the last may have been given up in flight
    moved.rename(path)
    stub.latency = 0
    again = bench(tmp_path, *given(stub))
    assert again.code == 0, again.output
    assert again.summary["calls"]["reused"] >= 3
    assert stub.answered <= SAMPLES + 1


def test_a_clock_that_jumps_loses_and_repeats_nothing(tmp_path: Path, stub: ChatStub) -> None:
    """The clock of the day is written down, and nothing is decided by it."""
    first = bench(tmp_path, *given(stub, "-p", "tests.plugin.jumping_clock"))
    assert first.code == 0, first.output
    again = bench(tmp_path, *given(stub, "-p", "tests.plugin.jumping_clock"))
    assert again.summary["calls"]["reused"] == SAMPLES
    assert stub.answered == SAMPLES
