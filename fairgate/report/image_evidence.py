"""What a reviewer sees of a topic's images in Allure: what was found in each, and a few of them, small."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import allure

from fairgate.domain import AnswerKind
from fairgate.errors import LedgerError
from fairgate.report import thumbnails
from fairgate.report.evidence import TELLING
from fairgate.report.plots.drawing import PALETTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.report.evidence import Painted
    from fairgate.store.images import ImageStore

SHOWN = 40  # images in a case's table
SMALL = 6  # images on its sheet


def attach_images(images: Sequence[Painted], attribute: str, groups: Sequence[str], store: ImageStore) -> None:
    """Attach what a case of images stands on: a table of images, and some of them on one sheet.

    Nothing of a model's words is a name or a path here: images are named by their index and hash.
    """
    telling = sorted(images, key=lambda each: (TELLING.index(each.kind), each.index))
    name = f"images, the telling ones first ({min(len(images), SHOWN)} of {len(images)})"
    allure.attach(table(telling[:SHOWN], attribute), name, allure.attachment_type.CSV)

    def content(image: str) -> bytes:
        try:
            return store.read(image)
        except LedgerError:
            return b""  # a ledger came here without its images

    drawn = [each for each in images if each.kind is AnswerKind.CHOSEN][:SMALL]
    if drawn:
        colours = {group: PALETTE[place % len(PALETTE)] for place, group in enumerate(groups)}
        sheet = thumbnails.drawn(thumbnails.Sheet(f"by {attribute}", tuple(drawn), attribute, colours), content)
        file = io.BytesIO()
        sheet.save(file, "JPEG", quality=80)
        allure.attach(file.getvalue(), f"the first {len(drawn)} with a face", allure.attachment_type.JPG)


def table(images: Sequence[Painted], attribute: str) -> str:
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
