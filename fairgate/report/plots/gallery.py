"""All plots of a report, in the order in which a reader wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.errors import DataError
from fairgate.fact_or_fair import published_tables as tables
from fairgate.report.plots import against_truth, contact_sheets, distributions, influence, trade_off
from fairgate.report.plots.drawing import drawn, has_matplotlib

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairgate.report.plots.drawing import Plot, Sketch
    from fairgate.report.report import Report


def plots(report: Report, *, pictures: bool = True) -> tuple[Plot, ...]:
    """The plots that the report has anything for; without `pictures`, or what draws them, their texts alone."""
    return (
        *drawn(tuple(_sketches(report)), pictures=pictures and has_matplotlib()),
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


def _sketches(report: Report) -> Iterator[Sketch]:
    try:
        scores, contexts = tables.scores(), tables.context_influence()
    except DataError:
        # The wheel carries the package alone: the model is drawn without the others.
        scores, contexts = {}, {}
    planes: dict[tuple[str, str, str, str], dict[str, tuple[float, float]]] = {}
    for row, values in scores.items():
        if "S_fact" in values and "S_E" in values:
            key = (row.modality, row.attribute, row.task, row.context or "")
            planes.setdefault(key, {})[row.model] = (values["S_fact"], values["S_E"])
    yield from trade_off.sketch(report, planes)
    yield from influence.sketch(report, contexts)
    yield from against_truth.sketch(report)
    yield from distributions.sketch(report)
