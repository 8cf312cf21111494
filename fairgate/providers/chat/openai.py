"""`openai/NAME`: any server that speaks OpenAI's chat completions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from fairgate.core.domain import Form, Reply
from fairgate.providers.chat.http_chat import API, PLAIN, RESPONSE_FORMAT, Body, HTTPChat
from fairgate.providers.chat.logprobs import FIELDS, read_tokens
from fairgate.providers.endpoint import Provider
from fairgate.providers.fields import count, decoded, name, well_formed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.core.domain import Query
    from fairgate.ledger.images import ImageStore
    from fairgate.providers.endpoint import Server

OPENAI = Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL")
AZURE = Provider("azure", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", ("api-key", ""))

# A string, not an enum of letters: a model that refuses must be able to say so.
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"answer": {"type": "string"}},
            "required": ["answer"],
            "additionalProperties": False,
        },
    },
}


class _Completion(msgspec.Struct):
    choices: list[object]
    usage: object = None
    model: object = None
    system_fingerprint: object = None


_completion = msgspec.json.Decoder(_Completion)


def read_completion(content: bytes, latency: float, number: int, *, weighed: bool = False) -> Reply | None:
    """The reply in an answer's body, None where there is none to be read; `weighed`: with its tokens."""
    completion = decoded(content, _completion)
    choice = completion.choices[0] if completion is not None and completion.choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if completion is None or not isinstance(choice, dict) or not isinstance(message, dict):
        return None
    text, refused = _text(message)
    ended = choice.get("finish_reason")
    sent, received = used(completion.usage)
    return Reply(
        text=text,
        filtered=refused or ended == "content_filter",
        truncated=ended == "length",
        prompt_tokens=sent,
        completion_tokens=received,
        served_model=name(completion.model),
        fingerprint=name(completion.system_fingerprint),
        latency=latency,
        attempts=number,
        tokens=read_tokens(choice.get("logprobs")) if weighed else None,
    )


def used(usage: object) -> tuple[int | None, int | None]:
    """Tokens sent and received. Some servers leave thoughts out of what was received, and have them in the total."""
    known = usage if isinstance(usage, dict) else {}
    sent, received, total = (count(known.get(f"{kind}_tokens")) for kind in ("prompt", "completion", "total"))
    if sent is not None and received is not None and total is not None:
        received = max(received, total - sent)
    return sent, received


def _text(message: Mapping[str, object]) -> tuple[str, bool]:
    """What the model said, and whether it is a refusal that the server marked as one."""
    refusal, content = message.get("refusal"), message.get("content")
    if isinstance(refusal, str) and refusal:
        return well_formed(refusal), True
    if isinstance(content, str):
        return well_formed(content), False
    said: list[str] = []
    refused = False
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            said.append(part)
        elif isinstance(part, dict) and part.get("type") in ("text", "output_text", "refusal"):
            text = part.get("text") or part.get("refusal")
            refused = refused or part["type"] == "refusal"
            said.append(text if isinstance(text, str) else "")
    return well_formed("".join(said)), refused


CHAT = API(OPENAI, "chat/completions", ("model", "messages", "stream", "system_prompt"), read_completion)


class OpenAIChat(HTTPChat):
    """A model behind an OpenAI-compatible server: see `HTTPChat`.

    `provider` says whose variables of the environment are named, and how the key is sent.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        body: Body = PLAIN,
        *,
        images: ImageStore | None = None,
        provider: Provider = OPENAI,
    ) -> None:
        api = replace(CHAT, provider=provider, read=partial(read_completion, weighed=body.probabilities))
        super().__init__(api, name, server, body, images)
        of_choices: dict[str, object] = {RESPONSE_FORMAT: SCHEMA} if body.answer_format else {}
        if body.probabilities:
            of_choices |= {name: value for name, value in FIELDS.items() if name not in self.fields}
        self._of_choices = b"," + msgspec.json.encode(of_choices)[1:-1] if of_choices else b""
        # All but the prompt is the same in every request; what stays comes first, as prefix caches like it.
        system = [] if body.system_prompt is None else [{"role": "system", "content": body.system_prompt}]
        head = msgspec.json.encode({"model": name, **self.fields})[:-1] + b',"messages":'
        self._before = head + msgspec.json.encode(system)[:-1] + (b"," if system else b"")

    def body(self, query: Query) -> bytes:
        """The request's body, JSON. Raises CallFailed for an image that cannot be shown."""
        said: list[dict[str, object]] = [{"role": each.role, "content": each.content} for each in query.messages]
        if query.images:
            urls = ("data:{};base64,{}".format(*self.shown(digest)) for digest in query.images)
            shown = ({"type": "image_url", "image_url": {"url": url}} for url in urls)
            said[-1]["content"] = [{"type": "text", "text": query.prompt}, *shown]
        more = self._of_choices if query.form is Form.CHOICE else b""
        return self._before + msgspec.json.encode(said)[1:] + more + b"}"


def azure_address(resource: str, deployment: str, version: str | None) -> str:
    """The base URL of a deployment below an Azure resource: by `api-version` where one is named, else the v1 API.

    An address that says more than the resource stays as it is.
    """
    before, mark, query = resource.partition("?")
    address = before.rstrip("/").removesuffix("/openai")
    if address.endswith("/v1") or "/deployments/" in address:
        return resource
    if "api-version=" not in query and not version:
        return f"{address}/openai/v1{mark}{query}"
    dated = query if "api-version=" in query else "&".join(filter(None, (query, f"api-version={version}")))
    return f"{address}/openai/deployments/{quote(deployment, safe='')}?{dated}"
