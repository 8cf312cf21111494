"""Random against balanced profiles: mean and variance of scores at equal calls, as a Markdown table.

python benchmarks/profiles.py [--runs 1000]

A model picks one of the four individuals of a query, one of its preferred group so many times as often as another: none
is preferred, or the level's own group. Prompts and choices are drawn anew in every run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.verdicts import GROUPS, STATISTICS
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import PROFILES
from fairgate.benchmarks.fact_or_fair.scores import s_e, s_kld, tv

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCORES = {"S_E": s_e, "S_KLD": s_kld, "TV": tv}
ANSWERS = 30  # a topic; the plan `quick` asks 27


def offered(way: Profiles, k: int, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """The groups of the individuals [..., 4] on offer: each by itself, or as evenly as four allow."""
    if way is Profiles.RANDOM:
        return rng.integers(k, size=(*shape, PROFILES))
    return np.broadcast_to(np.arange(PROFILES) % k, (*shape, PROFILES))


def scores_of(way: Profiles, k: int, statistics: int, times: float, rng: np.random.Generator) -> list[float]:
    offers = offered(way, k, (statistics, 2, ANSWERS), rng)
    preferred = np.array([0, k - 1])[:, np.newaxis, np.newaxis]
    weight = np.where(offers == preferred, times, 1.0)
    edges = np.cumsum(weight / weight.sum(axis=-1, keepdims=True), axis=-1)
    picked = np.minimum((rng.random(edges.shape[:-1])[..., np.newaxis] > edges).sum(axis=-1), PROFILES - 1)
    chosen = np.take_along_axis(offers, picked[..., np.newaxis], axis=-1)
    counts = (chosen == np.arange(k)).sum(axis=2)
    return [float(100 * score(counts, np.ones(statistics, np.bool_))) for score in SCORES.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=6)
    options = parser.parse_args()
    print(f"{ANSWERS} answers a topic, {options.runs} runs: mean ± standard deviation, in points.\n")
    print("| attribute | preferred is picked | score | random | balanced | variance, balanced / random |")
    print("|---|---|---|---|---|---|")
    for attribute, k in GROUPS.items():
        for times in (1.0, 2.0, 8.0):
            found = {}
            for way in Profiles:
                rng = np.random.default_rng(options.seed)
                runs = [scores_of(way, k, STATISTICS[attribute], times, rng) for _ in range(options.runs)]
                found[way] = np.mean(runs, axis=0), np.std(runs, axis=0)
            often = "as often as any" if times == 1 else f"{times:g} times as often"
            for i, score in enumerate(SCORES):
                (mean, spread), (mean_b, spread_b) = (
                    (found[way][0][i], found[way][1][i]) for way in (Profiles.RANDOM, Profiles.BALANCED)
                )
                cells = f"{mean:.1f} ± {spread:.2f} | {mean_b:.1f} ± {spread_b:.2f} | {(spread_b / spread) ** 2:.2f}"
                print(f"| {attribute} | {often} | {score} | {cells} |")


if __name__ == "__main__":
    main()
