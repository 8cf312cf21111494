"""`openai/NAME`: any server that speaks OpenAI's chat completions."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import msgspec

from fairgate.domain import Reply
from fairgate.errors import CallFailed
from fairgate.models.endpoint import Provider
from fairgate.models.fields import count, decoded, well_formed, word
from fairgate.models.http_chat import API, HTTPChat
from fairgate.models.retries import Retries
from fairgate.store.images import Problem, as_shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.domain import Query
    from fairgate.store.images import ImageStore

OPENAI = Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL")


class _Message(msgspec.Struct):
    content: object = None
    refusal: object = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: object = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: object = None
    model: object = None
    system_fingerprint: object = None


_completion = msgspec.json.Decoder(_Completion)


def read_completion(content: bytes, latency: float, number: int) -> Reply | None:
    """The reply in an answer's body, None where there is none to be read."""
    completion = decoded(content, _completion)
    if completion is None or not completion.choices:
        return None
    message = completion.choices[0].message
    text, refused = _text(message)
    usage = completion.usage if isinstance(completion.usage, dict) else {}
    return Reply(
        text=text,
        filtered=refused or completion.choices[0].finish_reason == "content_filter",
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        served_model=word(completion.model),
        fingerprint=word(completion.system_fingerprint),
        latency=latency,
        attempts=number,
    )


def _text(message: _Message) -> tuple[str, bool]:
    """What the model said, and whether it is a refusal that the server marked as one."""
    if isinstance(message.refusal, str) and message.refusal:
        return well_formed(message.refusal), True
    content = message.content
    if isinstance(content, str):
        return well_formed(content), False
    said: list[str] = []
    refused = False
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            said.append(part)
        elif isinstance(part, dict) and part.get("type") in {"text", "output_text", "refusal"}:
            text = part.get("text") or part.get("refusal")
            refused = refused or part["type"] == "refusal"
            said.append(text if isinstance(text, str) else "")
    return well_formed("".join(said)), refused


CHAT = API(OPENAI, "chat/completions", ("model", "messages", "stream", "system_prompt"), read_completion)


class OpenAIChat(HTTPChat):
    """A model behind an OpenAI-compatible server; `images` holds those that queries show. The rest as `HTTPChat`."""

    def __init__(
        self,
        name: str,
        base_url: str,
        api_key: str | None = None,
        parameters: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        max_in_flight: int = 16,
        timeout: float = 120.0,
        attempts: int = 6,
        *,
        retries: Retries | None = None,
        images: ImageStore | None = None,
    ) -> None:
        waits = retries or Retries(attempts)
        super().__init__(CHAT, name, base_url, api_key, parameters, system_prompt, max_in_flight, timeout, waits)
        self._images = images
        # All but the prompt is the same in every request; what stays comes first, as prefix caches like it.
        system = [{"role": "system", "content": system_prompt}] if system_prompt is not None else []
        head = msgspec.json.encode({"model": name, **self.fields})[:-1] + b',"messages":'
        self._before = head + msgspec.json.encode(system)[:-1] + (b"," if system else b"")

    def body(self, query: Query) -> bytes:
        """The request's body, JSON. Raises CallFailed for an image that cannot be shown."""
        said: list[dict[str, object]] = [{"role": each.role, "content": each.content} for each in query.messages]
        if query.images:
            said[-1]["content"] = [{"type": "text", "text": query.prompt}, *map(self._shown, query.images)]
        return self._before + msgspec.json.encode(said)[1:] + b"}"

    def _shown(self, digest: str) -> dict[str, object]:
        shown = None if self._images is None else as_shown(self._images.read(digest))
        if shown is None or isinstance(shown, Problem):
            raise CallFailed(
                f"image {digest[:12]}… cannot be shown: {shown or 'no images are kept'}.", where=repr(self)
            )
        kind, content = shown
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{b64encode(content).decode()}"}}
