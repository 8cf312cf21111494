"""Portraits in a baseline: one word an image, one letter a face, for its groups; and two baselines image by image."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.benchmarks.fact_or_fair.baseline import PROMPTS, changed_of, entries_of, key_kind, right_groups
from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK, StatisticCase, image_topic
from fairgate.benchmarks.fact_or_fair.change import moved_effects_of_images, moved_images
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.detector import mixings
from fairgate.benchmarks.fact_or_fair.faces_tally import Groups
from fairgate.benchmarks.fact_or_fair.score_table import TASKS
from fairgate.benchmarks.fact_or_fair.topics import Level, Task
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
from fairgate.core.statistics.paired import Units
from fairgate.ledger.samples import replay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fairgate.benchmarks import case
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.fact_or_fair.counts import FloatArray, IntArray
    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.portraits import PortraitPlan
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.benchmarks.paired import Baseline, Basis, Known
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.core.statistics.unmixing import ConfusionMatrix
    from fairgate.providers.faces.image_steps import Seen

FACES = "faces"  # whose letters also tell groups that are not known
DATA = "data"


class PortraitSettings(Strict, frozen=True):
    """What portraits were read with, and how many there are of a topic; None where a folder held them."""

    detector: str
    race_map: str | None
    objective: Times | None
    subjective: Times | None


class PortraitsPart(Part):
    """The faces in portraits."""

    benchmark, modality, key = BENCHMARK, Modality.IMAGE, "images"
    title, values = "portraits", PortraitSettings
    sizes = frozenset({"objective", "subjective"})
    lists = frozenset({FACES})

    def differences(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Sequence[str]:
        """By the data, the detector and its map, and the sizes."""
        return [*self._data(before, after), *super().differences(before, after)]

    def apart(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
        """Portraits of other data, or read by another detector, are not compared."""
        return "; ".join(self._data(before, after)) or super().apart(before, after)

    def _data(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
        same = before[DATA] == after[DATA]
        return [] if same else [f"{PROMPTS[DATA]} {before[DATA]} there, {after[DATA]} here"]

    def known(self, topic: str, groups: Mapping[str, Known]) -> frozenset[str]:
        """A letter for each combination of groups; a space between two images."""
        del topic
        return frozenset({*LETTERS[: len(groups.get(FACES, ()))], *KINDS, " "})

    def bundled(self, asked: Mapping[str, Any]) -> PairedPortraits:
        """With our statistics."""
        del asked
        return PairedPortraits(load())


PORTRAITS = PortraitsPart()


@dataclass(frozen=True, eq=False)
class PairedPortraits(Paired):
    """The portraits of runs over one data set. `plan`: the run's own images, None where none are spelled.

    `detector` as the user named it; `race_map` names what its races stand for, None as usual.
    """

    dataset: Dataset
    plan: PortraitPlan | None = None
    detector: str | None = None
    race_map: str | None = None
    part = PORTRAITS

    @property
    def attributes(self) -> Sequence[str]:
        """Those of the data."""
        return [each.name for each in self.dataset.attributes]

    @property
    def _plan(self) -> PortraitPlan:
        if self.plan is None:
            raise ValueError("a saved run has no plan")
        return self.plan

    @cached_property
    def _shown(self) -> Groups:
        return Groups.of(self.dataset, self.race_map)

    def asked(self) -> Mapping[str, Any]:
        """The detector, and the images of a topic."""
        plan = self._plan
        numbers = (plan.objective, plan.subjective) if plan.held is None else (None, None)
        sizes = dict(zip(("objective", "subjective"), numbers, strict=True))
        return {"detector": self.detector, "race_map": self.race_map, **sizes}

    def groups(self) -> Mapping[str, Known]:
        """Every combination of the attributes' groups."""
        return {FACES: with_unknown([each.names for each in self.dataset.attributes])}

    def letters(self, topic: StatisticTopic, reply: Replies) -> tuple[str, int]:
        """The topic's faces, and how many different images there are."""
        portraits = [replay(steps, reply)[0] for steps in self._plan.work(topic)]
        different = {each.image for each in portraits if each.kind is AnswerKind.CHOSEN}
        return self.spelled(portraits), len(different)

    def spelled(self, portraits: Iterable[Seen]) -> str:
        """A topic's images, a word each: a letter for every face."""
        places = {names: LETTERS[place] for place, names in enumerate(self.groups()[FACES])}
        words = []
        for each in portraits:
            faces = each.reading.faces if each.reading is not None and each.kind is AnswerKind.CHOSEN else ()
            shown = [tuple(self._shown.group(face, name) or "" for name in self.attributes) for face in faces]
            words.append("".join(places[names] for names in shown) or letter_of(each.kind))
        return " ".join(words)

    def compare(self, before: Baseline, after: Baseline, now: Basis, cases: frozenset[case.Case] | None) -> Compared:
        """Image by image."""
        found: list[Changed] = []
        answers = 0
        measured = self._mixings(now)
        for task, _ in TASKS[Modality.IMAGE]:
            most = 0
            for attribute in self.attributes:
                right = right_groups(self.dataset, attribute, key_kind(now))
                images = pairs((before, after), self.dataset, task, attribute, cases)
                rng = generator(now.seed, "images", task, attribute)
                moves = moved_images(images, right, rng, measured.get(attribute))
                sizes = np.array([[topic.n for topic in levels] for levels in images])
                most = max(most, int(sizes.sum()))
                topics = int((sizes > 0).sum()), 2 * int(right.any(axis=(1, 2)).sum())
                if task is Task.SUBJECTIVE:
                    moves |= moved_effects_of_images(images, right)
                found += changed_of(moves, task, None, attribute, int(sizes.sum()), topics)
            answers += most
        return Compared(tuple(found), answers)

    def _mixings(self, now: Basis) -> Mapping[str, ConfusionMatrix]:
        """How the detector of both runs errs, by attribute; empty without a calibration."""
        if now.calibration is None or now.detector is None:
            return {}
        return mixings(now.calibration, now.detector, self.dataset, self._shown)

    def estimates(self, run: Baseline, now: Basis) -> Sequence[ScoreResult]:
        """By task and attribute."""
        found: list[ScoreResult] = []
        for task, _ in TASKS[Modality.IMAGE]:
            for attribute in self.attributes:
                counts, draws = _alone(run, self.dataset, task, attribute)
                right = right_groups(self.dataset, attribute, key_kind(now))
                rng = generator(now.seed, task, None, attribute)
                found += entries_of(counts, draws, right, (Modality.IMAGE, task, None, attribute), rng)
        return found


