"""Comparisons with a baseline: how often intervals of differences hold the truth, and what limits on drops find.

    python -m benchmarks.baseline coverage --runs 40
    python -m benchmarks.baseline planted --runs 30

Models answer the same queries twice; `alike` is the chance that the second answer is drawn to agree with the first as
often as the two distributions allow, else it is drawn by itself. `coverage` compares the chosen interval with those
that lost; `planted` moves one attribute in all four contexts by so many points of TV, and holds the limits of
thresholds.toml against whole runs of ten cells.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.coverage import key_of, plug_in, truths
from benchmarks.verdicts import model_at
from fairgate.comparison.comparing import Scored, entry_of, gates
from fairgate.domain import Context, Task
from fairgate.fact_or_fair.change import moved
from fairgate.maths.distributions import shares
from fairgate.maths.estimates import estimate_scores
from fairgate.maths.paired import resampled
from fairgate.verdicts.gate import Verdict
from fairgate.verdicts.thresholds import COMPARED, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fairgate.maths.distributions import FloatArray

CHECKOUT = Path(__file__).resolve().parents[1]
FIELDS = dict(zip(COMPARED, ("s_fact", "s_e", "s_kld", "s_fair", "tv"), strict=True))
GROUPS = {"gender": 2, "race": 4}
OBJECTIVE = 3  # answers a topic
SUBJECTIVE = {"quick": 30, "paper": 300}
MOVES = (
    ("uniform", "uniform"),
    ("mild, differing", "mild, differing"),
    ("strong, differing", "strong, differing"),
    ("uniform", "mild, differing"),
    ("uniform", "a quarter strong"),
    ("strong, differing", "mild, differing"),
)
Interval = tuple[float, float, float]


def coupled(before: FloatArray, after: FloatArray, alike: float) -> FloatArray:
    """Chances [S, 2, k, k] of pairs of answers whose shares are `before` and `after` [S, 2, k]."""
    apart = before[..., :, np.newaxis] * after[..., np.newaxis, :]
    common = np.minimum(before, after)
    left, right = before - common, after - common
    rest = left.sum(axis=-1)[..., np.newaxis, np.newaxis]
    moves = left[..., :, np.newaxis] * right[..., np.newaxis, :]
    moves = np.divide(moves, rest, out=np.zeros_like(moves), where=rest > 1e-12)
    agreeing = moves + np.eye(before.shape[-1]) * common[..., np.newaxis, :]
    both: FloatArray = alike * agreeing + (1.0 - alike) * apart
    return both


def pairs(chances: FloatArray, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    statistics, _, k, _ = chances.shape
    drawn = rng.multinomial(np.full((statistics, 2), n), chances.reshape(statistics, 2, -1))
    return np.asarray(drawn.reshape(statistics, 2, k, k), dtype=np.int64)


def scores_of(counts: FloatArray, k: int) -> dict[str, FloatArray]:
    return {name: np.asarray(value) for name, value in plug_in(shares(counts), k).items() if name in COMPARED}


def candidates(
    tables: NDArray[np.int64], n: int, rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, Interval]]]:
    k = tables.shape[-1]
    key, size = key_of(k), np.full(tables.shape[:2], n)
    found = moved(tables, key, size, rng)
    yield "chosen", {name: (each.shift.low, each.shift.value, each.shift.high) for name, each in found.items()}
    runs = [scores_of(each, k) for each in resampled(tables.astype(np.float64), size, rng, 400)]
    seen = [scores_of(tables.sum(axis=axis), k) for axis in (-1, -2)]
    percentile, basic, unpaired = {}, {}, {}
    alone = [estimate_scores(tables.sum(axis=axis), key, rng=rng, replicates=1000) for axis in (-1, -2)]
    for name in COMPARED:
        value = float(seen[1][name] - seen[0][name])
        low, high = np.quantile(runs[1][name] - runs[0][name], [0.025, 0.975])
        percentile[name] = (float(low), value, float(high))
        basic[name] = (float(2 * value - high), value, float(2 * value - low))
        one, other = (getattr(each, FIELDS[name]) for each in alone)
        reach = float(np.hypot(one.high - one.low, other.high - other.low)) / 2
        unpaired[name] = (other.value - one.value - reach, other.value - one.value, other.value - one.value + reach)
    yield "percentile bootstrap of pairs", percentile
    yield "basic bootstrap of pairs", basic
    yield "estimates, not paired", unpaired


def coverage(runs: int, seed: int) -> None:
    print("| k | n | from → to | alike | interval | " + " | ".join(f"Δ{name}" for name in COMPARED) + " |")
    print("|---|---|---|---|---|" + "---|" * len(COMPARED))
    for k in (2, 4):
        for n in (30, 300):
            for start, end in MOVES:
                for alike in (0.0, 0.8):
                    before, after = truths(k)[start], truths(k)[end]
                    truth = {name: float(plug_in(after, k)[name] - plug_in(before, k)[name]) for name in COMPARED}
                    rng = np.random.default_rng([seed, k, n])
                    listed: dict[str, list[dict[str, Interval]]] = {}
                    for _ in range(runs):
                        for name, found in candidates(pairs(coupled(before, after, alike), n, rng), n, rng):
                            listed.setdefault(name, []).append(found)
                    for name, found_in in listed.items():
                        cells = []
                        for score in COMPARED:
                            low, value, high = np.array([each[score] for each in found_in]).T
                            held = (low <= truth[score] + 1e-9) & (truth[score] <= high + 1e-9)
                            off = float(value.mean()) - truth[score]
                            width = float((high - low).mean())
                            cells.append(f"{100 * held.mean():.0f} / {100 * width:.1f} / {100 * off:+.1f}")
                        print(f"| {k} | {n} | {start} → {end} | {alike:g} | {name} | {' | '.join(cells)} |", flush=True)


def planted(runs: int, seed: int, plans: list[str]) -> None:
    limits = load(CHECKOUT / "thresholds.toml").baseline
    print("| plan | TV before | alike | planted, race | runs with a failed gate: any | of race | of gender | passed |")
    print("|---|---|---|---|---|---|---|---|")
    for plan in plans:
        for level in (0.0, 15.0):
            for alike in (0.0, 0.8):
                for points in (0.0, 5.0):
                    rng = np.random.default_rng([seed, SUBJECTIVE[plan], int(level), int(10 * alike), int(points)])
                    any_of, race, gender, passed = 0, 0, 0, []
                    for _ in range(runs):
                        held = gates(tuple(whole_run(level, points, alike, SUBJECTIVE[plan], rng)), limits)
                        failed = {each.entry.attribute for each in held if each.verdict is Verdict.FAIL}
                        any_of, race, gender = (
                            any_of + bool(failed),
                            race + ("race" in failed),
                            gender + ("gender" in failed),
                        )
                        passed.append(sum(each.verdict is Verdict.PASS for each in held) / len(held))
                    rates = " | ".join(f"{100 * each / runs:.0f} %" for each in (any_of, race, gender))
                    passing = f"{100 * np.mean(passed):.0f} %"
                    print(f"| {plan} | {level:g} | {alike:g} | {points:g} | {rates} | {passing} |", flush=True)


def whole_run(level: float, points: float, alike: float, n: int, rng: np.random.Generator) -> Iterator[Scored]:
    """The moves of all ten cells: facts as they were, race moved by so many points of TV in every context."""
    for attribute, k in GROUPS.items():
        known = model_at("S_fact", attribute, 90 if k == 2 else 50)
        start = model_at("TV", attribute, level)
        end = model_at("TV", attribute, level + (points if attribute == "race" else 0.0))
        assert known is not None  # noqa: S101 - a benchmark's own numbers
        assert start is not None  # noqa: S101
        assert end is not None  # noqa: S101
        cells: list[tuple[Task, Context | None, FloatArray, int]] = [
            (Task.OBJECTIVE, None, coupled(known, known, alike), OBJECTIVE)
        ]
        cells += [(Task.SUBJECTIVE, context, coupled(start, end, alike), n) for context in Context]
        for task, context, chances, size in cells:
            tables = pairs(chances, size, rng)
            moves = moved(tables, key_of(k), np.full(tables.shape[:2], size), rng)
            for score, move in moves.items():
                entry = entry_of(task, context, attribute, score, move, int(tables.sum()), (len(tables), len(tables)))
                yield Scored(score, entry, move)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["coverage", "planted"])
    parser.add_argument("--runs", type=int, default=30, help="simulated runs of each setting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plan", action="append", choices=sorted(SUBJECTIVE), help="of `planted`; default: both")
    options = parser.parse_args()
    if options.what == "coverage":
        coverage(options.runs, options.seed)
    else:
        planted(options.runs, options.seed, options.plan or ["quick", "paper"])


if __name__ == "__main__":
    main()
