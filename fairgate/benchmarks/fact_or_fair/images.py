"""Fact-or-Fair as it is asked of a text-to-image model, or read from a result folder."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import Benchmark, Scored
from fairgate.benchmarks.detector_errors import detector_errors
from fairgate.benchmarks.evidence import shown_images
from fairgate.benchmarks.fact_or_fair import case_summary, notes, shares
from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS, image_cases
from fairgate.benchmarks.fact_or_fair.controls import ImageControls
from fairgate.benchmarks.fact_or_fair.detector import mixings, published_errors
from fairgate.benchmarks.fact_or_fair.effect_scores import effects_of_faces
from fairgate.benchmarks.fact_or_fair.faces_tally import Groups, tally_faces
from fairgate.benchmarks.fact_or_fair.findings import findings
from fairgate.benchmarks.fact_or_fair.folder import FolderSource
from fairgate.benchmarks.fact_or_fair.image_baseline import PairedPortraits
from fairgate.benchmarks.fact_or_fair.knowledge import knowledge
from fairgate.benchmarks.fact_or_fair.plots import sketches
from fairgate.benchmarks.fact_or_fair.power import StatisticsPower
from fairgate.benchmarks.fact_or_fair.score_table import board, key_of, outcomes
from fairgate.benchmarks.fact_or_fair.sections import sections
from fairgate.benchmarks.fact_or_fair.tally import Tallies
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.core.domain import AnswerKind, Modality, Role
from fairgate.core.statistics.intervals import CONFIDENCE
from fairgate.ledger.samples import replay
from fairgate.providers.faces.image_steps import drawn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from fairgate.benchmarks.base import AvailableModels, Circumstances, Plugin
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.evidence import Cell, Drawn, Evidence, Shown
    from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
    from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind
    from fairgate.benchmarks.fact_or_fair.faces_tally import FacesTally
    from fairgate.benchmarks.fact_or_fair.portraits import PortraitPlan
    from fairgate.benchmarks.fact_or_fair.results import ResultFolder
    from fairgate.benchmarks.fact_or_fair.score_table import Source
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.image_files import ImageFiles
    from fairgate.benchmarks.plot_spec import Sketch
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.benchmarks.sections import Section
    from fairgate.core.statistics.unmixing import ConfusionMatrix
    from fairgate.ledger.samples import Sample, Steps
    from fairgate.providers.faces.image_steps import Seen


class FactOrFairImages(Benchmark["StatisticTopic", "StatisticCase", "Source"]):
    """Portraits, and the faces in them.

    `race_map` names what a detector's races stand for, None as usual; `files`: the images of a folder that stands in
    for a model. `absent`: the results that stand in for a model hold no portraits. `key`: the answer key that controls
    know.
    """

    modality, roles = Modality.IMAGE, frozenset((Role.IMAGE_MODEL, Role.DETECTOR))

    def __init__(
        self,
        plugin: Plugin,
        plan: PortraitPlan,
        folder: ResultFolder | None = None,
        race_map: str | None = None,
        files: ImageFiles | None = None,
        *,
        absent: bool = False,
        detector: str | None = None,
        key: KeyKind = "published",
    ) -> None:
        self.plugin, self.plan, self.folder, self._race_map = plugin, plan, folder, race_map
        self._files, self._absent, self._detector, self._key = files, absent, detector, key

    @property
    def dataset(self) -> Dataset:
        """What is drawn."""
        return self.plan.dataset

    @property
    def read_from(self) -> str | None:
        """The result folder, where there is one."""
        return None if self.folder is None else f"results/{self.folder.model}"

    @property
    def attributes(self) -> Sequence[str]:
        """Those of the data."""
        return [each.name for each in self.dataset.attributes]

    @property
    def versions(self) -> Mapping[str, object]:
        """Of the data."""
        return {"data version": self.dataset.version}

    @cached_property
    def groups(self) -> Groups:
        """What the detector's labels mean. Raises ConfigError for a map of races that there is not."""
        return Groups.of(self.dataset, self._race_map)

    @cached_property
    def cases(self) -> tuple[StatisticCase, ...]:
        """Objective ones first."""
        return tuple(case for task in OWN_TASKS for case in image_cases(self.dataset, task))

    @property
    def files(self) -> ImageFiles | None:
        """Those of the folder."""
        return self._files

    @cached_property
    def controls(self) -> ImageControls:
        """The controls of this benchmark."""
        return ImageControls(knowledge(self.dataset, self._key), self.groups.maps)

    def about(self, case: StatisticCase) -> str:
        """The statistic."""
        return self.dataset.statistic(case.topic.statistic).name

    def note(self) -> Mapping[str, Any]:
        """How many images each topic has."""
        plan = self.plan
        return {"images": {"objective": plan.objective, "subjective": plan.subjective, "held": plan.held}}

    def applies(self, case: StatisticCase, offers: AvailableModels) -> bool:
        """Where there is a model, or its portraits."""
        return self.modality in offers.modalities and not self._absent

    def decides(self, case: StatisticCase) -> bool:
        """Subjective ones."""
        return case.topic.task is Task.SUBJECTIVE

    def check(self, now: Circumstances) -> None:
        """That a calibration is one of this detector."""
        self.mixings(now)

    def mixings(self, now: Circumstances) -> Mapping[str, ConfusionMatrix]:
        """How the detector errs, by attribute; empty without a calibration. Raises ConfigError for one that is none."""
        if now.calibration is None or now.detector is None:
            return {}
        return mixings(now.calibration, now.detector, self.dataset, self.groups)

    def work(self, topic: StatisticTopic) -> Iterable[Steps[Seen]]:
        """A topic's images."""
        return self.plan.work(topic)

    def size(self, topic: StatisticTopic) -> int:
        """Planned samples."""
        return self.plan.size(topic)

    def answers(self, topic: StatisticTopic) -> int:
        """Images."""
        return self.plan.images(topic)

    @property
    def paired(self) -> PairedPortraits:
        """Its part of a baseline."""
        return PairedPortraits(self.dataset, self.plan, self._detector, self._race_map)

    @property
    def forecast(self) -> StatisticsPower:
        """The power of its plan."""
        return StatisticsPower(self.dataset, self.answers)

    def seen(self, topic: StatisticTopic, reply: Replies) -> Iterator[tuple[Seen, list[Sample]]]:
        """What became of a topic's images, each with its samples, the image model's first."""
        return (replay(steps, reply) for steps in self.plan.work(topic))

    def read(self, topic: StatisticTopic, reply: Replies) -> tuple[list[Sample], int]:
        """The images and what was read from them."""
        seen = list(self.seen(topic, reply))
        missing = sum(portrait.kind is AnswerKind.FAILED for portrait, _ in seen)
        return [sample for _, samples in seen for sample in samples], missing

    def drawn(self, portrait: Seen) -> Drawn:
        """An image with its faces by groups."""
        return drawn(portrait, [each.name for each in self.dataset.attributes], self.groups.group)

    def shown(self, topic: StatisticTopic, reply: Replies) -> Iterator[Shown]:
        """The images."""
        return shown_images((self.drawn(portrait), samples) for portrait, samples in self.seen(topic, reply))

    def count(self, topic: StatisticTopic, portraits: Iterable[Seen]) -> FacesTally:
        """The faces in a topic's images."""
        return tally_faces(topic, portraits, self.dataset, self.groups)

    def tally(self, cases: Sequence[StatisticCase], reply: Replies) -> Source | None:
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

    def shares(self, case: StatisticCase) -> Mapping[str, int] | None:
        """A case's faces by group, where a folder has them."""
        if self.folder is None:
            return None
        return FolderSource(self.folder, self.modality, self.dataset, frozenset((case,))).shares(case)

    def cell(self, case: StatisticCase, held: Source) -> Cell:
        """Its faces by group."""
        return case_summary.cell(case, self.dataset, held)

    def score(self, cases: Sequence[StatisticCase], held: Source, now: Circumstances) -> Scored:
        """The scores, the row of the paper's leaderboard, and shares by joint groups."""
        measured = self.mixings(now)
        published = {} if now.detector is None else published_errors(now.detector)
        found = board(held, self.dataset, key=key_of(now), seed=now.seed, mixings=measured, errors=published)
        entries = found.entries
        if isinstance(held, Tallies):
            entries += tuple(effects_of_faces(held, key_of(now), CONFIDENCE))
        tables: dict[str, Any] = {"leaderboard": found.leaderboard}
        said = [*(self.dataset.notes if self.folder is None else notes.of_folder(self.folder))]
        errors: tuple[Section, ...] = ()
        if now.detector is not None and self.folder is None:
            groups = {each.name: each.names for each in self.dataset.attributes}
            errors = (detector_errors(self.plugin.title, now.detector.label, groups, measured, published),)
        if isinstance(held, Tallies):
            tables["shares"] = shares.of_faces(held)
            if now.detector is not None:
                said += notes.of_faces(held, now.detector, measured, published)
        said += notes.disputes(self.dataset, cases)
        shown = tuple(sections(entries, tables, now.scoring))
        return Scored(entries, outcomes(held), tables, tuple(said), images=True, sections=shown, instruments=errors)

    def sketches(self, entries: Sequence[ScoreResult], cells: Sequence[Cell]) -> Iterator[Sketch]:
        """The trade-off plane, and context influence where any context was asked."""
        return sketches(entries, cells)

    def findings(
        self, gates: Sequence[GateResult], held: Source, now: Circumstances, evidence: Evidence
    ) -> Iterator[Finding]:
        """The worst topics of each."""
        return findings(gates, {self.modality: held}, self.dataset, key_of(now), evidence)
