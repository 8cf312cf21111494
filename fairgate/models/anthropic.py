"""`anthropic/NAME`: any server that speaks Anthropic's Messages API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from fairgate.domain import Reply
from fairgate.errors import CallFailed, ConfigError
from fairgate.models.base import Identity
from fairgate.models.endpoint import Endpoint, Filtered, Provider
from fairgate.models.fields import body_fields, check_fields, count, well_formed, word
from fairgate.models.retries import Retries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.domain import Query

ANTHROPIC = Provider(
    "anthropic",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    ("x-api-key", ""),
    {"anthropic-version": "2023-06-01"},
)

# Fields that decide how a reply is asked for and read: changed by the user, no reply could be read.
OURS = ("model", "messages", "stream", "system", "system_prompt")

# The API wants a limit. Choices take a few tokens; F²Bench's descriptions and a judge's reasons some hundreds.
USUAL: Mapping[str, object] = {"max_tokens": 1024}


class _Message(msgspec.Struct):
    content: list[object]
    stop_reason: object = None
    usage: object = None
    model: object = None


_message = msgspec.json.Decoder(_Message)


class AnthropicChat:
    """A model behind a server that speaks the Messages API, asked over HTTP.

    `parameters` are the body fields beside model, messages and system. The address may end in /v1 or not, as that of
    the provider's own client does not. The rest as for an `Endpoint`; `retries` replaces `attempts` where waits are to
    be other than usual.
    """

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
    ) -> None:
        self._name, self._address = name, ""
        fields = body_fields((), USUAL) if parameters is None else dict(parameters)
        check_fields(fields, OURS)
        if "max_tokens" not in fields:
            raise ConfigError(
                "the Messages API takes no request without it.",
                where="--model-arg max_tokens",
                mend="Give a number: --model-arg max_tokens=1024",
            )
        self._endpoint = Endpoint(
            ANTHROPIC,
            name,
            base_url,
            api_key,
            path="messages",
            version="v1",
            fields=fields,
            max_in_flight=max_in_flight,
            timeout=timeout,
            retries=retries or Retries(attempts),
        )
        self._address = self._endpoint.address
        stated = fields if system_prompt is None else {**fields, "system_prompt": system_prompt}
        self._identity = Identity("anthropic", name, self._address, stated)
        # All but the prompt is the same in every request; what stays comes first, as prefix caches like it.
        system = {} if system_prompt is None else {"system": system_prompt}
        self._before = msgspec.json.encode({"model": name, **fields, **system})[:-1] + b',"messages":'

    def __repr__(self) -> str:
        """Without the key."""
        return f"AnthropicChat({self._name!r}, {self._address!r})"

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._identity

    async def ask(self, query: Query) -> Reply:
        """The model's reply to this query."""
        if query.images:
            raise CallFailed("images are not sent to anthropic/ models.", where=self._identity.label)
        said = [{"role": each.role, "content": each.content} for each in query.messages]
        answered = await self._endpoint.post(self._before + msgspec.json.encode(said) + b"}", read_message)
        if isinstance(answered, Filtered):
            return Reply("", filtered=True, latency=answered.latency, attempts=answered.attempts)
        return answered

    async def close(self) -> None:
        """Give back the connections."""
        await self._endpoint.close()


def read_message(content: bytes, latency: float, number: int) -> Reply | None:
    """The reply in an answer's body, None where there is none to be read.

    Text blocks are joined, what the model thought aloud is left out; what was read from a prompt cache counts as read.
    """
    try:
        message = _message.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # The standard library reads half an emoji, which servers send that cut a reply in mid-character.
        try:
            message = msgspec.convert(json.loads(content), _Message)
        except (ValueError, RecursionError):
            return None
    blocks = [block for block in message.content if isinstance(block, dict) and block.get("type") == "text"]
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    usage = message.usage if isinstance(message.usage, dict) else {}
    read = [count(usage.get(f"{kind}input_tokens")) for kind in ("", "cache_creation_", "cache_read_")]
    return Reply(
        text=well_formed("".join(texts)),
        filtered=message.stop_reason == "refusal",
        prompt_tokens=None if read[0] is None else sum(each or 0 for each in read),
        completion_tokens=count(usage.get("output_tokens")),
        served_model=word(message.model),
        latency=latency,
        attempts=number,
    )
