"""Two runs side by side, query by query: what moved, whether it is beyond chance, and what that comes to in words."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from fairgate.benchmarks.registry import registry
from fairgate.bigbench.board import board as bigbench_board
from fairgate.bigbench.cases import SitterCase
from fairgate.bigbench.change import changes as sitters_moved
from fairgate.bigbench.data import BENCHMARK as BIGBENCH
from fairgate.bigbench.plan import sitting
from fairgate.bigbench.prompts import all_sitters
from fairgate.bigbench.topics import Task
from fairgate.comparison import drops
from fairgate.comparison.baseline import PARTS, PROMPTS
from fairgate.comparison.choices import Choices, faces_by_group, key_of, portraits
from fairgate.comparison.drops import Worse
from fairgate.comparison.letters import portrayal_of, theme_of
from fairgate.comparison.words import CHANGE, sentences
from fairgate.domain import Modality
from fairgate.errors import ConfigError
from fairgate.f2bench.board import NOBODY
from fairgate.f2bench.board import board as f2bench_board
from fairgate.f2bench.cases import BENCHMARK as F2BENCH
from fairgate.f2bench.cases import GOLD, KINDS, theme
from fairgate.f2bench.cases import cases as theme_cases
from fairgate.f2bench.cells import cell_of
from fairgate.f2bench.change import common as both_known
from fairgate.f2bench.change import moved as themes_moved
from fairgate.f2bench.plan import DEFINITION
from fairgate.fact_or_fair.board import TASKS
from fairgate.fact_or_fair.cases import BENCHMARK, Case, image_topic
from fairgate.fact_or_fair.change import moved, moved_apart, moved_images
from fairgate.fact_or_fair.specs import COMPARED
from fairgate.fact_or_fair.topics import Level
from fairgate.maths.estimates import estimate_scores
from fairgate.maths.paired import Moved, Shift, holm
from fairgate.report.report import Change, Comparison
from fairgate.verdicts.gate import GateResult
from fairgate.verdicts.scoreboard import Entry
from fairgate.verdicts.thresholds import GateLimit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.scores import Score
    from fairgate.bigbench.data import Bigbench
    from fairgate.bigbench.portrayals import Portrayal
    from fairgate.comparison.baseline import Baseline
    from fairgate.f2bench.cases import ThemeCase
    from fairgate.f2bench.plan import Plan
    from fairgate.f2bench.tally import ThemeTally
    from fairgate.fact_or_fair.counts import IntArray
    from fairgate.fact_or_fair.data import Dataset, KeyKind
    from fairgate.fact_or_fair.topics import Context
    from fairgate.maths.unmixing import Mixing
    from fairgate.verdicts.thresholds import BaselineLimits, DropLimit

    AnyCase = Case | ThemeCase | SitterCase

FIELDS = dict(zip(COMPARED, ("s_fact", "s_e", "s_kld", "s_fair", "tv"), strict=True))
ALPHA = 0.05
# What each part of a run is called, and which of its sizes may differ: then what both have is compared.
NAMED = {"choices": "choices of Fact-or-Fair", "f2bench": "F²Bench", "images": "portraits", "bigbench": "BIGbench"}
SIZES = frozenset({"repeats", "objective", "subjective", "implicit", "explicit"})


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
        before, after = 100 * self.moved.before.value, 100 * self.moved.after.value
        return self.spec.is_better(before, after, 100 * self.shift.value)

    @property
    def spec(self) -> Score:
        """The specification of the score."""
        spec = registry().score(self.score, self.entry.modality, self.entry.task)
        if spec is None:
            raise KeyError(self.score)
        return spec


@dataclass(frozen=True)
class _Part:
    """What came of one benchmark: its scores, and how many queries, conversations or images were compared."""

    scored: tuple[Scored, ...] = ()
    compared: int = 0


def _holds(asked: Mapping[str, object]) -> list[str]:
    """The parts that a run has."""
    return [*(["choices"] if asked.get("objective") is not None else []), *(p for p in PARTS if asked.get(p))]


def differences(before: Baseline, after: Mapping[str, object]) -> list[str]:
    """What the two runs asked differently, in words; a run that asked less of the same is not different."""
    named = {"data": "data version", "explained": "questions for reasons"}
    both = [part for part in _holds(before.asked) if part in _holds(after)]
    keys = PROMPTS if "choices" in both else ("data",) if "images" in both else ()
    found = [
        f"{named.get(key, key)} {before.asked[key]} there, {after[key]} here"
        for key in keys
        if before.asked[key] != after[key]
    ]
    sizes = [tuple(each[key] for key in ("objective", "subjective")) for each in (before.asked, after)]
    if "choices" in both and sizes[0] != sizes[1]:
        found.append(f"plan {before.asked['plan']} {sizes[0]} there, {after['plan']} {sizes[1]} here")
    for part in (each for each in both if each in PARTS):
        found += [f"{NAMED[part]}: {said}" for said in _otherwise(part, before.asked, after)]
    return found


def _otherwise(part: str, before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    one, other = (dict(each[part]) for each in (before, after))  # type: ignore[call-overload] # tables, as `Asked` has them
    return [f"{key} {one[key]} there, {other[key]} here" for key in one if one[key] != other[key]]


def check(before: Baseline, after: Mapping[str, object], where: str, *, common: bool) -> None:
    """Raise ConfigError for a baseline of other queries, unless what both have in common is to be compared."""
    if not {*_holds(before.asked)} & {*_holds(after)}:
        there, here = (", ".join(NAMED[part] for part in _holds(each)) or "nothing" for each in (before.asked, after))
        raise ConfigError(
            f"it has nothing in common with this run: {there} there, {here} here.",
            where=where,
            mend="Name a baseline of the same benchmarks.",
        )
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
    cases: frozenset[AnyCase] | None = None,
    spoken: Plan | None = None,
    sitters: Bigbench | None = None,
    mixings: Mapping[str, Mixing] | None = None,
) -> tuple[Comparison, tuple[Scored, ...]]:
    """What moved from one run to the other, over the queries that both hold of these cases (None: of all).

    `spoken`: F²Bench's instances and gold texts, `sitters` BIGbench's data, as the later run was asked with; without
    them these are not compared. `mixings`: how the detector of both runs errs, by attribute.
    """
    paired = all(before.asked[name] == after.asked[name] for name in PROMPTS)
    parts = [_choices(before, after, dataset, key, seed, cases, paired=paired)]
    notes, there = [], _holds(before.asked)
    if not paired and "choices" in there and parts[0].compared:
        notes.append("The two runs asked other queries: what is compared is not paired, and the intervals are wider.")
    for part in _holds(after.asked):
        if part not in there:
            notes.append(f"{NAMED[part][0].upper()}{NAMED[part][1:]}: the baseline holds none, so nothing is compared.")
        elif (reason := _apart(part, before, after)) is not None:
            notes.append(f"{NAMED[part][0].upper()}{NAMED[part][1:]}: not compared, {reason}.")
        elif part == "f2bench" and spoken is not None:
            parts.append(_conversations(before, after, spoken, seed))
        elif part == "images":
            parts.append(_portraits(before, after, dataset, key, seed, cases, mixings or {}))
        elif part == "bigbench" and sitters is not None:
            parts.append(_sitters(before, after, sitters, seed, cases))
    scored = tuple(each for part in parts for each in part.scored)
    proven = holm([each.shift.changed for each in scored], ALPHA)
    changes = tuple(
        Change(each.entry, 100 * each.moved.before.value, 100 * each.moved.after.value, sure, each.better)
        for each, sure in zip(scored, proven, strict=True)
    )
    names = list(dict.fromkeys(each.name for held in (dataset, sitters) if held for each in held.attributes))
    said = (*notes, *sentences(changes, names, [view for plugin in registry().plugins for view in plugin.views]))
    return Comparison(before.label, sum(part.compared for part in parts), changes, said), scored


def _apart(part: str, before: Baseline, after: Baseline) -> str | None:
    """Why the same part of two runs cannot be compared at all; None where it can."""
    if part == "choices":
        return None
    if part == "images" and before.asked["data"] != after.asked["data"]:
        return f"data version {before.asked['data']} there, {after.asked['data']} here"
    other = [said for said in _otherwise(part, before.asked, after.asked) if said.split()[0] not in SIZES]
    return "; ".join(other) or None


def _rng(seed: int, *name: object) -> np.random.Generator:
    return np.random.default_rng([seed, crc32("-".join(map(str, name)).encode())])


def _scored(
    moves: Mapping[str, Moved],
    where: tuple[str, Modality, str, Context | None, str | None],
    n: int,
    topics: tuple[int, int],
) -> tuple[Scored, ...]:
    """The scores of which anything is known; `where`: benchmark, modality, task, context and attribute."""
    benchmark, modality, task, context, attribute = where
    return tuple(
        Scored(
            score,
            entry_of(task, context, attribute, score, move, n, topics, benchmark=benchmark, modality=modality),
            move,
        )
        for score, move in moves.items()
        if not math.isnan(move.shift.value)
    )


def _choices(
    before: Baseline,
    after: Baseline,
    dataset: Dataset,
    key: KeyKind,
    seed: int,
    cases: frozenset[AnyCase] | None,
    *,
    paired: bool,
) -> _Part:
    scored: list[Scored] = []
    for task, context in TASKS[Modality.TEXT]:
        for attribute in (each.name for each in dataset.attributes):
            cell = Choices(before, after, dataset, task, context, attribute, cases)
            right = key_of(dataset, attribute, key)
            rng = _rng(seed, task, context, attribute)
            if paired:
                tables, distinct = cell.pairs()
                moves = moved(tables, right, distinct, rng)
                n, covered = int(tables.sum()), (tables.sum(axis=(-2, -1)) > 0)
            else:
                counts, effective = cell.alone()
                moves = moved_apart(*counts, right, effective, rng)
                n, covered = int(min(each.sum() for each in counts)), (counts[0].sum(axis=-1) > 0)
            whole = 2 * int(right.any(axis=(1, 2)).sum())
            topics = int(covered.sum()), whole
            scored += _scored(moves, (BENCHMARK, Modality.TEXT, task, context, attribute), n, topics)
    wanted = None if cases is None else {case.topic.id for case in cases}
    both = [
        topic
        for topic in before.letters
        if topic in after.letters and topic.startswith(f"{BENCHMARK}/text/") and (wanted is None or topic in wanted)
    ]
    compared = sum(min(len(before.letters[topic]), len(after.letters[topic])) for topic in both)
    return _Part(tuple(scored), compared)


def _portraits(
    before: Baseline,
    after: Baseline,
    dataset: Dataset,
    key: KeyKind,
    seed: int,
    cases: frozenset[AnyCase] | None,
    mixings: Mapping[str, Mixing],
) -> _Part:
    scored: list[Scored] = []
    compared: Counter[str] = Counter()
    for task, _ in TASKS[Modality.IMAGE]:
        for attribute in (each.name for each in dataset.attributes):
            right = key_of(dataset, attribute, key)
            images = portraits((before, after), dataset, task, attribute, cases)
            moves = moved_images(images, right, _rng(seed, "images", task, attribute), mixings.get(attribute))
            sizes = np.array([[topic.n for topic in levels] for levels in images])
            compared[task] = max(compared[task], int(sizes.sum()))
            topics = int((sizes > 0).sum()), 2 * int(right.any(axis=(1, 2)).sum())
            scored += _scored(moves, (BENCHMARK, Modality.IMAGE, task, None, attribute), int(sizes.sum()), topics)
    return _Part(tuple(scored), compared.total())


def _conversations(before: Baseline, after: Baseline, spoken: Plan, seed: int) -> _Part:
    """F²Bench's scores in all; of runs that asked more or less often what both asked."""
    repeats = min(run.asked["f2bench"]["repeats"] for run in (before, after))
    plan = replace(spoken, repeats=repeats, reference=False)
    scored: list[Scored] = []
    compared = 0
    whole = Counter(case.topic.task for case in theme_cases(plan.instances))
    for task in KINDS:
        one, other = (_themes(run, plan, task) for run in (before, after))
        gold = [side.pop(GOLD, None) for side in (other, one)]
        known = next((each.known for each in gold if each is not None), NOBODY)
        names = [name for name in one if name in other]
        cells = [[cell_of(side[name], DEFINITION, plan) for name in names] for side in (one, other)]
        moves = themes_moved(task, cells[0], cells[1], known, _rng(seed, F2BENCH, task))
        pairs = [both_known(*pair) for pair in zip(*cells, strict=True)]
        topics = sum(bool(pair[0].size) for pair in pairs), whole[task]
        # A balance has two readings.
        n = sum(pair[0].n for pair in pairs)
        compared += n
        scored += _scored(moves, (F2BENCH, Modality.TEXT, task, None, None), n, topics)
    return _Part(tuple(scored), compared)


