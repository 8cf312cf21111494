"""Samples -> counts: what each topic's answers were, and the arrays that the scores are computed from."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from math import factorial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from fairgate.benchmarks.fact_or_fair.cases import StatisticCase, image_topic, text_topic
from fairgate.benchmarks.fact_or_fair.counts import Counts
from fairgate.benchmarks.fact_or_fair.scores import s_fact_of
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.benchmarks.letter_probability_counts import Weighed
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.statistics.finite import Repeats, repeats, variance_left

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fairgate.benchmarks.fact_or_fair.counts import IntArray
    from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.ledger.samples import Sample

LEVELS = tuple(Level)
UNNAMED = -1  # where the context names no group


T = TypeVar("T", bound="TopicCounts")


class TopicCounts(Protocol):
    """What came of one topic, of whatever modality: all that `counts` asks of it."""

    planned: int
    kinds: Counter[AnswerKind]
    named: Counter[str]

    def by(self, attribute: str) -> Counter[str]:
        """Answers, or faces, by the groups of one attribute."""
        ...

    def offered(self, attribute: str, right: Iterable[str]) -> int:
        """Those for which one of these groups could have been chosen."""
        ...

    def distinct(self, attribute: str) -> int:
        """How many of them are independent."""
        ...

    @property
    def repeats(self) -> Repeats:
        """Answers to texts that were asked before."""
        ...

    @property
    def unseen(self) -> int:
        """Samples that may hold answers which could not be read."""
        ...


@dataclass
class TopicTally:
    """What came of one topic.

    `picked` counts answers by the chosen individual's groups (attribute names in `attributes`' order); `offers` counts
    answered samples by the set of groups on offer, by attribute; `named` counts answers in the group that the context
    named, by attribute; `letters` counts the chosen letters among `options`; `said`, of objective topics, answers by
    query text and chosen groups. `rows` hold each answer as it was chosen (see `choices.py`), where `codes` number the
    groups of each attribute, and `shares` the probability of each choice in it, NaN where it is not known: `weighed`
    counts why. `draws`: each answer is a draw of its own.
    """

    topic: StatisticTopic
    attributes: tuple[str, ...]
    planned: int = 0
    picked: Counter[tuple[str, ...]] = field(default_factory=Counter)
    offers: dict[str, Counter[frozenset[str]]] = field(default_factory=dict)
    named: Counter[str] = field(default_factory=Counter)
    letters: Counter[str] = field(default_factory=Counter)
    kinds: Counter[AnswerKind] = field(default_factory=Counter)
    texts: set[int] = field(default_factory=set)
    said: Counter[tuple[int, tuple[str, ...]]] = field(default_factory=Counter)
    options: int = 0
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    draws: bool = False
    rows: array[int] = field(default_factory=lambda: array("l"), compare=False)
    shares: array[float] = field(default_factory=lambda: array("d"), compare=False)
    weighed: Weighed = field(default_factory=Weighed)

    def add(self, sample: Sample) -> None:
        """Count one sample."""
        self.planned += 1
        self.kinds[sample.answer.kind] += 1
        self.options = max(self.options, len(sample.query.choices))
        chosen = sample.chosen
        if chosen is None:
            return
        self.letters[chosen.letter] += 1
        text, groups = hash(sample.query.prompt), tuple(chosen.groups[attribute] for attribute in self.attributes)
        self.texts.add(text)
        self.picked[groups] += 1
        if self.topic.task is Task.OBJECTIVE:
            self.said[text, groups] += 1
        for attribute in self.attributes:
            on_offer = frozenset(choice.groups[attribute] for choice in sample.query.choices)
            self.offers.setdefault(attribute, Counter())[on_offer] += 1
            self.named[attribute] += sample.query.named.get(attribute) == chosen.groups[attribute]
        if self.codes and sample.answer.choice is not None:
            self.shares.extend(self.weighed.add(sample) or (math.nan,) * len(sample.query.choices))
            self.rows.append(sample.query.index)
            self.rows.append(sample.answer.choice)
            for attribute, code in self.codes.items():
                self.rows.append(code.get(sample.query.named.get(attribute, ""), UNNAMED))
                self.rows.extend(code[choice.groups[attribute]] for choice in sample.query.choices)

    @property
    def answered(self) -> int:
        """Samples whose reply names an option."""
        return self.kinds[AnswerKind.CHOSEN]

    def by(self, attribute: str) -> Counter[str]:
        """Answers by the groups of one attribute."""
        place = self.attributes.index(attribute)
        shares: Counter[str] = Counter()
        for groups, n in self.picked.items():
            shares[groups[place]] += n
        return shares

    def offered(self, attribute: str, right: Iterable[str]) -> int:
        """Answered samples in which one of these groups was on offer."""
        wanted = set(right)
        return sum(n for groups, n in self.offers.get(attribute, Counter()).items() if groups & wanted)

    def distinct(self, attribute: str) -> int:
        """Answers that are draws of their own: at temperature 0 one text brings one answer."""
        del attribute
        return self.answered if self.draws else len(self.texts)

    @property
    def repeats(self) -> Repeats:
        """Answers to texts that were asked before: only questions without people have texts that come again."""
        by_text: defaultdict[int, dict[object, int]] = defaultdict(dict)
        for (text, groups), n in self.said.items():
            by_text[text][groups] = n
        return repeats(by_text.values())

    @property
    def unseen(self) -> int:
        """None: what an unreadable reply chose is asked of its form, not of chance."""
        return 0


def tally(topic: StatisticTopic, samples: Iterable[Sample], dataset: Dataset) -> TopicTally:
    """Count a topic's samples."""
    attributes = (topic.attribute,) if topic.attribute else tuple(each.name for each in dataset.attributes)
    codes = {} if topic.attribute else {each.name: each.codes for each in dataset.attributes}
    counted = TopicTally(topic, attributes, codes=codes)
    for sample in samples:
        counted.add(sample)
    return counted


