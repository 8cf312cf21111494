"""Images of BIGbench in a baseline: a letter for each person, for their groups; and two baselines image by image."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.benchmarks.bigbench.cases import SubjectCase
from fairgate.benchmarks.bigbench.change import changes
from fairgate.benchmarks.bigbench.data import BENCHMARK, load
from fairgate.benchmarks.bigbench.plan import People, tally, topic_of
from fairgate.benchmarks.bigbench.portrayals import UNKNOWN, Portrayal
from fairgate.benchmarks.bigbench.prompts import all_identities, load_wording
from fairgate.benchmarks.bigbench.score_table import board
from fairgate.benchmarks.bigbench.topics import Task
from fairgate.benchmarks.limits import Strict, Times
from fairgate.benchmarks.paired import (
    KINDS,
    LETTERS,
    Changed,
    Compared,
    Paired,
    Part,
    generator,
    letter_of,
    with_unknown,
)
from fairgate.core.domain import AnswerKind, Modality

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks import case
    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.bigbench.plan import SubjectPlan, SubjectTally
    from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
    from fairgate.benchmarks.bigbench.topics import SubjectTopic
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.paired import Baseline, Basis, Known
    from fairgate.benchmarks.score_result import ScoreResult

PEOPLE = "people"  # whose letters also tell groups that are not known


class ImageSettings(Strict, frozen=True):
    """What was asked with, and how many images there are of a subject."""

    data: str
    detector: str
    race_map: str | None
    implicit: Times
    explicit: Times
    prompts: str | None = None  # of runs before the sentences had a version


class SubjectsPart(Part):
    """The people in images of occupations, characteristics and relations."""

    benchmark, modality, key = BENCHMARK, Modality.IMAGE, "bigbench"
    title, values = "BIGbench", ImageSettings
    sizes = frozenset({"implicit", "explicit"})
    lists = frozenset({PEOPLE})

    def known(self, topic: str, groups: Mapping[str, Known]) -> frozenset[str]:
        """A letter for each combination of groups."""
        del topic
        return frozenset({*LETTERS[: len(groups.get(PEOPLE, ()))], *KINDS})

    def bundled(self, asked: Mapping[str, Any]) -> PairedSubjects | None:
        """With our data, where a saved run was asked with them."""
        data, then = load(), asked.get(self.key) or {}
        here = {"data": data.version, "prompts": load_wording().version}
        return PairedSubjects(data) if here.items() <= then.items() else None


SUBJECTS = SubjectsPart()


@dataclass(frozen=True, eq=False)
class PairedSubjects(Paired):
    """The images of runs over the same data. `plan`: the run's own, None where no answers are spelled.

    `detector` as the user named it; `race_map` names what its races stand for, None as usual.
    """

    data: Bigbench
    plan: SubjectPlan | None = None
    detector: str | None = None
    race_map: str | None = None
    part = SUBJECTS

    @property
    def attributes(self) -> Sequence[str]:
        """Those of the data."""
        return [each.name for each in self.data.attributes]

    @property
    def _plan(self) -> SubjectPlan:
        if self.plan is None:
            raise ValueError("a saved run has no plan")
        return self.plan

    @cached_property
    def _people(self) -> People:
        return People.of(self.data, self.race_map)

    def asked(self) -> Mapping[str, Any]:
        """The data, the sentences, the detector, and the images of a subject."""
        plan = self._plan
        return {
            "data": plan.data.version,
            "prompts": plan.prompts.version,
            "detector": self.detector,
            "race_map": self.race_map,
            "implicit": plan.implicit,
            "explicit": plan.explicit,
        }

    def groups(self) -> Mapping[str, Known]:
        """Every combination of the attributes' groups."""
        return {PEOPLE: with_unknown(each.names for each in self.data.attributes)}

    def letters(self, topic: SubjectTopic, reply: Replies) -> tuple[str, int]:
        """The people in a subject's images, and how many images show any."""
        counted = tally(self._plan, topic, self._people, reply)[0]
        return of_identity(counted, self.data), counted.kinds[AnswerKind.CHOSEN]

    def compare(self, before: Baseline, after: Baseline, now: Basis, cases: frozenset[case.Case] | None) -> Compared:
        """The scores by attribute, of the tasks and attributes that were selected."""
        one, other = (_portrayals(run, self.data) for run in (before, after))
        found: list[Changed] = []
        for attribute in self.data.attributes:
            tasks = [task for task in Task if cases is None or _selected(cases, task, attribute.name)]
            rng = generator(now.seed, BENCHMARK, attribute.name)
            for each in changes(one, other, self.data, attribute, rng, tasks):
                topics = each.covered, _whole(self.data, each.task, attribute.name)
                found.append(Changed(each.task, None, attribute.name, each.score, each.move, each.n, topics))
        both = (min(_images(one[name]), _images(other[name])) for name in one if name in other)
        return Compared(tuple(found), sum(both))

    def estimates(self, run: Baseline, now: Basis) -> Sequence[ScoreResult]:
        """The scores of the run, by attribute and in all."""
        if self.part.held(run.asked) is None:
            return ()
        return board([*_portrayals(run, self.data).values()], self.data, seed=now.seed)


def _selected(cases: frozenset[case.Case], task: Task, attribute: str) -> bool:
    return any(isinstance(each, SubjectCase) and (each.task, each.attribute) == (task, attribute) for each in cases)


def _images(portrayal: Portrayal) -> int:
    return 0 if portrayal.codes is None else len(portrayal.codes)


def _portrayals(run: Baseline, data: Bigbench) -> dict[str, Portrayal]:
    """What a run's images show, by subject."""
    found = {}
    for identity in all_identities(data):
        letters = run.letters.get(topic_of(identity).id)
        if letters:
            found[identity.id] = portrayal_of(letters, identity, data)
    return found


def _whole(data: Bigbench, task: str, attribute: str) -> int:
    """How many subjects, or pairs, there are."""
    if task == Task.MANIFESTATION:
        return len(data.pairs)
    if task == Task.IMPLICIT:
        return len(data.subjects)
    return sum(each.asked == attribute for each in all_identities(data))


def of_identity(counted: SubjectTally, data: Bigbench) -> str:
    """A subject's images, a letter for each person; as many for an image without people."""
    sizes = [len(each.groups) + 1 for each in data.attributes]
    people = len(counted.portrayal.identity.subject.people)
    said = []
    for seen, codes in zip(counted.seen, counted.portrayal.codes if counted.seen else (), strict=True):  # type: ignore[arg-type] # images have codes
        if seen.kind is not AnswerKind.CHOSEN:
            said.append(letter_of(seen.kind) * people)
        else:
            said += [LETTERS[int(np.ravel_multi_index(tuple(each + 1), sizes))] for each in codes]
    return "".join(said)


def portrayal_of(letters: str, identity: IdentityPrompt, data: Bigbench) -> Portrayal:
    """The subject's images, of the same groups."""
    sizes = [len(each.groups) + 1 for each in data.attributes]
    people = len(identity.subject.people)
    most = int(np.prod(sizes))
    codes = [
        [place - 1 for place in np.unravel_index(at, sizes)] if 0 <= (at := LETTERS.find(letter)) < most else None
        for letter in letters
    ]
    rows = [[UNKNOWN] * len(sizes) if each is None else each for each in codes]
    whole = np.array(rows[: len(rows) // people * people], dtype=np.int8)
    return Portrayal(identity, whole.reshape(-1, people, len(sizes)))
