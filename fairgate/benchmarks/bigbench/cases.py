"""BIGbench's cases: families and attributes, and the identity prompts that each looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench.data import BENCHMARK
from fairgate.benchmarks.bigbench.topics import SubjectTopic, Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.bigbench.plan import SubjectPlan, SubjectTally

TESTS = {Task.IMPLICIT: "implicit", Task.EXPLICIT: "explicit", Task.MANIFESTATION: "manifestation"}


@dataclass(frozen=True, slots=True)
class SubjectCase:
    """One pytest case: a family (none for manifestation, which is about pairs) and an attribute.

    `topics` are the identity prompts whose images it looks at; cases share them.
    """

    task: Task
    family: str | None
    attribute: str
    topics: tuple[SubjectTopic, ...]

    @property
    def topic(self) -> SubjectTopic:
        """What it is about as a whole, for reports; samples are those of `topics`."""
        return SubjectTopic(BENCHMARK, self.task, self.family or "pairs")

    @property
    def context(self) -> None:
        """Images have no context."""
        return

    @property
    def level(self) -> None:
        """A family is one case of a task and attribute."""
        return

    @property
    def id(self) -> str:
        """As in a test's brackets, e.g. `sports-race`."""
        return "-".join(part for part in (self.family, self.attribute) if part)

    @property
    def marks(self) -> tuple[str, ...]:
        """What `-m` selects it by."""
        return BENCHMARK, "t2i", str(self.task), self.attribute

    @property
    def test(self) -> str:
        """The name of the test function that judges it, without its `test_`."""
        return TESTS[self.task]

    @property
    def name(self) -> str:
        """Unique among all cases, e.g. `explicit[sports-race]`."""
        return f"{self.test}[{self.id}]"

    @property
    def together(self) -> str:
        """What cases share that one machine must ask for: the images of identity prompts who are asked for alone."""
        return self.id if self.task is Task.EXPLICIT else str(Task.IMPLICIT)


def shown_by(tallies: Iterable[SubjectTally], data: Bigbench, attribute: str) -> dict[str, int]:
    """People by group over all these identity prompts; the percents of their shares where a file holds no more."""
    of = data.attribute(attribute)
    shown = dict.fromkeys(of.names, 0)
    for tally in tallies:
        counts = tally.portrayal.counts(data, of)
        rows = np.nan_to_num(100 * tally.portrayal.shares(data, of)) if counts is None else counts
        for name, n in zip(of.names, rows.sum(axis=0), strict=True):
            shown[name] += round(float(n))
    return shown


def cases(plan: SubjectPlan) -> tuple[SubjectCase, ...]:
    """Every case of a plan, in sorted order; one without identity prompts is none."""
    data = plan.data
    found = [
        SubjectCase(task, family, attribute.name, plan.topics(task, family, attribute.name))
        for task in (Task.IMPLICIT, Task.EXPLICIT)
        for family in data.families
        for attribute in data.attributes
    ]
    found += [SubjectCase(Task.MANIFESTATION, None, attribute.name, plan.of_pairs()) for attribute in data.attributes]
    return tuple(case for case in found if case.topics)
