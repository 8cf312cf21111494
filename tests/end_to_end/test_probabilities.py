"""Probabilities asked of a server with the choices: given, ignored, of other tokens, cut off."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from fairgate.core.domain import Form, ProbabilityState, Reply
from fairgate.core.errors import RunStopped
from fairgate.ledger.samples import read, weighed
from fairgate.providers.chat.http_chat import Body
from fairgate.providers.chat.litellm import LiteLLMChat
from fairgate.providers.chat.openai import OpenAIChat
from fairgate.providers.endpoint import Server
from fairgate.providers.retries import Retries
from tests.builders import query
from tests.logprobs import as_openai, tokens
from tests.servers.chat import ChatStub, error, every_time

if TYPE_CHECKING:
    from fairgate.core.domain import LetterProbabilities

PIECES = ['{"', "answer", '":', ' "', "B", '"}']
EVEN = {"A": 0.2, "B": 0.5, "C": 0.2, "D": 0.1}


def ask(stub: ChatStub, given: dict[str, object] | None = None, *, probabilities: bool = True) -> Reply:
    async def once() -> Reply:
        server = Server(stub.base_url, retries=Retries(1))
        chat = OpenAIChat("m", server, Body(given, probabilities=probabilities))
        try:
            return await chat.ask(query())
        finally:
            await chat.close()

    return asyncio.run(once())


def found(stub: ChatStub, given: dict[str, object] | None = None) -> LetterProbabilities | None:
    reply = ask(stub, given)
    return weighed(query(), reply, read(query(), reply)).probabilities


@pytest.fixture
def stub() -> ChatStub:
    made = ChatStub(reply=lambda _: '{"answer": "B"}')
    made.logprobs = lambda _prompt, _reply: as_openai(tokens(PIECES, 4, EVEN))
    return made


def test_they_come_with_the_same_call_and_are_kept_in_place_of_the_tokens(stub: ChatStub) -> None:
    with stub:
        known = found(stub)
        body = json.loads(stub.last_body)
        assert (body["logprobs"], body["top_logprobs"], stub.requests) == (True, 20, 1)
    assert known is not None
    assert known.letters == pytest.approx((0.2, 0.5, 0.2, 0.1))


def test_nobody_who_does_not_ask_gets_any(stub: ChatStub) -> None:
    with stub:
        assert ask(stub, probabilities=False).tokens is None
        assert "logprobs" not in json.loads(stub.last_body)


def test_the_user_says_how_many_where_a_server_gives_fewer(stub: ChatStub) -> None:
    with stub:
        found(stub, {"top_logprobs": 5})
        body = json.loads(stub.last_body)
    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)


def test_a_server_that_ignores_the_question_is_told_from_others(stub: ChatStub) -> None:
    with stub:
        for given, state in (
            (None, ProbabilityState.NOT_GIVEN),
            ({"content": []}, ProbabilityState.NOT_GIVEN),
            (as_openai(tokens(["token_id:9"], 0, {"token_id:9": 1.0})), ProbabilityState.OTHER_TOKENS),
            (as_openai(tokens(PIECES, 4, {"A": 0.9})), ProbabilityState.NOT_LISTED),
        ):
            stub.logprobs = lambda _prompt, _reply, given=given: given  # type: ignore[misc]
            known = found(stub)
            assert known is not None
            assert known.state is state


def test_asking_for_them_makes_no_other_model() -> None:
    one, other = (OpenAIChat("m", Server("http://127.0.0.1:9/v1"), Body(probabilities=each)) for each in (False, True))
    assert one.identity.canonical == other.identity.canonical


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "You are not allowed to request logprobs from this model"),
        (400, "Cannot request more than 5 logprobs."),
        (400, "Gaudi doesn't support logprobs. Please remove 'logprobs'/'top_logprobs' from your request."),
    ],
)
def test_a_server_that_forbids_the_question_ends_the_run_with_what_to_do(
    stub: ChatStub, status: int, message: str
) -> None:
    stub.plan = every_time(error("no-logprobs", status, message))
    with stub, pytest.raises(RunStopped, match=r"no probabilities.*--probabilities.*top_logprobs=5"):
        ask(stub)


def test_texts_are_asked_without() -> None:
    chat = OpenAIChat("m", Server("http://127.0.0.1:9/v1"), Body(probabilities=True))
    assert b"logprobs" not in chat.body(replace(query(), form=Form.TEXT))
    assert msgspec.json.decode(chat.body(query()))["logprobs"] is True


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="the extra litellm is not installed")
@pytest.mark.parametrize("name", ["openai/m", "hosted_vllm/m", "together_ai/m", "openrouter/m"])
def test_litellm_itself_hands_them_on(stub: ChatStub, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("OPENAI", "HOSTED_VLLM", "TOGETHERAI", "OPENROUTER"):
        monkeypatch.setenv(f"{provider}_API_KEY", "planted-key-123")
    with stub:
        known = litellm_found(stub, name)
        body = json.loads(stub.last_body)
    assert known is not None
    assert known.letters == pytest.approx((0.2, 0.5, 0.2, 0.1))
    assert (body["logprobs"], body["top_logprobs"], stub.requests) == (True, 20, 1)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="the extra litellm is not installed")
def test_a_provider_of_litellm_without_them_ends_the_run_before_anything_is_asked(
    stub: ChatStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-key-123")
    with stub, pytest.raises(RunStopped, match="Leave --probabilities away"):
        litellm_found(stub, "anthropic/claude-3-5-haiku-20241022")
    assert stub.requests == 0


def litellm_found(stub: ChatStub, name: str) -> LetterProbabilities | None:
    chat = LiteLLMChat(name, Server(stub.base_url, retries=Retries(1)), Body(probabilities=True))
    reply = asyncio.run(chat.ask(query()))
    return weighed(query(), reply, read(query(), reply)).probabilities
