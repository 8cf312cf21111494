"""A server that speaks the Messages API, counts what it is asked and fails as it is told, as `ChatStub` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tests.servers.chat import ChatStub, Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web


def error(name: str, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> Fault:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_stub"}
    return Fault(name, status, msgspec.json.encode(body), headers or {})


def overloaded() -> Fault:
    return error("529", 529, "overloaded_error", "Overloaded")


def rate_limited(retry_after: str) -> Fault:
    message = "This request would exceed your organization's rate limit"
    return error("429", 429, "rate_limit_error", message, {"Retry-After": retry_after})


def wrong_key() -> Fault:
    return error("wrong-key", 401, "authentication_error", "invalid x-api-key")


class MessagesStub(ChatStub):
    """The server. `stop_reason` says how each reply ended, `blocks` stand before its text."""

    path = "/v1/messages"
    stop_reason = "end_turn"
    blocks: tuple[Mapping[str, object], ...] = ()

    def _refusal(self, request: web.BaseRequest, model: str) -> Fault | None:
        if self.key is not None and request.headers.get("x-api-key") != self.key:
            return wrong_key()
        if self.model is not None and model != self.model:
            return error("unknown-model", 404, "not_found_error", f"model: {model}")
        return None

    def _answer(self, model: str, prompt: str) -> bytes:
        text = self.reply(prompt)
        whole: dict[str, object] = {
            "id": "msg_stub",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [*self.blocks, {"type": "text", "text": text}],
            "stop_reason": self.stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": len(prompt) // 4, "output_tokens": len(text) // 4, "cache_read_input_tokens": 8},
        }
        return msgspec.json.encode(whole | self.raw if self.raw else whole)
