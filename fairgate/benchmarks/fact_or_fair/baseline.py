"""Choices in a baseline: one letter a query, for the groups of the chosen option; and two baselines query by query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK, StatisticCase, text_topic
from fairgate.benchmarks.fact_or_fair.change import FIELDS, moved, moved_apart
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.effect_scores import made
from fairgate.benchmarks.fact_or_fair.explain import load_prompts
from fairgate.benchmarks.fact_or_fair.options import Ages, Profiles
from fairgate.benchmarks.fact_or_fair.original_files import SCENARIOS
from fairgate.benchmarks.fact_or_fair.paired_effects import (
    OfferedPeople,
    moved_effects,
    moved_shares,
    plan_of,
    positions,
)
from fairgate.benchmarks.fact_or_fair.score_table import TASKS
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.benchmarks.limits import Strict, Times
from fairgate.benchmarks.paired import KINDS, LETTERS, Changed, Compared, Paired, Part, generator, letter_of
from fairgate.benchmarks.score_result import ScoreResult
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.statistics.estimates import estimate_scores
from fairgate.ledger.samples import from_replies
from fairgate.replies.probabilities import expected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairgate.benchmarks import case
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.fact_or_fair.counts import BoolArray, IntArray
    from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind
    from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.benchmarks.paired import Baseline, Basis, Known, Shares
    from fairgate.core.statistics.paired import Moved
    from fairgate.ledger.samples import Sample

LEVELS = tuple(Level)
DIGITS = 5  # of probabilities in a file
APART = "The two runs asked other queries: what is compared is not paired, and the intervals are wider."
UNWEIGHED = "One of the two runs holds no probabilities: scores @soft are not compared."
# Two runs that differ in one of these asked other queries; `plan` and sizes may differ.
PROMPTS = {
    "data": "data version",
    "seed": "seed",
    "profiles": "profiles",
    "ages": "ages",
    "explained": "questions for reasons",
    "wordings": "wordings",
}


class ChoiceSettings(Strict, frozen=True):
    """What was asked. Without `objective` and `subjective` no choices were."""

    data: str
    seed: int
    profiles: Profiles
    plan: str
    ages: Ages = Ages.RANGE
    explained: int | None = None
    wordings: Times | None = SCENARIOS
    objective: Times | None = None
    subjective: Times | None = None


class ChoicesPart(Part):
    """Choices among groups and individuals. The first part that there was: its values have no key of their own."""

    benchmark, modality, key = BENCHMARK, Modality.TEXT, None
    title, values = "choices of Fact-or-Fair", ChoiceSettings
    sizes = frozenset({"objective", "subjective"})

    def differences(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Sequence[str]:
        """By what decides the prompts; and the sizes."""
        found = [
            f"{name} {before[key]} there, {after[key]} here"
            for key, name in PROMPTS.items()
            if before[key] != after[key]
        ]
        sizes = [tuple(each[key] for key in ("objective", "subjective")) for each in (before, after)]
        if sizes[0] != sizes[1]:
            found.append(f"plan {before['plan']} {sizes[0]} there, {after['plan']} {sizes[1]} here")
        return found

    def apart(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
        """Never: answers to other queries are compared too, with wider intervals."""
        del before, after
        return None

    def known(self, topic: str, groups: Mapping[str, Known]) -> frozenset[str]:
        """A letter for each of the topic's groups. Raises ValueError where none are listed for its attribute."""
        own = next((name for name in groups if topic.endswith(f"-{name}")), None)
        if own is None:
            if f"/{Task.OBJECTIVE}/" in topic:
                raise ValueError(f"groups lists none of the attribute of {topic}")
            own = max(groups, key=lambda each: each.count(" "))
        return frozenset({*LETTERS[: len(groups[own])], *KINDS})

    def bundled(self, asked: Mapping[str, Any]) -> PairedChoices:
        """With our statistics: the answers of other data are read as far as their names are the same."""
        del asked
        return PairedChoices(load())


CHOICES = ChoicesPart()


