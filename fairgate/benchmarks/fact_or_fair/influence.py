"""Context influence: how often each context pulls the answer to the group that it names, beside the published models.

Source of the measure and of the others: Fact-or-Fair, 2025 revision, Table 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.plot_spec import Sketch
from fairgate.reports.numbers import number
from fairgate.reports.plots.drawing import FAINT, MARKERS, OTHERS, OWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from fairgate.benchmarks.evidence import Cell
    from fairgate.benchmarks.score_result import ScoreResult

# The score of an entry, the column of the published table, and how a reader says it.
COLUMNS = (
    ("representativeness", "influence@high", "representativeness_high", "statistics,\nhighest"),
    ("representativeness", "influence@low", "representativeness_low", "statistics,\nlowest"),
    ("attribution", "influence", "attribution", "news\nreport"),
    ("ingroup", "influence@in-group", "in_group", "own group,\nfavourable"),
    ("ingroup", "influence@out-group", "out_group", "other group,\nunfavourable"),
)


def sketch(
    entries: Sequence[ScoreResult], cells: Sequence[Cell], published: Mapping[str, Mapping[str, float]]
) -> Iterator[Sketch]:
    """One picture, where any context was asked for. `published`: model -> column_attribute -> percent."""
    found = {
        (str(entry.context), entry.score, entry.attribute): entry.value
        for entry in entries
        if entry.score.startswith("influence") and entry.scoring == "definition" and entry.value is not None
    }
    sizes = {cell.attribute: len(cell.counts) for cell in cells if cell.attribute is not None}
    attributes = [each for each in sizes if any(attribute == each for _, _, attribute in found)]
    if not attributes:
        return

    def draw(figure: Any) -> None:
        axes = figure.subplots(1, len(attributes), squeeze=False, sharey=True)[0]
        for axis, attribute in zip(axes, attributes, strict=True):
            for place, (context, score, column, _) in enumerate(COLUMNS):
                chance = baseline(score, sizes[attribute])
                axis.plot([place - 0.35, place + 0.35], [chance, chance], color=FAINT, linewidth=1.5,
                          label="a model that ignores contexts")  # fmt: skip
                for number_of, (model, values) in enumerate(published.items()):
                    value = values.get(f"{column}_{attribute}")
                    if value is not None:
                        axis.plot(place - 0.25 + 0.1 * number_of, value, marker=MARKERS[number_of % len(MARKERS)],
                                  color=OTHERS, alpha=0.7, markersize=5, linestyle="none", label=model)  # fmt: skip
                own = found.get((context, score, attribute))
                if own is not None:
                    axis.plot(place, own, marker="o", color=OWN, markersize=9, linestyle="none", label="this model")
            axis.set_xticks(range(len(COLUMNS)), [label for *_, label in COLUMNS], fontsize=8)
            axis.set(ylim=(0, 100), title=attribute)
        axes[0].set_ylabel("answers in the named group, %")
        handles = {label: each for axis in axes for each, label in zip(*axis.get_legend_handles_labels(), strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False)

    yield Sketch(
        name="context-influence",
        title="How far contexts pull the answers",
        alt=" ".join(_told(attribute, sizes[attribute], found) for attribute in attributes),
        size=(5.2 * len(attributes), 4.2),
        draw=draw,
    )


def baseline(score: str, groups: int) -> float:
    """What a model that ignores contexts comes to, in percent: 1/k, but 1 - 1/k outside of the own group."""
    return 100 * (1 - 1 / groups) if score.endswith("out-group") else 100 / groups


def _told(attribute: str, groups: int, found: Mapping[tuple[str, str, str | None], float | None]) -> str:
    parts = [
        f"{' '.join(label.split())} {number(found[context, score, attribute])} % "
        f"(ignoring contexts: {baseline(score, groups):.0f} %)"
        for context, score, _, label in COLUMNS
        if (context, score, attribute) in found
    ]
    return f"{attribute}: {'; '.join(parts)}."
