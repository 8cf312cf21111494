"""What a plan of F²Bench can tell: how far beyond a limit a score must be for its gate to fail in four of five runs.

Models are simulated whose instances are all alike, judged by a judge that errs as it does on the gold set, and moved
away from the limit until the end of the interval that faces it is beyond it in four of five runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.f2bench import scores
from fairgate.benchmarks.f2bench.case_summary import CategoryCell
from fairgate.benchmarks.f2bench.cases import GOLD, theme
from fairgate.benchmarks.f2bench.estimates import estimated
from fairgate.benchmarks.f2bench.tally import tally
from fairgate.benchmarks.f2bench.topics import Task
from fairgate.benchmarks.forecast import Detectable, PowerAnalysis
from fairgate.core.statistics.intervals import Z
from fairgate.core.statistics.misclassification import JudgeConfusion
from fairgate.core.statistics.power import POWER
from fairgate.core.statistics.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.f2bench.cases import ThemeCase
    from fairgate.benchmarks.f2bench.plan import ConversationPlan
    from fairgate.benchmarks.forecast import Target
    from fairgate.core.statistics.distributions import FloatArray

RUNS, STEPS = 16, 5
SCORES = ("S_dialogue", "S_fairness", "S_factuality")
# Where nothing is known of the judge: right about nine of ten of its gold texts.
ASSUMED = JudgeConfusion(47, 5, 5, 47)


def tells(
    score: str, limit: float, sizes: Sequence[int], repeats: int, known: JudgeConfusion, rng: np.random.Generator
) -> tuple[float | None, float]:
    """How far below the limit (0 to 1) the truth must be, None where nothing is far enough; and the standard error.

    `sizes`: the instances of each category, each asked `repeats` times.
    """
    truth, error = limit, 0.0
    for step in range(STEPS):
        low, high = simulated(score, truth, sizes, repeats, known, rng, RUNS)
        if not step:
            error = float((high - low).mean()) / (2.0 * Z)
        truth -= float(high.mean() + ndtri(POWER) * high.std()) - limit
        if truth <= 0.0:
            return None, error
    return limit - truth, error


def simulated(
    score: str,
    truth: float,
    sizes: Sequence[int],
    repeats: int,
    known: JudgeConfusion,
    rng: np.random.Generator,
    runs: int,
) -> FloatArray:
    """The ends of the intervals, [2, runs], of models whose score is `truth`."""
    task = Task.DIALOGUE if score == "S_dialogue" else Task.BALANCE
    ends = []
    for _ in range(runs):
        found = estimated(task, [_cell(score, truth, size, repeats, known, rng) for size in sizes], known, rng)[score]
        ends.append((found.low, found.high))
    return np.array(ends).T


def _cell(
    score: str, truth: float, size: int, repeats: int, known: JudgeConfusion, rng: np.random.Generator
) -> CategoryCell:
    """A category of a model whose score is `truth`, as the judge sees it."""
    shape = (repeats, size, 2)
    nothing = np.full(shape, np.nan)
    if score == "S_dialogue":
        return CategoryCell(
            (None,) * size, _judged(np.full(shape[:2], 1.0 - truth), known, rng), nothing, nothing, nothing
        )
    leaning = 1.0 - truth if score == "S_fairness" else 0.0
    tied, opposed = (_judged(np.full(shape, share), known, rng) for share in (leaning, 0.0))
    marks = rng.binomial(int(scores.MARKS_TO), truth if score == "S_factuality" else 0.5, shape).astype(np.float64)
    return CategoryCell((None,) * size, np.full(shape[:2], np.nan), tied, opposed, marks)


def _judged(chances: FloatArray, known: JudgeConfusion, rng: np.random.Generator) -> FloatArray:
    """What the judge makes of ties that are there with these chances."""
    sensitivity = known.yes_yes / max(known.yes_yes + known.yes_no, 1)
    specificity = known.no_no / max(known.no_yes + known.no_no, 1)
    there = rng.random(chances.shape) < chances
    said = np.where(there, rng.random(chances.shape) < sensitivity, rng.random(chances.shape) >= specificity)
    return np.asarray(said, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ConversationsPower(PowerAnalysis):
    """The power of a plan of conversations."""

    plan: ConversationPlan

    def attributes(self, task: str) -> Sequence[str | None]:
        """None: its scores are over all categories."""
        return (None,) if task in [*Task] else ()

    def cells(self, cases: Iterable[ThemeCase]) -> Iterator[tuple[str, str | None, str | None]]:
        """The task."""
        return ((case.topic.task, None, None) for case in cases)

    def detectable(
        self, target: Target, cases: Sequence[ThemeCase], reply: Replies, rng: np.random.Generator
    ) -> Detectable:
        """By simulated models, with a judge that errs as the stored one does."""
        sizes = [self.plan.scored(case.topic) for case in cases if case.topic.task == target.task]
        if target.score not in SCORES or not any(sizes):
            return Detectable()
        known = self._judge(Task(target.task), reply)
        return Detectable(*tells(target.score, target.limit, list(filter(None, sizes)), self.plan.repeats, known, rng))

    def _judge(self, task: Task, reply: Replies) -> JudgeConfusion:
        """The judge's record on its gold set as it is stored, an assumed one where there is none."""
        known = tally(self.plan, theme(task, GOLD), reply)[0].known
        return known if known.yes_yes + known.yes_no and known.no_yes + known.no_no else ASSUMED

    def notes(self, cases: Sequence[ThemeCase]) -> Iterator[str]:
        """How conversations and the judge are assumed."""
        if cases:
            yield (
                "F²Bench: replies are taken as long as usual. What it can tell is forecast for the judge as the ledger "
                "knows it, else for one that is right about nine of ten gold texts."
            )
