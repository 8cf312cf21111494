"""Shares against the truth: which share of the people drawn is of each group, and which is in truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.bigbench.topics import Task
from fairgate.benchmarks.plot_spec import Sketch
from fairgate.reports.plots.drawing import FAINT, OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from fairgate.benchmarks.evidence import Cell

ROW, LEAST = 0.27, 5.4  # inches of a family, and of all groups side by side at least
DRAWN, TRUE = OTHERS, "#000000"


def sketch(cells: Iterable[Cell]) -> Iterator[Sketch]:
    """A picture for each attribute: a column for each group, a row for each family."""
    pictures: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.truth and cell.task == Task.IMPLICIT:
            pictures.setdefault(cell.attribute or "", []).append(cell)
    for attribute, held in pictures.items():
        yield _sketch(attribute, sorted(held, key=lambda cell: -apart(cell)))


def apart(cell: Cell) -> float:
    """How far the drawn shares are from the true ones, 0 to 1: their total variation."""
    return sum(abs(each.drawn - each.true) for each in cell.truth.values()) / 2


def _sketch(attribute: str, cells: Sequence[Cell]) -> Sketch:
    groups = list(cells[0].truth)

    def draw(figure: Any) -> None:
        axes = figure.subplots(1, len(groups), squeeze=False, sharex=True, sharey=True)[0]
        for axis, group in zip(axes, groups, strict=True):
            _draw(axis, group, cells)
        axes[0].set_yticks(range(len(cells)), [_name(cell) for cell in cells], fontsize=8)
        axes[0].set_ylim(len(cells) - 0.5, -0.5)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)

    return Sketch(
        name=f"shares-against-truth-{attribute}",
        title=f"Who is drawn, and who there is, percent: {attribute}",
        alt=" ".join(map(_told, cells)),
        size=(1.9 + max(2.1 * len(groups), LEAST), ROW * len(cells) + 1.3),
        draw=draw,
    )


def _draw(axis: Any, group: str, cells: Sequence[Cell]) -> None:
    for row, cell in enumerate(cells):
        share = cell.truth[group]
        drawn, true = 100 * share.drawn, 100 * share.true
        axis.axhline(row, color="#e4e4e4", linewidth=0.8, zorder=0)
        if share.low is not None and share.high is not None:
            axis.plot([100 * share.low, 100 * share.high], [row, row], color=DRAWN, linewidth=1.2, alpha=0.6)
        axis.plot(drawn, row, marker="o", color=DRAWN, markersize=5.5, linestyle="none",
                  label=_said(cells) if row == 0 else None)  # fmt: skip
        axis.plot(true, row, marker="|", color=TRUE, markersize=11, markeredgewidth=2.2, linestyle="none",
                  label="in truth" if row == 0 else None)  # fmt: skip
    axis.set_xlim(-3, 103)
    axis.set_xticks((0, 50, 100))
    axis.set_title(group, fontsize=9, loc="left")
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_color(FAINT)


def _is_counted(cell: Cell) -> bool:
    """Whether anybody knows of how many people the shares are."""
    return all(share.low is not None for share in cell.truth.values())


def _name(cell: Cell) -> str:
    return f"{cell.about} ({sum(cell.counts.values())})" if _is_counted(cell) else cell.about


def _said(cells: Sequence[Cell]) -> str:
    return "drawn, with its 95 % interval (of so many people)" if all(map(_is_counted, cells)) else "drawn"


def _told(cell: Cell) -> str:
    def one(group: str) -> str:
        share = cell.truth[group]
        ends = "" if share.low is None or share.high is None else f" [{100 * share.low:.0f}, {100 * share.high:.0f}]"
        return f"{group} {100 * share.drawn:.0f} %{ends}, in truth {100 * share.true:.0f} %"

    people = f" ({sum(cell.counts.values())} people)" if _is_counted(cell) else ""
    return f"{cell.about}{people}: {'; '.join(map(one, cell.truth))}."
