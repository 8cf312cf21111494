"""`openai/NAME` as a text-to-image model: any server that speaks OpenAI's images API."""

from __future__ import annotations

import asyncio
import base64
import binascii
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from fairgate.core.domain import Identity, Reply
from fairgate.core.errors import CallFailed
from fairgate.ledger.images import ImageLimits, said
from fairgate.providers.chat.openai import OPENAI
from fairgate.providers.endpoint import Answered, Endpoint, Filtered
from fairgate.providers.fields import check_fields, count, decoded, name
from fairgate.providers.image_download import Fetcher

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.core.domain import Query
    from fairgate.core.redaction import Redaction
    from fairgate.ledger.images import ImageStore
    from fairgate.providers.endpoint import Server

# One image for one prompt: more in one answer would not be samples of their own.
OURS = ("model", "prompt", "n", "stream")
TOO_LARGE = "too-large"
LARGEST = ImageLimits().content  # bytes of one image


class _Images(msgspec.Struct):
    data: list[object]
    usage: object = None
    model: object = None


_images = msgspec.json.Decoder(_Images)


@dataclass(frozen=True, slots=True)
class Sent(Answered):
    """An answer with an image in it, or with the address of one."""

    content: bytes | None
    url: str

    @classmethod
    def of(cls, encoded: object, url: object, reply: Reply) -> Sent | None:
        """The image in Base64, or its address, which may hold it; None where there is neither."""
        if isinstance(encoded, str) and encoded:
            return cls(reply, _decoded(encoded), "")
        if isinstance(url, str) and url:
            return cls(reply, _decoded(url), "") if url.startswith("data:") else cls(reply, None, url)
        return None


async def stored(sent: Sent, fetcher: Fetcher, store: ImageStore, redaction: Redaction) -> Reply:
    """The reply with the image's hash, when the image is in the store, whatever it is, but for secrets in its bytes."""
    try:
        content = await fetcher.get(sent.url) if sent.content is None else sent.content
    except CallFailed as failure:
        # It was drawn, and is billed.
        raise failure.billed((sent.reply.prompt_tokens or 0, sent.reply.completion_tokens or 0)) from None
    if content is None:
        return replace(sent.reply, text=TOO_LARGE)
    # Whatever was sent is kept: the detector finds out what it is.
    return replace(sent.reply, text=said(await asyncio.to_thread(store.add, redaction.blank(content))))


class OpenAIImages:
    """An image model behind an OpenAI-compatible server: `POST images/generations`, one image a request.

    `fields` are the body fields beside model and prompt. What the server sends is put into `store` whatever it is;
    the address of an image is fetched as `Fetcher` allows.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        store: ImageStore,
        fields: Mapping[str, object],
    ) -> None:
        check_fields(fields, OURS)
        # Base64 takes a third more than the image does.
        self._endpoint = Endpoint(OPENAI, name, server, path="images/generations", fields=fields, longest=2 * LARGEST)
        timeout, retries = server.timeout, server.retries
        self._fetcher = Fetcher(
            self._endpoint.address, timeout=timeout, limit=LARGEST, retries=retries, redaction=self._endpoint.redaction
        )
        self._store = store
        self._identity = Identity("openai", name, self._endpoint.address, fields)
        self._before = msgspec.json.encode({"model": name, "n": 1, **fields})[:-1] + b',"prompt":'

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._identity

    async def ask(self, query: Query) -> Reply:
        """The image for this prompt, in the store; a refusal where the content filter says so."""
        sent = await self._endpoint.post(self._before + msgspec.json.encode(query.prompt) + b"}", read_images)
        if isinstance(sent, Filtered):
            return replace(sent.reply, text=sent.said)
        shown = replace(sent, reply=self._endpoint.redaction.clean(sent.reply))
        return await stored(shown, self._fetcher, self._store, self._endpoint.redaction)

    async def close(self) -> None:
        """Give back the connections."""
        await self._endpoint.close()
        await self._fetcher.close()


def read_images(body: bytes, latency: float, number: int) -> Sent | None:
    """The first image of an answer's body, or its address; None where there is neither."""
    answer = decoded(body, _images)
    first = answer.data[0] if answer is not None and answer.data else None
    if answer is None or not isinstance(first, dict):
        return None
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    reply = Reply(
        "",
        prompt_tokens=count(usage.get("input_tokens")),
        completion_tokens=count(usage.get("output_tokens")),
        served_model=name(answer.model),
        latency=latency,
        attempts=number,
    )
    return Sent.of(first.get("b64_json"), first.get("url"), reply)


def _decoded(text: str) -> bytes:
    """The bytes behind base64, with or without `data:…;base64,` before it; the text itself where it is none."""
    encoded = text.partition(",")[2] if text.startswith("data:") else text
    try:
        return base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "replace")
