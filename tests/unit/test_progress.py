"""The progress of a run: what is done, how fast, how long still, as a bar and as lines."""

from __future__ import annotations

import io
import os
import pty
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from fairgate.core.domain import Modality
from fairgate.reports import progress
from fairgate.reports.progress import Pace, ProgressLines, bar, is_live, line
from fairgate.sampling.sampler import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT, IMAGE = Modality.TEXT, Modality.IMAGE


def test_a_line_says_done_rate_time_left_and_what_could_not_be_used() -> None:
    assert line(Progress(planned=4758, asked=1200, refused=6), 120.0, 29.6) == (
        "1,200/4,758 samples, 120/s, 0:30 left, refused 0.5 %"
    )
    assert line(Progress(planned=100, asked=90, failed=10, unreadable=9), 10.0, 0.0) == (
        "100/100 samples, 10/s, unreadable 9.0 %, failed 10.0 %"
    )


def test_a_line_says_why_requests_are_repeated_until_one_is_answered() -> None:
    progress = Progress(planned=10, problem="connection refused")
    assert line(progress, 0.0, None) == "0/10 samples, trying again: connection refused"


def test_a_line_says_what_was_reused_tokens_and_cost() -> None:
    found = Progress(planned=2000, asked=100, reused=900, prompt_tokens=150_000, completion_tokens=7_000, cost=0.0267)
    assert line(found, 10.0, 100.0) == ("1,000/2,000 samples, 10/s, 1:40 left, 900 reused, 157,000 tokens, 0.03 USD")


@pytest.mark.parametrize(("seconds", "told"), [(5940.0, "1:39:00 left"), (0.2, "0:00 left"), (90.0, "1:30 left")])
def test_long_and_short_times_left(seconds: float, told: str) -> None:
    assert told in line(Progress(planned=10), 1.0, seconds)


def test_a_slow_rate_is_told_by_the_minute() -> None:
    assert line(Progress(planned=10, asked=1), 0.05, None) == "1/10 samples, 3/min"


def test_each_modality_has_a_pace_of_its_own_and_there_is_one_estimate() -> None:
    found = Progress(planned=1100, left_of=Counter({TEXT: 1000, IMAGE: 100}))
    pace = Pace(0.0)
    assert pace.left(found) is None
    found.asked_of[IMAGE], found.left_of[IMAGE] = 10, 90
    pace.look(10.0, found)
    # Nothing is known of text yet: the estimate is the least that it can be, and says so.
    assert pace.left(found) == pytest.approx(90.0)
    assert not pace.is_known(found)
    assert "over 1:30 left" in line(found, pace.rate, pace.left(found), known=pace.is_known(found))
    found.asked_of[TEXT], found.left_of[TEXT] = 500, 500
    pace.look(15.0, found)
    assert pace.left(found) == pytest.approx(90 * 1.0 + 500 * 0.01)
    assert pace.is_known(found)


def test_a_pause_slows_the_pace() -> None:
    found = Progress(planned=100, left_of=Counter({TEXT: 90}), asked_of=Counter({TEXT: 10}))
    pace = Pace(0.0)
    pace.look(1.0, found)
    assert pace.rate == pytest.approx(10.0)
    pace.look(5.0, found)
    assert pace.rate == pytest.approx(2.0)


def test_the_bar_fills_and_stays_within_its_columns() -> None:
    found = Progress(planned=200, asked=100)
    assert bar(found, "100/200 samples", 80) == "██████████░░░░░░░░░░  50 % 100/200 samples"
    assert len(bar(found, "x" * 200, 80)) == 79


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


def test_on_a_terminal_one_line_is_drawn_in_place_and_erased_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "REFRESH", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    outer, inner = pty.openpty()
    with os.fdopen(inner, "w", encoding="utf-8") as stream, os.fdopen(outer, "rb", buffering=0) as screen:
        assert is_live(stream)
        lines = ProgressLines(stream, Progress(planned=10, asked=5), live=True)
        lines.start()
        shown = screen.read(1)
        stream.flush()
        ended = threading.Thread(target=lines.stop)
        ended.start()
        while not shown.endswith(b"\r\x1b[K"):
            shown += screen.read(1)
        ended.join()
    told = shown.decode("utf-8", "replace")
    assert "\n" not in told
    assert told.startswith("\r██████████░░░░░░░░░░  50 % 5/10 samples")
    assert told.endswith("\r\x1b[K")


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    outer, inner = pty.openpty()
    with os.fdopen(inner, "w", encoding="utf-8") as stream, os.fdopen(outer, "rb", buffering=0):
        assert not is_live(stream)
