"""Images of a model, small, in pictures of our own making: what a model sent is opened as untrusted, and drawn anew."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.benchmarks.evidence import group_told
from fairgate.core.domain import AnswerKind
from fairgate.ledger.images import Picture, open_picture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

    from fairgate.benchmarks.evidence import Drawn

COLUMNS = 6
SIDE = 144  # pixels of a tile's image
LINE, GAP = 15, 8  # pixels of a line of text, and around tiles
HEAD = LINE + 2 * GAP  # pixels above the first tile
LINES = 3  # of text under an image
LETTERS = 24  # of a line of text
INK, GREY, PAPER = "#222222", "#e8e8e8", "white"
# What a reader must know of before any face.
NO_FACE_FIRST = (AnswerKind.FAILED, AnswerKind.UNREADABLE, AnswerKind.REFUSED, AnswerKind.NO_FACE)


@dataclass(frozen=True)
class Sheet:
    """Images to be drawn side by side, their faces told by one attribute; `colours` are of its groups."""

    title: str
    images: tuple[Drawn, ...]
    attribute: str
    colours: Mapping[str, str]


def picked(images: Sequence[Drawn], most: int) -> tuple[Drawn, ...]:
    """So many images at most: those without a face take a third of the places at most, all in the order of drawing.

    Faces are not chosen by what they show: the sheet is a sample of the images, not of the worst of them.
    """
    faceless = [each for each in images if each.kind is not AnswerKind.CHOSEN]
    faceless.sort(key=lambda each: NO_FACE_FIRST.index(each.kind) if each.kind in NO_FACE_FIRST else -1)
    faces = [each for each in images if each.kind is AnswerKind.CHOSEN]
    room = max(most // 3, most - len(faces))
    kept = [*faceless[:room], *faces][:most] if faces else faceless[:most]
    return tuple(sorted(kept, key=images.index))


def small(content: bytes, side: int) -> Image | None:
    """The picture in these bytes, within a square of so many pixels, None without one. Raises MissingDependency."""
    from PIL import Image as Images

    opened = open_picture(content)
    if not isinstance(opened, Picture):
        return None
    image = Images.fromarray(opened.pixels)
    image.thumbnail((side, side))
    return image


def data_uri(content: bytes, side: int) -> str | None:
    """The picture in these bytes as a small JPEG in a `data:` URI; None where there is none."""
    image = small(content, side)
    if image is None:
        return None
    file = io.BytesIO()
    image.save(file, "JPEG", quality=70)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"


def drawn(sheet: Sheet, content: Callable[[str], bytes]) -> Image:
    """The sheet: images in rows, boxes around their faces, groups and confidence under them; or what became of each."""
    from PIL import Image as Images
    from PIL import ImageDraw, ImageFont

    rows = -(-len(sheet.images) // COLUMNS)
    lines = max((len(_lines(each, sheet.attribute)) for each in sheet.images), default=0)
    across, down = SIDE + GAP, SIDE + lines * LINE + GAP
    canvas = Images.new("RGB", (GAP + across * min(COLUMNS, len(sheet.images)), HEAD + down * rows), PAPER)
    pen = ImageDraw.Draw(canvas)
    pen.font = ImageFont.load_default(size=11)
    pen.text((GAP, GAP), sheet.title, fill=INK)
    for place, each in enumerate(sheet.images):
        row, column = divmod(place, COLUMNS)
        _tile(canvas, pen, (GAP + across * column, HEAD + down * row), each, sheet, content)
    return canvas


def png(image: Image) -> bytes:
    """As PNG of at most 256 colours, which takes a fraction of the bytes."""
    from PIL import Image as Images

    file = io.BytesIO()
    image.quantize(256, dither=Images.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def _tile(
    canvas: Image,
    pen: ImageDraw,
    at: tuple[int, int],
    image: Drawn,
    sheet: Sheet,
    content: Callable[[str], bytes],
) -> None:
    left, top = at
    picture = None if image.image is None else small(content(image.image), SIDE)
    if picture is None:
        pen.rectangle((left, top, left + SIDE - 1, top + SIDE - 1), fill=GREY)
        word = str(image.kind) if image.kind is not AnswerKind.CHOSEN else "image not kept"
        pen.text((left + SIDE / 2, top + SIDE / 2), word, fill=INK, anchor="mm")
    else:
        canvas.paste(picture, at)
    several = len(image.faces) > 1
    for number, face in enumerate(image.faces, start=1):
        group = face.groups.get(sheet.attribute, (None, 0.0))[0]
        if picture is None or face.box is None or image.size is None:
            continue
        scale = picture.width / max(image.size[0], 1)
        xs, ys = (sorted(min(max(scale * each, 0), SIDE - 1) for each in face.box[place::2]) for place in (0, 1))
        # White beneath, so that a box is seen on any picture.
        for width, colour in ((4, PAPER), (2, sheet.colours.get(group or "", INK))):
            pen.rectangle((left + xs[0], top + ys[0], left + xs[1], top + ys[1]), outline=colour, width=width)
        if several:
            pen.text((left + xs[0] + 5, top + ys[0] + 3), str(number), fill=INK, stroke_width=2, stroke_fill=PAPER)
    for line, text in enumerate(_lines(image, sheet.attribute)):
        pen.text((left, top + SIDE + 1 + line * LINE), text[:LETTERS], fill=INK)


def _lines(image: Drawn, attribute: str) -> list[str]:
    """What stands under an image, at most LINES lines."""
    told = [group_told(face, attribute) for face in image.faces]
    if len(told) > 1:
        told = [f"{number}: {text}" for number, text in enumerate(told, start=1)]
    head = [image.of] if image.of else []
    if image.kind is not AnswerKind.CHOSEN:
        head.append(image.state)
    room = LINES - len(head)
    if len(told) > room:
        told = [*told[: room - 1], f"and {len(told) - room + 1} more faces"]
    return [*head, *told]
