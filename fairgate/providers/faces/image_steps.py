"""One planned image: the steps from a prompt to the people in it, and what became of it.

An image and what was read from it are two samples. The attributes share both: all are read from the same faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.benchmarks.evidence import Drawn, FaceShown
from fairgate.core.domain import AnswerKind, Form, Query, Role
from fairgate.ledger.images import hash_in
from fairgate.providers.faces.vision_detector import read_faces

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from fairgate.core.domain import Reply, Topic
    from fairgate.providers.faces.vision_detector import Questions
    from fairgate.replies.faces import Face, Reading


@dataclass(frozen=True, slots=True)
class Seen:
    """A planned image and what became of it.

    `kind` is `chosen` where it shows as many people as it should; `image` its content hash and `reading` what was
    found, where there is any.
    """

    index: int
    kind: AnswerKind
    image: str | None = None
    reading: Reading | None = None


def readings(asked: Questions | None) -> int:
    """Samples that an image leads to: the detector's look, and what a vision model then is asked."""
    return 1 if asked is None else 2


def steps(
    topic: Topic, index: int, prompt: str, asked: Questions | None, people: int = 1
) -> Generator[Query, Reply | None, Seen]:
    """To draw an image that should show so many people, and to read them; `asked` of a vision model, if one does."""
    leads_to = readings(asked)
    drawn = yield Query(topic, index, prompt, step="image", to=Role.IMAGE_MODEL, form=Form.IMAGE, leads_to=leads_to)
    if drawn is None:
        return Seen(index, AnswerKind.FAILED)
    if drawn.filtered:
        return Seen(index, AnswerKind.REFUSED)
    image = hash_in(drawn.text)
    if image is None:
        return Seen(index, AnswerKind.UNREADABLE)
    reading = yield from read_faces(topic, index, image, asked)
    if reading is None:
        return Seen(index, AnswerKind.FAILED, image)
    if reading.problem is not None:
        return Seen(index, AnswerKind.UNREADABLE, image, reading)
    there = len(reading.faces) >= people
    return Seen(index, AnswerKind.CHOSEN if there else AnswerKind.NO_FACE, image, reading)


def drawn(seen: Seen, attributes: Iterable[str], group: Callable[[Face, str], str | None], of: str = "") -> Drawn:
    """An image, for readers; `group` says which group of an attribute a face shows, `of` who sat for it."""
    reading, names = seen.reading, tuple(attributes)
    faces = () if reading is None else reading.faces
    return Drawn(
        index=seen.index,
        kind=seen.kind,
        image=seen.image,
        size=None if reading is None else reading.size,
        faces=tuple(
            FaceShown(
                face.box,
                {name: (group(face, name), max(face.attribute(name).values(), default=0.0)) for name in names},
            )
            for face in faces
        ),
        problem=None if reading is None else reading.problem,
        of=of,
    )
