"""How effects of groups moved between two saved runs: who was on offer is what the runs' own plan asks again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.benchmarks.fact_or_fair.cases import StatisticCase, text_topic
from fairgate.benchmarks.fact_or_fair.choices import PEOPLE
from fairgate.benchmarks.fact_or_fair.effect_scores import NAMING, SOFT
from fairgate.benchmarks.fact_or_fair.options import Ages, Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.benchmarks.paired import LETTERS, Changed
from fairgate.core.statistics import effect_changes, effects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.benchmarks.paired import Baseline
    from fairgate.core.statistics.effects import BoolArray, Design, Effect, FloatArray, IntArray, Largest, Picks
    from fairgate.core.statistics.paired import Moved

LEVELS = tuple(Level)
NOBODY = -1


def plan_of(asked: Mapping[str, Any], dataset: Dataset) -> QueryPlan | None:
    """The plan of a saved run's subjective queries; None where it asked none, or with other data."""
    if asked["data"] != dataset.version or not asked.get("subjective"):
        return None
    return QueryPlan(
        dataset,
        seed=asked["seed"],
        profiles=Profiles(asked["profiles"]),
        ages=Ages(asked.get("ages", Ages.RANGE)),
        objective=asked.get("objective") or 1,
        subjective=asked["subjective"],
        explained=asked.get("explained") is not None,
        wordings=asked.get("wordings"),
    )


@dataclass(frozen=True, eq=False)
class Chosen:
    """N queries of one context and who was chosen in each; groups [N, A, 4], named [N, A].

    `chosen` of each run: the place [N], or the probability of each person [N, 4].
    """

    asked: Design
    groups: IntArray
    named: IntArray
    chosen: tuple[Picks, ...]

    def where(self, kept: BoolArray) -> Chosen:
        """Of these queries alone."""
        chosen = tuple(each[kept] for each in self.chosen)
        return Chosen(self.asked.where(kept), self.groups[kept], self.named[kept], chosen)


