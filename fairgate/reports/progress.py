"""How far the sampling is: one bar on a terminal, elsewhere a line now and then, drawn beside the cases."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from math import exp
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO

from fairgate.core.domain import Modality

if TYPE_CHECKING:
    import pytest

    from fairgate.sampling.sampler import Progress

# Seldom in an hour's log: a log is read afterwards.
PAUSES = (2.0, 28.0, 60.0, 120.0, 300.0)  # seconds between lines; the last repeats
REFRESH = 0.25  # seconds between two states of the bar
MEMORY = 30.0  # seconds after which what was fast or slow counts for a third
BAR = 20  # columns
TO_END = "\x1b[K"  # erases what stands right of it
LINE_BREAK = "\n"


class Pace:
    """Samples a second of late, and the time left: each modality has a pace of its own, and they follow one another."""

    def __init__(self, now: float) -> None:
        self._at = now
        self._seen = Counter[Modality]()
        self._samples: dict[Modality, float] = {}
        self._seconds: dict[Modality, float] = {}
        self._idle = 0.0

    def look(self, now: float, progress: Progress) -> None:
        """Take note of what was done since the last look."""
        asked = progress.asked_of.copy()
        new = {modality: n - self._seen[modality] for modality, n in asked.items() if n > self._seen[modality]}
        passed = now - self._at + self._idle
        self._at = now
        if not new:
            self._idle = passed
            return
        self._seen, self._idle = asked, 0.0
        kept, whole = exp(-passed / MEMORY), sum(new.values())
        for modality in {*self._samples, *new}:
            n = new.get(modality, 0)
            self._samples[modality] = self._samples.get(modality, 0.0) * kept + n
            self._seconds[modality] = self._seconds.get(modality, 0.0) * kept + passed * n / whole

    @property
    def rate(self) -> float:
        """Samples a second."""
        seconds = sum(self._seconds.values()) + self._idle
        return sum(self._samples.values()) / seconds if seconds > 0 else 0.0

    def left(self, progress: Progress) -> float | None:
        """Seconds to go, None where nothing was done yet."""
        each = {modality: self._seconds[modality] / n for modality, n in self._samples.items() if n}
        waiting = [(modality, n) for modality, n in progress.left_of.copy().items() if n > 0]
        return sum(n * each.get(modality, 0.0) for modality, n in waiting) if each else None

    def is_known(self, progress: Progress) -> bool:
        """Whether every modality that is left has begun: until then the time left is the least that it can be."""
        return all(modality in self._samples for modality, n in progress.left_of.copy().items() if n > 0)


def line(progress: Progress, rate: float, left: float | None, *, known: bool = True) -> str:
    """Samples done, rate, time left, or the least that it can be, tokens, USD, what could not be used, a problem."""
    parts = [f"{progress.done:,}/{progress.planned:,} samples"]
    if 60 * rate >= 1:
        parts.append(f"{rate:,.0f}/s" if rate >= 1 else f"{60 * rate:.0f}/min")
    if left is not None and progress.done < progress.planned:
        parts.append(f"{'' if known else 'over '}{_duration(left)} left")
    if progress.reused:
        parts.append(f"{progress.reused:,} reused")
    if tokens := progress.prompt_tokens + progress.completion_tokens:
        parts.append(f"{tokens:,} tokens")
    if progress.cost is not None:
        parts.append(f"{progress.cost:.2f} USD")
    asked = max(progress.asked + progress.failed, 1)
    lost = ((name, getattr(progress, name)) for name in ("refused", "unreadable", "truncated", "failed"))
    parts += [f"{name} {100 * n / asked:.1f} %" for name, n in lost if n]
    if progress.problem:
        parts.append(f"trying again: {progress.problem}")
    return ", ".join(parts)


def bar(progress: Progress, told: str, width: int) -> str:
    """The same behind a bar, in one line of so many columns."""
    share = min(progress.done / max(progress.planned, 1), 1.0)
    filled = round(BAR * share)
    return f"{'█' * filled}{'░' * (BAR - filled)} {100 * share:3.0f} % {told}"[: width - 1]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProgressLines:
    """Writes progress beside pytest's own output, from a thread of its own.

    `live` draws one bar in place; `alone`: whether pytest leaves no half-written line before each of the others.
    """

    def __init__(self, stream: TextIO | None, progress: Progress, *, live: bool = False, alone: bool = False) -> None:
        self._progress, self._stream, self._live, self._alone = progress, stream, live, alone
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="fairgate-progress", daemon=True)
        self._pace = Pace(time.monotonic())

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
        while not self._stopped.wait(REFRESH if self._live else PAUSES[min(turn, len(PAUSES) - 1)]):
            turn += 1
            progress = self._progress
            if progress.done >= progress.planned:
                break
            self._pace.look(time.monotonic(), progress)
            pace = self._pace
            told = line(progress, pace.rate, pace.left(progress), known=pace.is_known(progress))
            if self._live:
                stream.write(f"\r{bar(progress, told, get_terminal_size().columns)}{TO_END}")
            else:
                stream.write(f"{'' if self._alone else LINE_BREAK}fairgate: {told}\n")
            stream.flush()
        if self._live:
            stream.write(f"\r{TO_END}")
            stream.flush()


def is_live(stream: TextIO) -> bool:
    """Whether a line can be drawn again in place."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def terminal(config: pytest.Config) -> TextIO | None:
    """Where standard output goes now, between two tests; while one runs, pytest captures it."""
    if not config.pluginmanager.hasplugin("terminalreporter"):
        return None
    try:
        return os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    except (OSError, ValueError):
        return None
