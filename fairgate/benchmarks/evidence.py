"""What the scores stand on, as every renderer shows it: the cells that were counted, and the samples behind each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import Verdict
from fairgate.core.domain import AnswerKind, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fairgate.core.domain import Modality, Role
    from fairgate.ledger.samples import Sample

# What was planned and never asked for: the judge is not fit, a budget is spent, the run was stopped.
NOT_ASKED = "not_asked"
# What a reviewer looks for first: no answer at all, then picks of the group that is picked most.
TELLING = (
    AnswerKind.FAILED,
    AnswerKind.UNREADABLE,
    AnswerKind.TRUNCATED,
    AnswerKind.REFUSED,
    AnswerKind.NO_FACE,
    AnswerKind.CHOSEN,
    AnswerKind.SAID,
)


@dataclass(frozen=True, slots=True)
class LetteredOption:
    """One lettered option of a prompt, and the groups that it stands for, by attribute."""

    letter: str
    text: str
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FaceShown:
    """One face of an image: `box` is left, top, right, bottom in pixels of the upright image, None where not known.

    `groups`: by attribute the group that it shows and the detector's confidence in it, 0 to 1; the group is None where
    it is not known.
    """

    box: tuple[float, float, float, float] | None
    groups: Mapping[str, tuple[str | None, float]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One planned image and what was found in it.

    `of` is who sat for it, where images of one case are of several; `kind` is `chosen` where it shows a face that
    counts; `image` its content hash, None where there is none; `size` its width and height in pixels, None where it
    could not be opened, and `problem` then says why.
    """

    index: int
    kind: AnswerKind
    image: str | None = None
    size: tuple[int, int] | None = None
    faces: tuple[FaceShown, ...] = ()
    problem: str | None = None
    of: str = ""

    @property
    def state(self) -> str:
        """What became of it, in words."""
        if self.kind is AnswerKind.CHOSEN:
            return "one face" if len(self.faces) == 1 else f"{len(self.faces)} faces"
        if self.kind is AnswerKind.NO_FACE:
            return "too few faces" if self.faces else "no face"
        return f"unreadable: {self.problem}" if self.problem else str(self.kind)

    def told(self, attribute: str) -> str:
        """Its faces by one attribute, e.g. `Asian 93 %; Black 71 %`, or what became of it."""
        return "; ".join(group_told(face, attribute) for face in self.faces) or self.state


def group_told(face: FaceShown, attribute: str) -> str:
    """A face's group with the detector's confidence, e.g. `Asian 93 %`."""
    group, sure = face.groups.get(attribute, (None, 0.0))
    return "group not known" if group is None else f"{group} {100 * sure:.0f} %"


@dataclass(frozen=True, slots=True)
class Shown:
    """One sample as it was asked and answered, uncut. Its texts are others' words: never markup, never a path.

    `turns` are what was said before the prompt, as (role, text). `reply` is None where there is none; `chosen` is the
    index into `options` if, and only if, one was chosen; `images` are the content hashes of images sent along.
    `drawn` is the image that the reply is, where it is one; `kind` is the image's then. `named` are the groups that the
    context of a choice names, by attribute.
    """

    id: str
    to: Role
    prompt: str
    reply: str | None
    kind: AnswerKind
    how: str
    options: tuple[LetteredOption, ...] = ()
    chosen: int | None = None
    turns: tuple[tuple[str, str], ...] = ()
    images: tuple[str, ...] = ()
    drawn: Drawn | None = None
    named: Mapping[str, str] = field(default_factory=dict)

    def group(self, attribute: str | None) -> str | None:
        """The group by an attribute of the chosen option, or of an image's first face; None where there is neither."""
        if self.drawn is not None and self.drawn.faces and attribute is not None:
            return self.drawn.faces[0].groups.get(attribute, (None, 0.0))[0]
        return None if self.chosen is None or attribute is None else self.options[self.chosen].groups.get(attribute)


def shown(sample: Sample, image: Drawn | None = None) -> Shown:
    """A sample, for readers; `image` is what its reply drew."""
    query = sample.query
    return Shown(
        id=query.id,
        to=query.to,
        prompt=query.prompt,
        reply=None if sample.reply is None else sample.reply.text,
        kind=sample.answer.kind if image is None else image.kind,
        how=sample.answer.how,
        options=tuple(LetteredOption(each.letter, each.text, each.groups) for each in query.choices),
        chosen=sample.answer.choice,
        turns=tuple((each.role, each.content) for each in query.before),
        images=query.images,
        drawn=image,
        named=query.named if query.form is Form.CHOICE else {},
    )


def shown_images(images: Iterable[tuple[Drawn, Sequence[Sample]]]) -> Iterator[Shown]:
    """Images with their samples, the image first: an image and its reading are one to a reader; a vision
    model's words stand beside it.
    """
    for image, samples in images:
        yield shown(samples[0], image)
        yield from (shown(each) for each in samples[1:] if each.query.form is not Form.FACES)


def telling_first(samples: Iterable[Shown], attribute: str | None, counts: Mapping[str, int]) -> list[Shown]:
    """What is no answer first, then picks of the group that is picked most; in the order of the queries within."""
    rank = {group: place for place, group in enumerate(sorted(counts, key=lambda group: -counts[group]))}

    def order(sample: Shown) -> tuple[int, int]:
        return TELLING.index(sample.kind), rank.get(sample.group(attribute) or "", len(rank))

    return sorted(samples, key=order)


@dataclass(frozen=True, slots=True)
class Share:
    """A group's share of the people who were drawn, and its share in truth; all 0 to 1.

    `low` and `high` are the ends of the drawn share's 95 % interval, None where the number of people is unknown.
    """

    drawn: float
    true: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one case stands on: a topic seen by one attribute, or a category.

    `name` is the case's, as pytest selects it; `about` the statistic or category in words; `topic` is shared by the
    cells that count the same samples. `counts`: answers by group, or by what the judge said; `kinds`: what
    became of the samples; `answer`: the right one in words, empty where there is none; `truth`: by group the share
    that was drawn beside the true one, where there is a truth to compare with; `unasked`: how many of the failed were
    never asked for; `command` runs the case alone.
    """

    name: str
    benchmark: str
    modality: Modality
    task: str
    context: str | None = None
    attribute: str | None = None
    about: str
    level: str | None = None
    topic: str
    counts: Mapping[str, int]
    kinds: Mapping[AnswerKind, int]
    answer: str = ""
    truth: Mapping[str, Share] = field(default_factory=dict)
    verdict: Verdict = Verdict.PASS
    unasked: int = 0
    command: str = ""

    @property
    def samples(self) -> int:
        """Samples of the cell, answered or not."""
        return sum(self.kinds.values())


def _nothing(topic: str) -> Sequence[Shown]:
    del topic
    return ()


def _gone(image: str) -> bytes:
    del image
    return b""


@dataclass(frozen=True)
class Evidence:
    """The cells of a run. `read` gives a topic's samples, anew each time: they are too many to be held.

    `content` gives an image's bytes by its hash, as they came, empty where they are gone. They are untrusted: for
    `fairgate.ledger.images.open_picture`, and for nothing else.
    """

    cells: tuple[Cell, ...] = ()
    read: Callable[[str], Sequence[Shown]] = field(default=_nothing, compare=False)
    content: Callable[[str], bytes] = field(default=_gone, compare=False)
