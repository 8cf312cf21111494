"""Distributions by topic as small multiples: what was answered, statistic by statistic, at both levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.plot_spec import Sketch
from fairgate.reports.plots.drawing import HATCHES, PALETTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from fairgate.benchmarks.evidence import Cell
    from fairgate.reports.report import Report

COLUMNS = 4
NARROWEST = 6.2  # inches: room for a title and four groups


def sketch(report: Report) -> Iterator[Sketch]:
    """A picture for each benchmark, task, context and attribute, in the order of the cells."""
    pictures: dict[tuple[str, ...], list[Cell]] = {}
    for cell in report.evidence.cells:
        if cell.truth:
            continue  # told beside the truth
        kind = "images" if cell.modality == "image" else ""
        parts = [cell.benchmark, kind, str(cell.task), str(cell.context or ""), cell.attribute or ""]
        pictures.setdefault(tuple(filter(None, parts)), []).append(cell)
    for name, cells in pictures.items():
        if any(sum(cell.counts.values()) for cell in cells):
            _, task = report.benchmarks.tasks[cells[0].modality, cells[0].task]
            yield _sketch(name, cells, task.counted)


def spread(cells: Sequence[Cell]) -> float:
    """How far the answers about one thing move between its levels, or how uneven they are at one: 0 to 1."""
    shares = [_shares(cell) for cell in cells if sum(cell.counts.values())]
    if len(shares) > 1:
        return sum(abs(one - other) for one, other in zip(shares[0], shares[1], strict=True)) / 2
    return max(shares[0]) - 1 / len(shares[0]) if shares else -1.0


def _shares(cell: Cell) -> list[float]:
    whole = sum(cell.counts.values())
    return [n / whole if whole else 0.0 for n in cell.counts.values()]


def _sketch(parts: tuple[str, ...], cells: Sequence[Cell], what: str) -> Sketch:
    groups = list(dict.fromkeys(group for cell in cells for group in cell.counts))
    by_name: dict[str, list[Cell]] = {}
    for cell in cells:
        by_name.setdefault(cell.about, []).append(cell)
    # The ones that move most come first.
    ordered = sorted(by_name.items(), key=lambda each: -spread(each[1]))
    rows = -(-len(ordered) // COLUMNS)

    def draw(figure: Any) -> None:
        axes = figure.subplots(rows, min(COLUMNS, len(ordered)), squeeze=False, sharex=True)
        for axis in axes.flat[len(ordered) :]:
            axis.set_visible(False)
        for axis, (about, here) in zip(axes.flat, ordered, strict=False):
            _draw(axis, about, here, groups)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(groups), fontsize=8, frameon=False)

    return Sketch(
        name="-".join(("distributions", *(part.replace(" ", "-") for part in parts))),
        title=f"{what}, percent: {', '.join(parts[1:])}",
        alt=" ".join(_told(about, here) for about, here in ordered),
        size=(max(3.1 * min(COLUMNS, len(ordered)), NARROWEST), 0.95 * rows + 1.2),
        draw=draw,
    )


def _draw(axis: Any, about: str, cells: Sequence[Cell], groups: Sequence[str]) -> None:
    names = [str(cell.level or "") for cell in cells]
    ends = [0.0] * len(cells)
    for place, group in enumerate(groups):
        shares = [100 * cell.counts.get(group, 0) / max(sum(cell.counts.values()), 1) for cell in cells]
        axis.barh(range(len(cells)), shares, left=ends, color=PALETTE[place % len(PALETTE)], height=0.7, label=group,
                  hatch=HATCHES[place % len(HATCHES)], edgecolor="white", linewidth=0.3)  # fmt: skip
        ends = [end + share for end, share in zip(ends, shares, strict=True)]
    axis.set_yticks(range(len(cells)), names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_title(about, fontsize=8, loc="left")


def _told(about: str, cells: Sequence[Cell]) -> str:
    def one(cell: Cell) -> str:
        whole = sum(cell.counts.values())
        shares = ", ".join(f"{group} {100 * n / max(whole, 1):.0f} %" for group, n in cell.counts.items())
        said = shares if whole else "no answer"
        return f"{cell.level}: {said}" if cell.level else said

    return f"{about}: {'; '.join(map(one, cells))}."
