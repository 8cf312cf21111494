"""Contact sheets: a few images of a case side by side, with the faces that were found in them."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import Verdict
from fairgate.core.domain import Modality
from fairgate.reports import thumbnails
from fairgate.reports.plots.distributions import spread
from fairgate.reports.plots.drawing import PALETTE, Plot, has_pillow
from fairgate.reports.thumbnails import Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.benchmarks.evidence import Cell, Drawn
    from fairgate.reports.report import Report

SHEETS = 12  # of one report
TELLING = 3  # cases that did not fail which have one
IMAGES = 12  # on one sheet
BYTES = 4 * 2**20  # of all sheets together


def plots(report: Report, *, pictures: bool) -> Iterator[Plot]:
    """A sheet for each failed case of images, and for the most telling others; what is left out is said by the last.

    Without `pictures`, and from where the sheets together become too large, their texts alone.
    """
    wanted = chosen(report)
    shown = wanted[:SHEETS]
    left = BYTES if pictures and has_pillow() else 0
    for number, cell in enumerate(shown, start=1):
        images = [each.drawn for each in report.evidence.read(cell.topic) if each.drawn is not None]
        if not images:
            continue
        some = thumbnails.picked(images, IMAGES)
        about = ", ".join(filter(None, (cell.about, str(cell.level or ""), str(cell.task), cell.attribute)))
        title = f"Faces: {about} ({len(some)} of {len(images)} images)"
        body = _drawn(report, cell, title, some) if left > 0 else b""
        left -= len(body)
        more = f" {len(wanted) - SHEETS} further cases have no sheet." if number == SHEETS < len(wanted) else ""
        yield Plot(
            name=f"faces-{number:02}-{re.sub(r'[^a-z0-9]+', '-', cell.name.lower()).strip('-')}",
            title=title,
            alt=_told(cell, some) + more,
            png=body if left >= 0 else b"",
        )


def chosen(report: Report) -> list[Cell]:
    """The cells that have a sheet: failed ones, the most uneven first; then those that findings name, then the rest."""
    cells = {cell.name: cell for cell in report.evidence.cells if cell.modality is Modality.IMAGE}
    uneven = sorted(cells.values(), key=lambda cell: -spread([cell]))
    failed = [cell for cell in uneven if cell.verdict is Verdict.FAIL]
    named = (topic.cell for found in report.findings for topic in found.topics)
    others = chain((cells[name] for name in named if name in cells), uneven)
    telling = dict.fromkeys(cell.name for cell in others if cell.verdict is not Verdict.FAIL)
    return [*failed, *(cells[name] for name in list(telling)[:TELLING])]


def _drawn(report: Report, cell: Cell, title: str, images: Sequence[Drawn]) -> bytes:
    colours = {group: PALETTE[place % len(PALETTE)] for place, group in enumerate(cell.counts)}
    sheet = Sheet(title, tuple(images), cell.attribute or "", colours)
    return thumbnails.png(thumbnails.drawn(sheet, report.evidence.content))


def _told(cell: Cell, images: Sequence[Drawn]) -> str:
    whole = sum(cell.counts.values())
    shares = ", ".join(f"{group} {100 * n / max(whole, 1):.0f} %" for group, n in cell.counts.items())
    each = " ".join(f"Image {image.index}: {image.told(cell.attribute or '')}." for image in images)
    return f"All faces of the case: {shares if whole else 'none'}. {each}"
