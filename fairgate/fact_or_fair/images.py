"""Fact-or-Fair as it is asked of a text-to-image model, or read from a result folder: see `fairgate/benchmarks/base.py`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.domain import AnswerKind, Modality, Role
from fairgate.fact_or_fair import cells
from fairgate.fact_or_fair.cases import BENCHMARK, OWN_TASKS, image_cases
from fairgate.fact_or_fair.faces_tally import Groups, tally_faces
from fairgate.fact_or_fair.folder import FolderSource
from fairgate.fact_or_fair.tally import Tallies
from fairgate.report.evidence import painted, shown_images
from fairgate.store.samples import replay

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.base import Replies
    from fairgate.faces.seen import Seen
    from fairgate.fact_or_fair.board import Source
    from fairgate.fact_or_fair.cases import Case
    from fairgate.fact_or_fair.data import Dataset
    from fairgate.fact_or_fair.faces_tally import FacesTally
    from fairgate.fact_or_fair.portraits import PortraitPlan
    from fairgate.fact_or_fair.results import ResultFolder
    from fairgate.fact_or_fair.topics import StatisticTopic
    from fairgate.report.evidence import Cell, Painted, Shown
    from fairgate.store.samples import Sample, Steps


class FactOrFairImages:
    """Portraits, and the faces in them. `race_map` names what a detector's races stand for, None as usual."""

    name, modality = BENCHMARK, Modality.IMAGE

    def __init__(self, plan: PortraitPlan, folder: ResultFolder | None = None, race_map: str | None = None) -> None:
        self.plan, self.folder, self._race_map = plan, folder, race_map

    @property
    def dataset(self) -> Dataset:
        """What is painted."""
        return self.plan.dataset

    @property
    def read_from(self) -> str | None:
        """The result folder, where there is one."""
        return None if self.folder is None else f"results/{self.folder.model}"

    @property
    def versions(self) -> Mapping[str, object]:
        """Of the data."""
        return {"data version": self.dataset.version}

    @cached_property
    def groups(self) -> Groups:
        """What the detector's labels mean. Raises ConfigError for a map of races that there is not."""
        return Groups.of(self.dataset, self._race_map)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Objective ones first."""
        return tuple(case for task in OWN_TASKS for case in image_cases(self.dataset, task))

    def about(self, case: Case) -> str:
        """The statistic."""
        return self.dataset.statistic(case.topic.statistic).name

    def work(self, topic: StatisticTopic) -> Iterable[Steps[Seen]]:
        """A topic's images."""
        return self.plan.work(topic)

    def size(self, topic: StatisticTopic) -> int:
        """Planned samples."""
        return self.plan.size(topic)

    def answers(self, topic: StatisticTopic) -> int:
        """Images."""
        return self.plan.images(topic)

    def needs_judge(self, topic: StatisticTopic) -> bool:
        """Never."""
        del topic
        return False

    def seen(self, topic: StatisticTopic, reply: Replies) -> Iterator[tuple[Seen, list[Sample]]]:
        """What became of a topic's images, each with its samples, the painter's first."""
        return (replay(steps, reply) for steps in self.plan.work(topic))

    def read(self, topic: StatisticTopic, reply: Replies) -> tuple[list[Sample], int]:
        """The images and what was read from them."""
        seen = list(self.seen(topic, reply))
        missing = sum(portrait.kind is AnswerKind.FAILED for portrait, _ in seen)
        return [sample for _, samples in seen for sample in samples], missing

    def painted(self, portrait: Seen) -> Painted:
        """An image with its faces by groups."""
        return painted(portrait, [each.name for each in self.dataset.attributes], self.groups.group)

    def shown(self, topic: StatisticTopic, reply: Replies) -> Iterator[Shown]:
        """The images."""
        return shown_images((self.painted(portrait), samples) for portrait, samples in self.seen(topic, reply))

    def count(self, topic: StatisticTopic, portraits: Iterable[Seen]) -> FacesTally:
        """The faces in a topic's images."""
        return tally_faces(topic, portraits, self.dataset, self.groups)

    def tally(self, cases: Sequence[Case], reply: Replies) -> Source | None:
        """The counts of these cases."""
        chosen = frozenset(cases)
        if self.folder is not None:
            return FolderSource(self.folder, self.modality, self.dataset, chosen) if chosen else None
        tallies = {topic: self._tally(topic, reply) for topic in dict.fromkeys(case.topic for case in cases)}
        return Tallies(self.dataset, tallies, chosen, self.modality) if chosen else None

    def _tally(self, topic: StatisticTopic, reply: Replies) -> FacesTally:
        seen = list(self.seen(topic, reply))
        counted = self.count(topic, (portrait for portrait, _ in seen))
        readings = (sample for _, samples in seen for sample in samples if sample.query.to is Role.DETECTOR)
        replies = (sample.reply for sample in readings)
        counted.served.update(reply.served_model for reply in replies if reply is not None and reply.served_model)
        return counted

    def shares(self, case: Case) -> Mapping[str, int] | None:
        """A case's faces by group, where a folder has them."""
        if self.folder is None:
            return None
        return FolderSource(self.folder, self.modality, self.dataset, frozenset((case,))).shares(case)

    def cell(self, case: Case, held: Source) -> Cell:
        """Its faces by group."""
        return cells.cell(case, self.dataset, held)