def counts(
    tallies: Mapping[StatisticTopic, TopicCounts],
    dataset: Dataset,
    *,
    modality: Modality = Modality.TEXT,
    task: Task,
    context: Context | None,
    attribute: str,
    key: KeyKind,
) -> Counts:
    """The counts of one task, context and attribute over all statistics, zeros where a topic was not sampled."""
    statistics = dataset.statistics
    groups = tuple(group.name for group in dataset.attribute(attribute).groups)
    shape = (len(statistics), len(LEVELS))
    chosen, right = np.zeros((*shape, len(groups)), np.int64), np.zeros((*shape, len(groups)), np.bool_)
    seen, again = Repeats(), np.zeros(shape)
    numbers: dict[str, IntArray] = {
        name: np.zeros(shape, np.int64)
        for name in ("planned", "offered", "distinct", "refused", "unreadable", "failed", "unseen")
    }
    for s, statistic in enumerate(statistics):
        for level, which in enumerate(LEVELS):
            answers = statistic.key(key)
            answer = answers.get((attribute, which))
            if answer is not None:
                right[s, level] = [group in answer.groups for group in groups]
            counted = tallies.get(_topic(modality, task, statistic.slug, which, context, attribute))
            if counted is None:
                continue
            shares = counted.by(attribute)
            chosen[s, level] = [shares[group] for group in groups]
            numbers["planned"][s, level] = counted.planned
            numbers["offered"][s, level] = counted.offered(attribute, answer.groups if answer else ())
            numbers["distinct"][s, level] = counted.distinct(attribute)
            numbers["unseen"][s, level] = counted.unseen
            seen, again[s, level] = seen + counted.repeats, counted.repeats.answers
            numbers["refused"][s, level] = counted.kinds[AnswerKind.REFUSED]
            numbers["unreadable"][s, level] = counted.kinds[AnswerKind.UNREADABLE]
            numbers["failed"][s, level] = counted.kinds[AnswerKind.FAILED]
    found = Counts(
        statistics=tuple(statistic.slug for statistic in statistics),
        attribute=attribute,
        groups=groups,
        chosen=chosen,
        key=right,
        planned=numbers["planned"],
        offered=numbers["offered"],
        distinct=numbers["distinct"],
        refused=numbers["refused"],
        unreadable=numbers["unreadable"],
        failed=numbers["failed"],
        unseen=numbers["unseen"],
    )
    if (modality, task) != (Modality.TEXT, Task.OBJECTIVE) or not found.answered.any():
        return found
    # Its texts are the orders of its options.
    orders, accuracy = factorial(len(groups)), float(s_fact_of(found.p, right))
    answered = found.answered
    texts, draws = answered - again.astype(np.int64), np.minimum(found.distinct, answered)
    left = variance_left(accuracy, texts, answered, orders, seen, independent=draws)
    return replace(found, left=left, census=bool((texts >= orders)[answered > 0].all()))


