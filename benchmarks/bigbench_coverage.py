"""How often the intervals of BIGbench's scores hold the truth, for image models of known shares.

    python -m benchmarks.bigbench_coverage [RUNS] [eta]

Each image model draws every subject with known shares, n images each. Printed are the score's population value, the
mean plug-in value and estimate, half the mean interval, and the percentage of runs whose interval holds the value.
`eta`: that of eta alone, also of image models that draw the two sides of a pair apart, or dispersed about the truth;
beside it how often the estimate is marked as reliable, and how often such an interval lies wholly on a wrong side.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench import estimates, scores
from fairgate.benchmarks.bigbench.data import load
from fairgate.benchmarks.bigbench.score_table import pair_rows
from fairgate.core.statistics.distributions import total_variation
from fairgate.core.statistics.likeness import estimate_likeness

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fairgate.core.statistics.distributions import FloatArray

SIZES = (2, 4, 20, 160)


def image_models(actual: FloatArray, rng: np.random.Generator) -> dict[str, FloatArray]:
    rows, k = actual.shape
    one = np.eye(k)[0]
    half, few = rng.random((rows, 1)) < 0.5, rng.random((rows, 1)) < 0.1
    return {
        "the truth": actual,
        "0.3 one group": 0.7 * actual + 0.3 * one,
        "0.8 one group": 0.2 * actual + 0.8 * one,
        "one group": 0 * actual + one,
        "any shares": rng.dirichlet(np.ones(k), rows),
        "half of subjects 0.7 one group": np.where(half, actual, 0.3 * actual + 0.7 * one),
        "a tenth of subjects one group": np.where(few, one, actual),
    }


def implicit(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """As `scores.implicit`, its second argument under the name that `total_variation` gives it."""
    return scores.implicit(p, q)


def sided(actual: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Shares of the advantaged and the disadvantaged side of all pairs."""
    first, last = (np.eye(actual[0].shape[1])[place] for place in (0, -1))
    found = {name: (both[: len(actual[0])], both[len(actual[0]) :]) for name, both in image_models(
        np.concatenate(actual), rng).items()}  # fmt: skip
    for part in (0.1, 0.3, 0.8, 1.0):
        found[f"{part:g} one group for advantage, another else"] = (
            (1 - part) * actual[0] + part * first,
            (1 - part) * actual[1] + part * last,
        )
    for amount in (3.0, 20.0):
        one, other = (np.array([rng.dirichlet(amount * row + 1e-3) for row in side]) for side in actual)
        found[f"dispersed about the truth, {amount:g}"] = one, other
    return found


def of_eta(runs: int) -> None:
    data = load()
    print("| attribute | image model | images | eta | estimate | half-width | held % | reliable % | wrong % |")
    print("|---|---|---|---|---|---|---|---|---|")
    for attribute in data.attributes:
        pairs = pair_rows(data, {}, attribute)
        for name, (p, q) in sided((pairs.actual[0], pairs.actual[1]), np.random.default_rng(0)).items():
            each = scores.manifested(p, q, *pairs.actual, pairs.coefficients)
            true = float(scores.weighted(each, pairs.weights))
            for n in (4, 20, 160):
                rng = np.random.default_rng(n)
                rows = []
                for _ in range(runs):
                    drawn = rng.multinomial(n, p), rng.multinomial(n, q)
                    found = estimates.manifested(drawn, pairs.actual, pairs.coefficients, pairs.weights, rng)
                    assert found is not None  # noqa: S101 - every subject was drawn
                    held = found.low - 1e-9 <= true <= found.high + 1e-9
                    wrong = found.reliable and not held
                    rows.append((found.value, (found.high - found.low) / 2, held, found.reliable, wrong))
                value, half, *shares = 100 * np.mean(np.array(rows, dtype=np.float64), axis=0)
                told = " | ".join(f"{share:.0f}" for share in shares)
                print(f"| {attribute.name} | {name} | {n} | {100 * true:.1f} | {value:.1f} | {half:.1f} | {told} |",
                      flush=True)  # fmt: skip


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    if sys.argv[2:] == ["eta"]:
        of_eta(runs)
        return
    data = load()
    rng = np.random.default_rng(0)
    print(f"{'image model':<32}{'score':<12}{'n':>4}{'value':>8}{'plug-in':>9}{'estimate':>10}{'+-':>7}{'held %':>8}")
    for attribute in data.attributes:
        rows = [(truth[attribute.name], s.weight / len(s.people)) for s in data.subjects for truth in s.truth]
        actual, weights = np.array([p for p, _ in rows]), np.array([w for _, w in rows])
        for name, drawn in image_models(actual, rng).items():
            for score, of in (("S_implicit", implicit), ("TV", total_variation)):
                true = float(scores.weighted(of(drawn, actual), weights))
                for n in SIZES:
                    found = []
                    for _ in range(runs):
                        x = rng.multinomial(n, drawn)
                        estimate = estimate_likeness(of, x, actual, weights, rng=rng)
                        plug_in = float(scores.weighted(of(x / n, actual), weights))
                        held = estimate.low - 1e-6 <= true <= estimate.high + 1e-6
                        found.append((plug_in, estimate.value, (estimate.high - estimate.low) / 2, held))
                    mean = 100 * np.mean(found, axis=0)
                    label = f"{score} {attribute.name}"
                    print(
                        f"{name:<32}{label:<18}{n:>4}{100 * true:>8.1f}{mean[0]:>9.1f}{mean[1]:>10.1f}{mean[2]:>7.1f}"
                        f"{mean[3]:>8.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
