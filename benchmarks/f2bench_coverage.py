"""How often F²Bench's intervals hold the truth, with a judge that errs: corrected and raw, at 4 and at 90 instances.

    python -m benchmarks.f2bench_coverage
    python -m benchmarks.f2bench_coverage ties [RUNS]
    python -m benchmarks.f2bench_coverage marks [SCORE] [RUNS]

Ten categories; the judge's sensitivity and specificity are known from 104 gold texts, drawn anew in every run. `ties`:
of tie_spread, at 4 and at 30 instances, also by a judge that is always right: how often the interval holds the truth,
lies within the default limit of 70, and beyond it. `marks`:
of a judge that is worse on the run's replies than on the gold texts, the scores by the judge alone, corrected by the
gold texts, and corrected by reviewers' marks on so many of the replies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.f2bench.case_summary import CategoryCell
from fairgate.benchmarks.f2bench.estimates import tie_spread
from fairgate.core.statistics import prediction_powered, strata
from fairgate.core.statistics.intervals import Interval
from fairgate.core.statistics.misclassification import JudgeConfusion, corrected_replicates
from fairgate.core.statistics.prediction_powered import Corrects, Review

if TYPE_CHECKING:
    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.effects import BoolArray

RUNS, CATEGORIES, GOLD = 400, 10, 52
SENSITIVITY, SPECIFICITY = 0.8, 0.9


def known(rng: np.random.Generator) -> JudgeConfusion:
    yes, no = rng.binomial(GOLD, SENSITIVITY), rng.binomial(GOLD, SPECIFICITY)
    return JudgeConfusion(yes, GOLD - yes, GOLD - no, no)


def holds(found: Interval, truth: float) -> bool:
    return found.low - 1e-9 <= truth <= found.high + 1e-9


def judged(truth: FloatArray, rng: np.random.Generator) -> FloatArray:
    draw = rng.random(truth.shape)
    return np.where(truth > 0, draw < SENSITIVITY, draw >= SPECIFICITY).astype(float)


def dialogue(rate: float, items: int) -> tuple[float, float]:
    """Coverage of S_dialogue, corrected and raw, where this share of dialogues is biased."""
    hits = [0, 0]
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        cells = [judged(rng.binomial(1, rate, items).astype(float), rng) for _ in range(CATEGORIES)]
        whole = strata.mean([strata.share(cell) for cell in cells])
        found = corrected_replicates(whole.value, strata.draws(whole, rng, 2000), known(rng), rng)
        hits[0] += holds(found, rate)
        hits[1] += holds(whole, rate)
    return hits[0] / RUNS, hits[1] / RUNS


def fairness(toward: float, against: float, items: int) -> tuple[float, float]:
    """Coverage of S_fairness where readings make the stereotyped tie, or the opposite one, with these chances."""
    hits, truth = [0, 0], abs(toward - against)
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        gaps, noise = [], []
        for _ in range(CATEGORIES):
            draw = rng.random((items, 2))
            moved = judged((draw < toward).astype(float), rng) - judged((draw >= 1 - against).astype(float), rng)
            one, other = (moved > 0).mean(axis=1), (moved < 0).mean(axis=1)
            gaps.append(strata.difference(strata.share(one), strata.share(other)))
            noise.append(float((one - other).var(ddof=1) / items))
        whole = strata.mean_distance(gaps, noise)
        found = corrected_replicates(whole.value, strata.draws(whole, rng, 2000), known(rng), rng, gap=True)
        hits[0] += holds(replace(found, low=0.0) if whole.low <= 0.0 else found, truth)
        hits[1] += holds(whole, truth)
    return hits[0] / RUNS, hits[1] / RUNS


# Share of instances that are tied by group, either way; of the others by position; the rest is tied by chance, or not.
TIES = {
    "nobody is tied": (0.0, 0.0, 0.0),
    "all by position": (0.0, 1.0, 0.0),
    "all by chance": (0.0, 0.0, 1.0),
    "0.2 by group": (0.2, 0.0, 0.0),
    "0.49 by group": (0.49, 0.0, 0.0),
    "0.49 by group, the others by chance": (0.49, 0.0, 1.0),
    "0.7 by group": (0.7, 0.0, 0.0),
    "all by group": (1.0, 0.0, 0.0),
}
LIMIT = 0.7


def of_ties(runs: int) -> None:
    print("| instances a category | judge | ties | truth | mean | held | within | beyond |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for items, right in product((4, 30), ((1.0, 1.0), (SENSITIVITY, SPECIFICITY))):
        for name, (by_group, by_position, by_chance) in TIES.items():
            truth = float(np.sqrt(by_group))
            found = np.zeros(4)
            for seed in range(runs):
                rng = np.random.default_rng(seed)
                cells = [tied_cell(items, by_group, by_position, by_chance, right, rng) for _ in range(CATEGORIES)]
                sure = JudgeConfusion(GOLD, 0, 0, GOLD) if right[0] == 1.0 else known(rng)
                each = tie_spread(cells, sure, rng)
                found += each.value, holds(each, truth), each.high <= LIMIT, each.low > LIMIT
            value, *shares = 100 * found / runs
            told = " | ".join(f"{share:.0f} %" for share in shares)
            judge = f"{right[0]:g}, {right[1]:g}"
            print(f"| {items} | {judge} | {name} | {100 * truth:.0f} | {value:.0f} | {told} |", flush=True)


def tied_cell(
    items: int,
    by_group: float,
    by_position: float,
    by_chance: float,
    right: tuple[float, float],
    rng: np.random.Generator,
) -> CategoryCell:
    draw, sign = rng.random((items, 1)), rng.choice([-1, 1], (items, 1))
    other = rng.random((items, 2)) < by_chance
    tie = np.where(draw < by_group, sign, np.where(draw < by_group + by_position, sign * [1, -1], 0))
    tie = np.where((tie == 0) & other, rng.choice([-1, 1], (items, 2)), tie)
    tied, opposed = (errs(tie == way, right, rng).astype(float)[np.newaxis] for way in (1, -1))
    nothing = np.full(tied.shape, np.nan)
    return CategoryCell((None,) * items, nothing[..., 0], tied, opposed, nothing)


ON_GOLD = (0.95, 0.95)
ON_REPLIES = ((0.95, 0.85), (0.85, 0.75))  # sensitivity and specificity on the run's replies
STRICT = ((-1.0, 1.0), (-2.0, 1.5), (2.5, 1.5))  # of marks: the judge's mean difference from reviewers', and its SD
READINGS = 2


def gold_texts(rng: np.random.Generator) -> JudgeConfusion:
    yes, no = rng.binomial(GOLD, ON_GOLD[0]), rng.binomial(GOLD, ON_GOLD[1])
    return JudgeConfusion(yes, GOLD - yes, GOLD - no, no)


def errs(truth: BoolArray, judge: tuple[float, float], rng: np.random.Generator) -> BoolArray:
    luck = rng.random(truth.shape)
    return np.asarray(np.where(truth, luck < judge[0], luck >= judge[1]), dtype=np.bool_)


def reviewed(
    said: FloatArray, right: FloatArray, many: int, seed: int, corrects: Corrects, batch: int = 5
) -> list[Review]:
    """The judge's replies, so many of them marked; each few are chosen with the marks before them in view."""
    replies = [Review(f"{seed} {n}", float(each), None) for n, each in enumerate(said.flat)]
    for _ in range(0, many, batch):
        for following in prediction_powered.to_mark(replies, batch, corrects):
            at = int(following.name.split()[1])
            replies[at] = replace(following, right=float(right.flat[at]))
    return replies


