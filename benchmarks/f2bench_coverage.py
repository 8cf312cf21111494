"""How often F²Bench's intervals hold the truth, with a judge that errs: corrected and raw, at 4 and at 90 instances.

    python -m benchmarks.f2bench_coverage
    python -m benchmarks.f2bench_coverage marks

Ten categories; the judge's sensitivity and specificity are known from 104 gold texts, drawn anew in every run. `marks`:
of a judge that is worse on the run's replies than on the gold texts, S_dialogue by the judge alone, corrected by the
gold texts, and corrected by reviewers' marks on so many of the replies.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics import reviews, strata
from fairgate.core.statistics.misclassification import JudgeConfusion, corrected_replicates

if TYPE_CHECKING:
    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.intervals import Interval

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


ON_GOLD, ON_REPLIES = (0.95, 0.95), (0.95, 0.85)


def marked(rate: float, items: int, many: int, runs: int = 200) -> tuple[list[float], list[float]]:
    """Coverage and mean half-width of S_dialogue: raw, by the gold texts, and by so many marks."""
    held, widths = np.zeros(3), np.zeros(3)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        truth = rng.random((CATEGORIES, items)) < rate
        luck = rng.random(truth.shape)
        said = np.where(truth, luck < ON_REPLIES[0], luck >= ON_REPLIES[1])
        whole = strata.mean([strata.share(cell.astype(float)) for cell in said])
        yes, no = rng.binomial(GOLD, ON_GOLD[0]), rng.binomial(GOLD, ON_GOLD[1])
        gold = JudgeConfusion(yes, GOLD - yes, GOLD - no, no)
        by_gold = corrected_replicates(whole.value, strata.draws(whole, rng, 2000), gold, rng)
        replies = [reviews.Review(f"{seed} {n}", bool(each), None) for n, each in enumerate(said.flat)]
        for _ in range(many):  # each is chosen with the marks before it in view
            [following] = reviews.to_mark(replies, 1)
            at = int(following.name.split()[1])
            replies[at] = replace(following, right=bool(truth.flat[at]))
        by_marks = reviews.corrected(whole, reviews.counted(replies), rng)
        for place, found in enumerate((whole, by_gold, by_marks)):
            held[place] += holds(found, rate)
            widths[place] += (found.high - found.low) / 2
    return list(100 * held / runs), list(100 * widths / runs)


def by_marks() -> None:
    print(
        "| dialogues | S_dialogue | marks | raw | by the gold texts | by marks |\n| --- | --- | --- | --- | --- | --- |"
    )
    for items in (4, 40):
        for rate in (0.1, 0.4, 0.8):
            for many in (20, 40, 100) if items == 40 else (20, 40):
                held, widths = marked(rate, items, many)
                cells = " | ".join(f"{one:.0f} % ± {other:.0f}" for one, other in zip(held, widths, strict=True))
                print(f"| {CATEGORIES * items} | {100 - 100 * rate:.0f} | {many} | {cells} |", flush=True)


def main() -> None:
    if sys.argv[1:] == ["marks"]:
        by_marks()
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
