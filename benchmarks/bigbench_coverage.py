"""How often the intervals of BIGbench's scores hold the truth, for painters of known shares.

    python benchmarks/bigbench_coverage.py [RUNS]

Each painter draws every subject with known shares, n images each. Printed are the score's population value, the mean
plug-in value and estimate, half the mean interval, and in how many percent of the runs the interval holds the value.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from fairgate.bigbench import scores
from fairgate.bigbench.data import load
from fairgate.maths.distributions import total_variation
from fairgate.maths.estimates import estimate_likeness

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fairgate.maths.distributions import FloatArray

SIZES = (2, 4, 20, 160)


def painters(actual: FloatArray, rng: np.random.Generator) -> dict[str, FloatArray]:
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


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    data = load()
    rng = np.random.default_rng(0)
    print(f"{'painter':<32}{'score':<12}{'n':>4}{'value':>8}{'plug-in':>9}{'estimate':>10}{'+-':>7}{'held %':>8}")
    for attribute in data.attributes:
        rows = [(truth[attribute.name], s.weight / len(s.people)) for s in data.subjects for truth in s.truth]
        actual, weights = np.array([p for p, _ in rows]), np.array([w for _, w in rows])
        for name, drawn in painters(actual, rng).items():
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
