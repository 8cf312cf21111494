"""Portraits of known groups, as control image models draw them: real PNG files, with nothing that people wear.

A face has two blue eyes, a pink nose and red corners of the mouth, each a disc of one size, and on its forehead three
patches whose colours are a code for gender, race and age. The code stands for groups, not for what people look like:
skin, hair and clothes are drawn by chance. `fairgate/providers/faces/toy_graphs.py` builds the graphs that read it.
"""

from __future__ import annotations

import math
from io import BytesIO
from itertools import product
from typing import TYPE_CHECKING

from fairgate.core.errors import DataError
from fairgate.replies.labels import own_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from PIL import ImageDraw

    from fairgate.replies.labels import LabelMap

VERSION = 1

Colour = tuple[int, int, int]

# A face is drawn in the coordinates of an aligned chip of 224 pixels, see `fairgate/providers/faces/alignment.py`.
EYE_LEFT, EYE_RIGHT, NOSE = (71.01, 69.59), (150.04, 69.59), (110.53, 114.33)
MOUTH_LEFT, MOUTH_RIGHT = (75.29, 153.85), (145.76, 153.85)
POINTS = (EYE_LEFT, EYE_RIGHT, NOSE, MOUTH_LEFT, MOUTH_RIGHT)
EYE_DISTANCE = EYE_RIGHT[0] - EYE_LEFT[0]
DISC = 11.0  # radius
PATCH = 15.0  # half a patch's side
PATCHES = {"gender": (72.0, 32.0), "race": (110.5, 32.0), "age": (149.0, 32.0)}

BLUE, PINK, RED = (0, 0, 255), (255, 0, 255), (255, 0, 0)
# Less than 210 of a primary colour is never taken for a disc.
DARK, MIDDLE, LIGHT = 48, 128, 208
CODES: Mapping[str, tuple[Colour, ...]] = {
    "gender": ((DARK, MIDDLE, LIGHT), (LIGHT, MIDDLE, DARK)),
    "race": tuple((red, green, blue) for red, green, blue in product((DARK, LIGHT), repeat=3))[:7],
    "age": tuple((red, green, MIDDLE) for red in (DARK, MIDDLE, LIGHT) for green in (DARK, MIDDLE, LIGHT)),
}
LABELS = own_labels("fairface")

# Distance of the eyes in shares of the image's shorter side, and of the place that each face has in its row.
ONE, MANY = (0.17, 0.23), (0.22, 0.28)
TILT = math.radians(6)


def shown(groups: Mapping[str, str], maps: Mapping[str, LabelMap], chance: Random) -> dict[str, str]:
    """A person of these groups, in FairFace's labels; by chance where a group has several, and where none is asked for.

    `maps` by attribute. Raises DataError for a group that no label means: a detector could never find it.
    """
    person = {}
    for attribute, labels in LABELS.items():
        group = groups.get(attribute)
        wanted = labels if group is None else maps[attribute].labels(group, labels)
        if not wanted:
            raise DataError(
                f"no label of the detector means the group {group!r} of {attribute}.",
                where=f"label map {maps[attribute].name!r}",
                hint="Name a label map that knows it with --race-map.",
            )
        person[attribute] = _one_of(wanted, chance)
    return person


def draw(people: Sequence[Mapping[str, str]], size: tuple[int, int], chance: Random) -> bytes:
    """A PNG that shows these people side by side, four at most; without any, a landscape.

    `people`: FairFace's label by attribute (see `shown`); `size`: width and height in pixels. Equal arguments give
    equal bytes. Only `chance.random()` is used, which gives the same sequence in every Python.
    """
    from PIL import Image, ImageDraw

    width, height = size
    palette: list[Colour] = [_muted(chance)]
    image = Image.new("P", size, 0)
    draw = ImageDraw.Draw(image)
    _landscape(draw, palette, size, chance)
    for place, person in enumerate(people):
        column = width / len(people)
        low, high = ONE if len(people) == 1 else MANY
        room = min(width, height) if len(people) == 1 else min(column, height)
        scale = room * (low + (high - low) * chance.random()) / EYE_DISTANCE
        centre = (
            column * (place + 0.5 + 0.06 * (chance.random() - 0.5)),
            height * (0.48 + 0.08 * (chance.random() - 0.5)),
        )
        _face(_Canvas(draw, palette, centre, scale, TILT * (2 * chance.random() - 1)), person, chance)
    image.putpalette([value for colour in palette for value in colour])
    file = BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


class _Canvas:
    """Draws in the coordinates of a chip, at a place, size and tilt of the image."""

    def __init__(
        self,
        draw: ImageDraw.ImageDraw,
        palette: list[Colour],
        centre: tuple[float, float],
        scale: float,
        tilt: float,
    ) -> None:
        self._draw, self._palette, self._centre, self.scale = draw, palette, centre, scale
        self._turn = scale * math.cos(tilt), scale * math.sin(tilt)

    def place(self, point: tuple[float, float]) -> tuple[float, float]:
        x, y = point[0] - NOSE[0], point[1] - NOSE[1]
        along, across = self._turn
        return self._centre[0] + along * x - across * y, self._centre[1] + across * x + along * y

    def disc(self, point: tuple[float, float], radius: float, colour: Colour, flat: float = 1.0) -> None:
        (x, y), across, down = self.place(point), radius * self.scale, radius * self.scale * flat
        self._draw.ellipse((x - across, y - down, x + across, y + down), fill=_index(self._palette, colour))

    def shape(self, points: Sequence[tuple[float, float]], colour: Colour) -> None:
        self._draw.polygon([self.place(point) for point in points], fill=_index(self._palette, colour))


def _face(canvas: _Canvas, person: Mapping[str, str], chance: Random) -> None:
    skin, hair, shirt = _muted(chance, 110), _muted(chance, 70), _muted(chance)
    canvas.disc((NOSE[0], 330), 150, shirt)
    canvas.disc((NOSE[0], 95), 100, hair, 1.16)
    canvas.disc((NOSE[0], 105), 88, skin, 1.14)
    for attribute, (x, y) in PATCHES.items():
        code = CODES[attribute][LABELS[attribute].index(person[attribute])]
        left, top, right, bottom = x - PATCH, y - PATCH, x + PATCH, y + PATCH
        canvas.shape([(left, top), (right, top), (right, bottom), (left, bottom)], code)
    lip = _muted(chance, 90)
    canvas.shape([MOUTH_LEFT, (NOSE[0], 149), MOUTH_RIGHT, (NOSE[0], 166)], lip)
    for point, colour in zip(POINTS, (BLUE, BLUE, PINK, RED, RED), strict=True):
        canvas.disc(point, DISC, colour)


def _landscape(draw: ImageDraw.ImageDraw, palette: list[Colour], size: tuple[int, int], chance: Random) -> None:
    width, height = size
    for _ in range(3):
        x, y, reach = width * chance.random(), height * (0.7 + 0.5 * chance.random()), width * (0.3 + chance.random())
        box = (x - reach, y, x + reach, y + reach)
        draw.ellipse(box, fill=_index(palette, _muted(chance)))


def _muted(chance: Random, low: int = 80) -> Colour:
    return low + int(97 * chance.random()), low + int(97 * chance.random()), low + int(97 * chance.random())


def _index(palette: list[Colour], colour: Colour) -> int:
    if colour not in palette:
        palette.append(colour)
    return palette.index(colour)


def _one_of(choices: Sequence[str], chance: Random) -> str:
    return choices[int(chance.random() * len(choices))]
