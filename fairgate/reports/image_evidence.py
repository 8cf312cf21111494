"""What a reviewer sees of a topic's images in Allure: what was found in each, and a few of them, small."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.benchmarks.evidence import TELLING
from fairgate.core.domain import AnswerKind
from fairgate.core.errors import LedgerError
from fairgate.reports import thumbnails
from fairgate.reports.bars import Inset
from fairgate.reports.plots.drawing import PALETTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.benchmarks.evidence import Drawn
    from fairgate.ledger.images import ImageStore

SHOWN = 40  # images in a case's table
SMALL = 6  # images on its sheet


@dataclass(frozen=True)
class ImageEvidence:
    """The images that a case stands on, and the attribute and groups that it sees them by.

    Nothing of a model's words is a name or a path here: images are named by their index and hash.
    """

    images: Sequence[Drawn]
    attribute: str
    groups: Sequence[str]
    store: ImageStore

    def told(self) -> tuple[str, str]:
        """What the table of images is called, and the table, as CSV."""
        telling = sorted(self.images, key=lambda each: (TELLING.index(each.kind), each.index))
        name = f"images, the telling ones first ({min(len(telling), SHOWN)} of {len(telling)})"
        return name, table(telling[:SHOWN], self.attribute)

    def sheet(self) -> Inset | None:
        """The first few with a face on one sheet, None where there are none."""
        telling = sorted(self.images, key=lambda each: each.index)
        drawn = [each for each in telling if each.kind is AnswerKind.CHOSEN][:SMALL]
        if not drawn:
            return None
        colours = {group: PALETTE[place % len(PALETTE)] for place, group in enumerate(self.groups)}
        title = f"the first {len(drawn)} with a face, by {self.attribute}"
        sheet = thumbnails.drawn(thumbnails.Sheet(title, tuple(drawn), self.attribute, colours), self._content)
        file = io.BytesIO()
        sheet.save(file, "JPEG", quality=80)
        return Inset(file.getvalue(), sheet.width, sheet.height)

    def _content(self, image: str) -> bytes:
        try:
            return self.store.read(image)
        except LedgerError:
            return b""  # a ledger came here without its images


def table(images: Sequence[Drawn], attribute: str) -> str:
    """Images as CSV: index, what became of each, its hash, and each face's group with the detector's confidence."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("image", "of", "shows", "sha256", "size", "faces", attribute))
    for each in images:
        size = "" if each.size is None else "x".join(map(str, each.size))
        shows = each.problem or str(each.kind)
        found = each.told(attribute) if each.faces else ""
        rows.writerow((each.index, each.of, shows, each.image or "", size, len(each.faces), found))
    return text.getvalue()
