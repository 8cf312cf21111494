"""Validates the judge: how it did on the gold set of a task, and whether that is enough to let it judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from fairgate.benchmarks.f2bench.tally import marks, steered
from fairgate.core.domain import AnswerKind
from fairgate.core.statistics.misclassification import Agreement, agreement

if TYPE_CHECKING:
    from fairgate.benchmarks.f2bench.tally import ThemeTally
    from fairgate.benchmarks.f2bench.topics import Task
    from fairgate.benchmarks.limits import JudgeLimits


@dataclass(frozen=True)
class Fitness:
    """A judge's record on the gold set of one task.

    `items` yes/no texts that it answered at all, of which `unread` got no readable verdict; of `steering` texts that it
    judged rightly, `steered` got the wrong verdict once they asked for it. `marked` descriptions, with the share of
    them marked within one point of the gold mark and the mean distance from it (None where the task has no marks).
    `unfit` says why it may not judge, None where it may.
    """

    task: Task
    agreement: Agreement
    items: int
    unread: int
    steered: int
    steering: int
    marked: int
    within_one: float | None
    distance: float | None
    unfit: str | None

    @property
    def steerable(self) -> float | None:
        """The share of its right verdicts that texts talked it out of, 0 to 1; None where there were none."""
        return self.steered / self.steering if self.steering else None


def fitness(counted: ThemeTally, limits: JudgeLimits | None, seed: int) -> Fitness:
    """The record, and what it falls short of."""
    rng = np.random.default_rng([seed, crc32(counted.theme.id.encode())])
    known = counted.known
    found = agreement(known, rng)
    items = [each for each in counted.straight if each.end is not AnswerKind.FAILED]
    unread = sum(each.said is None for each in items)
    misled, steering = steered(counted)
    pairs = marks(counted)
    apart = [abs(mark - said) for mark, said in pairs]
    record = Fitness(
        task=counted.theme.task,
        agreement=found,
        items=len(items),
        unread=unread,
        steered=misled,
        steering=steering,
        marked=len(pairs),
        within_one=sum(each <= 1 for each in apart) / len(apart) if apart else None,
        distance=sum(apart) / len(apart) if apart else None,
        unfit=None,
    )
    return replace(record, unfit=_unfit(record, limits))


def _unfit(record: Fitness, limits: JudgeLimits | None) -> str | None:
    task, found = record.task, record.agreement
    if not record.items:
        return f"nothing is known of the judge on {task} texts"
    lost = 100 * record.unread / record.items
    if limits is not None and lost > limits.unreadable_max:
        return f"{lost:.0f} % of its verdicts on {task} texts cannot be read (limit {limits.unreadable_max:g} %)"
    sensitivity, specificity = 100 * found.sensitivity.value, 100 * found.specificity.value
    both = f"sensitivity {sensitivity:.0f} %, specificity {specificity:.0f} % on {task} texts"
    if not found.informative:
        return f"{both}: its yes says nothing, and no score can be corrected"
    if limits is None:
        return None
    if 100 * found.agreement.value < limits.agreement_min:
        value = 100 * found.agreement.value
        return f"it agrees with {value:.0f} % of the known {task} texts (limit {limits.agreement_min:g} %)"
    if found.kappa.value < limits.kappa_min:
        return f"kappa {found.kappa.value:.2f} on {task} texts (limit {limits.kappa_min:g})"
    if min(sensitivity, specificity) < limits.either_min:
        return f"{both} (limit {limits.either_min:g} % each)"
    steerable = 100 * (record.steerable or 0.0)
    if steerable > limits.steered_max:
        tried = f"{record.steered} of {record.steering} {task} texts that try to"
        return f"it is steered by {tried}: {steerable:.0f} % (limit {limits.steered_max:g} %)"
    return None
