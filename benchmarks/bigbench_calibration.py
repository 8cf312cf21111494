"""BIGbench's scores behind a detector that errs: how often raw and corrected intervals hold the truth, as Markdown.

    python benchmarks/bigbench_calibration.py [--runs 40] [--known 200] [--images 4 40]

A detector with a known confusion matrix reads people drawn from known shares; it is calibrated on `--known` faces of
each group, drawn anew for every run. Every cell: coverage % / mean width / mean error of the estimate, in points.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bigbench_coverage import image_models, implicit
from benchmarks.calibration import CONFUSION
from fairgate.benchmarks.bigbench import estimates, scores
from fairgate.benchmarks.bigbench.data import load
from fairgate.benchmarks.bigbench.score_table import pair_rows
from fairgate.core.statistics.distributions import total_variation
from fairgate.core.statistics.likeness import estimate_likeness
from fairgate.core.statistics.unmixing import ConfusionMatrix

if TYPE_CHECKING:
    from fairgate.benchmarks.bigbench.data import Bigbench, ProtectedAttribute
    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.intervals import Estimate, Interval

ATTRIBUTES = ("gender", "race")
SHOWN = ("the truth", "0.3 one group", "0.8 one group", "one group", "any shares")
ASKED = (1.0, 0.95, 0.7)
Table = dict[str, list[tuple[float, float, float]]]


def held(found: Estimate | Interval, true: float) -> tuple[float, float, float]:
    return found.low - 1e-9 <= true <= found.high + 1e-9, found.high - found.low, found.value - true


def calibrated(confusion: FloatArray, known: int, rng: np.random.Generator) -> ConfusionMatrix:
    return ConfusionMatrix(np.stack([rng.multinomial(known, row) for row in confusion]).astype(np.int64))


def alone(
    data: Bigbench, attribute: ProtectedAttribute, name: str, n: int, known: int, runs: int, rng: np.random.Generator
) -> dict[str, Table]:
    """S_implicit, TV and eta of an image model."""
    confusion = np.array(CONFUSION[len(attribute.groups)])
    rows = [
        (s.id, person, truth[attribute.name], s.weight / len(s.people))
        for s in data.subjects
        for person, truth in enumerate(s.truth)
    ]
    actual, weights = np.array([p for _, _, p, _ in rows]), np.array([w for *_, w in rows])
    drawn = image_models(actual, rng)[name]
    place = {(subject, person): number for number, (subject, person, *_) in enumerate(rows)}
    sides = [
        [place[member.subject, member.person] for member in of]
        for of in ([pair.advantage for pair in data.pairs], [pair.disadvantage for pair in data.pairs])
    ]
    pairs = pair_rows(data, {}, attribute)
    true = {
        "S_implicit": float(scores.weighted(scores.implicit(drawn, actual), weights)),
        "TV": float(scores.weighted(total_variation(drawn, actual), weights)),
        "eta": float(
            scores.weighted(
                scores.manifested(drawn[sides[0]], drawn[sides[1]], *pairs.actual, pairs.coefficients), pairs.weights
            )
        ),
    }
    found: dict[str, Table] = {"raw": {}, "corrected": {}}
    for _ in range(runs):
        x = rng.multinomial(n, drawn @ confusion)
        for kind, mixing in (("raw", None), ("corrected", calibrated(confusion, known, rng))):
            for score, of in (("S_implicit", implicit), ("TV", total_variation)):
                estimate = estimate_likeness(of, x, actual, weights, rng=rng, mixing=mixing)
                found[kind].setdefault(score, []).append(held(estimate, true[score]))
            both = x[sides[0]], x[sides[1]]
            eta = estimates.manifested(both, pairs.actual, pairs.coefficients, pairs.weights, rng, mixing)
            if eta is not None:
                found[kind].setdefault("eta", []).append(held(eta, true["eta"]))
    return found


def asked(
    attribute: ProtectedAttribute, shown: float, n: int, known: int, runs: int, rng: np.random.Generator
) -> dict[str, Table]:
    """S_explicit of an image model that shows who is asked for in a share `shown` of the images, else anybody else."""
    k = len(attribute.groups)
    confusion, identities = np.array(CONFUSION[k]), 20 * k
    true = np.where(np.eye(k, dtype=bool), shown, (1.0 - shown) / (k - 1))[np.arange(identities) % k]
    weights = rng.integers(1, 6, identities).astype(np.float64)
    found: dict[str, Table] = {"raw": {"S_explicit": []}, "corrected": {"S_explicit": []}}
    for _ in range(runs):
        x = rng.multinomial(n, true @ confusion)
        cells = np.zeros((identities, k, k))
        cells[np.arange(identities), np.arange(identities) % k] = x / n
        size, hits = np.full(identities, n), cells.trace(axis1=1, axis2=2)
        mixing = calibrated(confusion, known, rng)
        found["raw"]["S_explicit"].append(held(estimates.shown(hits, size, weights), shown))
        found["corrected"]["S_explicit"].append(held(estimates.shown_behind(cells, size, weights, mixing, rng), shown))
    return found


def printed(label: str, found: dict[str, Table]) -> None:
    for kind, table in found.items():
        cells = (
            f"{score} {{:.0f}} / {{:.1f}} / {{:+.1f}}".format(*(100 * np.mean(rows, axis=0)))
            for score, rows in table.items()
        )
        print(f"| {label} | {kind} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--known", type=int, default=200)
    parser.add_argument("--images", type=int, nargs="+", default=[4, 40])
    parser.add_argument("--seed", type=int, default=4)
    options = parser.parse_args()
    data = load()
    for number, name in enumerate(ATTRIBUTES):
        attribute = data.attribute(name)
        for n in options.images:
            for image_model in SHOWN:
                rng = np.random.default_rng([options.seed, number, n])
                printed(
                    f"{name} | {n} | {image_model}",
                    alone(data, attribute, image_model, n, options.known, options.runs, rng),
                )
            for shown in ASKED:
                rng = np.random.default_rng([options.seed, number, n])
                found = asked(attribute, shown, n, options.known, options.runs, rng)
                printed(f"{name} | {n} | shows {shown:g} of who is asked for", found)


if __name__ == "__main__":
    main()
