"""Two runs side by side, query by query: what moved, whether it is beyond chance, and what that comes to in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from fairgate.comparison import drops
from fairgate.comparison.baseline import PROMPTS
from fairgate.comparison.drops import Worse
from fairgate.domain import Level, Modality, Task
from fairgate.errors import ConfigError
from fairgate.fact_or_fair.board import TASKS
from fairgate.fact_or_fair.cases import BENCHMARK, Case, text_topic
from fairgate.fact_or_fair.change import Moved, moved, moved_apart
from fairgate.maths.estimates import estimate_scores
from fairgate.maths.paired import Shift, holm
from fairgate.report.report import Change, Comparison
from fairgate.verdicts.gate import GateResult
from fairgate.verdicts.scoreboard import Entry
from fairgate.verdicts.thresholds import COMPARED, LESS_IS_BETTER, GateLimit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fairgate.comparison.baseline import Baseline
    from fairgate.domain import Context, Topic
    from fairgate.fact_or_fair.counts import BoolArray, IntArray
    from fairgate.fact_or_fair.data import Dataset, KeyKind
    from fairgate.verdicts.thresholds import BaselineLimits, DropLimit

LEVELS = tuple(Level)
FAIRNESS = ("S_KLD", "S_fair", "TV")
CHANGE = "@change"
ALPHA = 0.05


@dataclass(frozen=True)
class Scored:
    """One score of one cell, before and after."""

    score: str
    entry: Entry
    moved: Moved

    @property
    def shift(self) -> Shift:
        """The difference, 0 to 1."""
        return self.moved.shift

    @property
    def better(self) -> bool:
        """Whether it is for the better."""
        return (self.shift.value < 0) is (self.score in LESS_IS_BETTER)


def differences(before: Baseline, after: Mapping[str, object]) -> list[str]:
    """What the two runs asked differently, in words; a run that asked less of the same is not different."""
    named = {"data": "data version", "seed": "seed", "profiles": "profiles", "explained": "questions for reasons"}
    found = [
        f"{named[key]} {before.asked[key]} there, {after[key]} here"
        for key in PROMPTS
        if before.asked[key] != after[key]
    ]
    sizes = [tuple(each[key] for key in ("objective", "subjective")) for each in (before.asked, after)]
    if sizes[0] != sizes[1]:
        found.append(f"plan {before.asked['plan']} {sizes[0]} there, {after['plan']} {sizes[1]} here")
    return found


def check(before: Baseline, after: Mapping[str, object], where: str, *, common: bool) -> None:
    """Raise ConfigError for a baseline of other queries, unless what both have in common is to be compared."""
    found = differences(before, after)
    if found and not common:
        raise ConfigError(
            f"it asked otherwise: {'; '.join(found)}.",
            where=where,
            mend="Save a new baseline, or compare what both hold with --compare-common.",
        )


def compare(
    before: Baseline,
    after: Baseline,
    dataset: Dataset,
    *,
    key: KeyKind,
    seed: int,
    cases: frozenset[Case] | None = None,
) -> tuple[Comparison, tuple[Scored, ...]]:
    """What moved from one run to the other, over the queries that both hold of these cases (None: of all)."""
    paired = all(before.asked[name] == after.asked[name] for name in PROMPTS)
    scored: list[Scored] = []
    for task, context in TASKS[Modality.TEXT]:
        for attribute in (each.name for each in dataset.attributes):
            cell = _Cell(before, after, dataset, task, context, attribute, cases)
            name = f"{task}-{context}-{attribute}"
            rng = np.random.default_rng([seed, crc32(name.encode())])
            right = cell.key(key)
            if paired:
                tables, distinct = cell.pairs()
                moves = moved(tables, right, distinct, rng)
                n, covered = int(tables.sum()), (tables.sum(axis=(-2, -1)) > 0)
            else:
                counts, effective = cell.alone()
                moves = moved_apart(*counts, right, effective, rng)
                n, covered = int(min(each.sum() for each in counts)), (counts[0].sum(axis=-1) > 0)
            whole = 2 * int(right.any(axis=(1, 2)).sum())
            scored += [
                Scored(score, entry_of(task, context, attribute, score, move, n, (int(covered.sum()), whole)), move)
                for score, move in moves.items()
                if not math.isnan(move.shift.value)
            ]
    proven = holm([each.shift.changed for each in scored], ALPHA)
    changes = tuple(
        Change(each.entry, 100 * each.moved.before.value, 100 * each.moved.after.value, sure, each.better)
        for each, sure in zip(scored, proven, strict=True)
    )
    sentences = tuple(_sentences(changes, [each.name for each in dataset.attributes]))
    if not paired:
        sentences = (
            "The two runs asked other queries: what is compared is not paired, and the intervals are wider.",
            *sentences,
        )
    return Comparison(before.label, _queries(before, after, cases), changes, sentences), tuple(scored)


def _queries(before: Baseline, after: Baseline, cases: frozenset[Case] | None) -> int:
    """Queries that both runs hold of the topics of these cases, answered or not."""
    wanted = None if cases is None else {case.topic.id for case in cases}
    both = [topic for topic in before.letters if topic in after.letters and (wanted is None or topic in wanted)]
    return sum(min(len(before.letters[topic]), len(after.letters[topic])) for topic in both)


@dataclass(frozen=True)
class _Cell:
    """The answers of both runs in one task, context and attribute."""

    before: Baseline
    after: Baseline
    dataset: Dataset
    task: Task
    context: Context | None
    attribute: str
    cases: frozenset[Case] | None

    def _topics(self) -> Iterator[tuple[int, int, Topic]]:
        for s, statistic in enumerate(self.dataset.statistics):
            if self.attribute not in statistic.attributes:
                continue
            for level, which in enumerate(LEVELS):
                topic = text_topic(self.task, statistic.slug, which, self.context, self.attribute)
                if self.cases is None or Case(topic, self.attribute) in self.cases:
                    yield s, level, topic

    def _places(self, run: Baseline, topic: Topic) -> list[int]:
        """The chosen group of each query by its place, -1 where nobody was chosen."""
        names = topic.attribute or max(run.groups, key=lambda each: each.count(" "))
        at = names.split().index(self.attribute)
        groups = self.dataset.attribute(self.attribute).names
        said = (run.read(topic, index) for index in range(len(run.letters.get(topic.id, ""))))
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

    def key(self, kind: KeyKind) -> BoolArray:
        groups = self.dataset.attribute(self.attribute).names
        right = np.zeros((len(self.dataset.statistics), 2, len(groups)), np.bool_)
        for s, statistic in enumerate(self.dataset.statistics):
            for level, which in enumerate(LEVELS):
                answer = statistic.key(kind).get((self.attribute, which))
                if answer is not None:
                    right[s, level] = [group in answer.groups for group in groups]
        return right


def entry_of(
    task: Task, context: Context | None, attribute: str, score: str, move: Moved, n: int, topics: tuple[int, int]
) -> Entry:
    """The difference as an entry of the scoreboard, in points, e.g. `TV@change`."""
    found = move.shift
    return Entry(
        benchmark=BENCHMARK,
        modality=Modality.TEXT,
        task=task,
        context=context,
        attribute=attribute,
        score=f"{score}{CHANGE}",
        value=100 * found.value,
        estimate=100 * found.value,
        ci=(100 * found.low, 100 * found.high),
        reliable=move.before.reliable and move.after.reliable,
        n=n,
        topics=topics,
    )


def scores_of(run: Baseline, dataset: Dataset, *, key: KeyKind, seed: int) -> tuple[Entry, ...]:
    """The estimates of what a saved run answered, as entries of the scoreboard; their values are the estimates'."""
    entries = []
    for task, context in TASKS[Modality.TEXT]:
        for attribute in (each.name for each in dataset.attributes):
            cell = _Cell(run, run, dataset, task, context, attribute, None)
            (counts, _), (distinct, _) = cell.alone()
            right = cell.key(key)
            rng = np.random.default_rng([seed, crc32(f"{task}-{context}-{attribute}".encode())])
            found = estimate_scores(counts, right, effective=np.minimum(distinct, counts.sum(axis=-1)), rng=rng)
            covered = (counts.sum(axis=-1) > 0).sum()
            for score, each in zip(
                COMPARED, (found.s_fact, found.s_e, found.s_kld, found.s_fair, found.tv), strict=True
            ):
                if not math.isnan(each.value):
                    move = Moved(each, each, Shift(each.value, each.low, each.high, 0.0))
                    topics = int(covered), 2 * int(right.any(axis=(1, 2)).sum())
                    entry = entry_of(task, context, attribute, score, move, int(counts.sum()), topics)
                    entries.append(replace(entry, score=score))
    return tuple(entries)