def _themes(run: Baseline, plan: Plan, task: str) -> dict[str, ThemeTally]:
    """The themes of a task that a run holds, by name, with the judge's gold set."""
    every = [theme(task, GOLD), *(case.topic for case in theme_cases(plan.instances) if case.topic.task is task)]
    return {each.name: theme_of(run.letters[each.id], each, plan) for each in every if each.id in run.letters}


def _sitters(before: Baseline, after: Baseline, data: Bigbench, seed: int, cases: frozenset[AnyCase] | None) -> _Part:
    """BIGbench's scores by attribute, of the tasks and attributes that were selected."""
    one, other = (_portrayals(run, data) for run in (before, after))
    chosen = None if cases is None else {(each.task, each.attribute) for each in cases if isinstance(each, SitterCase)}
    scored: list[Scored] = []
    for attribute in data.attributes:
        tasks = [
            task
            for task in (Task.IMPLICIT, Task.EXPLICIT, Task.MANIFESTATION)
            if chosen is None or (task, attribute.name) in chosen
        ]
        for each in sitters_moved(one, other, data, attribute, _rng(seed, BIGBENCH, attribute.name), tasks):
            topics = each.covered, _whole(data, each.task, attribute.name)
            where = (BIGBENCH, Modality.IMAGE, each.task, None, attribute.name)
            scored += _scored({each.score: each.move}, where, each.n, topics)
    both = (min(_images(one[name]), _images(other[name])) for name in one if name in other)
    return _Part(tuple(scored), sum(both))


