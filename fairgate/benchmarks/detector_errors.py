"""How often a face detector errs, as a table: measured by a calibration, published, or not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.sections import Row, Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fairgate.core.statistics.unmixing import ConfusionMatrix

COLUMNS = ("error rate, %", "wrong faces", "faces", "source")


def detector_errors(
    benchmark: str,
    detector: str,
    groups: Mapping[str, Sequence[str]],
    measured: Mapping[str, ConfusionMatrix],
    published: Mapping[str, float],
) -> Section:
    """The error rate of each group and attribute. `groups` by attribute; `published`: error rates, 0 to 1."""
    rows = (
        row for name, names in groups.items() for row in _rows(name, names, measured.get(name), published.get(name))
    )
    return Section(f"Detector {detector}, on {benchmark}", COLUMNS, tuple(rows))


def _rows(
    attribute: str, groups: Sequence[str], measured: ConfusionMatrix | None, published: float | None
) -> Iterable[Row]:
    if measured is not None:
        for place, group in enumerate(groups):
            faces = int(measured.counts[place].sum())
            wrong = faces - int(measured.counts[place, place])
            yield Row(f"{attribute}: {group}", (f"{100 * wrong / faces:.1f}", str(wrong), str(faces), "calibration"))
    elif published is not None:
        yield Row(attribute, (f"{100 * published:.1f}", "", "", "published; not measured on these images"))
    else:
        yield Row(attribute, ("not known", "", "", "no calibration was given"))