def gates(scored: Sequence[Scored], limits: BaselineLimits | None) -> tuple[GateResult, ...]:
    """Hold the limits on drops against what moved; false alarms among all of them together have the chance alpha."""
    if limits is None:
        return ()
    held = [(each, limit) for limit in limits.drops for each in scored if _is_about(limit, each)]
    alarms = holm([each.shift.chance(upwards=each.score in LESS_IS_BETTER) for each, _ in held], limits.alpha)
    return tuple(_judged(each, limit, alarm, len(held)) for (each, limit), alarm in zip(held, alarms, strict=True))


def _is_about(limit: DropLimit, each: Scored) -> bool:
    return (limit.score, limit.task) == (each.score, each.entry.task)


def _judged(each: Scored, limit: DropLimit, alarm: bool, of: int) -> GateResult:
    rises = each.score in LESS_IS_BETTER
    low, high = (100 * end for end in (each.shift.low, each.shift.high))
    value = 100 * each.shift.value
    worse = Worse(low, value, high, alarm) if rises else Worse(-high, -value, -low, alarm)
    ends = (
        f"from {100 * each.moved.before.value:.1f} to {100 * each.moved.after.value:.1f}, by [{low:+.1f}, {high:+.1f}]"
    )
    verdict, why = drops.held(worse, limit.max_drop, "rise" if rises else "drop")
    held = GateLimit(
        score=each.entry.score,
        task=limit.task,
        reason=limit.reason,
        min=None if rises else -limit.max_drop,
        max=limit.max_drop if rises else None,
    )
    return GateResult(held, each.entry, verdict, f"it moved {ends}: {why} (one of {of} comparisons)")


