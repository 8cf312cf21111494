"""How many single tests of Fact-or-Fair's text fail of controls, after so many answers a topic.

    python -m benchmarks.cases                              stereotype at .8 and .5, and fair models
    python -m benchmarks.cases --only oracle --seeds 50 --answers 27

Levels that are shared by Bonferroni (2.5 % over the number of tests) and by Benjamini & Hochberg, as tests have it; by
both after part of the plan with that look's share of the error, as in rounds.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.zoo import Asked
from fairgate.benchmarks.fact_or_fair.case_test import claims
from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK
from fairgate.benchmarks.fact_or_fair.effect_scores import choices_of_topic
from fairgate.benchmarks.fact_or_fair.live_counts import count
from fairgate.benchmarks.fact_or_fair.text import FIRST_LOOKS
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.core.statistics.paired import shared_level
from fairgate.core.statistics.sequential import shares_of_looks
from fairgate.ledger.samples import from_replies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.benchmarks.fact_or_fair.cases import StatisticCase

CONTROLS = ("stereotype:0.8", "stereotype:0.5", "oracle", "oldest", "name-initial", "by-wording")
WHOLE = 27  # answers a topic of plan quick


def chances(asked: Asked, control: str, answers: int) -> Mapping[StatisticCase, float]:
    """The p-value of each subjective test after so many answers a topic."""
    benchmark, reply, dataset = asked.benchmark, asked.answers_of(control), asked.benchmark.dataset
    limits = asked.thresholds.cases.of(BENCHMARK)
    tallies = {
        topic: count(topic, from_replies(queries[:answers], reply), dataset)[0]
        for topic, queries in asked.queries.items()
        if topic.task is Task.SUBJECTIVE
    }
    found = {}
    for case in benchmark.cases:
        context = case.topic.context
        if context is not None:
            here = {topic: each for topic, each in tallies.items() if topic in case.topics}
            choices = choices_of_topic(here, dataset, context, benchmark.plan.wordings, case.topic.statistic)
            found[case] = min((claim.p for claim in claims(case, choices, dataset, limits)), default=1.0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--answers", type=int, nargs="+", default=[3, 9, WHOLE])
    parser.add_argument("--only", help="controls whose name begins so")
    options = parser.parse_args()
    shares = {**shares_of_looks(WHOLE, FIRST_LOOKS[Task.SUBJECTIVE]), WHOLE: 1.0}
    print(f"Mean of {options.seeds} runs: tests that fail by gender / race; runs with any\n")
    print("| control | answers | Bonferroni | Benjamini & Hochberg |\n|---|---|---|---|", flush=True)
    for control in (each for each in CONTROLS if each.startswith(options.only or "")):
        for answers in options.answers:
            failed: list[list[tuple[int, int]]] = [[], []]
            for seed in range(options.seeds):
                asked = Asked(seed)
                p = chances(asked, control, answers)
                alpha = asked.thresholds.cases.alpha * shares[answers]
                for way, level in enumerate((alpha / len(p), shared_level(p.values(), alpha, len(p)))):
                    below = [case.attribute for case, chance in p.items() if chance < level]
                    failed[way].append((below.count("gender"), below.count("race")))
            cells = []
            for runs in failed:
                gender, race = np.mean(runs, axis=0)
                cells.append(f"{gender:.1f} / {race:.1f}; {np.mean([any(each) for each in runs]):.0%}")
            print(f"| `{control}` | {answers} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
