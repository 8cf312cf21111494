"""How far the sampling is: a line now and then, drawn by the controlling process beside the cases."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import pytest

    from fairgate.sampling.sampler import Progress

# Often at first, when a reader wonders whether anything happens at all, and seldom in an hour's log.
PAUSES = (2.0, 3.0, 5.0, 10.0, 10.0, 30.0)  # seconds; the last repeats


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was done at some time before now: pace is measured from there."""

    asked: int = 0
    requests: int = 0


def line(progress: Progress, seconds: float, before: Snapshot | None = None) -> str:
    """One line: samples done, pace, time left, calls, tokens, USD, refusals. Over `seconds`, since `before`."""
    before = before or Snapshot()
    asked = progress.asked + progress.failed
    pace = (asked - before.asked) / seconds if seconds > 0 else 0.0
    left = progress.planned - progress.done
    parts = [f"{progress.done:,}/{progress.planned:,} samples", f"{pace:,.0f}/s"]
    if left and pace:
        parts.append(f"{_duration(left / pace)} left")
    if progress.reused:
        parts.append(f"{progress.reused:,} reused")
    if progress.requests:
        calls = (progress.requests - before.requests) / seconds if seconds > 0 else 0.0
        parts.append(f"{progress.requests:,} calls ({calls:,.0f}/s)")
    if tokens := progress.prompt_tokens + progress.completion_tokens:
        parts.append(f"{tokens:,} tokens")
    if progress.cost is not None:
        parts.append(f"{progress.cost:.2f} USD")
    for name, n in (("refused", progress.refused), ("unreadable", progress.unreadable), ("failed", progress.failed)):
        if n or name == "refused":
            parts.append(f"{name} {100 * n / max(asked, 1):.1f} %")
    return "fairgate: " + ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProgressLines:
    """Writes progress beside pytest's own output, from a thread of its own."""

    def __init__(self, stream: TextIO | None, progress: Progress) -> None:
        self._progress, self._stream = progress, stream
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="fairgate-progress", daemon=True)
        self._looked, self._before = time.monotonic(), Snapshot()

    def start(self) -> None:
        """Begin to draw, if there is a terminal to draw on."""
        if self._stream is not None:
            self._thread.start()

    def stop(self) -> None:
        """Draw no more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _draw(self) -> None:
        stream, turn = self._stream, 0
        if stream is None:
            return
        while not self._stopped.wait(PAUSES[min(turn, len(PAUSES) - 1)]):
            turn += 1
            if self._progress.done >= self._progress.planned:
                return
            # The line before may be one of pytest's, half written.
            stream.write(f"\n{self._line()}\n")
            stream.flush()

    def _line(self) -> str:
        """What is done now, and the pace since the line before."""
        now, progress = time.monotonic(), self._progress
        drawn = line(progress, now - self._looked, self._before)
        self._looked, self._before = now, Snapshot(progress.asked + progress.failed, progress.requests)
        return drawn


def terminal(config: pytest.Config) -> TextIO | None:
    """Where standard output goes now, between two tests; while one runs, pytest captures it."""
    if not config.pluginmanager.hasplugin("terminalreporter"):
        return None
    try:
        return os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    except (OSError, ValueError):
        return None