def dialogues_marked(
    score: float, items: int, many: int, judge: tuple[float, float], seed: int
) -> tuple[Interval, Interval, Interval]:
    """S_dialogue as its share of bias: raw, by the gold texts, and by so many marks."""
    rng = np.random.default_rng(seed)
    truth = rng.random((CATEGORIES, items)) < 1 - score
    said = errs(truth, judge, rng)
    whole = strata.mean([strata.share(cell.astype(float)) for cell in said])
    by_gold = corrected_replicates(whole.value, strata.draws(whole, rng, 2000), gold_texts(rng), rng)
    replies = reviewed(said.astype(float), truth.astype(float), many, seed, Corrects.RATE)
    return whole, by_gold, prediction_powered.corrected(whole, prediction_powered.counted(replies), rng)


def balance_marked(
    score: float, items: int, many: int, judge: tuple[float, float], seed: int
) -> tuple[Interval, Interval, Interval]:
    """S_fairness as its distance from 1, of a model that makes one tie in 10 % of readings, the other in more.

    The stereotyped tie is the more frequent one in eight categories of ten.
    """
    rng = np.random.default_rng(seed)
    less = min(0.1, score)
    chance = np.where(np.arange(CATEGORIES) < 8, less + 1 - score, less)[:, None, None, None]
    chance = np.concatenate([chance, 1 - score + 2 * less - chance], axis=-1)
    truth = rng.random((CATEGORIES, items, READINGS, 2)) < chance
    said = errs(truth, judge, rng)
    moved = said[..., 0].astype(float) - said[..., 1]
    gaps, noise = [], []
    for cell in moved:
        one, other = (cell > 0).mean(axis=1), (cell < 0).mean(axis=1)
        gaps.append(strata.difference(strata.share(one), strata.share(other)))
        noise.append(float((one - other).var(ddof=1) / items))
    whole = strata.mean_distance(gaps, noise)
    by_gold = corrected_replicates(whole.value, strata.draws(whole, rng, 2000), gold_texts(rng), rng, gap=True)
    by_gold = replace(by_gold, low=0.0) if whole.low <= 0.0 else by_gold
    replies = reviewed(said.astype(float), truth.astype(float), many, seed, Corrects.GAP)
    enough = prediction_powered.enough(replies)
    return whole, by_gold, prediction_powered.corrected_gap(whole, replies, rng) if enough else by_gold


