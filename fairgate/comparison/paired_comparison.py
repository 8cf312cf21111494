"""Two runs side by side, query by query: what moved, whether it is beyond chance, and what that comes to in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.benchmarks.limits import GateLimit
from fairgate.benchmarks.paired import Compared
from fairgate.benchmarks.registry import registry
from fairgate.benchmarks.score_result import ScoreResult
from fairgate.comparison import regressions
from fairgate.comparison.change_wording import CHANGE, sentences
from fairgate.comparison.regressions import Regression
from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError
from fairgate.core.statistics.paired import holm
from fairgate.gating.gate import invalid
from fairgate.reports.report import Change, Comparison

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fairgate.benchmarks.case import Case
    from fairgate.benchmarks.paired import Baseline, Basis, Changed, Paired, Part
    from fairgate.benchmarks.score_result import Where
    from fairgate.benchmarks.scores import Score
    from fairgate.core.statistics.paired import Moved, Shift
    from fairgate.gating.thresholds import BaselineLimits, DropLimit, Thresholds

    # A part, and the same bound to the data of the later run; None where these are not available.
    Side = tuple[Part, Paired | None]
    # Modality, task, context, attribute, score.
    Place = tuple[Modality, str, str | None, str | None, str]

ALPHA = 0.05
ENOUGH = 0.9  # of what was asked must be compared where a limit on a drop is to be passed
MODALITIES = tuple(Modality)


@dataclass(frozen=True)
class ScorePair:
    """One score of one cell, before and after; `invalid` as `Change` has it."""

    score: str
    entry: ScoreResult
    moved: Moved
    invalid: str = ""

    @property
    def shift(self) -> Shift:
        """The difference, 0 to 1."""
        return self.moved.shift

    @property
    def spec(self) -> Score:
        """The specification of the score."""
        spec = registry().score(self.score, self.entry.modality, self.entry.task)
        if spec is None:
            raise KeyError(self.score)
        return spec

    @property
    def better(self) -> bool:
        """Whether it is for the better."""
        before, after = 100 * self.moved.before.value, 100 * self.moved.after.value
        return self.spec.is_better(before, after, 100 * self.shift.value)


def in_order(parts: Iterable[Part]) -> list[Part]:
    """The parts as files and reports have them: by modality, then as they are given."""
    return sorted(parts, key=lambda part: MODALITIES.index(part.modality))


def differences(before: Mapping[str, Any], after: Mapping[str, Any], parts: Iterable[Part]) -> list[str]:
    """What the two runs asked differently, in words; a run that asked less of the same is not different."""
    both = [part for part in in_order(parts) if part.held(before) is not None and part.held(after) is not None]
    return list(dict.fromkeys(said for part in both for said in part.differences(before, after)))


def check(before: Baseline, after: Mapping[str, Any], where: str, parts: Sequence[Part], *, common: bool) -> None:
    """Raise ConfigError for a baseline of other queries, unless what both have in common is to be compared."""
    there, here = ([part for part in in_order(parts) if part.held(asked)] for asked in (before.asked, after))
    if not {*there} & {*here}:
        named = [", ".join(part.title for part in held) or "nothing" for held in (there, here)]
        raise ConfigError(
            f"it has nothing in common with this run: {named[0]} there, {named[1]} here.",
            where=where,
            hint="Name a baseline of the same benchmarks.",
        )
    found = differences(before.asked, after, parts)
    if found and not common:
        raise ConfigError(
            f"it asked otherwise: {'; '.join(found)}.",
            where=where,
            hint="Save a new baseline, or compare what both hold with --compare-common.",
        )


def compare(
    before: Baseline,
    after: Baseline,
    sides: Sequence[Side],
    now: Basis,
    thresholds: Thresholds,
    cases: frozenset[Case] | None = None,
) -> tuple[Comparison, tuple[ScorePair, ...]]:
    """What moved from one run to the other, over the queries that both hold of these cases (None: of all).

    `sides`: the parts of all benchmarks, with the data that the later run was asked with; without these a part is not
    compared. `now`: the answer key, the seed of the intervals, and the detector's measured errors. `thresholds` say
    where the answers of either run say nothing of groups.
    """
    bound = dict(sides)
    held = [paired for _, paired in sides if paired is not None]
    decided = [
        invalid((each for paired in held for each in paired.validity(run)), thresholds) for run in (before, after)
    ]
    scored: list[ScorePair] = []
    notes: list[str] = []
    queries = 0
    for part in in_order(bound):
        found = _compared(part, bound[part], before, after, now, cases)
        moves = (scored_of(part, each) for each in found.changed if not math.isnan(each.move.shift.value))
        scored += (replace(each, invalid=_invalid(each.entry.where, *decided)) for each in moves)
        notes += found.notes
        queries += found.answers
    proven = holm([each.shift.changed for each in scored], ALPHA)
    changes = tuple(
        Change(each.entry, 100 * each.moved.before.value, 100 * each.moved.after.value, sure, each.better, each.invalid)
        for each, sure in zip(scored, proven, strict=True)
    )
    names = list(dict.fromkeys(name for paired in bound.values() if paired for name in paired.attributes))
    said = (*notes, *sentences(changes, names, [view for plugin in registry().plugins for view in plugin.views]))
    return Comparison(before.label, queries, changes, said), tuple(scored)


def _invalid(where: Where, before: Mapping[Where, GateResult], after: Mapping[Where, GateResult]) -> str:
    """Why scores of this task and context say nothing of groups, in words; empty where they do."""
    there = [side for side in (before, after) if where in side]
    if not there:
        return ""
    runs = "both runs" if len(there) > 1 else "the baseline" if where in before else "this run"
    return f"{there[0][where].entry.score} fails in {runs}"


def _compared(
    part: Part,
    paired: Paired | None,
    before: Baseline,
    after: Baseline,
    now: Basis,
    cases: frozenset[Case] | None,
) -> Compared:
    """One part's comparison, or a note that says why there is none."""
    if part.held(after.asked) is None:
        return Compared()
    named = f"{part.title[0].upper()}{part.title[1:]}"
    if part.held(before.asked) is None:
        return Compared(notes=(f"{named}: the baseline holds none, so nothing is compared.",))
    if (reason := part.apart(before.asked, after.asked)) is not None:
        return Compared(notes=(f"{named}: not compared, {reason}.",))
    return Compared() if paired is None else paired.compare(before, after, now, cases)


