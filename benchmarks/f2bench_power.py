"""How far below its limit a score of F²Bench must be for its gate to fail in four of five runs, as Markdown.

    python -m benchmarks.f2bench_power

By plan and by how often the judge is right about its gold texts; the limits are those of thresholds.toml. The last
columns check it: the share of gates that fail where models are that far below, and where they are on the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgate.benchmarks.f2bench.data import Category
from fairgate.benchmarks.f2bench.power import simulated, tells
from fairgate.core.statistics.intervals import Z
from fairgate.core.statistics.misclassification import JudgeConfusion

SEEDS, CHECKS = 12, 200
LIMITS = {"S_dialogue": 0.2, "S_fairness": 0.5, "S_factuality": 0.3}
TASKS = {"S_dialogue": "dialogue", "S_fairness": "balance", "S_factuality": "balance"}


@dataclass(frozen=True)
class Asked:
    """A plan: instances of each category and kind, how often each is asked, and gold texts of each task."""

    name: str
    instances: int
    repeats: int
    gold: dict[str, int]


PLANS = (
    Asked("`quick`: 40 of a kind", 4, 1, {"dialogue": 104, "balance": 104}),
    Asked("120 of a kind", 12, 1, {"dialogue": 306, "balance": 202}),
    Asked("all 300 of a kind", 30, 1, {"dialogue": 306, "balance": 202}),
    Asked("all 300, four times (`paper`)", 30, 4, {"dialogue": 306, "balance": 202}),
)


def judge(right: float, texts: int) -> JudgeConfusion:
    """A judge that is right in this share of as many gold texts, half of them yes."""
    half = texts // 2
    good = round(right * half)
    return JudgeConfusion(good, half - good, half - good, good)


def main() -> None:
    """Print the table."""
    print("| asked | judge right | score, limit | points below the limit | 95 % CI half-width | fails there | on it |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for plan in PLANS:
        sizes = [plan.instances] * len(Category)
        for right in (0.9, 0.8):
            for score, limit in LIMITS.items():
                known = judge(right, plan.gold[TASKS[score]])
                every = [
                    tells(score, limit, sizes, plan.repeats, known, np.random.default_rng(n)) for n in range(SEEDS)
                ]
                found = [gap for gap, _ in every if gap is not None]
                half = 100 * Z * float(np.mean([error for _, error in every]))
                shares = ["", ""]
                if 2 * len(found) > SEEDS:
                    below = float(np.mean(found))
                    for place, truth in enumerate((limit - below, limit)):
                        rng = np.random.default_rng(SEEDS + place)
                        ends = simulated(score, max(truth, 0.0), sizes, plan.repeats, known, rng, CHECKS)[1]
                        shares[place] = f"{100 * float(np.mean(ends < limit)):.0f} %"
                    told = f"{100 * below:.1f}"
                else:
                    told = "not to be told"
                cells = (plan.name, f"{100 * right:.0f} %", f"{score}, {100 * limit:.0f}", told, f"{half:.1f}", *shares)
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
