"""What the scores stand on, as every renderer shows it: the cells that were counted, and the samples behind each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairgate.domain import AnswerKind
from fairgate.gate import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fairgate.domain import Context, Level, Modality, Role, Task
    from fairgate.samples import Sample

# What a reviewer looks for first: no answer at all, then picks of the group that is picked most.
TELLING = (
    AnswerKind.FAILED,
    AnswerKind.UNREADABLE,
    AnswerKind.REFUSED,
    AnswerKind.NO_FACE,
    AnswerKind.CHOSEN,
    AnswerKind.SAID,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One lettered option of a prompt, and the groups that it stands for, by attribute."""

    letter: str
    text: str
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """One sample as it was asked and answered, uncut. Its texts are others' words: never markup, never a path.

    `turns` are what was said before the prompt, as (role, text). `reply` is None where there is none; `chosen` is the
    index into `options` if, and only if, one was chosen; `images` are the content hashes of images sent along.
    """

    id: str
    to: Role
    prompt: str
    reply: str | None
    kind: AnswerKind
    how: str
    options: tuple[Option, ...] = ()
    chosen: int | None = None
    turns: tuple[tuple[str, str], ...] = ()
    images: tuple[str, ...] = ()

    def group(self, attribute: str | None) -> str | None:
        """The chosen option's group by an attribute, None where nothing was chosen."""
        return None if self.chosen is None or attribute is None else self.options[self.chosen].groups.get(attribute)


def shown(sample: Sample) -> Shown:
    """A sample, for readers."""
    query = sample.query
    return Shown(
        id=query.id,
        to=query.to,
        prompt=query.prompt,
        reply=None if sample.reply is None else sample.reply.text,
        kind=sample.answer.kind,
        how=sample.answer.how,
        options=tuple(Option(each.letter, each.text, each.groups) for each in query.choices),
        chosen=sample.answer.choice,
        turns=tuple((each.role, each.content) for each in query.before),
        images=query.images,
    )


def telling_first(samples: Iterable[Shown], attribute: str | None, counts: Mapping[str, int]) -> list[Shown]:
    """What is no answer first, then picks of the group that is picked most; in the order of the queries within."""
    rank = {group: place for place, group in enumerate(sorted(counts, key=lambda group: -counts[group]))}

    def order(sample: Shown) -> tuple[int, int]:
        return TELLING.index(sample.kind), rank.get(sample.group(attribute) or "", len(rank))

    return sorted(samples, key=order)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one case stands on: a topic seen by one attribute, or a category.

    `name` is the case's, as pytest selects it; `about` the statistic or category in words; `topic` is shared by the
    cells that count the same samples. `counts`: answers by group (F²Bench: by what the judge said); `kinds`: what
    became of the samples; `answer`: the right one in words, empty where there is none; `command` runs the case alone.
    """

    name: str
    benchmark: str
    modality: Modality
    task: Task
    context: Context | None = None
    attribute: str | None = None
    about: str
    level: Level | None = None
    topic: str
    counts: Mapping[str, int]
    kinds: Mapping[AnswerKind, int]
    answer: str = ""
    verdict: Verdict = Verdict.PASS
    command: str = ""

    @property
    def samples(self) -> int:
        """Samples of the cell, answered or not."""
        return sum(self.kinds.values())


def _nothing(topic: str) -> Sequence[Shown]:
    del topic
    return ()


@dataclass(frozen=True)
class Evidence:
    """The cells of a run. `read` gives a topic's samples, anew each time: they are too many to be held."""

    cells: tuple[Cell, ...] = ()
    read: Callable[[str], Sequence[Shown]] = field(default=_nothing, compare=False)