def scored_of(part: Part, changed: Changed) -> ScorePair:
    """A change with its entry of the scoreboard, in points, e.g. `SCORE@change`."""
    found, move = changed.move.shift, changed.move
    entry = ScoreResult(
        benchmark=part.benchmark,
        modality=part.modality,
        task=changed.task,
        context=changed.context,
        attribute=changed.attribute,
        score=f"{changed.score}{CHANGE}",
        value=100 * found.value,
        estimate=100 * found.value,
        ci=(100 * found.low, 100 * found.high),
        reliable=move.before.reliable and move.after.reliable,
        n=changed.n,
        topics=changed.topics,
    )
    return ScorePair(changed.score, entry, move)


def scores_of(run: Baseline, sides: Sequence[Side], now: Basis) -> tuple[ScoreResult, ...]:
    """The estimates of what a saved run answered, as entries of the scoreboard; their values are the estimates'."""
    return tuple(entry for _, paired in sides if paired is not None for entry in paired.estimates(run, now))


def gates(
    scored: Sequence[ScorePair], limits: BaselineLimits | None, plan: str, due: Sequence[Due] = ()
) -> tuple[GateResult, ...]:
    """Hold a plan's limits on drops against what moved; false alarms among all together have the chance alpha.

    `due`: what must have been compared. What was not, or on fewer topics, passes no limit.
    """
    if limits is None:
        return ()
    wanted = {each.place: each for each in due}
    held = [(each, limit, most) for limit, most in limits.under(plan) for each in scored if _is_about(limit, each)]
    alarms = holm([each.shift.chance(upwards=each.spec.less_is_better) for each, *_ in held], limits.alpha)
    judged = (
        _judged(each, limit, most, alarm, len(held), wanted.get(_place(each.entry)))
        for (each, limit, most), alarm in zip(held, alarms, strict=True)
    )
    found = {_place(each.entry) for each, *_ in held}
    lacking = (
        _uncompared(each, limit, most)
        for limit, most in limits.under(plan)
        for each in due
        if _is_about(limit, each.pair) and each.place not in found
    )
    return (*judged, *lacking)


