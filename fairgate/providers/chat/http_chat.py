"""What the APIs that are spoken here have in common: a server, an identity, and bodies that differ in what is said."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from base64 import b64encode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairgate.core.domain import Identity, Reply
from fairgate.core.errors import CallFailed
from fairgate.ledger.images import Problem, as_shown
from fairgate.providers.chat.logprobs import FIELDS as LOGPROBS
from fairgate.providers.endpoint import Endpoint, Filtered
from fairgate.providers.fields import body_fields, check_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fairgate.core.domain import Query
    from fairgate.ledger.images import ImageStore
    from fairgate.providers.endpoint import Provider, Server

RESPONSE_FORMAT = "response_format"


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


@dataclass(frozen=True)
class Body:
    """What a request for a reply holds beside the conversation.

    `fields` as `body_fields` gives them, None where the user said nothing. `answer_format`: the server is asked to keep
    each choice to the form in which the prompt asks for it. `probabilities`: it is asked for the most probable tokens
    with each choice, which changes no reply and tells none apart.
    """

    fields: Mapping[str, object] | None = None
    system_prompt: str | None = None
    answer_format: str | None = None
    probabilities: bool = False

    def stated(self, fields: Mapping[str, object]) -> dict[str, object]:
        """What tells replies apart, of a body with these fields."""
        prompt = {} if self.system_prompt is None else {"system_prompt": self.system_prompt}
        return {**fields, **prompt, **({RESPONSE_FORMAT: self.answer_format} if self.answer_format else {})}


PLAIN = Body()


class HTTPChat(ABC):
    """A model behind a server of an API, asked over HTTP. Who knows the API says what a body is made of.

    `images` holds those that queries show.
    """

    def __init__(
        self,
        api: API,
        name: str,
        server: Server,
        body: Body,
        images: ImageStore | None = None,
    ) -> None:
        self._api, self._name, self._address, self._images = api, name, "", images
        self.fields = body_fields((), api.usual) if body.fields is None else dict(body.fields)
        check_fields(self.fields, api.ours)
        self.endpoint = Endpoint(
            api.provider,
            name,
            server,
            path=api.path,
            version=api.version,
            fields={
                **replace(body, system_prompt=None).stated(self.fields),
                **(LOGPROBS if body.probabilities else {}),
            },
        )
        self._address = self.endpoint.address
        self._identity = Identity(api.provider.name, name, self._address, body.stated(self.fields))

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

    def shown(self, digest: str) -> tuple[str, str]:
        """The media type of an image, and the image in Base64. Raises CallFailed where it cannot be shown."""
        shown = None if self._images is None else as_shown(self._images.read(digest))
        if shown is None or isinstance(shown, Problem):
            raise CallFailed(
                f"image {digest[:12]}… cannot be shown: {shown or 'no images are kept'}.", where=repr(self)
            )
        kind, content = shown
        return kind, b64encode(content).decode()

    @property
    def read(self) -> Callable[[bytes, float, int], Reply | None]:
        """What gives the reply in an answer's body: see `API`."""
        return self._api.read

    async def ask(self, query: Query) -> Reply:
        """The model's reply to this query."""
        # Images are read from the disk, opened and packed.
        body = await asyncio.to_thread(self.body, query) if query.images else self.body(query)
        answered = await self.endpoint.post(body, self._api.read)
        return answered.reply if isinstance(answered, Filtered) else answered

    async def close(self) -> None:
        """Give back the connections."""
        await self.endpoint.close()
