"""All plots of a report, in the order in which a reader wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.reports.plots import contact_sheets, distributions
from fairgate.reports.plots.drawing import drawn, has_matplotlib

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.reports.plots.drawing import Plot
    from fairgate.reports.report import Report


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
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.iterdir():
        if path.suffix in (".svg", ".png", ".txt"):
            path.unlink(missing_ok=True)
    for plot in plots:
        (directory / f"{plot.name}.txt").write_text(f"{plot.title}\n\n{plot.alt}\n", encoding="utf-8")
        for ending, body in ((".svg", plot.svg), (".png", plot.png)):
            if body:
                (directory / f"{plot.name}{ending}").write_bytes(body)
