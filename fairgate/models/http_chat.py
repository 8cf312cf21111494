"""What the APIs that are spoken here have in common: a server, an identity, and bodies that differ in what is said."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.domain import Identity, Reply
from fairgate.models.endpoint import Endpoint, Filtered
from fairgate.models.fields import body_fields, check_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fairgate.domain import Query
    from fairgate.models.endpoint import Provider
    from fairgate.models.retries import Retries


@dataclass(frozen=True)
class API:
    """One way to ask for chat completions: `path` below the address, whose `version` a user may leave out.

    `ours` are fields that decide how a reply is asked for and read: changed by the user, no reply could be read.
    `usual` are sent where the user says nothing else. `read` gives the reply in an answer's body, with its latency
    (seconds) and its number, None where there is none to be read.
    """

    provider: Provider
    path: str
    ours: Collection[str]
    read: Callable[[bytes, float, int], Reply | None]
    usual: Mapping[str, object] | None = None
    version: str = ""


class HTTPChat(ABC):
    """A model behind a server of an API, asked over HTTP. Who knows the API says what a body is made of.

    `parameters` are the body fields beside what is said (see `body_fields`). The rest as for an `Endpoint`.
    """

    def __init__(
        self,
        api: API,
        name: str,
        base_url: str,
        api_key: str | None,
        parameters: Mapping[str, object] | None,
        system_prompt: str | None,
        max_in_flight: int,
        timeout: float,
        retries: Retries,
    ) -> None:
        self._api, self._name, self._address = api, name, ""
        self.fields = body_fields((), api.usual) if parameters is None else dict(parameters)
        check_fields(self.fields, api.ours)
        self.endpoint = Endpoint(
            api.provider,
            name,
            base_url,
            api_key,
            path=api.path,
            version=api.version,
            fields=self.fields,
            max_in_flight=max_in_flight,
            timeout=timeout,
            retries=retries,
        )
        self._address = self.endpoint.address
        stated = self.fields if system_prompt is None else {**self.fields, "system_prompt": system_prompt}
        self._identity = Identity(api.provider.name, name, self._address, stated)

    def __repr__(self) -> str:
        """Without the key."""
        return f"{type(self).__name__}({self._name!r}, {self._address!r})"

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._identity

    @abstractmethod
    def body(self, query: Query) -> bytes:
        """The request's body, JSON. Raises CallFailed for an image that cannot be shown."""

    async def ask(self, query: Query) -> Reply:
        """The model's reply to this query."""
        # Images are read from the disk, opened and packed.
        body = await asyncio.to_thread(self.body, query) if query.images else self.body(query)
        answered = await self.endpoint.post(body, self._api.read)
        if isinstance(answered, Filtered):
            return Reply("", filtered=True, latency=answered.latency, attempts=answered.attempts)
        return answered

    async def close(self) -> None:
        """Give back the connections."""
        await self.endpoint.close()
