"""One run at a time asks with a ledger, and no dead one keeps the others waiting."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fairgate.core.errors import LedgerError
from fairgate.sampling.ledger_lock import PAUSE, LedgerLock, is_taken
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import sys, time
from pathlib import Path
from fairgate.sampling.ledger_lock import LedgerLock
held = LedgerLock(Path(sys.argv[1]), "openai/tiny")
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "new" / "ledger.sqlite"


def test_a_second_run_is_refused_and_told_who_has_the_turn(ledger: Path) -> None:
    with LedgerLock(ledger, "openai/tiny"):
        assert is_taken(ledger)
        with pytest.raises(LedgerError, match=r"process \d+, openai/tiny.*--ledger-wait"):
            LedgerLock(ledger, "openai/other")
    assert not is_taken(ledger)
    LedgerLock(ledger, "openai/other").release()


def test_a_run_that_waits_gets_its_turn(ledger: Path) -> None:
    first = LedgerLock(ledger, "first")
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            first.release()

    LedgerLock(ledger, "second", 60, sleep=sleep).release()
    assert slept == [PAUSE] * 3


def test_nobody_is_refused_for_a_look(ledger: Path) -> None:
    """A look holds the turn for a moment."""
    look = LedgerLock(ledger, "a look")
    LedgerLock(ledger, "asking", sleep=lambda _: look.release()).release()


def test_waiting_ends_by_a_clock_that_no_one_can_set(ledger: Path) -> None:
    now = iter(range(100))
    with LedgerLock(ledger, "first"), pytest.raises(LedgerError, match="first"):
        LedgerLock(ledger, "second", 5, clock=lambda: next(now), sleep=lambda _: None)
    assert next(now) == 6


def test_another_name_of_the_same_ledger_is_the_same_turn(ledger: Path) -> None:
    ledger.parent.mkdir()
    ledger.touch()
    link = ledger.with_name("link.sqlite")
    link.symlink_to(ledger)
    with LedgerLock(link, "first"), pytest.raises(LedgerError, match="first"):
        LedgerLock(ledger, "second")


def test_kill_9_gives_the_turn_back(ledger: Path) -> None:
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", HOLDER, str(ledger)], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            assert is_taken(ledger)
        finally:
            holder.send_signal(signal.SIGKILL)
            holder.wait(30)
    LedgerLock(ledger, "next").release()


def test_a_place_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="another ledger"):
        LedgerLock(tmp_path / "file" / "ledger.sqlite", "x")
