"""What `--report-dir` holds: summary.json for programs, summary.md to paste, index.html and plots to look at."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from filelock import FileLock

from fairgate.core.files import LOCK
from fairgate.reports import markdown, page, summary
from fairgate.reports.plots import gallery

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.reports.plots.drawing import Plot
    from fairgate.reports.report import Report

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
    # Of two runs' reports one stands there whole, the later one.
    with FileLock(directory / LOCK):
        _write(report, directory, plots)


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
