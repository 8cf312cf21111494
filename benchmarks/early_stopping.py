"""What stopping early costs in errors and saves in calls, as Markdown tables.

python benchmarks/early_stopping.py [--runs 200]

First each gate by itself, on a model exactly at its limit, where both a pass and a fail are errors, of at most 2.5 %
each: the run stops at the first look that decides this very gate, the worst that looking can do. Then whole runs, which
stop when every subjective gate of thresholds.toml is decided.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.verdicts import FIELDS, GATES, GROUPS, LESS_IS_BETTER, STATISTICS, Gate, key_of, model_at, verdict
from fairgate.benchmarks.registry import registry
from fairgate.domain import Modality
from fairgate.fact_or_fair.topics import Context, Task
from fairgate.maths.estimates import estimate_scores
from fairgate.maths.sequential import confidences, rounds
from fairgate.verdicts.thresholds import GateLimit, Thresholds, load

if TYPE_CHECKING:
    from fairgate.maths.distributions import FloatArray

SCENARIOS = 3
CONFIDENCE = 0.95


def looks(per_scenario: int, first: int) -> tuple[tuple[int, float], ...]:
    """Answers a topic and confidence of each look."""
    sizes = rounds(per_scenario, first)
    return tuple((SCENARIOS * n, c) for n, c in zip(sizes, confidences(sizes, CONFIDENCE), strict=True))


def at_limit(
    gate: Gate, p: FloatArray, plan: tuple[tuple[int, float], ...], runs: int, rng: np.random.Generator
) -> Counter[str]:
    """The verdicts of a gate that is looked at until it is decided."""
    found: Counter[str] = Counter()
    for _ in range(runs):
        counts = np.zeros(p.shape, np.int64)
        said, before = "inconclusive", 0
        for n, confidence in plan:
            counts += rng.multinomial(np.full(p.shape[:2], n - before), p)
            before = n
            found_scores = estimate_scores(
                counts, key_of(gate.attribute), rng=rng, replicates=600, confidence=confidence
            )
            estimate = getattr(found_scores, FIELDS[gate.score])
            said = verdict(estimate, gate.limit, at_most=gate.score in LESS_IS_BETTER)
            if said != "inconclusive":
                break
        found[said] += 1
    return found


def shares_of(kind: str, attribute: str) -> FloatArray:
    """A model's true shares [S, 2, k]: by chance, or towards the level's own group in so many percent of choices."""
    k, key = GROUPS[attribute], key_of(attribute).astype(np.float64)
    part = {"fair": 0.0, "mildly unfair": 0.15, "stereotype": 0.8}[kind]
    return np.asarray((1 - part) / k + part * key)


def whole_run(
    kind: str, thresholds: Thresholds, plan: tuple[tuple[int, float], ...], rng: np.random.Generator
) -> tuple[int, Counter[str]]:
    """Answers a topic when all gates were decided, and their verdicts."""
    cells = [(context, attribute) for context in Context for attribute in GROUPS]
    counts = {cell: np.zeros((STATISTICS[cell[1]], 2, GROUPS[cell[1]]), np.int64) for cell in cells}
    before, said = 0, Counter[str]()
    for n, confidence in plan:
        said = Counter[str]()
        for context, attribute in cells:
            p = shares_of(kind, attribute)
            counts[context, attribute] += rng.multinomial(np.full(p.shape[:2], n - before), p)
            found = estimate_scores(
                counts[context, attribute], key_of(attribute), rng=rng, replicates=600, confidence=confidence
            )
            for limit in _limits(thresholds, context, attribute):
                at_most = limit.max is not None
                edge = limit.max if limit.max is not None else limit.min
                said[verdict(getattr(found, FIELDS[limit.score]), edge or 0.0, at_most=at_most)] += 1
        before = n
        if not said["inconclusive"]:
            break
    return before, said


def _limits(thresholds: Thresholds, context: Context, attribute: str) -> list[GateLimit]:
    return [
        limit
        for limit in thresholds.gates
        if limit.modality is Modality.TEXT and limit.task is Task.SUBJECTIVE and limit.score in FIELDS
        and context in limit.contexts and limit.attribute in (None, attribute)
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--whole", type=int, default=20, help="simulated whole runs of each model")
    parser.add_argument("--first", type=int, default=7, help="queries a scenario before the first look")
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    thresholds = load(Path(__file__).resolve().parents[1] / "thresholds.toml", registry())
    plan = looks(thresholds.plans["paper"].size("fact-or-fair").subjective, options.first)
    print("Looks (answers a topic, confidence %):", ", ".join(f"{n} ({100 * c:.2f})" for n, c in plan))
    print(f"\nA gate at its limit, {options.runs} runs each:\n")
    print("| score | attribute | limit | passes % | fails % |\n|---|---|---|---|---|")
    for number, gate in enumerate(GATES):
        p = model_at(gate.score, gate.attribute, gate.limit)
        if gate.score == "S_fact" or p is None:
            continue
        found = at_limit(gate, p, plan, options.runs, np.random.default_rng([options.seed, number]))
        shown = " | ".join(f"{100 * found[said] / options.runs:.1f}" for said in ("pass", "fail"))
        print(f"| {gate.score} | {gate.attribute} | {gate.limit:g} | {shown} |", flush=True)
    print(f"\nWhole runs, {options.whole} of each model:\n")
    print(
        "| model | answers a topic at the end | calls saved % | gates passed / failed / inconclusive |\n"
        "|---|---|---|---|"
    )
    for kind in ("fair", "mildly unfair", "stereotype"):
        rng = np.random.default_rng([options.seed, 99])
        ends = [whole_run(kind, thresholds, plan, rng) for _ in range(options.whole)]
        answers = Counter(n for n, _ in ends)
        saved = 100 * (1 - np.mean([n for n, _ in ends]) / plan[-1][0])
        said = sum((each for _, each in ends), Counter[str]())
        at = ", ".join(f"{n} ({runs} runs)" for n, runs in sorted(answers.items()))
        mean = " / ".join(f"{said[word] / options.whole:.1f}" for word in ("pass", "fail", "inconclusive"))
        print(f"| {kind} | {at} | {saved:.0f} | {mean} |", flush=True)


if __name__ == "__main__":
    main()
