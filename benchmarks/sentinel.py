"""Plan sentinel by simulation: false alarms, rises of contrast that are found, and the queries that choices would take.

python benchmarks/sentinel.py                   the tables of docs/probabilities.md
python benchmarks/sentinel.py --runs 200        faster

The queries are those of the plan, with who is on offer in each; the comparison, the test, Holm's order and the limits
of thresholds.toml are those of a run. Assumed of a model: the probabilities of the four people of a query are the
softmax of utilities, each of which is

    bias x (how far the person follows the published answers) + own + release

`own` is normal, of a deviation in the table: one value for each person of each query, the same in every release, for
what else decides between them. `release` is drawn anew with each release: normal, of deviation `noise` for each person,
and of deviation `slope`, times how far they follow, for each wording of a topic: drift of contrast, none on average.
A release of 5 points more has the bias at which the expected contrast, over fresh values of `own`, is 5 points higher.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fairgate.benchmarks.fact_or_fair.baseline import CHOICES
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.effect_scores import key_of
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.paired_effects import Chosen, OfferedPeople
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.paired import Baseline, Changed
from fairgate.benchmarks.registry import registry
from fairgate.comparison.paired_comparison import gates, scored_of
from fairgate.core.layout import THRESHOLDS
from fairgate.core.statistics import effect_changes, effects
from fairgate.gating.thresholds import load as load_thresholds

if TYPE_CHECKING:
    from fairgate.core.statistics.effects import BoolArray, Effect, FloatArray, IntArray, Largest, Picks
    from fairgate.gating.thresholds import BaselineLimits

PLAN = "sentinel"
ATTRIBUTES = ("gender", "race")
DRAWS = 60  # of `own`, over which a bias is fitted to a contrast


@dataclass(frozen=True, eq=False)
class World:
    """The plan's queries: by attribute which count, [n], and how far each person on offer follows the key, [n, 4]."""

    side: Chosen
    counts: dict[str, BoolArray]
    follows: dict[str, FloatArray]
    wording: IntArray

    @property
    def n(self) -> int:
        """Queries."""
        return len(self.side.named)


@cache
def world() -> World:
    """As thresholds.toml declares the plan."""
    dataset = load()
    size = load_thresholds(THRESHOLDS, registry()).plan(PLAN).size("fact-or-fair")
    plan = QueryPlan(
        dataset,
        0,
        Profiles(size.profiles),
        0,
        size.subjective,
        wordings=size.wordings,
        contexts=frozenset(size.contexts),
    )
    shares = {
        f"fact-or-fair/text/subjective/{each.slug}-{level}-{context}": ((0.25,) * 4,)
        * (size.wordings * size.subjective)
        for each in dataset.statistics
        for level in ("high", "low")
        for context in size.contexts
    }
    side = OfferedPeople(plan).weighed([Baseline("", {}, {}, {}, {}, shares)], Context.BASE, lambda _: True)
    counts, follows = {}, {}
    for place, name in enumerate(ATTRIBUTES):
        has = np.array([name in each.attributes for each in dataset.statistics])[side.asked.statistic]
        kept, scores = effects.following(side.asked, side.groups[:, place], key_of(dataset, name, "published"))
        whole = np.zeros((len(has), 4))
        whole[kept] = scores
        counts[name], follows[name] = kept & has, whole
    _, wording = np.unique(np.column_stack([side.asked.topic, side.asked.wording]), axis=0, return_inverse=True)
    return World(side, counts, follows, np.asarray(wording, dtype=np.int64).reshape(-1))


@dataclass(frozen=True)
class Model:
    """How far it follows the published answers by each attribute, and how much else decides (`own`)."""

    gender: float
    race: float
    own: float

    def shares(self, own: FloatArray, noise: float, slope: float, rng: np.random.Generator) -> FloatArray:
        """The probabilities of one release, [n, 4]; `own` [n, 4] are standard normal."""
        held = world()
        utilities = self.own * own + noise * rng.standard_normal((held.n, 4))
        for name, bias in (("gender", self.gender), ("race", self.race)):
            each = slope * rng.standard_normal(int(held.wording.max()) + 1)[held.wording]
            utilities = utilities + (bias + each)[:, np.newaxis] * held.follows[name]
        weights = np.exp(utilities - utilities.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)


def contrast(shares: Picks, name: str) -> float:
    """In points."""
    held = world()
    kept = held.counts[name]
    scores = held.follows[name][kept][..., np.newaxis]
    found = effects.effect_of(held.side.asked.where(kept), scores, shares[kept])
    return 100 * found.value


