"""The progress line: what is done, how fast, how long still."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

import pytest

from fairgate.report import progress
from fairgate.report.progress import ProgressLines, Snapshot, line
from fairgate.sampling.sampler import Progress

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_line_says_done_rate_time_left_and_refusals() -> None:
    assert line(Progress(planned=4758, asked=1200, refused=6), 10.0) == (
        "fairgate: 1,200/4,758 samples, 120/s, 0:30 left, refused 0.5 %"
    )


def test_what_was_reused_counts_as_done_but_not_as_fast() -> None:
    assert line(Progress(planned=2000, asked=100, reused=900), 10.0) == (
        "fairgate: 1,000/2,000 samples, 10/s, 1:40 left, 900 reused, refused 0.0 %"
    )


def test_unreadable_and_failed_are_said_where_there_are_some() -> None:
    assert line(Progress(planned=100, asked=90, failed=10, unreadable=9), 10.0) == (
        "fairgate: 100/100 samples, 10/s, refused 0.0 %, unreadable 9.0 %, failed 10.0 %"
    )


@pytest.mark.parametrize(
    ("asked", "seconds", "left"),
    [(100, 100.0, "1:39:00 left"), (1, 3600.0, "6039:00:00 left"), (6000, 60.0, "0:00 left")],
)
def test_long_and_short_times_left(asked: int, seconds: float, left: str) -> None:
    planned = 6040 if asked != 6000 else 6001
    assert left in line(Progress(planned=planned, asked=asked), seconds)


def test_at_the_beginning_there_is_no_rate_to_divide_by() -> None:
    for seconds in (0.0, 5.0):
        assert line(Progress(planned=10), seconds) == "fairgate: 0/10 samples, 0/s, refused 0.0 %"
    assert "left" not in line(Progress(planned=10, reused=5), 5.0)


class Terminal(io.StringIO):
    """Keeps what was written when it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def write(self, text: str) -> int:
        self.written.append(text)
        return super().write(text)


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not there():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_lines_are_drawn_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSES", (0.001,))
    terminal = Terminal()
    lines = ProgressLines(terminal, Progress(planned=10, asked=1))
    lines.start()
    until(lambda: len(terminal.written) > 2)
    lines.stop()
    assert terminal.closed
    count = len(terminal.written)
    time.sleep(0.02)
    assert len(terminal.written) == count
    assert terminal.written[0].startswith("\nfairgate: 1/10 samples")


def test_nothing_is_drawn_once_all_is_done_or_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSES", (0.001,))
    terminal = Terminal()
    for lines in (ProgressLines(terminal, Progress(planned=10, reused=10)), ProgressLines(None, Progress(planned=10))):
        lines.start()
        time.sleep(0.02)
        lines.stop()
    assert terminal.written == []


def test_calls_tokens_and_cost_are_said_and_pace_is_of_late() -> None:
    progress = Progress(
        planned=2000, asked=1000, requests=1100, prompt_tokens=150_000, completion_tokens=7_000, cost=0.0267
    )
    assert line(progress, 10.0, Snapshot(asked=500, requests=550)) == (
        "fairgate: 1,000/2,000 samples, 50/s, 0:20 left, 1,100 calls (55/s), 157,000 tokens, 0.03 USD, refused 0.0 %"
    )
