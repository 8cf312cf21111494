"""What every benchmark gives to a run: its cases, what is asked for them, and what was answered, counted and shown.

A run composes objects of this kind. A benchmark that is published in text and in images is two of them, for two models
are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fairgate.domain import Query, Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairgate.domain import Modality
    from fairgate.report.evidence import Cell, Shown
    from fairgate.store.samples import Sample, Steps

# What is stored for a query, of whoever it is asked; None where that is nothing.
Replies = Callable[[Query], Reply | None]


TopicT = TypeVar("TopicT", contravariant=True)
CaseT = TypeVar("CaseT")
Held = TypeVar("Held")


class Benchmark(Protocol[TopicT, CaseT, Held]):
    """One benchmark in one modality. `Held` is what it counts: see `tally`."""

    @property
    def name(self) -> str:
        """As topics, scores and `tests_bench` name it."""
        ...

    @property
    def modality(self) -> Modality:
        """What its model produces."""
        ...

    @property
    def read_from(self) -> str | None:
        """What stands in for the model, e.g. `results/gpt-4o`; None where a model is asked."""
        ...

    @property
    def versions(self) -> Mapping[str, object]:
        """What decides its prompts, beside the plan, by name: another version asks other questions."""
        ...

    @property
    def cases(self) -> Sequence[CaseT]:
        """Every case there can be, in a fixed order."""
        ...

    def about(self, case: CaseT) -> str:
        """What a case is about, in words."""
        ...

    def work(self, topic: TopicT) -> Iterable[Query | Steps[Any]]:
        """A topic's queries, or conversations."""
        ...

    def size(self, topic: TopicT) -> int:
        """Planned samples of a topic."""
        ...

    def answers(self, topic: TopicT) -> int:
        """Planned answers of a topic, some of which a case may miss: an image and its faces are one."""
        ...

    def needs_judge(self, topic: TopicT) -> bool:
        """Whether the samples of a topic are worth nothing without a judge who may judge."""
        ...

    def read(self, topic: TopicT, reply: Replies) -> tuple[list[Sample], int]:
        """A topic's samples, and how many of its planned answers are missing."""
        ...

    def shown(self, topic: TopicT, reply: Replies) -> Iterator[Shown]:
        """A topic's samples as a reader sees them."""
        ...

    def tally(self, cases: Sequence[CaseT], reply: Replies) -> Held | None:
        """What was answered for these cases, counted; None where there are none."""
        ...

    def cell(self, case: CaseT, held: Held) -> Cell:
        """What a case stands on, of what was counted."""
        ...


AnyBenchmark = Benchmark[Any, Any, Any]
