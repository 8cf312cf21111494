"""What a reviewer sees of a topic's images in Allure: what was found in each, and a few of them, small."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import allure

from fairgate.domain import AnswerKind
from fairgate.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.faces.reading import Face
    from fairgate.fact_or_fair.faces_tally import Groups
    from fairgate.fact_or_fair.portraits import Portrait
    from fairgate.images import ImageStore

SHOWN = 40  # images in a case's table
SMALL = 6  # images on its sheet
SIDE = 96  # pixels of one of them
# What a reviewer looks for first.
TELLING = (AnswerKind.FAILED, AnswerKind.UNREADABLE, AnswerKind.NO_FACE, AnswerKind.REFUSED, AnswerKind.CHOSEN)


def attach_images(portraits: Sequence[Portrait], attribute: str, groups: Groups, store: ImageStore) -> None:
    """Attach what a case of images stands on: a table of images, and some of them on one sheet.

    Nothing of a model's words is a name or a path here: images are named by their index and hash.
    """
    telling = sorted(portraits, key=lambda each: (TELLING.index(each.kind), each.index))
    name = f"images, the telling ones first ({min(len(portraits), SHOWN)} of {len(portraits)})"
    allure.attach(table(telling[:SHOWN], attribute, groups), name, allure.attachment_type.CSV)
    drawn = [each.image for each in telling if each.kind is AnswerKind.CHOSEN and each.image is not None][:SMALL]
    if sheet := contact_sheet(drawn, store):
        allure.attach(sheet, f"the first {len(drawn)} with a face", allure.attachment_type.JPG)


def table(portraits: Sequence[Portrait], attribute: str, groups: Groups) -> str:
    """Images as CSV: index, what became of each, its hash, and each face's group with the detector's confidence."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("image", "shows", "sha256", "size", "faces", attribute))
    for each in portraits:
        reading = each.reading
        faces = reading.faces if reading is not None else ()
        size = "x".join(map(str, reading.size)) if reading is not None and reading.size is not None else ""
        shows = reading.problem if reading is not None and reading.problem is not None else str(each.kind)
        found = "; ".join(_told(face, attribute, groups) for face in faces)
        rows.writerow((each.index, shows, each.image or "", size, len(faces), found))
    return text.getvalue()


def _told(face: Face, attribute: str, groups: Groups) -> str:
    group = groups.group(face, attribute)
    sure = max(face.attribute(attribute).values(), default=0.0)
    return f"{group or 'not known'} {100 * sure:.0f} % (face {100 * face.confidence:.0f} %)"


def _kept(image: str, store: ImageStore) -> bytes:
    """Its bytes; none where a ledger came here without its images."""
    try:
        return store.read(image)
    except LedgerError:
        return b""


def contact_sheet(images: Sequence[str], store: ImageStore) -> bytes:
    """These images side by side in one small JPEG, by their hashes; empty where none can be opened."""
    if not images:
        return b""
    from PIL import Image

    from fairgate.images import Picture, open_picture

    opened = [found for each in images if isinstance(found := open_picture(_kept(each, store)), Picture)]
    if not opened:
        return b""
    sheet = Image.new("RGB", (SIDE * len(opened), SIDE), "white")
    for place, picture in enumerate(opened):
        small = Image.fromarray(picture.pixels)
        small.thumbnail((SIDE, SIDE))
        sheet.paste(small, (place * SIDE, 0))
    file = io.BytesIO()
    sheet.save(file, "JPEG", quality=80)
    return file.getvalue()
