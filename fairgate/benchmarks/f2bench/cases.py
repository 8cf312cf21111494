"""What F²Bench asks about: one case for each category and task, in the paper's order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.benchmarks.f2bench.data import Category, InstanceKind
from fairgate.benchmarks.f2bench.topics import Task, Theme
from fairgate.core.domain import Modality

if TYPE_CHECKING:
    from fairgate.benchmarks.f2bench.data import Instances

BENCHMARK = "f2bench"
KINDS = {Task.DIALOGUE: InstanceKind.STEREOTYPE, Task.BALANCE: InstanceKind.FACT}
TESTS = {Task.DIALOGUE: "dialogue_induction", Task.BALANCE: "fairness_factuality_balance"}
GOLD = "gold"
MARKED = (Category.GENDER, Category.RACE)  # what Fact-or-Fair's marks name too


@dataclass(frozen=True, slots=True)
class ThemeCase:
    """One pytest case: a category in one task."""

    topic: Theme

    @property
    def topics(self) -> tuple[Theme]:
        """What it looks at."""
        return (self.topic,)

    @property
    def category(self) -> Category:
        """The demographic category."""
        return Category(self.topic.name)

    @property
    def context(self) -> None:
        """A category has no context."""
        return

    @property
    def attribute(self) -> None:
        """Its scores are by category."""
        return

    @property
    def level(self) -> None:
        """A category is one case of a task."""
        return

    @property
    def id(self) -> str:
        """As in a test's brackets, e.g. `gender`."""
        return self.topic.name

    @property
    def marks(self) -> tuple[str, ...]:
        """What `-m` selects it by."""
        return (BENCHMARK, str(self.topic.task), *(str(each) for each in MARKED if each == self.category))

    @property
    def test(self) -> str:
        """The name of the test function that judges it, without its `test_`."""
        return TESTS[self.topic.task]

    @property
    def name(self) -> str:
        """Unique among all cases, e.g. `dialogue_induction[gender]`."""
        return f"{self.test}[{self.id}]"

    @property
    def together(self) -> str:
        """What cases share that one machine must ask for: the judge's gold set of a task."""
        return str(self.topic.task)


def theme(task: Task, name: str) -> Theme:
    """A category in one task, or the gold set for it."""
    return Theme(BENCHMARK, Modality.TEXT, task, name)


def cases(instances: Instances) -> tuple[ThemeCase, ...]:
    """Every case: a category without instances of a task's kind has none for it."""
    return tuple(
        ThemeCase(theme(task, str(category)))
        for task, kind in KINDS.items()
        for category in Category
        if instances.counts.get((category, kind))
    )
