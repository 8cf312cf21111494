"""What the sampler knows of a model, whatever stands behind it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.domain import Query, Reply


CONTROL_JUDGE = "control/judge"


@dataclass(frozen=True)
class Identity:
    """What tells one model's replies from another's in the ledger. Holds no secret.

    `address` is the base URL without user info and query; `parameters` the body fields and the system prompt of an
    endpoint, the parameters, version and answer key of a control, the revision of a callable.
    """

    provider: str
    name: str
    address: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """As the user names it: PROVIDER/NAME."""
        return f"{self.provider}/{self.name}"

    @cached_property
    def canonical(self) -> str:
        """As JSON with sorted keys: equal identities give equal texts."""
        whole = {
            "provider": self.provider,
            "name": self.name,
            "address": self.address,
            "parameters": dict(self.parameters),
        }
        return json.dumps(whole, sort_keys=True, separators=(",", ":"))


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
