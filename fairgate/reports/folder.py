"""What `--report-dir` holds: summary.json for programs, summary.md to paste, index.html and plots to look at."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from filelock import FileLock

from fairgate.core.errors import ConfigError
from fairgate.core.files import LOCK, opened
from fairgate.reports import markdown, page, summary
from fairgate.reports.plots import gallery

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.reports.plots.drawing import Plot
    from fairgate.reports.report import Report

FILES = ("summary.json", "summary.md", "index.html")
PLOTS = "plots"
# By what a file of ours is known, within so many bytes of its beginning.
OURS = dict(zip(FILES, (b'"fairgate": ', b"## fairgate: ", b"<title>fairgate: "), strict=True))
BEGINNING = 2048


def clear(directory: Path) -> None:
    """Make the folder, and remove an old verdict: it must not be taken for that of a run which never came to one.

    Raises ConfigError where a file of its name is none of ours; nothing is removed then.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name, mark in OURS.items():
        if not _is_ours(directory / name, mark):
            raise ConfigError(
                f"{name} in {directory} is no report of fairgate, and would be overwritten.",
                where="--report-dir",
                hint="Name another folder.",
            )
    for name in FILES:
        (directory / name).unlink(missing_ok=True)


def _is_ours(path: Path, mark: bytes) -> bool:
    """Whether a file may be removed: none is there, a link, which alone would go, or one of an earlier run."""
    if path.is_symlink() or not path.exists():
        return True
    with opened(path) as file:
        return mark in file.read(BEGINNING)


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
