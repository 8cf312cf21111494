"""What gates, baselines and power analyses know of a benchmark's cases, and of the replies to its queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fairgate.core.domain import Query, Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.core.domain import Topic

# The stored reply to a query, whichever model it is sent to; None where there is none.
Replies = Callable[[Query], Reply | None]


class Case(Protocol):
    """One pytest case. Hashable; `name` is unique among the cases of all benchmarks."""

    @property
    def topic(self) -> Topic:
        """The topic that names its benchmark, modality and task."""
        ...

    @property
    def topics(self) -> Sequence[Topic]:
        """All topics whose samples it needs."""
        ...

    @property
    def context(self) -> str | None:
        """The context of its task that it is asked in, None where the task has none."""
        ...

    @property
    def attribute(self) -> str | None:
        """The attribute that it is seen by, None where the scores of its task are by none."""
        ...

    @property
    def level(self) -> str | None:
        """What tells it apart from other cases of one subject, task, context and attribute; None where nothing must."""
        ...

    @property
    def id(self) -> str:
        """Short and stable, as in a test's brackets."""
        ...

    @property
    def test(self) -> str:
        """The name of the test function, without its `test_`."""
        ...

    @property
    def name(self) -> str:
        """`test[id]`."""
        ...

    @property
    def marks(self) -> Sequence[str]:
        """The markers that `-m` selects it by."""
        ...

    @property
    def together(self) -> str:
        """Cases of one value are asked by one shard, since they share samples."""
        ...
