"""What a baseline keeps of a benchmark's answers, and what two baselines say about it.

A baseline has a few letters for each answer, and nothing that a model said. A `Part` is what is known of a benchmark's
part of the file without a run: its key, its validation, and how runs must agree to be compared. `Paired` is the same
bound to a plan or to data: it spells the answers of a run, and reads and compares those of two runs. The core reads and
writes the file, tests all changes together, and holds the limits on drops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import product
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

import numpy as np

from fairgate.core.domain import AnswerKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import msgspec

    from fairgate.benchmarks.case import Case, Replies
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.core.domain import Identity, Modality, Topic
    from fairgate.core.statistics.paired import Moved

LETTERS = ascii_letters + digits
NONE = {
    AnswerKind.REFUSED: "-",
    AnswerKind.UNREADABLE: "?",
    AnswerKind.TRUNCATED: "~",
    AnswerKind.NO_FACE: "_",
    AnswerKind.FAILED: ".",
}
KINDS = {letter: kind for kind, letter in NONE.items()}
# What each letter stands for: the groups of a person, one name for each attribute.
Known = tuple[tuple[str, ...], ...]
# Of a topic's queries, each with the probability of each option.
Shares = tuple[tuple[float, ...] | None, ...]


@dataclass(frozen=True)
class Baseline:
    """The answers of a run. `asked` says which queries (data version, seed, …) and how many, part by part.

    `groups` lists, by the attributes that a topic's letters tell apart ("gender race") or by a name of a part's own,
    what each letter stands for; `letters` are the answers by topic, in the order of their queries, `distinct` the
    number of different prompts, or images. `shares` are the probabilities of each query's options by topic, 0 to 1, in
    their order and summing to 1, None where they are not known; empty of a run that asked for none.
    """

    model: str
    asked: Mapping[str, Any]
    groups: Mapping[str, Known]
    letters: Mapping[str, str]
    distinct: Mapping[str, int]
    shares: Mapping[str, Shares] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The run in a few words."""
        return f"{self.model}, plan {self.asked['plan']}, seed {self.asked['seed']}"


@dataclass(frozen=True)
class Changed:
    """How one score moved over `n` answers; `topics`: how many it covers, and of how many."""

    task: str
    context: str | None
    attribute: str | None
    score: str
    move: Moved
    n: int
    topics: tuple[int, int]


@dataclass(frozen=True)
class Basis:
    """What a comparison depends on beside the answers.

    `key`: the answer key; `seed`: of the intervals; `calibration`: the file of the measured errors of `detector`.
    """

    key: str
    seed: int
    calibration: Path | None = None
    detector: Identity | None = None


@dataclass(frozen=True)
class Compared:
    """The comparison of one part: the scores, how many answers were compared, and what a reader must know."""

    changed: tuple[Changed, ...] = ()
    answers: int = 0
    notes: tuple[str, ...] = ()


class Part(ABC):
    """A benchmark's part of a baseline file, in one modality.

    `key`: where its values stand in `asked`, the benchmark's name for a new benchmark. None: in `asked` itself; one
    part alone can be so, whose values are written with every baseline. `title`: the name in messages. `values`: the
    type of its values. `sizes`: those of them that may differ between two runs, since the answers that both have are
    compared. `lists`: its names in `groups` that are not names of attributes.
    """

    benchmark: ClassVar[str]
    modality: ClassVar[Modality]
    key: ClassVar[str | None]
    title: ClassVar[str]
    values: ClassVar[type[msgspec.Struct]]
    sizes: ClassVar[frozenset[str]] = frozenset()
    lists: ClassVar[frozenset[str]] = frozenset()

    def is_of(self, topic: str) -> bool:
        """Whether a topic with this id belongs to it."""
        return topic.startswith(f"{self.benchmark}/{self.modality}/")

    def held(self, asked: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Its values in the `asked` of a baseline; None where the run did not ask it."""
        if self.key is not None:
            return asked.get(self.key) or None
        return asked if any(asked.get(size) is not None for size in self.sizes) else None

    def differences(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Sequence[str]:
        """What two runs that both asked it asked differently, in words, from the `asked` of both."""
        return [f"{self.title}: {said}" for _, said in self._differing(before, after)]

    def apart(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
        """Why two runs that both asked it cannot be compared; None where they can."""
        return "; ".join(said for key, said in self._differing(before, after) if key not in self.sizes) or None

    def _differing(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str]]:
        one, other = self.held(before) or {}, self.held(after) or {}
        return [(key, f"{key} {one[key]} there, {other[key]} here") for key in one if one[key] != other[key]]

    @abstractmethod
    def known(self, topic: str, groups: Mapping[str, Known]) -> frozenset[str]:
        """The letters that can stand in a topic of this id. Used to check a file that is read."""

    @abstractmethod
    def bundled(self, asked: Mapping[str, Any]) -> Paired | None:
        """Bound to the data of the package, to read a saved run; None where that run was asked with other data."""


class Paired(ABC):
    """A part of a baseline, bound to a run's plan, or to data alone where no answers are spelled."""

    part: ClassVar[Part]

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes that its changes are by, in the order of reports."""
        return ()

    @abstractmethod
    def asked(self) -> Mapping[str, Any]:
        """What the plan asks, whatever was selected: the values of `Part.values`.

        Of the part without a key with `seed` and `plan` among them, where they stand in the file.
        """

    def groups(self) -> Mapping[str, Known]:
        """What the letters stand for, as the file lists it."""
        return {}

    @abstractmethod
    def letters(self, topic: Any, reply: Replies) -> tuple[str, int]:
        """A topic's answers as letters in the order of the plan, and how many different prompts or images they have."""

    def shares(self, topic: Any, reply: Replies) -> Shares:
        """The probabilities of a topic's options, in the order of its letters; empty where none is known."""
        del topic, reply
        return ()

    @abstractmethod
    def compare(self, before: Baseline, after: Baseline, now: Basis, cases: frozenset[Case] | None) -> Compared:
        """What moved over what both runs hold of these cases (None: of all). Called where `Part.apart` is None."""

    def validity(self, run: Baseline) -> Sequence[ScoreResult]:
        """What says whether something else than groups decided the answers of a saved run, as entries."""
        del run
        return ()

    @abstractmethod
    def estimates(self, run: Baseline, now: Basis) -> Sequence[ScoreResult]:
        """The estimates of what a saved run answered, as entries; their values are the estimates'."""


def with_unknown(groups: Iterable[Sequence[str]]) -> Known:
    """Every combination of the attributes' groups, an empty name for a group that is not known."""
    return tuple(product(*(("", *names) for names in groups)))


def letter_of(kind: AnswerKind) -> str:
    """What stands for a query or an image without an answer."""
    return NONE.get(kind, "?")


def generator(seed: int, *name: object) -> np.random.Generator:
    """The random numbers of one comparison: the same for the same seed and name, whatever else is compared."""
    return np.random.default_rng([seed, crc32("-".join(map(str, name)).encode())])


def belongs(topic: Topic, part: Part) -> bool:
    """Whether a topic's answers stand in a part."""
    return (topic.benchmark, topic.modality) == (part.benchmark, part.modality)
