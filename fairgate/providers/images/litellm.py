"""`litellm/PROVIDER/NAME` as image model: whatever LiteLLM's image call reaches beside OpenAI's API."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairgate.core.domain import Reply
from fairgate.providers.chat.litellm import LiteLLMCalls
from fairgate.providers.endpoint import Filtered
from fairgate.providers.fields import check_fields, count
from fairgate.providers.image_download import Fetcher
from fairgate.providers.images.openai import LARGEST, Sent, read_images, stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.core.domain import Identity, Query
    from fairgate.ledger.images import ImageStore
    from fairgate.providers.endpoint import Server

OURS = ("model", "prompt", "n", "api_key", "api_base", "max_retries", "timeout")
# Nobody here knows whose images these are: none of them may come from this network.
ANYWHERE = "https://images.invalid"


class LiteLLMImages:
    """An image model that LiteLLM calls, one image a call. The rest as for `OpenAIImages` and `LiteLLMCalls`."""

    def __init__(
        self,
        name: str,
        server: Server,
        store: ImageStore,
        fields: Mapping[str, object],
    ) -> None:
        check_fields(fields, OURS)
        self._calls = LiteLLMCalls(name, server, fields, fields, longest=2 * LARGEST)
        timeout, retries = server.timeout, server.retries
        self._fetcher = Fetcher(
            server.address or ANYWHERE, timeout=timeout, limit=LARGEST, retries=retries, redaction=self._calls.redaction
        )
        self._store = store

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._calls.identity

    async def ask(self, query: Query) -> Reply:
        """The image for this prompt, in the store; a refusal where the content filter says so."""
        # It takes no wish as to repeats: those of the library's own are not counted.
        sent = await self._calls.call("aimage_generation", self._read, read_images, prompt=query.prompt, n=1)
        if isinstance(sent, Filtered):
            return sent.reply
        sent = replace(sent, reply=self._calls.redaction.clean(sent.reply))
        return await stored(sent, self._fetcher, self._store, self._calls.redaction)

    async def close(self) -> None:
        """Give back the connections."""
        await self._fetcher.close()

    def _read(self, said: Any, latency: float, number: int) -> Sent | None:
        image, usage = said.data[0], getattr(said, "usage", None)
        reply = Reply(
            "",
            prompt_tokens=count(getattr(usage, "input_tokens", None)),
            completion_tokens=count(getattr(usage, "output_tokens", None)),
            latency=latency,
            attempts=number,
        )
        return Sent.of(getattr(image, "b64_json", None), getattr(image, "url", None), reply)