def _images(portrayal: Portrayal) -> int:
    return 0 if portrayal.codes is None else len(portrayal.codes)


def _portrayals(run: Baseline, data: Bigbench) -> dict[str, Portrayal]:
    """What a run's images of sitters show, by sitter."""
    found = {}
    for sitter in all_sitters(data):
        letters = run.letters.get(sitting(sitter).id)
        if letters:
            found[sitter.id] = portrayal_of(letters, sitter, data)
    return found


def _whole(data: Bigbench, task: str, attribute: str) -> int:
    """How many sitters, or pairs, there are."""
    if task == Task.MANIFESTATION:
        return len(data.pairs)
    if task == Task.IMPLICIT:
        return len(data.subjects)
    return sum(each.asked == attribute for each in all_sitters(data))


def entry_of(
    task: str,
    context: Context | None,
    attribute: str | None,
    score: str,
    move: Moved,
    n: int,
    topics: tuple[int, int],
    *,
    benchmark: str = BENCHMARK,
    modality: Modality = Modality.TEXT,
) -> Entry:
    """The difference as an entry of the scoreboard, in points, e.g. `TV@change`."""
    found = move.shift
    return Entry(
        benchmark=benchmark,
        modality=modality,
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


def scores_of(
    run: Baseline,
    dataset: Dataset,
    *,
    key: KeyKind,
    seed: int,
    spoken: Plan | None = None,
    sitters: Bigbench | None = None,
) -> tuple[Entry, ...]:
    """The estimates of what a saved run answered, as entries of the scoreboard; their values are the estimates'."""
    entries: list[Entry] = []
    for modality, tasks in TASKS.items():
        for task, context in tasks:
            for attribute in (each.name for each in dataset.attributes):
                right = key_of(dataset, attribute, key)
                if modality is Modality.TEXT:
                    (counts, _), (distinct, _) = Choices(run, run, dataset, task, context, attribute, None).alone()
                else:
                    counts, distinct = _alone(run, dataset, task, attribute)
                rng = _rng(seed, task, context, attribute)
                found = estimate_scores(counts, right, effective=np.minimum(distinct, counts.sum(axis=-1)), rng=rng)
                covered = (counts.sum(axis=-1) > 0)[right.any(axis=(1, 2))].sum()
                for score, field in FIELDS.items():
                    each = getattr(found, field)
                    if not math.isnan(each.value):
                        move = Moved(each, each, Shift(each.value, each.low, each.high, 0.0))
                        topics = int(covered), 2 * int(right.any(axis=(1, 2)).sum())
                        n = int(counts.sum())
                        entry = entry_of(task, context, attribute, score, move, n, topics, modality=modality)
                        entries.append(replace(entry, score=score))
    if spoken is not None and run.asked.get("f2bench"):
        plan = replace(spoken, repeats=run.asked["f2bench"]["repeats"], reference=False)
        tallies = [each for task in KINDS for each in _themes(run, plan, task).values()]
        every = Counter(case.topic.task for case in theme_cases(plan.instances))
        entries += f2bench_board(tallies, plan, all_categories=every, seed=seed)
    if sitters is not None and run.asked.get("bigbench"):
        entries += bigbench_board([*_portrayals(run, sitters).values()], sitters, seed=seed)
    return tuple(entries)


def _alone(run: Baseline, dataset: Dataset, task: str, attribute: str) -> tuple[IntArray, IntArray]:
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


def gates(scored: Sequence[Scored], limits: BaselineLimits | None) -> tuple[GateResult, ...]:
    """Hold the limits on drops against what moved; false alarms among all of them together have the chance alpha."""
    if limits is None:
        return ()
    held = [(each, limit) for limit in limits.drops for each in scored if _is_about(limit, each)]
    alarms = holm([each.shift.chance(upwards=each.spec.less_is_better) for each, _ in held], limits.alpha)
    return tuple(_judged(each, limit, alarm, len(held)) for (each, limit), alarm in zip(held, alarms, strict=True))


def _is_about(limit: DropLimit, each: Scored) -> bool:
    return (limit.score, limit.task, limit.modality) == (each.score, each.entry.task, each.entry.modality)


def _judged(each: Scored, limit: DropLimit, alarm: bool, of: int) -> GateResult:
    rises = each.spec.less_is_better
    low, high = (100 * end for end in (each.shift.low, each.shift.high))
    value = 100 * each.shift.value
    worse = Worse(low, value, high, alarm) if rises else Worse(-high, -value, -low, alarm)
    ends = (
        f"from {100 * each.moved.before.value:.1f} to {100 * each.moved.after.value:.1f}, by [{low:+.1f}, {high:+.1f}]"
    )
    verdict, why = drops.held(worse, limit.max_drop, each.spec.worse)
    held = GateLimit(
        score=each.entry.score,
        task=limit.task,
        modality=limit.modality,
        reason=limit.reason,
        min=None if rises else -limit.max_drop,
        max=limit.max_drop if rises else None,
    )
    return GateResult(held, each.entry, verdict, f"it moved {ends}: {why} (one of {of} comparisons)")
