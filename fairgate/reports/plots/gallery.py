"""All plots of a report, in the order in which a reader wants them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from fairgate.core.files import read_text
from fairgate.reports.plots import contact_sheets, distributions
from fairgate.reports.plots.drawing import drawn, has_matplotlib

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairgate.reports.plots.drawing import Plot
    from fairgate.reports.report import Report

LIST = ".fairgate-plots"  # the names of the files that are ours
NAME = re.compile(r"[\w.-]+\.(?:svg|png|txt)")


def plots(report: Report, *, pictures: bool = True) -> tuple[Plot, ...]:
    """The plots that the report has anything for; without `pictures`, or what draws them, their texts alone."""
    return (
        *drawn((*report.sketches(), *distributions.sketch(report)), pictures=pictures and has_matplotlib()),
        *contact_sheets.plots(report, pictures=pictures),
    )


def write(plots: tuple[Plot, ...], directory: Path) -> None:
    """Write each plot as SVG and PNG (a sheet of photographs as PNG alone) with its text beside it.

    What an earlier run drew there is removed.
    """
    # A link may be anybody's, and lead to files that are none of ours.
    if directory.is_symlink():
        directory.unlink()
    directory.mkdir(parents=True, exist_ok=True)
    files = {
        f"{plot.name}{ending}": body
        for plot in plots
        for ending, body in (
            (".txt", f"{plot.title}\n\n{plot.alt}\n".encode()),
            (".svg", plot.svg),
            (".png", plot.png),
        )
        if body
    }
    for name in {*_earlier(directory), *files, LIST}:
        (directory / name).unlink(missing_ok=True)
    for name, body in files.items():
        (directory / name).write_bytes(body)
    (directory / LIST).write_text("\n".join(files), encoding="utf-8")


def _earlier(directory: Path) -> Iterator[str]:
    """The files that an earlier run wrote: others may lie beside them."""
    with suppress(OSError, UnicodeDecodeError):
        for name in read_text(directory / LIST).splitlines():
            if NAME.fullmatch(name):
                yield name
