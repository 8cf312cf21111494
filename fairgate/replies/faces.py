"""What a detector found in one image, as a value that the ledger keeps as JSON.

Probabilities are by the detector's own labels. What they mean for a benchmark is said by a label map when samples are
counted, so that another map needs no new detection.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations
from dataclasses import dataclass, field

import msgspec

from fairgate.core.errors import DataError

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Face:
    """One face: `box` is left, top, right, bottom in pixels of the upright image, `confidence` 0 to 1.

    `points` are both eyes, the nose's tip and both corners of the mouth, those on the image's left first. An attribute
    that the detector does not give is empty; else its probabilities, by the detector's own labels, sum to 1. A vision
    model gives neither box nor points.
    """

    box: tuple[float, float, float, float] | None = None
    confidence: float = 1.0
    points: tuple[Point, Point, Point, Point, Point] | None = None
    gender: Mapping[str, float] = field(default_factory=dict)
    race: Mapping[str, float] = field(default_factory=dict)
    age: Mapping[str, float] = field(default_factory=dict)

    def attribute(self, name: str) -> Mapping[str, float]:
        """The probabilities of `gender`, `race` or `age`; empty for any other attribute."""
        return {"gender": self.gender, "race": self.race, "age": self.age}.get(name, {})


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a detector says of one image.

    `size` is its width and height, None where it could not be opened; `problem` says why (`fairgate.ledger.images`).
    Without a problem, no faces means that it shows none.
    """

    size: tuple[int, int] | None = None
    faces: tuple[Face, ...] = ()
    problem: str | None = None

    def to_json(self) -> str:
        """As the ledger keeps it."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Reading:
        """As the ledger kept it. Raises DataError for anything else."""
        try:
            return _reading.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise DataError(
                f"is no reading of an image: {error}: {text[:80]!r}.", where="a detector's reply"
            ) from error


_reading = msgspec.json.Decoder(Reading)
