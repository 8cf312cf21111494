"""Fact-or-Fair as it is asked of a language model, or read from a result folder: see `fairgate/benchmarks/base.py`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import Benchmark, InterimAnalysis, Scored
from fairgate.benchmarks.evidence import shown
from fairgate.benchmarks.fact_or_fair import case_summary, notes, shares
from fairgate.benchmarks.fact_or_fair.baseline import PairedChoices
from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK, OWN_TASKS, text_cases
from fairgate.benchmarks.fact_or_fair.choices import PEOPLE
from fairgate.benchmarks.fact_or_fair.controls import TextControls
from fairgate.benchmarks.fact_or_fair.effect_scores import effects_of_choices
from fairgate.benchmarks.fact_or_fair.explain import (
    QUERIES,
    conversations,
    load_prompts,
    reasons_by_context,
    sorted_kinds,
)
from fairgate.benchmarks.fact_or_fair.findings import findings
from fairgate.benchmarks.fact_or_fair.folder import FolderSource
from fairgate.benchmarks.fact_or_fair.knowledge import knowledge
from fairgate.benchmarks.fact_or_fair.live_counts import LiveCounts, Served, count
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.plots import sketches
from fairgate.benchmarks.fact_or_fair.power import StatisticsPower
from fairgate.benchmarks.fact_or_fair.score_table import SIMULATED, TASKS, accuracies, board, key_of, outcomes
from fairgate.benchmarks.fact_or_fair.sections import sections
from fairgate.benchmarks.fact_or_fair.selection_rates import rates_of_choices
from fairgate.benchmarks.fact_or_fair.tally import Tallies
from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic, Task
from fairgate.benchmarks.letter_probability_counts import Weighed
from fairgate.core.domain import AnswerKind, Modality, Role
from fairgate.core.statistics.intervals import CONFIDENCE
from fairgate.core.statistics.sequential import levels_of_looks, shares_of_looks
from fairgate.ledger.samples import from_replies, replay

# The part of the variance of groups that lies among the people on offer.
WITHIN = {Profiles.RANDOM: 1.0 - 1.0 / PEOPLE, Profiles.BALANCED: 1.0}

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from fairgate.benchmarks.base import AvailableModels, Circumstances, Plugin
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.evidence import Cell, Evidence, Shown
    from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
    from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind
    from fairgate.benchmarks.fact_or_fair.explain import Explained
    from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
    from fairgate.benchmarks.fact_or_fair.results import ResultFolder
    from fairgate.benchmarks.fact_or_fair.score_table import Source
    from fairgate.benchmarks.fact_or_fair.tally import TopicTally
    from fairgate.benchmarks.fact_or_fair.topics import Context
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.plot_spec import Sketch
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.benchmarks.selection_rates import SelectionRates
    from fairgate.core.domain import Query
    from fairgate.ledger.samples import Sample, Steps
# Answers a topic at the first looks, and their shares of the error (docs/effects.md): chosen by simulation, so that a
# fair model passes, and an unfair one fails, after few calls.
FIRST_LOOKS: Mapping[Task, Mapping[int, float]] = {
    Task.SUBJECTIVE: {3: 0.05, 9: 0.3, 11: 0.25, 13: 0.15, 16: 0.1, 20: 0.05},
    Task.OBJECTIVE: {1: 0.1, 2: 0.25, 4: 0.35},
}


class FactOrFairText(Benchmark["StatisticTopic", "StatisticCase", "Source"]):
    """Choices among groups and individuals.

    `live` holds the counts of replies that this process received; `key` is the answer key that controls know; `looks`
    are the last interim analyses by stratum, which the plan is cut to.
    """

    modality, roles = Modality.TEXT, frozenset((Role.MODEL,))

    def __init__(
        self,
        plugin: Plugin,
        plan: QueryPlan,
        folder: ResultFolder | None = None,
        live: LiveCounts | None = None,
        key: KeyKind = "published",
        looks: Mapping[str, InterimAnalysis] = MappingProxyType({}),
    ) -> None:
        self.plugin, self.plan, self.folder, self._key = plugin, plan, folder, key
        self._live, self._looks = live or LiveCounts(plan.dataset), looks
        self._counted: dict[StatisticTopic, tuple[TopicTally, Served]] = {}

    @property
    def dataset(self) -> Dataset:
        """What is asked about."""
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
    def data_version(self) -> str:
        """Of statistics, scenarios and templates."""
        return self.dataset.version

    @property
    def versions(self) -> Mapping[str, object]:
        """Of the data, and of what asks for reasons."""
        reasons = {"questions for reasons": load_prompts().version} if self.plan.explained else {}
        return {"data version": self.dataset.version, **reasons}

    @cached_property
    def cases(self) -> tuple[StatisticCase, ...]:
        """Objective ones first."""
        return tuple(case for task in OWN_TASKS for case in text_cases(self.dataset, task))

    @cached_property
    def controls(self) -> TextControls:
        """What they choose."""
        return TextControls(knowledge(self.dataset, self._key))

    def about(self, case: StatisticCase) -> str:
        """The statistic."""
        return self.dataset.statistic(case.topic.statistic).name

    def note(self) -> Mapping[str, Any]:
        """The data, and how often each query is asked."""
        reasons = {"explained": load_prompts().version} if self.plan.explained else {}
        return {
            "data_version": self.dataset.version,
            "objective": self.plan.objective,
            "subjective": self.plan.subjective,
            "wordings": self.plan.wordings,
            "profiles": str(self.plan.profiles),
            "ages": str(self.plan.ages),
            **({"orders": "balanced"} if self.plan.balanced else {}),
            **({} if self.plan.contexts is None else {"contexts": sorted(map(str, self.plan.contexts))}),
            **reasons,
        }

    def applies(self, case: StatisticCase, offers: AvailableModels) -> bool:
        """Not where the plan leaves its topic out."""
        return super().applies(case, offers) and (self.folder is not None or self.plan.size(case.topic) > 0)

    def decides(self, case: StatisticCase) -> bool:
        """Subjective ones: three answers to an objective question refute nothing."""
        return case.topic.task is Task.SUBJECTIVE

    def counting(self) -> tuple[FactOrFairText, Callable[[Sample], None]]:
        """With counts of what comes, so that its topics need not be read."""
        live = LiveCounts(self.dataset)
        return FactOrFairText(self.plugin, self.plan, self.folder, live, self._key), live.add

    def stratum(self, topic: StatisticTopic) -> str:
        """The task and context."""
        return stratum_of(topic.task, topic.context)

    def looks(self, stratum: str) -> Sequence[InterimAnalysis]:
        """At rising numbers of answers."""
        topics = [case.topic for case in self.cases if self.stratum(case.topic) == stratum]
        whole = max(map(self.plan.size, topics), default=0)
        if not whole:
            return ()
        task = topics[0].task
        shares = shares_of_looks(whole, FIRST_LOOKS[task])
        # Of the few texts of an objective question a later look has less that is new to tell: its error is its share.
        levels = levels_of_looks(shares) if task is Task.SUBJECTIVE else shares
        return tuple(InterimAnalysis(asked, whole, share, levels[asked]) for asked, share in shares.items())

    @property
    def settled(self) -> Mapping[str, InterimAnalysis]:
        """Of its own strata."""
        return self._looks

    def at(self, looks: Mapping[str, InterimAnalysis]) -> FactOrFairText:
        """With fewer queries a topic."""
        known = {stratum_of(*each): each for each in TASKS[Modality.TEXT]}
        own = {stratum: look for stratum, look in looks.items() if stratum in known}
        cut = {known[stratum]: look.asked for stratum, look in own.items()}
        return FactOrFairText(self.plugin, replace(self.plan, cut=cut), self.folder, self._live, self._key, own)

    def part(self, topic: StatisticTopic, asked: int) -> Iterable[Query]:
        """The queries from there on."""
        return self.plan.queries(topic, asked)

    def explains(self, topic: StatisticTopic) -> bool:
        """Whether a topic's choices are asked for with reasons."""
        return self.plan.explained and topic.task is Task.SUBJECTIVE

    def work(self, topic: StatisticTopic) -> Iterable[Query | Steps[Explained]]:
        """A topic's queries; with reasons each leads to the judge."""
        queries = self.plan.queries(topic)
        return conversations(queries) if self.explains(topic) else queries

    def size(self, topic: StatisticTopic) -> int:
        """Planned samples."""
        return self.plan.size(topic) * (QUERIES if self.explains(topic) else 1)

    def answers(self, topic: StatisticTopic) -> int:
        """Choices: what the judge makes of their reasons is no case's business."""
        return self.plan.size(topic)

    def needs_judge(self, topic: StatisticTopic) -> bool:
        """Reasons are sorted by one."""
        return self.explains(topic)

    def read(self, topic: StatisticTopic, reply: Replies) -> tuple[list[Sample], int]:
        """The choices."""
        samples = list(from_replies(self.plan.queries(topic), reply))
        return samples, sum(sample.answer.kind is AnswerKind.FAILED for sample in samples)

    def shown(self, topic: StatisticTopic, reply: Replies) -> Iterator[Shown]:
        """The choices."""
        return map(shown, self.read(topic, reply)[0])

    def reasons(self, topic: StatisticTopic, reply: Replies) -> Iterator[tuple[Explained, Sequence[Sample]]]:
        """A topic's reasons as the judge sorted them, each with its samples: the choice first."""
        return (replay(steps, reply) for steps in conversations(self.plan.queries(topic)))

    @property
    def paired(self) -> PairedChoices:
        """Its part of a baseline."""
        return PairedChoices(self.dataset, self.plan)

    @property
    def forecast(self) -> StatisticsPower:
        """The power of its plan."""
        return StatisticsPower(self.dataset, self.answers, WITHIN[self.plan.profiles])

    def is_counted(self, topic: StatisticTopic) -> bool:
        """Whether all answers to a topic were counted as they came, so that nothing need be read."""
        return self._live.whole(topic, self.plan.size(topic)) is not None

    def count(self, topic: StatisticTopic, read: Callable[[], Iterable[Sample]]) -> tuple[TopicTally, Served]:
        """A topic's answers, and which servers gave them: live counts, else the ledger's, read once a process."""
        if topic not in self._counted:
            live = self._live.whole(topic, self.plan.size(topic))
            found, served = live or count(topic, read(), self.dataset)
            self._counted[topic] = replace(found, draws=self.plan.draws), served
        return self._counted[topic]

    def tally(self, cases: Sequence[StatisticCase], reply: Replies) -> Source | None:
        """The counts of these cases."""
        chosen = frozenset(cases)
        if self.folder is not None:
            return FolderSource(self.folder, self.modality, self.dataset, chosen) if chosen else None
        topics = dict.fromkeys(case.topic for case in cases)

        def read(topic: StatisticTopic) -> Iterator[Sample]:
            return from_replies(self.plan.queries(topic), reply)

        tallies = {topic: self.count(topic, partial(read, topic))[0] for topic in topics}
        return Tallies(self.dataset, tallies, chosen) if chosen else None

    def served(self, topics: Iterable[StatisticTopic]) -> Served:
        """Which servers answered, of topics that were counted."""
        return sum((self._counted[topic][1] for topic in topics), Counter())

    def shares(self, case: StatisticCase, read: Callable[[], Iterable[Sample]]) -> Mapping[str, int]:
        """A case's answers by group: those of the folder, or of the samples of its topic."""
        if self.folder is not None:
            return FolderSource(self.folder, self.modality, self.dataset, frozenset((case,))).shares(case)
        picked = self.count(case.topic, read)[0].by(case.attribute)
        return {group: picked[group] for group in self.dataset.attribute(case.attribute).names}

    def cell(self, case: StatisticCase, held: Source) -> Cell:
        """Its answers by group."""
        return case_summary.cell(case, self.dataset, held)

    def score(self, cases: Sequence[StatisticCase], held: Source, now: Circumstances) -> Scored:
        """The scores, the row of the paper's leaderboard, shares by joint groups, and kinds of reasons."""
        found = board(held, self.dataset, key=key_of(now), seed=now.seed, sure=self._sure)
        entries = self._shared(found.entries, held, now)
        tables: dict[str, Any] = {"leaderboard": found.leaderboard}
        said: list[str] = []
        weighed = Weighed()
        if self.folder is not None:
            said += notes.of_folder(self.folder)
        if isinstance(held, Tallies):
            tables["shares"] = shares.of_answers(held)
            said += notes.of_answers(held, self.served(dict.fromkeys(case.topic for case in cases)))
            weighed = Weighed.of(each.weighed for each in held.tallies.values())
        # Of the other level too: its choices were asked for with reasons, which were paid for.
        asked = dict.fromkeys(topic for case in cases for topic in case.topics)
        explained = [topic for topic in asked if self.explains(topic)]
        reasons = reasons_by_context((topic, self.reasons(topic, now.reply)) for topic in explained)
        if reasons:
            tables["explanations"] = {context: sorted_kinds(each) for context, each in reasons.items()}
            said += notes.of_reasons(reasons.values())
        said += notes.disputes(self.dataset, cases)
        shown = tuple(sections(entries, tables, now.scoring))
        return Scored(entries, outcomes(held), tables, tuple(said), sections=shown, weighed=weighed)

    def gated(
        self, cases: Sequence[StatisticCase], held: Source, now: Circumstances, scores: Collection[str]
    ) -> Iterable[ScoreResult]:
        """Without the scores that take simulation, where no gate is on them."""
        del cases
        if SIMULATED & {*scores}:
            known = board(held, self.dataset, key=key_of(now), seed=now.seed, sure=self._sure).entries
        else:
            known = accuracies(held, self.dataset, key_of(now), self._sure)
        return self._shared(known, held, now)

    def _shared(self, entries: Sequence[ScoreResult], held: Source, now: Circumstances) -> tuple[ScoreResult, ...]:
        """These entries and the effects of choices, each with its look's part of the error."""
        if isinstance(held, Tallies):
            entries = (*entries, *effects_of_choices(held, self.plan.wordings, key_of(now), self._sure))
        return tuple(map(self._looked_at, entries))

    def selection_rates(self, held: Source) -> Iterator[SelectionRates]:
        """Of choices among individuals; a result folder does not say who was on offer."""
        if isinstance(held, Tallies):
            yield from rates_of_choices(held)

    def _sure(self, task: Task, context: Context | None) -> float:
        """The confidence of the intervals of a task and context."""
        look = self._looks.get(stratum_of(task, context))
        return CONFIDENCE if look is None else look.confidence

    def _looked_at(self, entry: ScoreResult) -> ScoreResult:
        look = self._looks.get(stratum_of(entry.task, entry.context))
        return entry if look is None else replace(entry, share=look.share, level=look.level)

    def sketches(self, entries: Sequence[ScoreResult], cells: Sequence[Cell]) -> Iterator[Sketch]:
        """The trade-off plane, and context influence where any context was asked."""
        return sketches(entries, cells)

    def findings(
        self, gates: Sequence[GateResult], held: Source, now: Circumstances, evidence: Evidence
    ) -> Iterator[Finding]:
        """The worst topics of each."""
        return findings(gates, {self.modality: held}, self.dataset, key_of(now), evidence)


def stratum_of(task: str, context: str | None) -> str:
    """The name of the topics of a task and context, which are asked in the same rounds."""
    return "-".join(filter(None, (BENCHMARK, Modality.TEXT, task, context)))
