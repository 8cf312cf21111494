"""`litellm/NAME` by LiteLLM itself: servers that redirect, answer without end, or pack more than an answer may hold."""

from __future__ import annotations

import asyncio
import copy
import gzip
import importlib.util
import json
import tracemalloc
from collections.abc import Awaitable, Callable
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from fairgate.core.errors import CallFailed, ConfigError, RunStopped
from fairgate.providers.chat.litellm import LiteLLMChat
from fairgate.providers.endpoint import LONGEST, Server
from fairgate.providers.retries import Backoff, Retries
from tests.builders import query

if TYPE_CHECKING:
    from fairgate.core.domain import Reply

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="the extra litellm is not installed"),
]
WITHIN = "only-within-this-machine"
OPENAI: dict[str, object] = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "B"}, "finish_reason": "stop"}]
}
ANTHROPIC: dict[str, object] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "tiny",
    "content": [{"type": "text", "text": "B"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 7, "output_tokens": 2},
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-123")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-key-456")


Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def asked(answer: Answer, name: str, tries: int = 1) -> Reply:
    [reply] = all_of(answer, name, 1, tries)
    return reply


def all_of(answer: Answer, name: str, count: int, tries: int = 1) -> list[Reply]:
    """The replies to so many queries, one after the other."""

    async def each() -> list[Reply]:
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            address = f"http://127.0.0.1:{runner.addresses[0][1]}"
            server = Server(address, timeout=30, retries=Retries(tries, Backoff(base=0.001)))
            model = LiteLLMChat(name, server)
            return [await model.ask(query()) for _ in range(count)]
        finally:
            await runner.cleanup()

    return asyncio.run(each())


@pytest.mark.parametrize("name", ["openai/tiny", "anthropic/tiny"])
@pytest.mark.parametrize("status", [302, 307])
def test_litellm_follows_no_redirect_and_hands_on_no_key(name: str, status: int) -> None:
    paths = []

    async def answer(request: web.BaseRequest) -> web.Response:
        paths.append(request.path)
        if request.path == "/within":
            return web.Response(text=WITHIN)
        return web.Response(status=status, headers={"Location": "/within"})

    with pytest.raises(RunStopped, match=f"redirects .HTTP {status}., and redirects are not followed") as stopped:
        asked(answer, name, tries=3)
    assert "/within" not in paths
    assert WITHIN not in str(stopped.value)


@pytest.mark.parametrize("name", ["openai/tiny", "anthropic/tiny"])
def test_of_an_answer_to_litellm_no_more_than_the_limit_is_read(name: str) -> None:
    bomb = gzip.compress(bytes(20 * LONGEST))

    async def packed(_: web.BaseRequest) -> web.Response:
        return web.Response(body=bomb, content_type="application/json", headers={"Content-Encoding": "gzip"})

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(b" " * 2**16)

    for answer in (packed, endless):
        tracemalloc.start()
        try:
            with pytest.raises(CallFailed, match="endless answer: more than 16,777,216 bytes"):
                asked(answer, name, tries=2)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 10 * LONGEST


@pytest.mark.parametrize(("name", "said"), [("openai/tiny", OPENAI), ("anthropic/tiny", ANTHROPIC)])
@pytest.mark.parametrize("packs", [False, True])
def test_an_answer_to_litellm_is_read_packed_or_not(name: str, said: dict[str, object], packs: bool) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        assert request.headers["Accept-Encoding"] == "identity"
        body = json.dumps(said).encode()
        more = {"Content-Encoding": "gzip"} if packs else {}
        content = gzip.compress(body) if packs else body
        return web.Response(body=content, content_type="application/json", headers=more)

    assert asked(answer, name).text == "B"


ODD: list[Any] = [None, True, -1, 1.5, 10**30, float("nan"), float("inf"), "", "\ud83d", [], [1], {}, {"a": 1}, [None]]
# All that stands beside the reply, and in what.
BESIDE: dict[str, tuple[dict[str, object], Callable[[dict[str, Any]], list[dict[str, Any]]], list[str]]] = {
    "openai/tiny": (
        OPENAI | {"usage": {"prompt_tokens": 7, "completion_tokens": 2}},
        lambda said: [said, said["choices"][0], said["choices"][0]["message"], said["usage"]],
        [
            *("created", "model", "system_fingerprint", "finish_reason", "role", "annotations", "tool_calls", "usage"),
            *("function_call", "audio", "images", "reasoning_content", "provider_specific_fields", "prompt_tokens"),
        ],
    ),
    "anthropic/tiny": (
        ANTHROPIC,
        lambda said: [said, said["content"][0], said["usage"]],
        ["id", "role", "model", "stop_reason", "usage", "citations", "input_tokens", "prompt_tokens_details"],
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_nothing_odd_beside_a_reply_loses_it_to_litellm(name: str) -> None:
    sound, places, fields = BESIDE[name]
    answers = []
    for field, odd in product(fields, ODD):
        for place in range(len(places(copy.deepcopy(sound)))):
            said = copy.deepcopy(sound)
            places(said)[place][field] = odd
            answers.append(json.dumps(said))
    asked_for = iter(answers)

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(body=next(asked_for).encode(), content_type="application/json")

    for reply, body in zip(all_of(answer, name, len(answers)), answers, strict=True):
        assert reply.text == "B", body


def test_what_litellm_cannot_read_is_neither_kept_with_the_key_nor_shown_with_its_paths() -> None:
    said = {"role": 7, "content": "B, and planted-key-123"}
    answer: dict[str, object] = {
        "choices": [{"message": said}],
        "model": "planted-key-123",
        "system_fingerprint": "f" * 10_000,
    }

    async def odd(_: web.BaseRequest) -> web.Response:
        return web.json_response(answer)

    reply = asked(odd, "openai/tiny")
    kept = (reply.text, reply.served_model, reply.fingerprint)
    assert kept == ("B, and [hidden]", "[hidden]", "[a name of 10,000 characters]")
    answer = {"choices": 7}
    with pytest.raises(CallFailed) as caught:
        asked(odd, "openai/tiny")
    assert "Traceback" not in str(caught.value)
    assert "site-packages" not in str(caught.value)


def test_what_litellm_cannot_read_counts_as_billed() -> None:
    answers: list[dict[str, object]] = [{"choices": []}, {"choices": []}, OPENAI]

    async def later(_: web.BaseRequest) -> web.Response:
        return web.json_response(answers.pop(0) | {"usage": {"prompt_tokens": 700, "completion_tokens": 30}})

    reply = asked(later, "openai/tiny", tries=3)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("B", 2100, 90)
    answers = [{"choices": []}] * 2
    with pytest.raises(CallFailed) as caught:
        asked(later, "openai/tiny", tries=2)
    assert caught.value.tokens == (1400, 60)


def test_a_client_of_litellms_own_is_not_used() -> None:
    with pytest.raises(ConfigError, match=r"no bounds.*openai/tiny"):
        LiteLLMChat("aiohttp_openai/tiny", Server(None))
