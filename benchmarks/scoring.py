"""How long scoring takes: a million answers to plug-in scores, and a paper-plan run to all that is reported of it.

`python benchmarks/scoring.py` prints a table; the plain loop computes the plug-in scores alone, topic by topic.
"""

from __future__ import annotations

import math
import time
from collections import Counter

import numpy as np

from fairgate.benchmarks.fact_or_fair import scores
from fairgate.benchmarks.fact_or_fair.counts import Counts, IntArray
from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind, load
from fairgate.benchmarks.fact_or_fair.score_table import TASKS, board
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.core.domain import AnswerKind, Modality

STATISTICS, LEVELS, GROUPS = 19, 2, 4


def million(rng: np.random.Generator) -> tuple[float, IntArray]:
    """Seconds from a million answers, as topic and group numbers, to S_fact, S_E, S_KLD, S_fair, TV and d."""
    topics = rng.integers(0, STATISTICS * LEVELS, 1_000_000)
    groups = rng.integers(0, GROUPS, 1_000_000)
    key = np.zeros((STATISTICS, LEVELS, GROUPS), np.bool_)
    key[..., 0] = True
    began = time.perf_counter()
    chosen = np.bincount(topics * GROUPS + groups, minlength=STATISTICS * LEVELS * GROUPS).reshape(key.shape)
    applies = np.ones(STATISTICS, np.bool_)
    s_e, s_kld = scores.s_e(chosen, applies), scores.s_kld(chosen, applies)
    scores.s_fact(chosen, key), scores.s_fair(s_e, s_kld), scores.tv(chosen, applies), scores.d(chosen, key, applies)
    return time.perf_counter() - began, chosen


class Drawn:
    """A source of counts as a paper-plan run of a fair model leaves them."""

    modality = Modality.TEXT

    def __init__(self, dataset: Dataset, rng: np.random.Generator) -> None:
        self.dataset, self.rng = dataset, rng
        self.made: dict[tuple[Task, Context | None, str], Counts] = {}

    def counts(self, task: Task, context: Context | None, attribute: str, key: KeyKind) -> Counts:
        cell = task, context, attribute
        if cell not in self.made:
            names = self.dataset.attribute(attribute).names
            n = 3 if task is Task.OBJECTIVE else 300
            right = np.zeros((STATISTICS, LEVELS, len(names)), np.bool_)
            for s, statistic in enumerate(self.dataset.statistics):
                for j, level in enumerate(("high", "low")):
                    for (of, at), entry in statistic.key(key).items():
                        if (of, str(at)) == (attribute, level):
                            right[s, j] = [name in entry.groups for name in names]
            chosen = self.rng.multinomial(n, np.full(len(names), 1 / len(names)), size=(STATISTICS, LEVELS))
            whole, nothing = np.full((STATISTICS, LEVELS), n), np.zeros((STATISTICS, LEVELS), np.int64)
            slugs = tuple(statistic.slug for statistic in self.dataset.statistics)
            rest = (whole, whole, whole, nothing, nothing, nothing)
            self.made[cell] = Counts(slugs, attribute, names, chosen, right, *rest)
        return self.made[cell]

    def named(self, context: Context, attribute: str) -> IntArray:
        return self.counts(Task.SUBJECTIVE, context, attribute, "published").chosen[..., 0]

    def background(self, context: Context, attribute: str) -> IntArray | None:
        """Nothing that the released program counts."""
        del context, attribute
        return None

    def known(self, task: Task) -> frozenset[AnswerKind]:
        return frozenset(AnswerKind) if task in Task else frozenset()

    def kinds(self, task: Task, context: Context | None) -> Counter[AnswerKind]:
        return Counter({AnswerKind.CHOSEN: int(self.counts(task, context, "gender", "published").answered.sum())})


def loop(source: Drawn) -> float:
    """Seconds that a plain loop takes for the plug-in scores of the same counts."""
    began = time.perf_counter()
    for attribute in ("gender", "race"):
        for task, context in TASKS[Modality.TEXT]:
            counts = source.counts(task, context, attribute, "published")
            chosen, key = counts.chosen.tolist(), counts.key.tolist()
            for levels, rights in zip(chosen, key, strict=True):
                shares = [[n / sum(level) for n in level] for level in levels]
                [
                    sum(p for p, ok in zip(share, right, strict=True) if ok)
                    for share, right in zip(shares, rights, strict=True)
                ]
                [-sum(p * math.log(p) for p in share if p) / math.log(len(share)) for share in shares]
                pairs = list(zip(*shares, strict=True))
                0.5 * sum(abs(p - q) for p, q in pairs)
                math.exp(-sum(p * math.log(p / q) if q else math.inf for p, q in pairs if p))
    return time.perf_counter() - began


def main() -> None:
    rng = np.random.default_rng(0)
    seconds, _ = million(rng)
    dataset = load()
    source = Drawn(dataset, rng)
    looped = loop(source)
    looped = loop(source)
    began = time.perf_counter()
    entries = board(source, dataset, key="published", seed=0).entries
    whole = time.perf_counter() - began
    print("| what | seconds |\n| --- | ---: |")
    print(f"| 1,000,000 answers to six plug-in scores | {seconds:.3f} |")
    print(f"| paper-plan counts, plain loop, plug-in scores alone | {looped:.3f} |")
    print(f"| paper-plan counts, all {len(entries)} entries with estimates and ceilings | {whole:.3f} |")


if __name__ == "__main__":
    main()
