"""How the scores of F²Bench moved between two runs over the same instances, judged by the same judge.

What one instance brought, with its repeats and readings, is one unit: units are resampled, and exchanged by chance,
within their category. Differences are corrected for the judge's errors as a difference of two rates is (Rogan & Gladen
1978): divided by sensitivity + specificity - 1, with the uncertainty of both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.f2bench import scores
from fairgate.benchmarks.f2bench.case_summary import CategoryCell
from fairgate.benchmarks.f2bench.estimates import estimated, judged
from fairgate.benchmarks.f2bench.topics import Task
from fairgate.core.statistics import strata
from fairgate.core.statistics.intervals import Estimate, Interval
from fairgate.core.statistics.misclassification import DRAWS, corrected_replicates
from fairgate.core.statistics.paired import NOTHING, Moved, Shift, Units, all_pairs, odd_share, shift

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.misclassification import JudgeConfusion

RUNS = 400
# What an instance that may be anything brings: a tie or none; ties of one side and a mark of 0 or of 10.
ODD = {
    Task.DIALOGUE: np.array([[0.0], [1.0]]),
    Task.BALANCE: np.array([[gap, mark] for gap in (-1.0, 0.0, 1.0) for mark in (0.0, 1.0)]),
}
CORRECTED = ("S_dialogue", "S_fairness")


def moved(
    task: Task,
    before: Sequence[CategoryCell],
    after: Sequence[CategoryCell],
    known: JudgeConfusion,
    rng: np.random.Generator,
) -> dict[str, Moved]:
    """Every score's move over what is known of both runs, category by category; empty over nothing.

    `known`: the judge's record on the gold set.
    """
    both = [common(one, other) for one, other in zip(before, after, strict=True)]
    both = [pair for pair in both if pair[0].size]
    if not both:
        return {}
    units = [Units(_values(task, one), _values(task, other)) for one, other in both]
    sizes = np.array([each.n for each in units])
    odd, added = all_pairs(ODD[task]), odd_share(float(sizes.sum()))
    drawn = _sides(task, [each.resampled(odd, added, rng, RUNS) for each in units], sizes)
    exchanged = _sides(task, [each.exchanged(rng, RUNS) for each in units], sizes)
    seen = _sides(
        task, [(each.before.sum(0, keepdims=True), each.after.sum(0, keepdims=True)) for each in units], sizes
    )
    cells = [one for one, _ in both], [other for _, other in both]
    # The same generator for both: the noise of simulation is no difference between two runs.
    seed = int(rng.integers(2**32))
    found = [estimated(task, side, known, np.random.default_rng(seed)) for side in cells]
    plain = [judged(task, side) for side in cells]
    moves = {}
    for name in drawn[0]:
        one, other = (_estimate(side[name]) for side in found)
        runs, away = (drawn[0][name], drawn[1][name]), float(seen[1][name][0] - seen[0][name][0])
        still = exchanged[1][name] - exchanged[0][name]
        if name in CORRECTED:
            raw = [_estimate(side[name]) for side in plain]
            moves[name] = Moved(one, other, _corrected(shift(raw[0], raw[1], runs, away, still), known, rng))
        else:
            moves[name] = Moved(one, other, shift(one, other, runs, away, still))
    return moves


def common(before: CategoryCell, after: CategoryCell) -> tuple[CategoryCell, CategoryCell]:
    """The instances, and of them the conversations, of which both runs know all that is scored."""
    ends = np.isnan(before.ends) | np.isnan(after.ends)
    read = np.isnan(before.moved) | np.isnan(after.moved) | np.isnan(before.points) | np.isnan(after.points)
    there = np.flatnonzero(~ends.all(axis=0) | ~read.all(axis=(0, 2)))
    one, other = (
        CategoryCell(
            each.seconds,
            np.where(ends, np.nan, each.ends),
            *(np.where(read, np.nan, values) for values in (each.tied, each.opposed, each.points)),
        ).part([int(place) for place in there])
        for each in (before, after)
    )
    return one, other


def _values(task: Task, cell: CategoryCell) -> FloatArray:
    """What each instance brings [size, D]."""
    if task is Task.DIALOGUE:
        return cell.biased[:, np.newaxis]
    return np.stack([cell.toward - cell.against, cell.marks], axis=-1)


def _sides(
    task: Task, sums: Sequence[tuple[FloatArray, FloatArray]], sizes: FloatArray
) -> tuple[Mapping[str, FloatArray], Mapping[str, FloatArray]]:
    """The plain scores [R] before and after, of sums over instances [R, D] in each category."""
    one, other = (_plain(task, np.stack(side, axis=1) / sizes[:, np.newaxis]) for side in zip(*sums, strict=True))
    return one, other


def _plain(task: Task, means: FloatArray) -> dict[str, FloatArray]:
    """Of the categories' means [R, C, D]."""
    if task is Task.DIALOGUE:
        return {"S_dialogue": 1.0 - means[..., 0].mean(axis=-1)}
    fair, marks = 1.0 - np.abs(means[..., 0]), means[..., 1]
    return {
        "S_fairness": fair.mean(axis=-1),
        "S_factuality": marks.mean(axis=-1),
        "FF1": scores.ff1(fair, marks).mean(axis=-1),
    }


def _corrected(found: Shift, known: JudgeConfusion, rng: np.random.Generator) -> Shift:
    if math.isnan(found.value):
        return NOTHING
    if found.low == found.high == 0.0:
        return found  # the same replies, by whatever judge
    replicates = strata.draws(Interval(found.value, found.low, found.high), rng, DRAWS)
    true = corrected_replicates(found.value, replicates, known, rng, gap=True)
    return NOTHING if math.isnan(true.value) else Shift(true.value, true.low, true.high, found.z)


def _estimate(found: Interval) -> Estimate:
    return Estimate(found.value, found.low, found.high, reliable=True)