@dataclass(frozen=True, eq=False)
class OfferedPeople:
    """Who was on offer in the subjective queries of a plan."""

    plan: QueryPlan
    _held: dict[StatisticTopic, tuple[IntArray, IntArray]] = field(default_factory=dict)

    @cached_property
    def _codes(self) -> list[Mapping[str, int]]:
        return [each.codes for each in self.plan.dataset.attributes]

    @cached_property
    def _names(self) -> list[str]:
        return [each.name for each in self.plan.dataset.attributes]

    def chosen(self, runs: Sequence[Baseline], context: Context, wanted: Callable[[StatisticTopic], bool]) -> Chosen:
        """What all of these runs answered, of the topics that are wanted."""

        def picks(run: Baseline, topic: StatisticTopic, groups: IntArray) -> IntArray:
            return self._places(run.letters[topic.id][: len(groups)], run, groups)

        sizes = [{topic: len(letters) for topic, letters in run.letters.items()} for run in runs]
        found = self._picked(runs, context, wanted, sizes, picks, np.zeros(0, np.int64))
        return found.where((np.stack(found.chosen) != NOBODY).all(axis=0))

    def weighed(self, runs: Sequence[Baseline], context: Context, wanted: Callable[[StatisticTopic], bool]) -> Chosen:
        """The probabilities of what all of these runs answered, where they are known."""

        def picks(run: Baseline, topic: StatisticTopic, groups: IntArray) -> FloatArray:
            nothing = (math.nan,) * groups.shape[-1]
            shares = run.shares[topic.id][: len(groups)]
            return np.array([nothing if each is None or len(each) != len(nothing) else each for each in shares])

        sizes = [{topic: len(shares) for topic, shares in run.shares.items()} for run in runs]
        found = self._picked(runs, context, wanted, sizes, picks, np.zeros((0, 4)))
        return found.where(np.logical_not(np.isnan(np.stack(found.chosen)).any(axis=(0, 2))))

    def _picked(
        self,
        runs: Sequence[Baseline],
        context: Context,
        wanted: Callable[[StatisticTopic], bool],
        sizes: Sequence[Mapping[str, int]],
        picks: Callable[[Baseline, StatisticTopic, IntArray], Picks],
        nobody: Picks,
    ) -> Chosen:
        """The queries that all runs hold, `sizes` of each by topic, with what `picks` gives of each run."""
        empty, a = np.zeros((0, 3), np.int64), len(self._names)
        blocks: list[tuple[IntArray, IntArray, IntArray, tuple[Picks, ...]]] = [
            (empty, np.zeros((0, a, 4), np.int64), np.zeros((0, a), np.int64), (nobody,) * len(runs))
        ]
        for s, statistic in enumerate(self.plan.dataset.statistics):
            for level, which in enumerate(LEVELS):
                topic = text_topic(Task.SUBJECTIVE, statistic.slug, which, context, "")
                n = min(each.get(topic.id, 0) for each in sizes)
                if n and wanted(topic):
                    scenarios = self.plan.wordings or len(self.plan.dataset.scenarios[topic.statistic, topic.level])
                    groups, named = (each[:n] for each in self.offered(topic))
                    n = len(groups)
                    where = np.column_stack([np.tile((s, level), (n, 1)), np.arange(n) % scenarios])
                    blocks.append((where, groups, named, tuple(picks(run, topic, groups) for run in runs)))
        where, groups, named = (np.concatenate([block[part] for block in blocks]) for part in range(3))
        chosen = tuple(np.concatenate([block[3][run] for block in blocks]) for run in range(len(runs)))
        return Chosen(effects.Design(*where.T), groups, named, chosen)

    def offered(self, topic: StatisticTopic) -> tuple[IntArray, IntArray]:
        """The groups [n, A, 4] of the people in each query of a topic, and those that its context names [n, A]."""
        if topic not in self._held:
            pairs = list(zip(self._names, self._codes, strict=True))
            queries = list(self.plan.queries(topic))
            groups = [
                [[codes[each.groups[name]] for each in query.choices] for name, codes in pairs] for query in queries
            ]
            named = [[codes.get(query.named.get(name, ""), NOBODY) for name, codes in pairs] for query in queries]
            self._held[topic] = np.array(groups, np.int64), np.array(named, np.int64)
        return self._held[topic]

    def _places(self, said: str, run: Baseline, groups: IntArray) -> IntArray:
        """Who was chosen: the first of the groups that a letter stands for, since their order does not matter here."""
        known = run.groups[max(run.groups, key=lambda each: each.count(" "))]
        codes = np.array(
            [[code.get(name, NOBODY) for code, name in zip(self._codes, each, strict=True)] for each in known]
        )
        at = np.array([LETTERS.find(letter) for letter in said])
        there = (at >= 0) & (at < len(known))
        match = (groups == codes[np.where(there, at, 0)][:, :, np.newaxis]).all(axis=1)
        return np.where(there & match.any(axis=1), match.argmax(axis=1), NOBODY)


def positions(run: Baseline, offers: OfferedPeople, context: Context) -> tuple[Largest, int, int]:
    """How far the letter of an option decided in a run, over so many choices, of so many topics.

    Letters of a baseline stand for groups: a choice between two people of the same groups has no known position, and
    is left out. Such people stand at every position alike, so that the mean is still 0 where position decides nothing.
    """
    found = offers.chosen([run], context, lambda _: True)
    chosen = found.chosen[0].astype(np.int64)
    who = np.take_along_axis(found.groups, chosen[:, np.newaxis, np.newaxis], axis=2)
    alone = (found.groups == who).all(axis=1).sum(axis=1) == 1
    asked, places = found.asked.where(alone), np.tile(np.arange(PEOPLE), (int(alone.sum()), 1))
    return (
        effects.preference(asked, places, chosen[alone], PEOPLE),
        len(places),
        len(np.unique(asked.topic)),
    )


def moved_effects(
    runs: tuple[Baseline, Baseline],
    offers: tuple[OfferedPeople, ...],
    dataset: Dataset,
    keys: Mapping[str, BoolArray],
    cases: frozenset[Any] | None,
) -> Iterator[Changed]:
    """Contrast, preference, pull and in-group bias by attribute and context, and joint preference.

    `offers`: one where both runs asked the same queries, else of either run. `keys` [S, 2, k] by attribute.
    """
    names = [each.name for each in dataset.attributes]
    for context in Context:
        for attributes in (*((name,) for name in names), tuple(names)):

            def wanted(topic: StatisticTopic, attributes: tuple[str, ...] = attributes) -> bool:
                has = set(attributes) <= set(dataset.statistic(topic.statistic).attributes)
                return has and (cases is None or all(StatisticCase(topic, name) in cases for name in attributes))

            if len(offers) == 1:
                sides = [offers[0].chosen(runs, context, wanted)]
            else:
                sides = [each.chosen([run], context, wanted) for each, run in zip(offers, runs, strict=True)]
            if not all(len(side.chosen[0]) for side in sides):
                continue
            n = min(len(side.chosen[0]) for side in sides)
            covered = min(len(np.unique(side.asked.topic)) for side in sides)
            whole = 2 * sum(set(attributes) <= set(each.attributes) for each in dataset.statistics)
            own = len(attributes) == 1
            for score in _scores(context) if own else ("joint_preference",):
                move = _moved(score, sides, dataset, attributes, keys)
                yield Changed(
                    Task.SUBJECTIVE, context, attributes[0] if own else None, score, move, n, (covered, whole)
                )


