"""F²Bench as it is asked of a language model and judged by another: see `fairgate/benchmarks/base.py`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fairgate.benchmarks.base import Benchmark, Scored
from fairgate.benchmarks.evidence import Cell, shown
from fairgate.benchmarks.f2bench.baseline import PairedConversations
from fairgate.benchmarks.f2bench.cases import GOLD, KINDS, theme
from fairgate.benchmarks.f2bench.cases import cases as cases_of
from fairgate.benchmarks.f2bench.controls import ConversationControls
from fairgate.benchmarks.f2bench.data import InstanceKind
from fairgate.benchmarks.f2bench.findings import findings
from fairgate.benchmarks.f2bench.judge_validation import fitness
from fairgate.benchmarks.f2bench.notes import notes, reviewed
from fairgate.benchmarks.f2bench.power import ConversationsPower
from fairgate.benchmarks.f2bench.score_table import board
from fairgate.benchmarks.f2bench.sections import judges, record, sections
from fairgate.benchmarks.f2bench.specs import Plan as Size
from fairgate.benchmarks.f2bench.swap import without_twin
from fairgate.benchmarks.f2bench.tally import tally, tells
from fairgate.core.domain import Modality, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from fairgate.benchmarks.base import AvailableModels, Circumstances, Plugin
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.evidence import Evidence, Shown
    from fairgate.benchmarks.f2bench.cases import ThemeCase
    from fairgate.benchmarks.f2bench.judge_validation import Fitness
    from fairgate.benchmarks.f2bench.plan import ConversationPlan, Outcome
    from fairgate.benchmarks.f2bench.tally import ThemeTally
    from fairgate.benchmarks.f2bench.topics import Theme
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.limits import JudgeLimits
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.ledger.samples import Sample, Steps

# What came of each theme, the gold sets first.
Spoken = dict["Theme", "ThemeTally"]


class F2Bench(Benchmark["Theme", "ThemeCase", Spoken]):
    """Conversations by category.

    `limits` are what its judge must reach, `seed` decides the intervals; `folder` is that of the workbooks, `size` what
    the plan was cut to.
    """

    modality, roles = Modality.TEXT, frozenset((Role.SPEAKER, Role.JUDGE))

    def __init__(
        self,
        plugin: Plugin,
        plan: ConversationPlan,
        limits: JudgeLimits | None,
        seed: int,
        folder: Path | None = None,
        size: Size | None = None,
        judge: str | None = None,
    ) -> None:
        self.plugin, self.plan, self._limits, self._seed, self._folder = plugin, plan, limits, seed, folder
        self._size, self._judge = size or Size(), judge

    @property
    def versions(self) -> Mapping[str, object]:
        """Of instances, prompts and gold texts."""
        released = self.plan.released
        return {
            **({} if released is None else {"F²Bench's released prompts": released.digest}),
            "F²Bench's instances": self.plan.instances.version,
            "F²Bench's prompts": self.plan.prompts.version,
            "gold texts": self.plan.gold.version,
        }

    @cached_property
    def cases(self) -> tuple[ThemeCase, ...]:
        """One a category and task."""
        return cases_of(self.plan.instances)

    def note(self) -> Mapping[str, Any]:
        """The versions of what is asked, and how often."""
        plan = self.plan
        told = {
            "data_version": plan.instances.version,
            "data": self._folder and str(self._folder),
            "prompts": plan.prompts.version,
            "gold": plan.gold.version,
            "repeats": plan.repeats,
            "size": msgspec.to_builtins(self._size),
            "reference": plan.reference,
        }
        return {"f2bench": told}

    def sampling(self, model: str) -> Mapping[str, object] | None:
        """As the paper samples some models."""
        usual = self.plan.prompts.sampling(model)
        return None if usual is None else asdict(usual)

    def applies(self, case: ThemeCase, offers: AvailableModels) -> bool:
        """Where there is a judge."""
        return offers.judge

    def first(self, cases: Iterable[ThemeCase]) -> tuple[Theme, ...]:
        """What the judge of these cases is validated on."""
        return tuple(theme(task, GOLD) for task in dict.fromkeys(case.topic.task for case in cases))

    @property
    def controls(self) -> ConversationControls:
        """What they say."""
        return ConversationControls()

    def about(self, case: ThemeCase) -> str:
        """The category."""
        return case.id

    def work(self, topic: Theme) -> Iterable[Steps[Outcome]]:
        """A theme's conversations."""
        return self.plan.work(topic)

    def size(self, topic: Theme) -> int:
        """Planned samples."""
        return self.plan.size(topic)

    def needs_judge(self, topic: Theme) -> bool:
        """Always."""
        del topic
        return True

    @property
    def paired(self) -> PairedConversations:
        """Its part of a baseline."""
        return PairedConversations(self.plan, self._judge)

    @property
    def forecast(self) -> ConversationsPower:
        """The power of its plan."""
        return ConversationsPower(self.plan)

    def count(self, topic: Theme, reply: Replies) -> tuple[ThemeTally, list[Sample]]:
        """What came of a theme's conversations, and their samples."""
        return tally(self.plan, topic, reply)

    def read(self, topic: Theme, reply: Replies) -> tuple[list[Sample], int]:
        """All samples of the conversations."""
        counted, samples = self.count(topic, reply)
        return samples, counted.missing

    def shown(self, topic: Theme, reply: Replies) -> Iterator[Shown]:
        """Those that are worth reading."""
        return map(shown, filter(tells, self.read(topic, reply)[0]))

    def tally(self, cases: Sequence[ThemeCase], reply: Replies) -> Spoken | None:
        """What came of the themes of these cases, and of the gold sets of their tasks."""
        themes = (*self.first(cases), *(case.topic for case in cases))
        return {each: self.count(each, reply)[0] for each in themes} or None

    def cell(self, case: ThemeCase, held: Spoken) -> Cell:
        """The judge's verdicts."""
        counted = held[case.topic]
        said = counted.verdicts
        return Cell(
            name=case.name,
            benchmark=case.topic.benchmark,
            modality=case.topic.modality,
            task=case.topic.task,
            about=case.id,
            topic=case.topic.id,
            counts={"judged yes": said[True], "judged no": said[False]},
            kinds=counted.ends,
        )

    def judging(self, held: Spoken) -> tuple[Fitness, ...]:
        """The judge's record on the gold set of each task."""
        gold = (counted for topic, counted in held.items() if topic.name == GOLD)
        return tuple(fitness(counted, self._limits, self._seed) for counted in gold)

    def unfit(self, reply: Replies) -> str | None:
        """Why the judge may not judge, by what it said of the gold sets; None where it may, or was not asked."""
        for task in KINDS:
            counted, _ = self.count(theme(task, GOLD), reply)
            if counted.missing < counted.planned:
                found = fitness(counted, self._limits, self._seed).unfit
                if found is not None:
                    return found
        return None

    def entries(self, held: Spoken) -> tuple[ScoreResult, ...]:
        """The scores."""
        every = Counter(case.topic.task for case in self.cases)
        return board(tuple(held.values()), self.plan, all_categories=every, seed=self._seed)

    @property
    def instances(self) -> Mapping[str, object]:
        """What is asked about, for programs: versions, counts by category and type, what has no twin."""
        held = self.plan.instances
        return {
            "data": held.version,
            "prompts": self.plan.prompts.version,
            "gold": self.plan.gold.version,
            "repeats": self.plan.repeats,
            "counts": {
                f"{category} {task}": n
                for task, kind in KINDS.items()
                for (category, of), n in sorted(held.counts.items())
                if of is kind
            },
            "without_twin": {
                str(category): sorted(ids) for category, ids in without_twin(held.of(InstanceKind.FACT)).items()
            },
            "not_used": [str(problem) for problem in held.problems],
        }

    def score(self, cases: Sequence[ThemeCase], held: Spoken, now: Circumstances) -> Scored:
        """The scores. What an invalid judge said is shown, and has no estimates; what it was not asked did not fail."""
        judging = self.judging(held)
        unfit = next((each.unfit for each in judging if each.unfit is not None), None)
        entries = self.entries(held)
        if unfit is not None:
            why = "the judge is not fit"
            entries = tuple(
                replace(each, estimate=None, ci=(None, None), failed_share=0.0, no_estimate=why) for each in entries
            )
        said = () if now.judge is None else notes(tuple(held.values()), self.plan, now.judge)
        said = (*said, *reviewed(tuple(held.values()), entries))
        errors = tuple(judges(judging, None if now.judge is None else now.judge.label))
        return Scored(
            entries,
            sum((each.ends for each in held.values()), Counter()),
            {"judging": [record(each) for each in judging], "f2bench": self.instances},
            tuple(said),
            unfit,
            sections=(*sections(entries, now.scoring), *errors),
            instruments=errors,
        )

    def findings(
        self, gates: Sequence[GateResult], held: Spoken, now: Circumstances, evidence: Evidence
    ) -> Iterator[Finding]:
        """The worst categories of each."""
        return findings(gates, tuple(held.values()), evidence)