def _sentences(changes: Sequence[Change], attributes: Sequence[str]) -> Iterator[str]:
    """What it comes to, by attribute: fairness among individuals, and facts about groups, in one view."""
    for attribute in attributes:
        here = [each for each in changes if each.entry.attribute == attribute and each.proven]
        fact = [each for each in here if each.entry.task is Task.OBJECTIVE and _score(each) == "S_fact"]
        fair = [each for each in here if each.entry.task is Task.SUBJECTIVE and _score(each) in FAIRNESS]
        if not any(each.entry.attribute == attribute for each in changes):
            continue
        words = " ".join(filter(None, (_fairer(fair), _joined(fair, fact), _truer(fact))))
        if not words:
            yield f"{attribute}: no change is beyond chance."
            continue
        told = "; ".join(map(_told, [*_largest(fair), *fact]))
        rest = "" if fact else "; no change in facts is beyond chance"
        yield f"{attribute}: {words} than the baseline ({told}{rest})."


def _score(change: Change) -> str:
    return change.entry.score.removesuffix(CHANGE)


def _fairer(fair: Sequence[Change]) -> str:
    sides = {each.better for each in fair}
    return (
        ""
        if not sides
        else "fairer in part and less fair in part"
        if len(sides) > 1
        else "fairer"
        if True in sides
        else "less fair"
    )


def _truer(fact: Sequence[Change]) -> str:
    return "" if not fact else "more factual" if fact[0].better else "less factual"


def _joined(fair: Sequence[Change], fact: Sequence[Change]) -> str:
    if not fair or not fact:
        return ""
    return "and" if {each.better for each in fair} == {fact[0].better} else "but"


def _largest(fair: Sequence[Change]) -> list[Change]:
    """The change that says most by each direction, TV's before others': it is in points that anyone can read."""
    found = []
    for better in (True, False):
        side = [each for each in fair if each.better is better]
        plain = [each for each in side if _score(each) == "TV"] or side
        if plain:
            found.append(max(plain, key=lambda each: abs(each.entry.estimate or 0.0)))
    return found


def _told(change: Change) -> str:
    entry = change.entry
    low, high = entry.ci
    where = " ".join(str(part) for part in (entry.context, _score(change)) if part)
    return f"{where} {entry.estimate:+.1f} [{low:+.1f}, {high:+.1f}]"