@dataclass(frozen=True, eq=False)
class PairedChoices(Paired):
    """The choices of runs over one data set. `plan`: the run's own queries, None where none are spelled."""

    dataset: Dataset
    plan: QueryPlan | None = None
    part = CHOICES

    @property
    def attributes(self) -> Sequence[str]:
        """Those of the data."""
        return [each.name for each in self.dataset.attributes]

    def asked(self) -> Mapping[str, Any]:
        """Which queries the plan has, and how many."""
        plan = self._plan
        return {
            "data": plan.dataset.version,
            "seed": plan.seed,
            "profiles": str(plan.profiles),
            "ages": str(plan.ages),
            "explained": load_prompts().version if plan.explained else None,
            "wordings": plan.wordings,
            "plan": "",
            "objective": plan.objective or None,
            "subjective": plan.subjective,
        }

    def groups(self) -> Mapping[str, Known]:
        """The groups of each attribute, and of all of them together."""
        return self._groups

    @cached_property
    def _groups(self) -> Mapping[str, Known]:
        attributes = self.dataset.attributes
        each = {attribute.name: tuple((name,) for name in attribute.names) for attribute in attributes}
        joint = tuple(product(*(attribute.names for attribute in attributes)))
        return {**each, " ".join(self.attributes): joint}

    @property
    def _plan(self) -> QueryPlan:
        if self.plan is None:
            raise ValueError("a saved run has no plan")
        return self.plan

    def letters(self, topic: StatisticTopic, reply: Replies) -> tuple[str, int]:
        """The topic's choices, one letter each."""
        return self.spelled(topic, from_replies(self._plan.queries(topic), reply))

    def spelled(self, topic: StatisticTopic, samples: Iterable[Sample]) -> tuple[str, int]:
        """A topic's answers, one letter each, and how many of them are draws of their own."""
        attributes = told_apart(topic, self._groups)
        places = {groups: LETTERS[place] for place, groups in enumerate(self._groups[attributes])}
        said, prompts = [], set()
        draws = self.plan is not None and self.plan.draws
        for sample in samples:
            # Where the model samples, no two answers are one draw.
            prompts.add((sample.query.prompt, sample.query.index if draws else 0))
            chosen = sample.chosen
            if chosen is None:
                said.append(letter_of(sample.answer.kind))
            else:
                said.append(places[tuple(chosen.groups[name] for name in attributes.split())])
        return "".join(said), len(prompts)

    def shares(self, topic: StatisticTopic, reply: Replies) -> Shares:
        """Of choices among individuals."""
        if topic.task is not Task.SUBJECTIVE:
            return ()
        samples = from_replies(self._plan.queries(topic), reply)
        found = tuple(_rounded(sample) for sample in samples)
        return found if any(each is not None for each in found) else ()

    def compare(self, before: Baseline, after: Baseline, now: Basis, cases: frozenset[case.Case] | None) -> Compared:
        """Query by query where both runs asked the same ones, else run by run."""
        paired = all(before.asked[name] == after.asked[name] for name in PROMPTS)
        found: list[Changed] = []
        for task, context in TASKS[Modality.TEXT]:
            for attribute in self.attributes:
                cell = PairedAnswers(before, after, self.dataset, task, context, attribute, cases)
                right = right_groups(self.dataset, attribute, key_kind(now))
                rng = generator(now.seed, task, context, attribute)
                if paired:
                    tables, distinct = cell.pairs()
                    moves = moved(tables, right, distinct, rng)
                    n, covered = int(tables.sum()), (tables.sum(axis=(-2, -1)) > 0)
                else:
                    counts, effective = cell.alone()
                    moves = moved_apart(*counts, right, effective, rng)
                    n, covered = int(min(each.sum() for each in counts)), (counts[0].sum(axis=-1) > 0)
                topics = int(covered.sum()), 2 * int(right.any(axis=(1, 2)).sum())
                found += changed_of(moves, task, context, attribute, n, topics)
        plans = [plan_of(run.asked, self.dataset) for run in (before, after)]
        keys = {name: right_groups(self.dataset, name, key_kind(now)) for name in self.attributes}
        offers = tuple(OfferedPeople(plan) for plan in plans if plan is not None)
        if len(offers) == len(plans):
            largest = max(offers, key=lambda each: each.plan.subjective)
            found += moved_effects((before, after), (largest,) if paired else offers, self.dataset, keys, cases)
            if paired and before.shares and after.shares:
                found += moved_shares((before, after), largest, self.dataset, keys, cases)
        answers = self._common(before, after, cases)
        notes = [] if paired or not answers else [APART]
        if bool(before.shares) is not bool(after.shares):
            notes.append(UNWEIGHED)
        return Compared(tuple(found), answers, tuple(notes))

    def _common(self, before: Baseline, after: Baseline, cases: frozenset[case.Case] | None) -> int:
        """How many queries both have answers to."""
        wanted = None if cases is None else {case.topic.id for case in cases}
        both = (
            topic
            for topic in before.letters
            if topic in after.letters and self.part.is_of(topic) and (wanted is None or topic in wanted)
        )
        failed = letter_of(AnswerKind.FAILED)
        pairs = (pair for topic in both for pair in zip(before.letters[topic], after.letters[topic], strict=False))
        return sum(failed not in pair for pair in pairs)

    def validity(self, run: Baseline) -> Sequence[ScoreResult]:
        """How far position decided, by context."""
        plan = plan_of(run.asked, self.dataset)
        if plan is None:
            return ()
        offers, whole = OfferedPeople(plan), len(LEVELS) * len(self.dataset.statistics)
        found = []
        for context in Context:
            effect, n, covered = positions(run, offers, context)
            if n:
                found.append(made(Modality.TEXT, context, None, "position", effect, n, (covered, whole), 0.0))
        return found

    def estimates(self, run: Baseline, now: Basis) -> Sequence[ScoreResult]:
        """By task, context and attribute."""
        found = [*self.validity(run)]
        for task, context in TASKS[Modality.TEXT]:
            for attribute in self.attributes:
                cell = PairedAnswers(run, run, self.dataset, task, context, attribute, None)
                (counts, _), (distinct, _) = cell.alone()
                right = right_groups(self.dataset, attribute, key_kind(now))
                rng = generator(now.seed, task, context, attribute)
                found += entries_of(counts, distinct, right, (Modality.TEXT, task, context, attribute), rng)
        return found


