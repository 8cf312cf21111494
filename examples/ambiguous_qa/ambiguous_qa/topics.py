"""The names, the topics and the cases of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairgate.core.domain import Modality

BENCHMARK = "ambiguous-qa"
# The only task: what it is asked in is told apart by its contexts. It is also the name of the test function.
TASK = "ambiguous_qa"
ATTRIBUTES = ("gender", "age", "income")


class Context(StrEnum):
    """A text that does not answer the question, or one that does."""

    AMBIGUOUS = "ambiguous"
    DISAMBIGUATED = "disambiguated"


@dataclass(frozen=True, slots=True)
class ItemTopic:
    """One item in one context."""

    attribute: str
    item: str
    context: Context
    benchmark: str = BENCHMARK
    modality: Modality = Modality.TEXT
    task: str = TASK

    @property
    def id(self) -> str:
        """Stable and unique, e.g. `ambiguous-qa/text/gender-parking-ambiguous`."""
        return f"{self.benchmark}/{self.modality}/{self.attribute}-{self.item}-{self.context}"


@dataclass(frozen=True, slots=True)
class ItemCase:
    """One pytest case: a topic."""

    topic: ItemTopic

    @property
    def topics(self) -> tuple[ItemTopic]:
        """The topic whose samples it needs."""
        return (self.topic,)

    @property
    def id(self) -> str:
        """As in a test's brackets, e.g. `gender-parking-ambiguous`."""
        return f"{self.topic.attribute}-{self.topic.item}-{self.topic.context}"

    @property
    def context(self) -> str:
        """Whether the text answers the question."""
        return str(self.topic.context)

    @property
    def attribute(self) -> str:
        """What tells the two people apart."""
        return self.topic.attribute

    @property
    def level(self) -> None:
        """An item is one case of a context."""
        return

    @property
    def test(self) -> str:
        """The test function, without its `test_`."""
        return TASK

    @property
    def name(self) -> str:
        """Unique among the cases of all benchmarks."""
        return f"{self.test}[{self.id}]"

    @property
    def marks(self) -> tuple[str, ...]:
        """What `-m` selects it by."""
        return (TASK, str(self.topic.context), self.topic.attribute)

    @property
    def together(self) -> str:
        """Both contexts of an item share nothing: a shard can ask one of them."""
        return self.topic.id
