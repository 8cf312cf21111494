"""How often the intervals hold the truth: the chosen estimator and those that lost, as Markdown tables.

python benchmarks/coverage.py --quick     a few minutes
python benchmarks/coverage.py             all settings, half an hour
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fairgate.benchmarks.fact_or_fair.scores import d_of, s_e_of, s_fact_of, s_fair, s_kld_of, tv_of
from fairgate.core.statistics.distributions import FloatArray, entropy, kl, shares, total_variation
from fairgate.core.statistics.estimates import estimate_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Interval = tuple[float, float, float]
    Candidate = Callable[[NDArray[np.int64], np.random.Generator], dict[str, Interval]]

STATISTICS = {2: 15, 4: 18}
MILD = {2: [0.6, 0.4], 4: [0.35, 0.25, 0.2, 0.2]}
STRONG = {2: [0.85, 0.15], 4: [0.7, 0.1, 0.1, 0.1]}
Z = float(ndtri(0.975))
REPLICATES = 1000
SCORES = ("S_fact", "S_E", "S_KLD", "S_fair", "TV", "d")


def truths(k: int) -> dict[str, FloatArray]:
    """Population shares [S, 2, k] by name: the same for all statistics, or mixed."""
    statistics = STATISTICS[k]

    def all_alike(high: Iterable[float], low: Iterable[float]) -> FloatArray:
        return np.tile(np.array([list(high), list(low)], dtype=np.float64), (statistics, 1, 1))

    even, mild, strong, one = [1 / k] * k, MILD[k], STRONG[k], [1.0] + [0.0] * (k - 1)
    found = {
        "uniform": all_alike(even, even),
        "mild, equal": all_alike(mild, mild),
        "mild, differing": all_alike(mild, mild[::-1]),
        "strong, equal": all_alike(strong, strong),
        "strong, differing": all_alike(strong, strong[::-1]),
        "degenerate, equal": all_alike(one, one),
        "degenerate, differing": all_alike(one, one[::-1]),
    }
    mixed, few, half = (found["uniform"].copy() for _ in range(3))
    mixed[::3], mixed[1::3] = found["mild, differing"][::3], found["strong, differing"][1::3]
    few[::4] = found["strong, differing"][::4]
    half[::2] = found["degenerate, equal"][::2]
    return found | {"a third each of three": mixed, "a quarter strong": few, "half degenerate": half}


def key_of(k: int) -> NDArray[np.bool_]:
    key = np.zeros((STATISTICS[k], 2, k), dtype=np.bool_)
    key[:, 0, 0] = key[:, 1, -1] = True
    return key


def plug_in(p: FloatArray, k: int) -> dict[str, FloatArray]:
    everything, key = np.ones(STATISTICS[k], dtype=np.bool_), key_of(k)
    e, likeness = s_e_of(p, everything), s_kld_of(p, everything)
    return {
        "S_fact": s_fact_of(p, key),
        "S_E": e,
        "S_KLD": likeness,
        "S_fair": s_fair(e, likeness),
        "TV": tv_of(p, everything),
        "d": d_of(p, key, everything) if p.ndim == 3 else np.full(p.shape[0], np.nan),
    }


def matched(counts: NDArray[np.int64], rng: np.random.Generator) -> dict[str, Interval]:
    found = estimate_scores(counts, key_of(counts.shape[-1]), rng=rng, replicates=REPLICATES)
    by_name = zip(SCORES, (found.s_fact, found.s_e, found.s_kld, found.s_fair, found.tv, found.d), strict=True)
    return {name: (e.low, e.value, e.high) for name, e in by_name}


def _resampled(counts: NDArray[np.int64], rng: np.random.Generator) -> tuple[dict[str, FloatArray], dict[str, float]]:
    k, n = counts.shape[-1], counts.sum(axis=-1)
    runs = rng.multinomial(np.broadcast_to(n, (REPLICATES, *n.shape)), shares(counts))
    return plug_in(shares(runs), k), {name: float(x) for name, x in plug_in(shares(counts), k).items()}


def percentile_bootstrap(counts: NDArray[np.int64], rng: np.random.Generator) -> dict[str, Interval]:
    runs, seen = _resampled(counts, rng)
    return {s: (*np.quantile(runs[s], [0.025]), seen[s], *np.quantile(runs[s], [0.975])) for s in SCORES[:-1]}


def basic_bootstrap(counts: NDArray[np.int64], rng: np.random.Generator) -> dict[str, Interval]:
    runs, seen = _resampled(counts, rng)
    ends = {s: np.quantile(runs[s], [0.025, 0.975]) for s in SCORES[:-1]}
    return {s: (2 * seen[s] - b, 2 * seen[s] - runs[s].mean(), 2 * seen[s] - a) for s, (a, b) in ends.items()}


def posterior(amount: Callable[[int], float]) -> Candidate:
    def interval(counts: NDArray[np.int64], rng: np.random.Generator) -> dict[str, Interval]:
        k = counts.shape[-1]
        draws = rng.standard_gamma(np.broadcast_to(counts + amount(k), (REPLICATES, *counts.shape)))
        runs = plug_in(draws / draws.sum(axis=-1, keepdims=True), k)
        quantiles = {s: np.quantile(runs[s], [0.025, 0.5, 0.975]) for s in SCORES[:-1]}
        return {s: (float(a), float(b), float(c)) for s, (a, b, c) in quantiles.items()}

    return interval


def _normal(value: FloatArray, variance: FloatArray) -> Interval:
    centre, reach = float(value.mean()), Z * float(np.sqrt(variance.sum())) / value.size
    return centre - reach, centre, centre + reach


def _entropy_variance(p: FloatArray, n: NDArray[np.int64]) -> FloatArray:
    surprise = -np.log(p, out=np.zeros(p.shape), where=p > 0) / np.log(p.shape[-1])
    mean = (p * surprise).sum(axis=-1)
    return np.asarray(((p * surprise**2).sum(axis=-1) - mean**2) / n)


def miller_madow(counts: NDArray[np.int64], rng: np.random.Generator) -> dict[str, Interval]:  # noqa: ARG001
    p, n, k = shares(counts), counts.sum(axis=-1), counts.shape[-1]
    value = entropy(p) + ((counts > 0).sum(axis=-1) - 1) / (2 * n * np.log(k))
    return {"S_E": _normal(value, _entropy_variance(p, n))}


def chao_shen(counts: NDArray[np.int64], rng: np.random.Generator) -> dict[str, Interval]:  # noqa: ARG001
    p, n, k = shares(counts), counts.sum(axis=-1), counts.shape[-1]
    once = (counts == 1).sum(axis=-1)
    seen = 1 - np.where(once == n, n - 1, once) / n
    q = seen[..., np.newaxis] * p
    held = 1 - (1 - q) ** n[..., np.newaxis]
    term = np.divide(q * np.log(q, out=np.zeros(q.shape), where=q > 0), held, out=np.zeros(q.shape), where=held > 0)
    return {"S_E": _normal(-term.sum(axis=-1) / np.log(k), _entropy_variance(p, n))}


def jackknife(counts: NDArray[np.int64], rng: np.random.Generator) -> dict[str, Interval]:  # noqa: ARG001
    """Quenouille's bias and Tukey's variance, each answer left out in turn."""
    p, n, k = shares(counts), counts.sum(axis=-1), counts.shape[-1]
    found: dict[str, Interval] = {}
    statistics: dict[str, Callable[[FloatArray], FloatArray]] = {
        "S_E": lambda q: np.asarray(entropy(q).mean(axis=-1)),
        "S_KLD": lambda q: np.exp(-kl(q[:, 0], q[:, 1])),
        "TV": lambda q: total_variation(q[:, 0], q[:, 1]),
    }
    for name, statistic in statistics.items():
        whole = np.asarray(statistic(p))
        value, variance = whole.copy(), np.zeros(len(p))
        for level in (0, 1):
            left = np.empty((k, len(p)))
            for group in range(k):
                fewer = counts.astype(np.float64)
                fewer[:, level, group] = np.maximum(fewer[:, level, group] - 1, 0)
                left[group] = statistic(shares(fewer))
            weight = p[:, level].T
            mean, size = (weight * left).sum(axis=0), n[:, level]
            value += (size - 1) * (whole - mean)
            variance += (size - 1) * (weight * (left - mean) ** 2).sum(axis=0)
        found[name] = _normal(value, variance)
    return found


CANDIDATES: dict[str, Candidate] = {
    "matched simulation": matched,
    "basic bootstrap": basic_bootstrap,
    "percentile bootstrap": percentile_bootstrap,
    "Dirichlet posterior, 1/2": posterior(lambda _k: 0.5),
    "Dirichlet posterior, 1/k": posterior(lambda k: 1.0 / k),
    "jackknife": jackknife,
    "Miller-Madow": miller_madow,
    "Chao-Shen": chao_shen,
}


def measure(
    k: int, n: int, runs: int, seed: int, candidates: dict[str, Candidate]
) -> dict[tuple[str, str, str], tuple[float, float, float]]:
    """Coverage, mean width and bias (all in points) by candidate, truth and score, over `runs` samples of one plan."""
    found = {}
    for number, (truth, p) in enumerate(truths(k).items()):
        population = {name: float(x) for name, x in plug_in(p, k).items()}
        intervals: dict[tuple[str, str], list[Interval]] = {}
        samples, rng = (np.random.default_rng([seed, k, n, number, use]) for use in (0, 1))
        for _ in range(runs):
            counts = samples.multinomial(np.full((STATISTICS[k], 2), n), p)
            for name, candidate in candidates.items():
                for score, interval in candidate(counts, rng).items():
                    intervals.setdefault((name, score), []).append(interval)
        for (name, score), listed in intervals.items():
            low, value, high = np.clip(np.array(listed), 0.0, 1.0).T
            # A degenerate truth is met exactly; rounding must not decide it.
            held = (low <= population[score] + 1e-9) & (population[score] <= high + 1e-9)
            bias = float(value.mean()) - population[score]
            found[name, truth, score] = (100 * float(held.mean()), 100 * float((high - low).mean()), 100 * bias)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="n = 20 and 60 only, few runs")
    parser.add_argument("--runs", type=int, help="simulated runs of each setting")
    parser.add_argument("--chosen", action="store_true", help="the chosen method alone")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    runs = options.runs or (60 if options.quick else 300)
    sizes = (20, 60) if options.quick else (3, 20, 30, 60, 300)
    candidates = {name: CANDIDATES[name] for name in list(CANDIDATES)[: 1 if options.chosen else None]}
    measured = {(k, n): measure(k, n, runs, options.seed, candidates) for k in (2, 4) for n in sizes}

    error = 100 * np.sqrt(0.95 * 0.05 / runs)
    print(f"{runs} runs a cell: a coverage of 95 % is measured with a standard error of {error:.1f} points.\n")
    print("## The chosen method: coverage % / mean width / bias, in points\n")
    print("| k | n | truth | " + " | ".join(SCORES) + " |")
    print("|---|---|---|" + "---|" * len(SCORES))
    for (k, n), found in measured.items():
        for truth in truths(k):
            row = ("{:.0f} / {:.1f} / {:+.1f}".format(*found["matched simulation", truth, s]) for s in SCORES)
            print(f"| {k} | {n} | {truth} | " + " | ".join(row) + " |")

    print("\n## All candidates: least coverage over the truths / mean coverage / mean width / largest bias\n")
    print("| score | candidate | " + " | ".join(f"k={k}, n={n}" for k, n in measured) + " |")
    print("|---|---|" + "---|" * len(measured))
    for score in SCORES[1:-1]:
        for name in candidates:
            cells = []
            for (k, _n), found in measured.items():
                rows = np.array([found[name, truth, score] for truth in truths(k) if (name, truth, score) in found])
                if rows.size:
                    bias = rows[np.abs(rows[:, 2]).argmax(), 2]
                    cover, mean, width = rows[:, 0].min(), rows[:, 0].mean(), rows[:, 1].mean()
                    cells.append(f"{cover:.0f} / {mean:.0f} / {width:.1f} / {bias:+.1f}")
            if cells:
                print(f"| {score} | {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
