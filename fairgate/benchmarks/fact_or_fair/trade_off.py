"""The trade-off plane: how factual and how even a model is, beside the curve that no model can pass.

Source of the curve g_k and of d: Fact-or-Fair, section 4.2; of the other models: its published tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.plot_spec import Sketch
from fairgate.core.statistics.distributions import g
from fairgate.reports.numbers import interval, number
from fairgate.reports.plots.drawing import BEST, FAINT, MARKERS, OTHERS, OWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from fairgate.benchmarks.evidence import Cell
    from fairgate.benchmarks.score_result import ScoreResult

Point = tuple[float, float]
NARROWEST, ENTRY = 5.4, 2.3  # inches: of a picture, and of an entry of its legend


@dataclass(frozen=True)
class Panel:
    """One task, context and attribute: this model's entries, k groups, and where the published models stand."""

    name: str
    attribute: str
    groups: int
    fact: ScoreResult
    even: ScoreResult
    distance: ScoreResult | None
    others: Mapping[str, Point]


def sketch(
    entries: Sequence[ScoreResult],
    cells: Sequence[Cell],
    published: Mapping[tuple[str, str, str, str], Mapping[str, Point]],
) -> Iterator[Sketch]:
    """The plane of each modality. `published`: (modality, attribute, task, context) -> model -> (S_fact, S_E)."""
    for modality in dict.fromkeys(entry.modality for entry in entries):
        panels = list(_panels(entries, cells, str(modality), published))
        if panels:
            yield _sketch(str(modality), panels)


def _panels(
    entries: Sequence[ScoreResult],
    counted: Sequence[Cell],
    modality: str,
    published: Mapping[tuple[str, str, str, str], Mapping[str, Point]],
) -> Iterator[Panel]:
    sizes = {cell.attribute: len(cell.counts) for cell in counted if cell.attribute is not None}
    cells: dict[tuple[str, str, str], dict[str, ScoreResult]] = {}
    for entry in entries:
        here = (str(entry.modality), entry.scoring, entry.group)
        if here == (modality, "definition", None) and entry.attribute in sizes:
            key = (entry.attribute, str(entry.task), str(entry.context or ""))
            cells.setdefault(key, {})[entry.score] = entry
    for (attribute, task, context), scores in cells.items():
        fact, even = scores.get("S_fact"), scores.get("S_E")
        if fact is None or even is None or fact.value is None or even.value is None:
            continue
        others = published.get((modality, attribute, task, context), {})
        yield Panel(context or task, attribute, sizes[attribute], fact, even, scores.get("d"), others)


def _sketch(modality: str, panels: list[Panel]) -> Sketch:
    attributes = list(dict.fromkeys(panel.attribute for panel in panels))
    names = list(dict.fromkeys(panel.name for panel in panels))
    models = list(dict.fromkeys(model for panel in panels for model in panel.others))

    def draw(figure: Any) -> None:
        axes = figure.subplots(len(attributes), len(names), squeeze=False, sharex=True, sharey=True)
        for axis in axes.flat:
            axis.set_visible(False)
        for panel in panels:
            axis = axes[attributes.index(panel.attribute)][names.index(panel.name)]
            axis.set_visible(True)
            _draw(axis, panel, models)
        for row, attribute in enumerate(attributes):
            axes[row][0].set_ylabel(f"{attribute}\nS_E (evenness)")
        for axis in axes[-1]:
            axis.set_xlabel("S_fact (factuality)")
        drawn = (zip(*axis.get_legend_handles_labels(), strict=True) for axis in axes.flat)
        handles = {label: handle for pairs in drawn for handle, label in pairs}
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
        )

    which = "" if modality == "text" else " (images)"
    width = max(2.6 * len(names) + 1, NARROWEST)
    columns = int(width / ENTRY)
    return Sketch(
        name=f"trade-off-{modality}",
        title=f"How factual, and how even{which}",
        alt=" ".join(map(_told, panels)),
        size=(width, 2.5 * len(attributes) + 1.4),
        draw=draw,
    )


def _draw(axis: Any, panel: Panel, models: list[str]) -> None:
    x = np.sin(np.linspace(0, np.pi / 2, 200)) ** 2
    axis.plot(100 * x, 100 * g(x, panel.groups), color=FAINT, linewidth=1, label="best trade-off, g_k")
    for model, (fact, even) in panel.others.items():
        marker = MARKERS[models.index(model) % len(MARKERS)]
        axis.plot(fact, even, marker=marker, color=OTHERS, markersize=5, linestyle="none", alpha=0.7, label=model)
    fact, even = _place(panel.fact), _place(panel.even)
    if panel.distance is not None and panel.distance.value is not None:
        near = _nearest(fact, even, panel.groups)
        axis.plot([fact, near[0]], [even, near[1]], color=OWN, linewidth=1, linestyle=":", label="d")
    for x_ends, y_ends in _intervals(panel, fact, even):
        axis.plot(x_ends, y_ends, color=OWN, linewidth=1.5)
    axis.plot(fact, even, marker="o", color=OWN, markersize=8, linestyle="none", label="this model, with its interval")
    if panel.fact.ceiling is not None and panel.even.ceiling is not None:
        best = panel.fact.ceiling[0], panel.even.ceiling[0]
        axis.plot(*best, marker="+", color=BEST, markersize=11, markeredgewidth=2, linestyle="none",
                  label="expected for an ideal model")  # fmt: skip
    axis.set(xlim=(-3, 103), ylim=(-3, 107), title=panel.name)


def _intervals(panel: Panel, fact: float, even: float) -> Iterator[tuple[Point, Point]]:
    """The two intervals as lines through the point: (x ends, y ends)."""
    low, high = panel.fact.ci
    if low is not None and high is not None:
        yield (low, high), (even, even)
    low, high = panel.even.ci
    if low is not None and high is not None:
        yield (fact, fact), (low, high)


def _place(entry: ScoreResult) -> float:
    """Where the model stands: its estimate, which the interval belongs to; the plain value where there is none."""
    value = entry.value if entry.estimate is None else entry.estimate
    return 0.0 if value is None else value


def _nearest(fact: float, even: float, k: int) -> Point:
    """The point of the curve that is nearest, by looking at all of it: for the eye, d itself is exact."""
    x = np.sin(np.linspace(0, np.pi / 2, 5000)) ** 2
    y = g(x, k)
    best = int(np.argmin((x - fact / 100) ** 2 + (y - even / 100) ** 2))
    return float(100 * x[best]), float(100 * y[best])


def _told(panel: Panel) -> str:
    far = "" if panel.distance is None else f", d {number(panel.distance.value)}"
    fact, even = panel.fact, panel.even
    best = ""
    if fact.ceiling is not None and even.ceiling is not None:
        best = f"; ideal {number(fact.ceiling[0])} and {number(even.ceiling[0])}"
    others = ", ".join(f"{model} {x:.0f} and {y:.0f}" for model, (x, y) in panel.others.items())
    published = f"; published: {others}" if others else ""
    return (
        f"{panel.name}, {panel.attribute}: S_fact {number(_place(fact))} {interval(fact)} and "
        f"S_E {number(_place(even))} {interval(even)}{far}{best}{published}."
    )
