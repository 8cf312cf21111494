"""Fact-or-Fair's plots of a report: the trade-off plane and context influence, each beside the published models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair import influence, trade_off
from fairgate.benchmarks.fact_or_fair import published_tables as tables
from fairgate.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.benchmarks.evidence import Cell
    from fairgate.benchmarks.plot_spec import Sketch
    from fairgate.benchmarks.score_result import ScoreResult


def sketches(entries: Sequence[ScoreResult], cells: Sequence[Cell]) -> Iterator[Sketch]:
    """The plots that these entries and cells of one modality have anything for."""
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
    yield from trade_off.sketch(entries, cells, planes)
    yield from influence.sketch(entries, cells, contexts)