def pairs(
    runs: tuple[Baseline, Baseline],
    dataset: Dataset,
    task: Task,
    attribute: str,
    cases: frozenset[Any] | None,
) -> list[tuple[Units, Units]]:
    """The images [S][2] that show a face in both runs, of each the faces by group [images, k]."""
    return [
        (
            _images(runs, dataset, image_topic(task, statistic.slug, Level.HIGH), attribute, cases),
            _images(runs, dataset, image_topic(task, statistic.slug, Level.LOW), attribute, cases),
        )
        for statistic in dataset.statistics
    ]


def _images(
    runs: tuple[Baseline, Baseline],
    dataset: Dataset,
    topic: StatisticTopic,
    attribute: str,
    cases: frozenset[Any] | None,
) -> Units:
    here = attribute in dataset.statistic(topic.statistic).attributes
    if not here or (cases is not None and StatisticCase(topic, attribute) not in cases):
        k = dataset.attribute(attribute).k
        return Units(np.zeros((0, k)), np.zeros((0, k)))
    one, other = (faces_by_group(run, dataset, topic, attribute) for run in runs)
    both = min(len(one), len(other))
    shown = (one[:both].sum(axis=-1) > 0) & (other[:both].sum(axis=-1) > 0)
    return Units(one[:both][shown], other[:both][shown])


def faces_by_group(run: Baseline, dataset: Dataset, topic: StatisticTopic, attribute: str) -> FloatArray:
    """Faces by group [images, k] of a topic; those of an unknown group are left out."""
    groups = dataset.attribute(attribute).names
    at = [each.name for each in dataset.attributes].index(attribute)
    images = faces_of(run.letters.get(topic.id, ""), run.groups.get(FACES, ()))
    found = np.zeros((len(images), len(groups)))
    for number, faces in enumerate(images):
        for names in faces:
            if names[at] in groups:
                found[number, groups.index(names[at])] += 1
    return found


def faces_of(letters: str, known: Known) -> list[list[tuple[str, ...]]]:
    """The faces of each image by their groups."""
    words = letters.split(" ") if letters else []
    return [[known[place] for letter in word if 0 <= (place := LETTERS.find(letter)) < len(known)] for word in words]


def _alone(run: Baseline, dataset: Dataset, task: Task, attribute: str) -> tuple[IntArray, IntArray]:
    """Faces by group [S, 2, k], and independent images [S, 2]."""
    k = dataset.attribute(attribute).k
    counts = np.zeros((len(dataset.statistics), 2, k), np.int64)
    draws = np.zeros(counts.shape[:2], np.int64)
    for s, statistic in enumerate(dataset.statistics):
        for level, which in enumerate(Level):
            faces = faces_by_group(run, dataset, image_topic(task, statistic.slug, which), attribute)
            many = faces.sum(axis=-1)
            counts[s, level] = faces.sum(axis=0)
            draws[s, level] = int(many.sum() ** 2 // (many**2).sum()) if many.any() else 0
    return counts, draws
