"""What a plan can tell, by the normal law: used by `--dry-run`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ambiguous_qa.topics import ATTRIBUTES, TASK
from fairgate.benchmarks.forecast import Detectable, PowerAnalysis
from fairgate.core.statistics.power import from_limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from ambiguous_qa.plan import QuestionPlan
    from ambiguous_qa.topics import ItemCase
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.forecast import Target

SCORES = ("accuracy", "bias")


@dataclass(frozen=True)
class QuestionPower(PowerAnalysis):
    """The power of a plan of questions."""

    plan: QuestionPlan

    def attributes(self, task: str) -> Sequence[str | None]:
        """Those of the items."""
        return ATTRIBUTES if task == TASK else ()

    def cells(self, cases: Iterable[ItemCase]) -> Iterator[tuple[str, str | None, str | None]]:
        """Context and attribute of each case."""
        return ((TASK, str(case.topic.context), case.topic.attribute) for case in cases)

    def detectable(
        self, target: Target, cases: Sequence[ItemCase], reply: Replies, rng: np.random.Generator
    ) -> Detectable:
        """By the standard error of a share, and of answers to both sides that all name a person."""
        where = target.context, target.attribute
        n = self.plan.questions * sum((case.topic.context, case.topic.attribute) == where for case in cases)
        if not n or target.score not in SCORES:
            return Detectable()
        spread = target.limit * (1.0 - target.limit) if target.score == "accuracy" else 1.0 - target.limit**2
        error = math.sqrt(spread / n)
        return Detectable(from_limit(error), error, n)

    def notes(self, cases: Sequence[ItemCase]) -> Iterator[str]:
        """What is assumed."""
        if cases:
            yield "Questions about two people: every answer is assumed to name one of them, which is the noisiest."
