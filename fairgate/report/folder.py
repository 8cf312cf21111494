"""What `--report-dir` holds: summary.json for programs, summary.md to paste, index.html and plots to look at."""

from __future__ import annotations

import fcntl
import os
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fairgate.report import markdown, page, summary
from fairgate.report.plots import gallery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairgate.report.plots.drawing import Plot
    from fairgate.report.report import Report

FILES = ("summary.json", "summary.md", "index.html")
PLOTS = "plots"


def clear(directory: Path) -> None:
    """Make the folder, and remove an old verdict: it must not be taken for that of a run which never came to one."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (directory / name).unlink(missing_ok=True)


def write(report: Report, directory: Path, plots: tuple[Plot, ...]) -> None:
    """Write everything; each file is whole or not there."""
    directory.mkdir(parents=True, exist_ok=True)
    with _alone(directory):
        _write(report, directory, plots)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """While nobody else writes into the folder: of two runs' reports one stands there whole, the later one."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        # Some network file systems lock no folders.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(report: Report, directory: Path, plots: tuple[Plot, ...]) -> None:
    texts = (summary.to_json(report), markdown.to_markdown(report), page.to_html(report, plots))
    for name, text in zip(FILES, texts, strict=True):
        # Another run may write into the same folder.
        unfinished = directory / f".{name}.{uuid.uuid4().hex}"
        try:
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(directory / name)
        finally:
            unfinished.unlink(missing_ok=True)
    gallery.write(plots, directory / PLOTS)
