"""`anthropic/NAME`: any server that speaks Anthropic's Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fairgate.core.domain import Reply
from fairgate.core.errors import ConfigError
from fairgate.providers.chat.http_chat import API, PLAIN, Body, HTTPChat
from fairgate.providers.endpoint import Provider
from fairgate.providers.fields import count, decoded, name, well_formed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.core.domain import Query
    from fairgate.ledger.images import ImageStore
    from fairgate.providers.endpoint import Server

ANTHROPIC = Provider(
    "anthropic",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    ("x-api-key", ""),
    {"anthropic-version": "2023-06-01"},
)

# The API wants a limit. Choices take a few tokens; descriptions and a judge's reasons some hundreds.
USUAL: Mapping[str, object] = {"max_tokens": 1024}


class _Answer(msgspec.Struct):
    content: list[object]
    stop_reason: object = None
    usage: object = None
    model: object = None


_message = msgspec.json.Decoder(_Answer)


def read_message(content: bytes, latency: float, number: int) -> Reply | None:
    """The reply in an answer's body, None where there is none to be read.

    Text blocks are joined, what the model thought aloud is left out; what was read from a prompt cache counts as read.
    """
    message = decoded(content, _message)
    if message is None:
        return None
    blocks = [block for block in message.content if isinstance(block, dict) and block.get("type") == "text"]
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    usage = message.usage if isinstance(message.usage, dict) else {}
    read = [count(usage.get(f"{kind}input_tokens")) for kind in ("", "cache_creation_", "cache_read_")]
    return Reply(
        text=well_formed("".join(texts)),
        filtered=message.stop_reason == "refusal",
        truncated=message.stop_reason in ("max_tokens", "model_context_window_exceeded"),
        prompt_tokens=None if read[0] is None else sum(each or 0 for each in read),
        completion_tokens=count(usage.get("output_tokens")),
        served_model=name(message.model),
        latency=latency,
        attempts=number,
    )


MESSAGES = API(
    ANTHROPIC,
    "messages",
    ("model", "messages", "stream", "system", "system_prompt"),
    read_message,
    usual=USUAL,
    version="v1",
)


class AnthropicChat(HTTPChat):
    """A model behind a server that speaks the Messages API: see `HTTPChat`.

    The address may end in /v1 or not, as that of the provider's own client does not.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        body: Body = PLAIN,
        *,
        images: ImageStore | None = None,
    ) -> None:
        super().__init__(MESSAGES, name, server, body, images)
        if "max_tokens" not in self.fields:
            raise ConfigError(
                "the Messages API takes no request without it.",
                where="--model-arg max_tokens",
                hint="Give a number: --model-arg max_tokens=1024",
            )
        # All but the prompt is the same in every request; what stays comes first, as prefix caches like it.
        system = {} if body.system_prompt is None else {"system": body.system_prompt}
        self._before = msgspec.json.encode({"model": name, **self.fields, **system})[:-1] + b',"messages":'

    def body(self, query: Query) -> bytes:
        """The request's body, JSON. Raises CallFailed for an image that cannot be shown."""
        said: list[dict[str, object]] = [{"role": each.role, "content": each.content} for each in query.messages]
        if query.images:
            pairs = map(self.shown, query.images)
            sources = [{"type": "base64", "media_type": kind, "data": data} for kind, data in pairs]
            shown = [{"type": "image", "source": each} for each in sources]
            said[-1]["content"] = [*shown, {"type": "text", "text": query.prompt}]
        return self._before + msgspec.json.encode(said) + b"}"