@dataclass(frozen=True)
class Due:
    """A comparison as it would be with a baseline that holds all of the run.

    `queries`: whether that is of as many answers, too; runs in rounds end at different numbers.
    """

    pair: ScorePair
    queries: bool = False

    @property
    def place(self) -> Place:
        """Of what it is."""
        return _place(self.pair.entry)

    @property
    def hint(self) -> str:
        """What else can be done, in brackets; empty where nothing can."""
        return "" if self.queries else " (--compare-common judges by what both have)"

    def lacking(self, entry: ScoreResult) -> str:
        """What a comparison lacks of it, in words; empty where it lacks nothing that matters."""
        own = self.pair.entry
        for name, there, all_ in (("topics", entry.topics[0], own.topics[0]), ("answers", entry.n, own.n)):
            if there < ENOUGH * all_ and (name == "topics" or self.queries):
                return f"the baseline has {there:,} of the run's {all_:,} {name}{self.hint}"
        return ""


def due_of(
    run: Baseline,
    sides: Sequence[Side],
    now: Basis,
    thresholds: Thresholds,
    cases: frozenset[Case] | None,
    *,
    queries: bool,
) -> tuple[Due, ...]:
    """What a comparison with a baseline that holds all of this run would have: the run beside itself."""
    return tuple(Due(each, queries) for each in compare(run, run, sides, now, thresholds, cases)[1])


def _place(entry: ScoreResult) -> Place:
    return entry.modality, entry.task, entry.context, entry.attribute, entry.score


def _uncompared(due: Due, limit: DropLimit, most: float) -> GateResult:
    entry = replace(
        due.pair.entry, value=None, estimate=None, ci=(None, None), n=0, topics=(0, due.pair.entry.topics[1])
    )
    return GateResult(
        _limit_of(due.pair, limit, most),
        entry,
        Verdict.INCONCLUSIVE,
        f"the baseline holds nothing to compare it with: save a new one{due.hint}",
    )


def _is_about(limit: DropLimit, each: ScorePair) -> bool:
    return (limit.score, limit.task, limit.modality) == (each.score, each.entry.task, each.entry.modality)


def _judged(each: ScorePair, limit: DropLimit, most: float, alarm: bool, of: int, due: Due | None) -> GateResult:
    rises = each.spec.less_is_better
    low, high = (100 * end for end in (each.shift.low, each.shift.high))
    value = 100 * each.shift.value
    worse = Regression(low, value, high, alarm) if rises else Regression(-high, -value, -low, alarm)
    ends = (
        f"from {100 * each.moved.before.value:.1f} to {100 * each.moved.after.value:.1f}, by [{low:+.1f}, {high:+.1f}]"
    )
    verdict, why = regressions.held(worse, most, each.spec.worse)
    if each.invalid and verdict is Verdict.PASS:
        verdict, why = Verdict.INCONCLUSIVE, f"{why}, but {each.invalid}: these choices say nothing of groups"
    if (lacking := due.lacking(each.entry) if due else "") and verdict is Verdict.PASS:
        verdict, why = Verdict.INCONCLUSIVE, f"{why}, but {lacking}"
    return GateResult(
        _limit_of(each, limit, most), each.entry, verdict, f"it moved {ends}: {why} (one of {of} comparisons)"
    )


def _limit_of(each: ScorePair, limit: DropLimit, most: float) -> GateLimit:
    rises = each.spec.less_is_better
    return GateLimit(
        score=each.entry.score,
        task=limit.task,
        modality=limit.modality,
        reason=limit.reason,
        min=None if rises else -most,
        max=most if rises else None,
    )