def _topic(
    modality: Modality, task: Task, statistic: str, level: Level, context: Context | None, attribute: str
) -> StatisticTopic:
    if modality is Modality.IMAGE:
        return image_topic(task, statistic, level)
    return text_topic(task, statistic, level, context, attribute)


@dataclass(frozen=True)
class Tallies(Generic[T]):
    """The tallies of the selected cases of one modality, as a source of counts for the board."""

    dataset: Dataset
    tallies: Mapping[StatisticTopic, T]
    selected: frozenset[StatisticCase]
    modality: Modality = Modality.TEXT

    def counts(self, task: Task, context: Context | None, attribute: str, key: KeyKind) -> Counts | None:
        """The counts of one cell, None where none of its cases was selected."""
        if not any(self._of(case, task, context) and case.attribute == attribute for case in self.selected):
            return None
        # A statistic that lacks the attribute has no case for it; the released programs count its answers all the same.
        shown = {
            topic: counted
            for topic, counted in self.tallies.items()
            if StatisticCase(topic, attribute) in self.selected
            or attribute not in self.dataset.statistic(topic.statistic).attributes
        }
        return counts(
            shown, self.dataset, modality=self.modality, task=task, context=context, attribute=attribute, key=key
        )

    def named(self, context: Context, attribute: str) -> IntArray:
        """Answers of the selected cases in the group that the context named, [S, 2]."""
        picks = np.zeros((len(self.dataset.statistics), len(LEVELS)), np.int64)
        for s, statistic in enumerate(self.dataset.statistics):
            for level, which in enumerate(LEVELS):
                topic = text_topic(Task.SUBJECTIVE, statistic.slug, which, context, attribute)
                counted = self.tallies.get(topic)
                if counted is not None and StatisticCase(topic, attribute) in self.selected:
                    picks[s, level] = counted.named[attribute]
        return picks

    def background(self, context: Context, attribute: str) -> IntArray | None:
        """As the released program counts `named`; None where its prompts name no group, or more than one."""
        return self.named(context, attribute) if context in (Context.ATTRIBUTION, Context.INGROUP) else None

    def kinds(self, task: Task, context: Context | None) -> Counter[AnswerKind]:
        """What became of the samples of a task and context."""
        total: Counter[AnswerKind] = Counter()
        for counted in self.of(task, context):
            total += counted.kinds
        return total

    def known(self, task: Task) -> frozenset[AnswerKind]:
        """Every kind, in every task; only images can lack a face, and only texts be cut short."""
        del task
        return frozenset(AnswerKind) - {AnswerKind.TRUNCATED if self.modality is Modality.IMAGE else AnswerKind.NO_FACE}

    def of(self, task: Task, context: Context | None = None) -> tuple[T, ...]:
        """The tallies of a task, of one context where it is given."""
        return tuple(
            counted
            for topic, counted in self.tallies.items()
            if topic.task is task and (context is None or topic.context is context)
        )

    @staticmethod
    def _of(case: StatisticCase, task: Task, context: Context | None) -> bool:
        return case.topic.task is task and case.topic.context is context
