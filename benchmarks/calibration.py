"""Raw and corrected scores behind a detector that errs: how often their intervals hold the truth, as a Markdown table.

python benchmarks/calibration.py [--runs 80] [--known 200]

A detector with a known confusion matrix reads faces drawn from known shares; it is calibrated on `--known` faces of
each group, drawn anew for every run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.coverage import STATISTICS, key_of, plug_in, truths
from fairgate.core.statistics.estimates import Estimates, estimate_scores
from fairgate.core.statistics.unmixing import ConfusionMatrix

if TYPE_CHECKING:
    from fairgate.core.statistics.distributions import FloatArray

SCORES = {"S_fact": "s_fact", "S_E": "s_e", "S_KLD": "s_kld", "S_fair": "s_fair", "TV": "tv", "d": "d"}
SHOWN = ("uniform", "mild, equal", "mild, differing", "strong, equal", "strong, differing", "a third each of three")
# Errors of the size that the papers report for FairFace (3 % on gender, 20 % on race), unevenly spread.
CONFUSION: dict[int, list[list[float]]] = {
    2: [[0.97, 0.03], [0.06, 0.94]],
    4: [[0.85, 0.02, 0.08, 0.05], [0.03, 0.88, 0.07, 0.02], [0.10, 0.06, 0.66, 0.18], [0.04, 0.01, 0.14, 0.81]],
}


def runs_of(
    k: int, n: int, truth: FloatArray, known: int, runs: int, rng: np.random.Generator
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Percent of runs whose interval holds the truth, mean width and mean error of the estimate, raw and corrected."""
    confusion = np.array(CONFUSION[k])
    shown = truth @ confusion
    right = {name: float(value) for name, value in plug_in(truth, k).items()}
    raw: list[Estimates] = []
    corrected: list[Estimates] = []
    for _ in range(runs):
        counts = rng.multinomial(n, shown / shown.sum(axis=-1, keepdims=True))
        mixing = ConfusionMatrix(np.stack([rng.multinomial(known, row) for row in confusion]).astype(np.int64))
        raw.append(estimate_scores(counts, key_of(k), rng=rng, replicates=600))
        corrected.append(estimate_scores(counts, key_of(k), rng=rng, replicates=600, mixing=mixing))
    return summed(raw, right), summed(corrected, right)


def summed(found: list[Estimates], right: dict[str, float]) -> dict[str, list[float]]:
    table = {}
    for name, field in SCORES.items():
        each = [getattr(estimates, field) for estimates in found]
        held = [e.low - 1e-9 <= right[name] <= e.high + 1e-9 for e in each]
        width, error = [e.high - e.low for e in each], [e.value - right[name] for e in each]
        table[name] = [100 * float(np.mean(of)) for of in (held, width, error)]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=80)
    parser.add_argument("--known", type=int, default=200)
    parser.add_argument("--seed", type=int, default=4)
    options = parser.parse_args()
    print(
        f"{options.runs} runs a row, {options.known} known faces a group: coverage % / mean width / bias, in points.\n"
    )
    print("| k | n | truth | |", " | ".join(SCORES), "|")
    print("|---|---|---|---|" + "---|" * len(SCORES))
    for k in STATISTICS:
        for n in (20, 200):
            for name in SHOWN:
                rng = np.random.default_rng([options.seed, k, n])
                pair = runs_of(k, n, truths(k)[name], options.known, options.runs, rng)
                for kind, table in zip(("raw", "corrected"), pair, strict=True):
                    cells = " | ".join("{:.0f} / {:.1f} / {:+.1f}".format(*table[score]) for score in SCORES)
                    print(f"| {k} | {n} | {name} | {kind} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
