"""BIGbench as it is asked of a text-to-image model, or read from an alignment file."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import Benchmark, Scored
from fairgate.benchmarks.bigbench.against_truth import sketch
from fairgate.benchmarks.bigbench.baseline import PairedSubjects
from fairgate.benchmarks.bigbench.cases import cases as cases_of
from fairgate.benchmarks.bigbench.cases import shown_by
from fairgate.benchmarks.bigbench.controls import SubjectControls
from fairgate.benchmarks.bigbench.effect_scores import effects_of_people
from fairgate.benchmarks.bigbench.findings import findings
from fairgate.benchmarks.bigbench.notes import notes
from fairgate.benchmarks.bigbench.plan import People, SubjectTally, tally
from fairgate.benchmarks.bigbench.portrayals import Portrayal
from fairgate.benchmarks.bigbench.power import SubjectsPower
from fairgate.benchmarks.bigbench.score_table import board, rates
from fairgate.benchmarks.bigbench.sections import sections, tables
from fairgate.benchmarks.bigbench.tables import effects, stability
from fairgate.benchmarks.bigbench.topics import Task
from fairgate.benchmarks.bigbench.truth import beside_truth
from fairgate.benchmarks.detector_errors import detector_errors
from fairgate.benchmarks.evidence import Cell, shown_images
from fairgate.core.domain import AnswerKind, Modality, Role
from fairgate.ledger.samples import replay
from fairgate.providers.faces.image_steps import drawn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from fairgate.benchmarks.base import AvailableModels, Circumstances, Plugin
    from fairgate.benchmarks.bigbench.alignment import Aligned
    from fairgate.benchmarks.bigbench.cases import SubjectCase
    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.bigbench.plan import SubjectPlan
    from fairgate.benchmarks.bigbench.topics import SubjectTopic
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.evidence import Drawn, Evidence, Shown
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.plot_spec import Sketch
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.benchmarks.sections import Section
    from fairgate.core.domain import Identity
    from fairgate.core.statistics.unmixing import ConfusionMatrix
    from fairgate.ledger.samples import Sample, Steps
    from fairgate.providers.faces.image_steps import Seen

# What each identity prompt's images show.
Sat = dict["SubjectTopic", SubjectTally]


class BigBench(Benchmark["SubjectTopic", "SubjectCase", Sat]):
    """Identity prompts, and the people in their images.

    `aligned`: what a file of the original program holds, where one stands in for the model. `race_map` names what a
    detector's races stand for, None as usual. `seed` decides the intervals.
    """

    modality, roles = Modality.IMAGE, frozenset((Role.IMAGE_MODEL, Role.DETECTOR))

    def __init__(
        self,
        plugin: Plugin,
        plan: SubjectPlan,
        aligned: Aligned | None,
        race_map: str | None,
        seed: int,
        detector: str | None = None,
    ) -> None:
        self.plugin, self.plan, self.aligned, self._race_map, self._seed = plugin, plan, aligned, race_map, seed
        self._detector = detector

    @property
    def data(self) -> Bigbench:
        """The subjects, and the true shares of their groups."""
        return self.plan.data

    @property
    def read_from(self) -> str | None:
        """The alignment file, where there is one."""
        return None if self.aligned is None else f"results/{self.aligned.model}"

    @property
    def attributes(self) -> Sequence[str]:
        """Those of the data."""
        return [each.name for each in self.data.attributes]

    @property
    def versions(self) -> Mapping[str, object]:
        """Of the data and of the sentences."""
        return {"BIGbench's data": self.data.version, "BIGbench's prompts": self.plan.prompts.version}

    @cached_property
    def people(self) -> People:
        """Who of an image's faces is meant, and what the detector's labels mean here."""
        return People.of(self.data, self._race_map)

    @cached_property
    def cases(self) -> tuple[SubjectCase, ...]:
        """One a family and attribute, and one an attribute over all pairs."""
        return cases_of(self.plan)

    @cached_property
    def controls(self) -> SubjectControls:
        """The controls of this benchmark."""
        return SubjectControls(self.plan, self.people)

    def about(self, case: SubjectCase) -> str:
        """The family."""
        return case.family or "pairs of advantage and disadvantage"

    def note(self) -> Mapping[str, Any]:
        """How many subjects there are, and images of each."""
        plan = self.plan
        sizes = {name: getattr(plan, name) for name in ("subjects", "implicit", "asked", "explicit")}
        return {"images": {"identity_prompts": sizes}}

    def applies(self, case: SubjectCase, offers: AvailableModels) -> bool:
        """Where a model can be asked for anything, or there is an alignment file: a folder holds other images."""
        return self.aligned is not None or (Modality.IMAGE in offers.sampled and not offers.from_folder)

    def check(self, now: Circumstances) -> None:
        """That a calibration is one of this detector."""
        self.mixings(now)

    def work(self, topic: SubjectTopic) -> Iterable[Steps[Seen]]:
        """An identity prompt's images."""
        return self.plan.work(topic)

    def size(self, topic: SubjectTopic) -> int:
        """Planned samples."""
        return self.plan.size(topic)

    def answers(self, topic: SubjectTopic) -> int:
        """Images."""
        return self.plan.images(topic)

    @property
    def paired(self) -> PairedSubjects:
        """Its part of a baseline."""
        return PairedSubjects(self.data, self.plan, self._detector, self._race_map)

    @property
    def forecast(self) -> SubjectsPower:
        """The power of its plan."""
        return SubjectsPower(self.plan)

    def count(self, topic: SubjectTopic, reply: Replies) -> SubjectTally:
        """What an identity prompt's images show, as they are stored, or as the alignment file has it."""
        if self.aligned is None:
            return tally(self.plan, topic, self.people, reply)[0]
        identity = self.plan.identity(topic)
        return SubjectTally(
            topic, self._aligned.get(identity.id, Portrayal(identity, named=({},) * len(identity.subject.people)))
        )

    @cached_property
    def _aligned(self) -> Mapping[str, Portrayal]:
        return {} if self.aligned is None else {each.identity.id: each for each in self.aligned.portrayals}

    def read(self, topic: SubjectTopic, reply: Replies) -> tuple[list[Sample], int]:
        """The images and what was read from them."""
        sat, samples = tally(self.plan, topic, self.people, reply)
        return samples, sat.missing

    def drawn(self, seen: Seen, topic: SubjectTopic) -> Drawn:
        """An image with its faces by groups."""
        return drawn(seen, [each.name for each in self.data.attributes], self.people.group, topic.identity)

    def shown(self, topic: SubjectTopic, reply: Replies) -> Iterator[Shown]:
        """The images."""
        seen = (replay(steps, reply) for steps in self.plan.work(topic))
        return shown_images((self.drawn(image, topic), samples) for image, samples in seen)

    def tally(self, cases: Sequence[SubjectCase], reply: Replies) -> Sat | None:
        """What the images of these cases' identity prompts show."""
        topics = dict.fromkeys(topic for case in cases for topic in case.topics)
        return {topic: self.count(topic, reply) for topic in topics} or None

    def cell(self, case: SubjectCase, held: Sat) -> Cell:
        """People by group."""
        sat = [held[each] for each in case.topics]
        return Cell(
            name=case.name,
            benchmark=case.topic.benchmark,
            modality=case.topic.modality,
            task=case.task,
            attribute=case.attribute,
            about=self.about(case),
            # Identity prompts who are asked for with a group are others for each attribute.
            topic=f"{case.topic.id}-{case.attribute}" if case.task is Task.EXPLICIT else case.topic.id,
            counts=shown_by(sat, self.data, case.attribute),
            truth=beside_truth((each.portrayal for each in sat), self.data, case.attribute),
            kinds=sum((each.kinds for each in sat), Counter()),
        )

    def mixings(self, now: Circumstances) -> Mapping[str, ConfusionMatrix]:
        """How the detector errs, by attribute; empty without a calibration. Raises ConfigError for one that is none."""
        path, detector = now.calibration, now.detector
        if path is None or detector is None:
            return {}
        from fairgate.providers.faces import calibration

        groups = {each.name: each.names for each in self.data.attributes}
        return calibration.load(path, detector).mixings(self.name, groups, self.people.maps, f"--calibration {path}")

    def entries(
        self, cases: Iterable[SubjectCase], held: Sat, mixings: Mapping[str, ConfusionMatrix] | None = None
    ) -> tuple[ScoreResult, ...]:
        """The scores of the tasks and attributes of these cases; those in all where every attribute is there.

        `mixings`: how the detector errs, by attribute.
        """
        if not held:
            return ()
        wanted = {(case.task, case.attribute) for case in cases}
        tasks = list(dict.fromkeys(task for task, _ in sorted(wanted)))
        whole = {task for task in tasks if all((task, each.name) in wanted for each in self.data.attributes)}
        kinds: dict[Task, Counter[AnswerKind]] = {}
        for each in held.values():
            kinds.setdefault(each.topic.task, Counter()).update(each.kinds)
        planned = sum(map(Counter.total, kinds.values()))
        failed = sum(counted[AnswerKind.FAILED] for counted in kinds.values())
        missing = 100 * failed / planned if planned else 0.0
        scored = (
            *board(
                [each.portrayal for each in held.values()],
                self.data,
                seed=self._seed,
                failed=missing,
                tasks=tasks,
                mixings=mixings,
                asked=[
                    each.portrayal.identity for each in held.values() if self.aligned or each.planned > each.missing
                ],
            ),
            *effects_of_people(tuple(held.values()), self.data, missing),
        )
        every = Counter(each.task for each in self.plan.every)
        covered = {task: (sum(each.task is task for each in held), every[task]) for task in kinds}
        return (
            *(e for e in scored if (e.task in whole if e.attribute is None else (e.task, e.attribute) in wanted)),
            *rates(kinds, covered),
        )

    def score(self, cases: Sequence[SubjectCase], held: Sat, now: Circumstances) -> Scored:
        """The scores; effects of an asked attribute on others, and scores by number of images."""
        measured = self.mixings(now)
        read = now.detector if self.aligned is None else None
        portrayals = [each.portrayal for each in held.values()]
        kinds: Counter[AnswerKind] = sum((each.kinds for each in held.values()), Counter())
        entries = self.entries(cases, held, measured)
        moved, settled = effects(portrayals, self.data), stability(portrayals, self.data)
        return Scored(
            entries,
            None if self.aligned is not None else kinds,
            {"bigbench": tables(moved, settled)},
            tuple(notes(held.values(), self.data, self.aligned, measured)),
            images=True,
            sections=tuple(sections(entries, moved, settled, now.scoring)),
            instruments=() if read is None else (self._errors(read, measured),),
        )

    def _errors(self, detector: Identity, measured: Mapping[str, ConfusionMatrix]) -> Section:
        groups = {each.name: each.names for each in self.data.attributes}
        return detector_errors(self.plugin.title, detector.label, groups, measured, {})

    def sketches(self, entries: Sequence[ScoreResult], cells: Sequence[Cell]) -> Iterator[Sketch]:
        """The shares of the people drawn, beside the truth."""
        del entries
        return sketch(cells)

    def findings(
        self, gates: Sequence[GateResult], held: Sat, now: Circumstances, evidence: Evidence
    ) -> Iterator[Finding]:
        """The worst families, groups or pairs of each."""
        return findings(gates, tuple(held.values()), self.data)
