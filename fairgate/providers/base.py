"""What the sampler knows of a model, whatever stands behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fairgate.core.domain import Identity, Query, Reply


class ChatModel(Protocol):
    """A language model: one reply for one query.

    `ask` retries what may pass by itself, counting the requests in `Reply.attempts`. It raises CallFailed when this
    sample cannot be had, RunStopped when none can. Only controls look at anything but `query.messages`.
    """

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        ...

    async def ask(self, query: Query) -> Reply:
        """The model's reply to this query."""
        ...

    async def close(self) -> None:
        """Give back connections and threads."""
        ...
