"""Image file -> reading: opened by Pillow, faces found by insightface, attributes read from aligned chips."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from fairgate.ledger.images import Problem, open_picture
from fairgate.providers.faces import runtime
from fairgate.replies.faces import Face, Point, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fairgate.core.domain import Identity
    from fairgate.ledger.images import ImageLimits
    from fairgate.providers.faces.attributes import AttributeReader, Attributes
    from fairgate.providers.faces.face_finder import FaceFinder, FoundFace


class OnnxDetector:
    """A finder of faces and a reader of their attributes, as one detector.

    `load` makes both, which takes seconds: it is called when the first image is read, and never where none is.
    """

    def __init__(
        self,
        identity: Identity,
        load: Callable[[], tuple[FaceFinder, AttributeReader]],
        limits: ImageLimits | None = None,
    ) -> None:
        self.identity = identity
        self._load, self._limits = load, limits
        self._loaded: tuple[FaceFinder, AttributeReader] | None = None
        self._loading = threading.Lock()

    def _parts(self) -> tuple[FaceFinder, AttributeReader]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    @property
    def runs_on(self) -> str:
        """`CUDA` where both networks use it, else `CPU`."""
        return runtime.runs_on([part.session for part in self._parts()])

    def read(self, content: bytes) -> Reading:
        """All faces of one image file."""
        return self.read_all([content])[0]

    def read_all(self, contents: Sequence[bytes]) -> list[Reading]:
        """All faces of each of these image files; the attributes of all of them are read together."""
        finder, reader = self._parts()
        opened = [open_picture(content, limits=self._limits) for content in contents]
        found = [[] if isinstance(each, Problem) else finder.find(each.pixels) for each in opened]
        faces: list[tuple[NDArray[np.uint8], FoundFace]] = [
            (picture.pixels, face)
            for picture, several in zip(opened, found, strict=True)
            if not isinstance(picture, Problem)
            for face in several
        ]
        told = iter(reader.read(faces)) if faces else iter(())
        return [
            Reading(problem=str(picture))
            if isinstance(picture, Problem)
            else Reading(picture.size, tuple(_face(each, next(told)) for each in several))
            for picture, several in zip(opened, found, strict=True)
        ]

    def close(self) -> None:
        """Sessions end with their last reference."""


def _face(found: FoundFace, told: Attributes) -> Face:
    left, top, right, bottom = (round(each, 1) for each in found.box)
    points: Any = None if found.points is None else tuple(_point(x, y) for x, y in found.points)
    return Face(
        (left, top, right, bottom),
        round(found.confidence, 4),
        points,
        **{attribute: _rounded(told.get(attribute, {})) for attribute in ("gender", "race", "age")},
    )


def _point(x: float, y: float) -> Point:
    return round(float(x), 1), round(float(y), 1)


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {label: round(share, 5) for label, share in shares.items()}