@cache
def fitted(points: tuple[float, float], own: float) -> Model:
    """The model whose expected contrast by gender and by race is so many points, by bisection in turns."""
    rng = np.random.default_rng(7)
    draws = rng.standard_normal((DRAWS, world().n, 4))

    def expected(model: Model, name: str) -> float:
        return float(np.mean([contrast(model.shares(each, 0.0, 0.0, rng), name) for each in draws]))

    found = {"gender": 0.0, "race": 0.0}
    for _ in range(3):
        for name, wanted in zip(ATTRIBUTES, points, strict=True):
            low, high = -4.0, 4.0
            for _ in range(12):
                found[name] = (low + high) / 2
                low, high = (
                    (found[name], high) if expected(Model(**found, own=own), name) < wanted else (low, found[name])
                )
    return Model(**found, own=own)


def compared(before: FloatArray, after: FloatArray) -> Counter[str]:
    """The verdicts of the gates of one comparison, with their errors in points."""
    held, limits = world(), load_limits()
    found = []
    for name in ATTRIBUTES:
        kept = held.counts[name]
        asked, scores = held.side.asked.where(kept), held.follows[name][kept][..., np.newaxis]

        def effect(shares: Picks, asked: effects.Design = asked, scores: FloatArray = scores) -> Effect | Largest:
            return effects.effect_of(asked, scores, shares)

        move = effect_changes.drifted(asked, scores, (before[kept], after[kept]), effect)
        changed = Changed(Task.SUBJECTIVE, Context.BASE, name, "contrast@soft", move, int(kept.sum()), (1, 1))
        found.append(scored_of(CHOICES, changed))
    return Counter(str(gate.verdict) for gate in gates(found, limits, PLAN))


@cache
def load_limits() -> BaselineLimits | None:
    """The limits on changes of thresholds.toml."""
    return load_thresholds(THRESHOLDS, registry()).baseline


def run(before: Model, after: Model, noise: float, slope: float, runs: int, seed: int) -> Counter[str]:
    """The verdicts of so many comparisons: of the worst gate of each."""
    rng = np.random.default_rng(seed)
    ends: Counter[str] = Counter()
    for _ in range(runs):
        own = rng.standard_normal((world().n, 4))
        one, other = (model.shares(own, noise, slope, rng) for model in (before, after))
        verdicts = compared(one, other)
        ends[next(each for each in ("fail", "inconclusive", "pass") if verdicts[each])] += 1
    return ends


def fewer(model: Model, noise: float, slope: float, runs: int, seed: int) -> float:
    """By how many times more queries choices at temperature 0 would have to be asked: the ratio of two variances."""
    rng = np.random.default_rng(seed)
    moves: dict[str, list[float]] = {"soft": [], "hard": []}
    for _ in range(runs):
        own = rng.standard_normal((world().n, 4))
        one, other = (model.shares(own, noise, slope, rng) for _ in range(2))
        moves["soft"].append(contrast(other, "gender") - contrast(one, "gender"))
        hard = [each.argmax(axis=1) for each in (one, other)]
        moves["hard"].append(contrast(hard[1], "gender") - contrast(hard[0], "gender"))
    return float(np.var(moves["hard"]) / np.var(moves["soft"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="simulated pairs of releases for each figure")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{world().n} queries; {options.runs} pairs of releases a figure; in percent of these\n")
    heads = ("contrast", "own", "noise", "slope", "unchanged: fails", "passes", "+5 gender: fails", "+5 race: fails")
    print("\n".join((f"| {' | '.join((*heads, 'fewer queries'))} |", "|---" * 9 + "|")), flush=True)
    for level in (0.0, 10.0):
        for own in (1.0, 2.0):
            for noise, slope in ((0.05, 0.05), (0.2, 0.1), (0.5, 0.2)):
                before = fitted((level, level), own)
                more = [fitted((level + 5, level), own), fitted((level, level + 5), own)]
                same = run(before, before, noise, slope, options.runs, options.seed)
                risen = [run(before, each, noise, slope, options.runs, options.seed + 1) for each in more]
                share = 100 / options.runs
                cells = [share * same["fail"], share * same["pass"], *(share * each["fail"] for each in risen)]
                times = fewer(before, noise, slope, options.runs // 4, options.seed + 2)
                said = " | ".join(f"{each:.1f}" for each in cells)
                print(f"| {level:g} | {own:g} | {noise:g} | {slope:g} | {said} | {times:.1f} |", flush=True)


if __name__ == "__main__":
    main()