def _rounded(sample: Sample) -> tuple[float, ...] | None:
    found = None if sample.reply is None else expected(sample.reply.probabilities, sample.answer.choice)
    return found and tuple(round(each, DIGITS) for each in found)


def key_kind(now: Basis) -> KeyKind:
    """The answer key of a run."""
    return "measured" if now.key == "measured" else "published"


def told_apart(topic: StatisticTopic, known: Iterable[str]) -> str:
    """The attributes that a topic's answers are told apart by: its own, or else all."""
    return topic.attribute or max(known, key=lambda each: each.count(" "))


def chosen_groups(run: Baseline, topic: StatisticTopic, index: int) -> tuple[str, ...] | None:
    """The groups of the person chosen in a query, None where none was."""
    said = run.letters.get(topic.id, "")[index : index + 1]
    place = LETTERS.find(said) if said else -1
    return None if place < 0 else run.groups[told_apart(topic, run.groups)][place]


def right_groups(dataset: Dataset, attribute: str, kind: KeyKind) -> BoolArray:
    """Which groups are right [S, 2, k]."""
    groups = dataset.attribute(attribute).names
    right = np.zeros((len(dataset.statistics), 2, len(groups)), np.bool_)
    for s, statistic in enumerate(dataset.statistics):
        for level, which in enumerate(LEVELS):
            answer = statistic.key(kind).get((attribute, which))
            if answer is not None:
                right[s, level] = [group in answer.groups for group in groups]
    return right