def marks_marked(
    score: float, items: int, many: int, judge: tuple[float, float], seed: int
) -> tuple[Interval, Interval, Interval]:
    """S_factuality as its distance from 1; gold texts correct nothing."""
    rng = np.random.default_rng(seed)
    right = np.clip(np.rint(rng.normal(10 * score, 2.5, (CATEGORIES, items, READINGS))), 0, 10)
    said = np.clip(np.rint(right + rng.normal(*judge, right.shape)), 0, 10) / 10
    whole = strata.mean([strata.share(cell.mean(axis=1)) for cell in said])
    replies = reviewed(said, right / 10, many, seed, Corrects.MEAN)
    return (
        whole,
        whole,
        prediction_powered.corrected_mean(whole, replies, rng) if prediction_powered.enough(replies) else whole,
    )


@cache
def truth_of_marks(score: float) -> float:
    """The mean of rounded marks within 0 to 10."""
    drawn = np.random.default_rng(0).normal(10 * score, 2.5, 400_000)
    return float(np.clip(np.rint(drawn), 0, 10).mean() / 10)


Simulated = Callable[[float, int, int, tuple[float, float], int], tuple[Interval, Interval, Interval]]
# By score: a simulated run, the scores that are true, the judges, and the truth on the scale of the run.
KINDS: Mapping[str, tuple[Simulated, Sequence[float], Sequence[tuple[float, float]], Callable[[float], float]]] = {
    "S_dialogue": (dialogues_marked, (0.9, 0.6, 0.2), ON_REPLIES, lambda score: 1 - score),
    "S_fairness": (balance_marked, (0.9, 0.6, 0.2), ON_REPLIES, lambda score: 1 - score),
    "S_factuality": (marks_marked, (0.8, 0.5, 0.3), STRICT, truth_of_marks),
}


def by_marks(only: str, runs: int) -> None:
    print("| score | items | truth | judge on replies | marks | raw | by the gold texts | by marks |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name, (found, truths, judges, truth_of) in KINDS.items():
        if not name.startswith(only):
            continue
        for items, judge, score in product((4, 40), judges, truths):
            for many in (24, 40, 100) if items == 40 else (24, 40):
                held, widths = np.zeros(3), np.zeros(3)
                for seed in range(runs):
                    for place, each in enumerate(found(score, items, many, judge, seed)):
                        held[place] += holds(each, truth_of(score))
                        widths[place] += (each.high - each.low) / 2
                shown = zip(100 * held / runs, 100 * widths / runs, strict=True)
                cells = " | ".join(f"{one:.0f} % ± {other:.0f}" for one, other in shown)
                told = "/".join(f"{each:g}" for each in judge)
                print(f"| {name} | {CATEGORIES * items} | {100 * score:.0f} | {told} | {many} | {cells} |", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["ties"]:
        of_ties(int(sys.argv[2]) if sys.argv[2:] else 200)
        return
    if sys.argv[1:2] == ["marks"]:
        only, runs = (*sys.argv[2:], *("", "200")[len(sys.argv) - 2 :])
        by_marks(only, int(runs))
        return
    print("| score | instances a category | truth | corrected | raw |\n| --- | --- | --- | --- | --- |")
    for items in (4, 90):
        for rate in (0.0, 0.1, 0.5, 0.9):
            corrected, raw = dialogue(rate, items)
            print(f"| S_dialogue | {items} | {100 - 100 * rate:.0f} | {100 * corrected:.0f} % | {100 * raw:.0f} % |")
        for toward, against in ((0.0, 0.0), (0.5, 0.5), (0.3, 0.1), (0.7, 0.1), (1.0, 0.0)):
            corrected, raw = fairness(toward, against, items)
            truth = 100 - 100 * abs(toward - against)
            ties = f"{truth:.0f} ({100 * toward:.0f} % and {100 * against:.0f} % tie)"
            print(f"| S_fairness | {items} | {ties} | {100 * corrected:.0f} % | {100 * raw:.0f} % |")


if __name__ == "__main__":
    main()
