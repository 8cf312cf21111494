"""`openai/NAME` as a text-to-image model: any server that speaks OpenAI's images API."""

from __future__ import annotations

import asyncio
import base64
import binascii
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from fairgate.domain import Identity, Reply
from fairgate.models.endpoint import Endpoint, Filtered
from fairgate.models.fetching import Fetcher
from fairgate.models.fields import check_fields, count, word
from fairgate.models.openai import OPENAI
from fairgate.models.retries import Retries
from fairgate.store.images import Limits, said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.domain import Query
    from fairgate.store.images import ImageStore

# One image for one prompt: more in one answer would not be samples of their own.
OURS = ("model", "prompt", "n", "stream")
TOO_LARGE = "too-large"
LARGEST = Limits().content  # bytes of one image


class _Image(msgspec.Struct):
    b64_json: object = None
    url: object = None


class _Images(msgspec.Struct):
    data: list[_Image]
    usage: object = None
    model: object = None


_images = msgspec.json.Decoder(_Images)


@dataclass(frozen=True, slots=True)
class _Sent:
    """An answer with an image in it, or with the address of one."""

    content: bytes | None
    url: str
    reply: Reply


class OpenAIImages:
    """A painter behind an OpenAI-compatible server: `POST images/generations`, one image a request.

    `parameters` are the body fields beside model and prompt. What the server sends is put into `store` whatever it is;
    the address of an image is fetched as `Fetcher` allows.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        store: ImageStore,
        api_key: str | None = None,
        parameters: Mapping[str, object] | None = None,
        max_in_flight: int = 16,
        timeout: float = 120.0,
        *,
        retries: Retries | None = None,
    ) -> None:
        fields = dict(parameters or {})
        check_fields(fields, OURS)
        retries = retries or Retries()
        self._endpoint = Endpoint(
            OPENAI,
            name,
            base_url,
            api_key,
            path="images/generations",
            fields=fields,
            max_in_flight=max_in_flight,
            timeout=timeout,
            retries=retries,
            # Base64 takes a third more than the image does.
            longest=2 * LARGEST,
        )
        self._fetcher = Fetcher(self._endpoint.address, timeout=timeout, limit=LARGEST, retries=retries)
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
            return Reply(sent.said, filtered=True, latency=sent.latency, attempts=sent.attempts)
        content, answered = sent.content, self._endpoint.redaction.clean(sent.reply)
        if content is None:
            content = await self._fetcher.get(sent.url)
        if content is None:
            return replace(answered, text=TOO_LARGE)
        # Whatever was sent is kept: the detector finds out what it is.
        return replace(answered, text=said(await asyncio.to_thread(self._store.add, content)))

    async def close(self) -> None:
        """Give back the connections."""
        await self._endpoint.close()
        await self._fetcher.close()


def read_images(body: bytes, latency: float, number: int) -> _Sent | None:
    """The first image of an answer's body, or its address; None where there is neither."""
    try:
        answer = _images.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    first = answer.data[0] if answer.data else _Image()
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    reply = Reply(
        "",
        prompt_tokens=count(usage.get("input_tokens")),
        completion_tokens=count(usage.get("output_tokens")),
        served_model=word(answer.model),
        latency=latency,
        attempts=number,
    )
    if isinstance(first.b64_json, str) and first.b64_json:
        return _Sent(_decoded(first.b64_json), "", reply)
    if isinstance(first.url, str) and first.url:
        if first.url.startswith("data:"):
            return _Sent(_decoded(first.url), "", reply)
        return _Sent(None, first.url, reply)
    return None


def _decoded(text: str) -> bytes:
    """The bytes behind base64, with or without `data:…;base64,` before it; the text itself where it is none."""
    encoded = text.partition(",")[2] if text.startswith("data:") else text
    try:
        return base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "replace")