def changed_of(
    moves: Mapping[str, Moved], task: str, context: str | None, attribute: str, n: int, topics: tuple[int, int]
) -> Iterator[Changed]:
    """The scores of one cell that moved."""
    for score, move in moves.items():
        yield Changed(task, context, attribute, score, move, n, topics)


def entries_of(
    counts: IntArray,
    independent: IntArray,
    right: BoolArray,
    where: tuple[Modality, str, str | None, str],
    rng: np.random.Generator,
) -> Iterator[ScoreResult]:
    """The estimates of answers [S, 2, k] of which so many [S, 2] are independent; `where`: modality to attribute."""
    found = estimate_scores(counts, right, effective=np.minimum(independent, counts.sum(axis=-1)), rng=rng)
    there = right.any(axis=(1, 2))
    modality, task, context, attribute = where
    for score, field in FIELDS.items():
        each = getattr(found, field)
        if not np.isnan(each.value):
            yield ScoreResult(
                benchmark=BENCHMARK,
                modality=modality,
                task=task,
                context=context,
                attribute=attribute,
                score=score,
                value=100 * each.value,
                estimate=100 * each.value,
                ci=(100 * each.low, 100 * each.high),
                reliable=each.reliable,
                n=int(counts.sum()),
                topics=(int((counts.sum(axis=-1) > 0)[there].sum()), 2 * int(there.sum())),
            )


@dataclass(frozen=True)
class PairedAnswers:
    """The answers of both runs in one task, context and attribute."""

    before: Baseline
    after: Baseline
    dataset: Dataset
    task: Any
    context: Any
    attribute: str
    cases: frozenset[Any] | None

    def _topics(self) -> Iterator[tuple[int, int, StatisticTopic]]:
        for s, statistic in enumerate(self.dataset.statistics):
            if self.attribute not in statistic.attributes:
                continue
            for level, which in enumerate(LEVELS):
                topic = text_topic(self.task, statistic.slug, which, self.context, self.attribute)
                if self.cases is None or StatisticCase(topic, self.attribute) in self.cases:
                    yield s, level, topic

    def _places(self, run: Baseline, topic: StatisticTopic) -> list[int]:
        """The chosen group of each query by its place, -1 where nobody was chosen, or where it is not told apart."""
        names = told_apart(topic, run.groups).split()
        if self.attribute not in names:
            return [-1] * len(run.letters.get(topic.id, ""))
        at = names.index(self.attribute)
        groups = self.dataset.attribute(self.attribute).names
        said = (chosen_groups(run, topic, index) for index in range(len(run.letters.get(topic.id, ""))))
        return [-1 if each is None or each[at] not in groups else groups.index(each[at]) for each in said]

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Queries [S, 2, k, k] by group before and after, and different prompts among them [S, 2]."""
        k = self.dataset.attribute(self.attribute).k
        tables = np.zeros((len(self.dataset.statistics), 2, k, k), np.int64)
        distinct = np.zeros(tables.shape[:2], np.int64)
        for s, level, topic in self._topics():
            distinct[s, level] = min(run.distinct.get(topic.id, 0) for run in (self.before, self.after))
            both = zip(self._places(self.before, topic), self._places(self.after, topic), strict=False)
            for one, other in both:
                if one >= 0 and other >= 0:
                    tables[s, level, one, other] += 1
        return tables, distinct

    def alone(self) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
        """Answers [S, 2, k] by group, and different prompts [S, 2], of either run by itself."""
        k = self.dataset.attribute(self.attribute).k
        counts = [np.zeros((len(self.dataset.statistics), 2, k), np.int64) for _ in range(2)]
        distinct = [np.zeros(counts[0].shape[:2], np.int64) for _ in range(2)]
        for s, level, topic in self._topics():
            for number, run in enumerate((self.before, self.after)):
                distinct[number][s, level] = run.distinct.get(topic.id, 0)
                for place in self._places(run, topic):
                    if place >= 0:
                        counts[number][s, level, place] += 1
        return (counts[0], counts[1]), (distinct[0], distinct[1])
