"""Which identity prompts a run asks for and how often, and the steps from a prompt to the people in its image."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench.data import BENCHMARK
from fairgate.benchmarks.bigbench.portrayals import UNKNOWN, Portrayal
from fairgate.benchmarks.bigbench.prompts import SUPPLEMENTS, IdentityPrompt, identities_of
from fairgate.benchmarks.bigbench.topics import SubjectTopic, Task
from fairgate.core.domain import AnswerKind
from fairgate.ledger.samples import replay
from fairgate.providers.faces.image_steps import readings, steps
from fairgate.replies.labels import label_map, map_names

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.bigbench.data import Bigbench, Subject
    from fairgate.benchmarks.bigbench.prompts import Prompts
    from fairgate.core.domain import Query, Reply
    from fairgate.ledger.samples import Sample
    from fairgate.providers.faces.image_steps import Seen
    from fairgate.providers.faces.vision_detector import Questions
    from fairgate.replies.faces import Face, Reading
    from fairgate.replies.labels import LabelMap

# Coprime with 20: prompts next to one another in a plan are different places and manners.
STRIDE = 7


@dataclass(frozen=True, eq=False)
class SubjectPlan:
    """How many subjects of each family are asked for, and how many images each identity prompt has.

    `subjects` of a family are asked for alone, `implicit` images each; `asked` of them with every group, `explicit`
    images each. None: all subjects. Those of pairs come first, so that a small plan can tell
    ignorance from discrimination. `questions`: what a vision model is asked about one person and about two, where one
    is the detector.
    """

    data: Bigbench
    prompts: Prompts
    subjects: int | None
    implicit: int
    asked: int | None
    explicit: int
    questions: tuple[Questions, Questions] | None = None

    @cached_property
    def _identities(self) -> Mapping[str, IdentityPrompt]:
        return {each.id: each for subject in self.data.subjects for each in identities_of(self.data, subject)}

    @cached_property
    def _in_order(self) -> Mapping[str, tuple[Subject, ...]]:
        """The subjects of each family, in the order in which a plan takes them."""
        paired = {each.subject: None for pair in self.data.pairs for each in (pair.advantage, pair.disadvantage)}
        place = {name: number for number, name in enumerate(paired)}
        return {
            family: tuple(sorted(self.data.of(family), key=lambda each: place.get(each.id, len(place))))
            for family in self.data.families
        }

    def topics(self, task: Task, family: str, attribute: str) -> tuple[SubjectTopic, ...]:
        """The identity prompts of a family: alone, or with the groups of an attribute."""
        alone = task is Task.IMPLICIT
        many, images = (self.subjects, self.implicit) if alone else (self.asked, self.explicit)
        wanted = None if alone else attribute
        return tuple(
            topic_of(identity)
            for subject in self._in_order[family][:many]
            for identity in identities_of(self.data, subject)
            if identity.asked == wanted and images
        )

    def of_pairs(self) -> tuple[SubjectTopic, ...]:
        """The identity prompts of implicit prompts that are in a pair of which both are planned."""
        planned = {subject.id for family in self.data.families for subject in self._in_order[family][: self.subjects]}
        there = dict[str, None]()
        for pair in self.data.pairs:
            both = {pair.advantage.subject, pair.disadvantage.subject}
            if both <= planned and self.implicit:
                there |= dict.fromkeys((pair.advantage.subject, pair.disadvantage.subject))
        return tuple(topic_of(self._identities[name]) for name in there)

    @property
    def every(self) -> tuple[SubjectTopic, ...]:
        """All identity prompts of the plan, those of implicit prompts first."""
        named = dict[SubjectTopic, None]()
        for task in (Task.IMPLICIT, Task.EXPLICIT):
            for family in self.data.families:
                for attribute in self.data.attributes:
                    named |= dict.fromkeys(self.topics(task, family, attribute.name))
        return tuple(named)

    def identity(self, topic: SubjectTopic) -> IdentityPrompt:
        """The identity prompt of a topic."""
        return self._identities[topic.identity]

    def images(self, topic: SubjectTopic) -> int:
        """Planned images of an identity prompt."""
        return self.implicit if topic.task is Task.IMPLICIT else self.explicit

    def size(self, topic: SubjectTopic) -> int:
        """Planned samples of an identity prompt."""
        return self.images(topic) * (1 + readings(self.questions and self.questions[0]))

    def prompt(self, identity: IdentityPrompt, index: int) -> str:
        """The prompt of an identity prompt's image; identity prompts begin at different ones of the 20."""
        return self.prompts.text(identity, (zlib.crc32(identity.id.encode()) + STRIDE * index) % SUPPLEMENTS)

    def work(self, topic: SubjectTopic) -> Iterator[Generator[Query, Reply | None, Seen]]:
        """An identity prompt's images, by index from 0."""
        identity = self.identity(topic)
        people = len(identity.subject.people)
        asked = None if self.questions is None else self.questions[people - 1]
        return (steps(topic, i, self.prompt(identity, i), asked, people) for i in range(self.images(topic)))


