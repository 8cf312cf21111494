"""`litellm/bedrock/NAME`: the request that LiteLLM itself signs, to a server that speaks Bedrock's Converse API."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from fairgate.providers.chat.http_chat import Body
from fairgate.providers.chat.litellm import LiteLLMChat
from fairgate.providers.endpoint import Server
from fairgate.providers.retries import Retries
from tests.builders import query

if TYPE_CHECKING:
    from fairgate.core.domain import Reply

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(each) is None for each in ("litellm", "boto3")),
        reason="the extra litellm, or boto3, is not installed",
    ),
]
ANSWER = {
    "output": {"message": {"role": "assistant", "content": [{"text": '{"answer": "B"}'}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10},
}


def test_the_request_is_signed_and_its_answer_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "planted-name")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret-123")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")
    requests: list[tuple[str, str, Any]] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        requests.append((request.raw_path, request.headers["Authorization"], await request.json()))
        return web.json_response(ANSWER)

    async def once() -> Reply:
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            server = Server(f"http://127.0.0.1:{runner.addresses[0][1]}", retries=Retries(1))
            return await LiteLLMChat(
                "bedrock/anthropic.claude-3-haiku-20240307-v1:0", server, Body(None, "Be brief.")
            ).ask(query())
        finally:
            await runner.cleanup()

    reply = asyncio.run(once())
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ('{"answer": "B"}', 7, 3)
    [(path, signature, body)] = requests
    assert path == "/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse"
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=planted-name/")
    assert "planted-secret" not in signature
    assert body["system"] == [{"text": "Be brief."}]
    assert body["messages"] == [{"role": "user", "content": [{"text": query().prompt}]}]
    assert body["inferenceConfig"] == {"temperature": 0}
