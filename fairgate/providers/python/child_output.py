"""What the process of a model prints, shown line by line: a library of it prints what a stranger's file says."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from fairgate.core.redaction import Redaction, of_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK = 2**16  # bytes of a line that are looked at; the rest of it is left out
LINE = 1000  # characters of a line that are shown
MOST = 2**21  # characters of a process that are shown


class ChildOutput:
    """Shows on standard error what processes of one model print: no secrets, and no order to a terminal or CI runner.

    On standard error as it is now, between two tests: while one runs, pytest captures it.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._redaction = Redaction(of_environment())
        self._stream = _standard_error()
        if self._stream is not None and self._stream is not sys.stderr:
            weakref.finalize(self, self._stream.close)

    def read(self, pipe: BinaryIO) -> threading.Thread:
        """Show what comes through this pipe, in a thread, until the last process that holds it has ended."""
        thread = threading.Thread(target=self._show, args=[pipe], name="fairgate-output", daemon=True)
        thread.start()
        return thread

    def _show(self, pipe: BinaryIO) -> None:
        shown = 0
        with pipe:
            for line in _lines(pipe):
                # What is beyond is still read: a process that cannot print would hang.
                if shown > MOST:
                    continue
                text = self._redaction.show(line, LINE)
                shown += len(text) + 1
                self._write(text)
                if shown > MOST:
                    self._write(f"{self._label}: it prints more than {MOST:,} characters, which are not shown.")

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with suppress(OSError, ValueError):  # ValueError: it is closed, at the end of the run
                self._stream.write(f"{text}\n")
                self._stream.flush()


def _standard_error() -> TextIO | None:
    """A copy of it; where a program or a notebook has put something in its place, that."""
    if sys.stderr is not sys.__stderr__:
        return sys.stderr
    try:
        return os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError):
        return None


def _lines(pipe: BinaryIO) -> Iterator[str]:
    """Lines without their ends, cut; of a bar that is drawn over itself its last state."""
    line = b""
    while piece := pipe.readline(CHUNK):
        line += piece
        if piece.endswith(b"\n"):
            yield _text(line)
            line = b""
        else:
            line = line.rpartition(b"\r")[2][:CHUNK]
    if line:
        yield _text(line)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n").rpartition("\r")[2].expandtabs()