def moved_shares(
    runs: tuple[Baseline, Baseline],
    offers: OfferedPeople,
    dataset: Dataset,
    keys: Mapping[str, BoolArray],
    cases: frozenset[Any] | None,
) -> Iterator[Changed]:
    """The same by the probabilities of choices, of the queries of which both runs have them: `SCORE@soft`."""
    for context in Context:
        for name in (each.name for each in dataset.attributes):

            def wanted(topic: StatisticTopic, name: str = name) -> bool:
                has = name in dataset.statistic(topic.statistic).attributes
                return has and (cases is None or StatisticCase(topic, name) in cases)

            side = offers.weighed(runs, context, wanted)
            if not len(side.named):
                continue
            topics = len(np.unique(side.asked.topic)), 2 * sum(name in each.attributes for each in dataset.statistics)
            for score in _scores(context):
                kept, scores = _table(score, side, dataset, (name,), keys)
                asked, (before, after) = side.asked.where(kept), (each[kept] for each in side.chosen)

                def effect(
                    shares: Picks, asked: Design = asked, scores: FloatArray = scores
                ) -> effects.Effect | effects.Largest:
                    return effects.effect_of(asked, scores, shares)

                compared = effect_changes.drifted if scores.shape[-1] == 1 else effect_changes.moved
                move = compared(asked, scores, (before, after), effect)
                yield Changed(Task.SUBJECTIVE, context, name, f"{score}{SOFT}", move, int(kept.sum()), topics)


def _scores(context: Context) -> Iterator[str]:
    yield from ("contrast", "preference")
    if context in NAMING:
        yield "pull"
    if context is Context.INGROUP:
        yield "in_group_bias"


def _moved(
    score: str, sides: Sequence[Chosen], dataset: Dataset, attributes: tuple[str, ...], keys: Mapping[str, BoolArray]
) -> Moved:
    tables = [_table(score, side, dataset, attributes, keys) for side in sides]

    def effect(number: int) -> Callable[[Picks], Effect | Largest]:
        kept, scores = tables[number]
        asked = sides[number].asked.where(kept)
        return lambda chosen: effects.effect_of(asked, scores, chosen)

    if len(sides) > 1:
        one, other = (effect(number)(side.chosen[0][tables[number][0]]) for number, side in enumerate(sides))
        return effect_changes.moved_apart(one, other)
    kept, scores = tables[0]
    before, after = (each[kept] for each in sides[0].chosen)
    return effect_changes.moved(sides[0].asked.where(kept), scores, (before, after), effect(0))


def _table(
    score: str, side: Chosen, dataset: Dataset, attributes: tuple[str, ...], keys: Mapping[str, BoolArray]
) -> tuple[BoolArray, FloatArray]:
    """Which queries count, and what choosing each person on offer [n, 4, D] adds to the score."""
    known = [each.name for each in dataset.attributes]
    everything = np.ones(len(side.groups), np.bool_)
    code, k = np.zeros(side.groups[:, 0].shape, np.int64), 1
    for name in attributes:
        code, k = code * dataset.attribute(name).k + side.groups[:, known.index(name)], k * dataset.attribute(name).k
    if score in ("preference", "joint_preference"):
        return everything, effects.memberships(code, k)
    if score == "contrast":
        kept, scores = effects.following(side.asked, code, keys[attributes[0]])
        return kept, scores[..., np.newaxis]
    same = (code == side.named[:, known.index(attributes[0])][:, np.newaxis]).astype(np.float64)
    if score == "in_group_bias":
        good = np.array([[each.favourable is level for level in LEVELS] for each in dataset.statistics])
        same = same * np.where(good[side.asked.statistic, side.asked.level], 1.0, -1.0)[:, np.newaxis]
    return everything, same[..., np.newaxis]