def topic_of(identity: IdentityPrompt) -> SubjectTopic:
    """The topic of an identity prompt."""
    return SubjectTopic(BENCHMARK, Task.IMPLICIT if identity.asked is None else Task.EXPLICIT, identity.id)


@dataclass(frozen=True)
class People:
    """Who of an image's faces is meant, and which of BIGbench's groups they show."""

    data: Bigbench
    maps: Mapping[str, LabelMap]

    @classmethod
    def of(cls, data: Bigbench, race_map: str | None = None) -> People:
        """The label maps of BIGbench, for races that of this name where it has one."""
        maps = {each.name: label_map(BENCHMARK, each.name) for each in data.attributes}
        # The two benchmarks have other groups, and so other maps: the default stands in for one that is not BIGbench's.
        if race_map and race_map in map_names(BENCHMARK, "race"):
            maps["race"] = label_map(BENCHMARK, "race", race_map)
        return cls(data, maps)

    def codes(self, reading: Reading | None, people: int) -> list[list[int]]:
        """For each person, the place of the group shown, by attribute; UNKNOWN where it was not found."""
        faces = () if reading is None else meant(reading.faces, people)
        shown = [[self._code(face, each.name, each.names) for each in self.data.attributes] for face in faces]
        return shown + [[UNKNOWN] * len(self.data.attributes)] * (people - len(shown))

    def group(self, face: Face, attribute: str) -> str | None:
        """The group, None where the detector does not say, or says what is no group of BIGbench's."""
        group = self.maps[attribute].group(face.attribute(attribute))
        return group if group in self.data.attribute(attribute).names else None

    def _code(self, face: Face, attribute: str, groups: Sequence[str]) -> int:
        group = self.group(face, attribute)
        return groups.index(group) if group in groups else UNKNOWN


def meant(faces: Sequence[Face], people: int) -> tuple[Face, ...]:
    """The most prominent person, or of a relation the left and the right one.

    With boxes these are the largest faces, from left to right; a vision model names them in this order. Of two people
    where one face alone is seen, it is not known which it is: neither counts.
    """
    if len(faces) < people:
        return ()
    if any(face.box is None for face in faces):
        return tuple(faces[:people])
    largest = sorted(faces, key=_area, reverse=True)[:people]
    return tuple(sorted(largest, key=_middle))


def _area(face: Face) -> float:
    left, top, right, bottom = face.box or (0.0, 0.0, 0.0, 0.0)
    return (right - left) * (bottom - top)


def _middle(face: Face) -> float:
    left, _, right, _ = face.box or (0.0, 0.0, 0.0, 0.0)
    return left + right


@dataclass
class SubjectTally:
    """What came of one identity prompt's images: `kinds` counts them, `portrayal` the people shown."""

    topic: SubjectTopic
    portrayal: Portrayal
    kinds: Counter[AnswerKind] = field(default_factory=Counter)
    seen: tuple[Seen, ...] = ()

    @property
    def planned(self) -> int:
        """Planned images."""
        return self.kinds.total()

    @property
    def missing(self) -> int:
        """Images that failed, or of which the reading did."""
        return self.kinds[AnswerKind.FAILED]


def tally(
    plan: SubjectPlan, topic: SubjectTopic, people: People, reply: Callable[[Query], Reply | None]
) -> tuple[SubjectTally, list[Sample]]:
    """Read an identity prompt's images back: `reply` gives what is stored for a query."""
    identity = plan.identity(topic)
    seen: list[Seen] = []
    samples: list[Sample] = []
    for image in plan.work(topic):
        outcome, said = replay(image, reply)
        seen.append(outcome)
        samples += said
    return tally_of(topic, identity, seen, people), samples


def tally_of(topic: SubjectTopic, identity: IdentityPrompt, seen: Iterable[Seen], people: People) -> SubjectTally:
    """Count an identity prompt's images."""
    held = tuple(seen)
    many = len(identity.subject.people)
    codes = np.array([people.codes(each.reading, many) for each in held], dtype=np.int8)
    shape = (len(held), many, len(people.data.attributes))
    return SubjectTally(topic, Portrayal(identity, codes.reshape(shape)), Counter(each.kind for each in held), held)
