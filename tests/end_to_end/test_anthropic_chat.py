"""`anthropic/NAME` against a server that speaks the Messages API, and fails as it does."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from fairgate.core.domain import Identity, Message, Query, Reply
from fairgate.core.errors import CallFailed, ConfigError, RunStopped
from fairgate.providers.chat.anthropic import AnthropicChat
from fairgate.providers.chat.http_chat import PLAIN, Body
from fairgate.providers.endpoint import Server
from fairgate.providers.fields import body_fields
from fairgate.providers.retries import Backoff, Retries
from tests.builders import query
from tests.running import bench
from tests.servers.chat import ChatStub, Fault, cut, every_time, half_written, in_order, redirect, server_error
from tests.servers.messages import MessagesStub, error, overloaded, rate_limited, wrong_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("each_transport")

KEY = "planted-anthropic-key-3b7e"


@pytest.fixture
def stub() -> Iterator[MessagesStub]:
    with MessagesStub(key=KEY, model="wise") as running:
        yield running


def chat(stub: MessagesStub, body: Body = PLAIN, **more: object) -> AnthropicChat:
    retries = Retries(waits=Backoff(base=0.001), random=random.Random(0))  # noqa: S311
    given: dict[str, object] = {"address": stub.base_url, "key": KEY, "retries": retries, "timeout": 10} | more
    return AnthropicChat("wise", Server(**given), body)  # type: ignore[arg-type]


def ask(model: AnthropicChat, asked: Query | None = None) -> Reply:
    async def once() -> Reply:
        try:
            return await model.ask(asked or query())
        finally:
            await model.close()

    return asyncio.run(once())


def test_a_request_is_as_the_api_wants_it_and_the_reply_carries_what_it_says(stub: MessagesStub) -> None:
    stub.blocks = ({"type": "thinking", "thinking": "B?", "signature": "s"}, {"type": "text", "text": "So: "})
    reply = ask(chat(stub, Body(body_fields(["max_tokens=64"]), "Be brief.")))
    assert msgspec.json.decode(stub.last_body) == {
        "model": "wise",
        "temperature": 0,
        "max_tokens": 64,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": query().prompt}],
    }
    assert stub.last_headers["x-api-key"] == KEY
    assert stub.last_headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in stub.last_headers
    assert reply.text.startswith("So: {")
    assert (reply.prompt_tokens, reply.served_model) == (len(query().prompt) // 4 + 8, "wise")
    assert reply.completion_tokens is not None
    assert not reply.filtered


def test_a_conversation_is_sent_with_its_roles(stub: MessagesStub) -> None:
    before = (Message("user", "Q1"), Message("assistant", "A1"))
    ask(chat(stub), replace(query(prompt="Q2"), before=before))
    sent = msgspec.json.decode(stub.last_body)
    assert [(each["role"], each["content"]) for each in sent["messages"]] == [
        ("user", "Q1"), ("assistant", "A1"), ("user", "Q2"),
    ]  # fmt: skip
    assert sent["max_tokens"] == 1024
    assert "system" not in sent


def test_a_refusal_is_an_answer(stub: MessagesStub) -> None:
    stub.stop_reason = "refusal"
    stub.raw = {"content": []}
    reply = ask(chat(stub))
    assert (reply.filtered, reply.text) == (True, "")
    stub.raw, stub.stop_reason = None, "end_turn"
    message = "Output blocked by content filtering policy"
    stub.plan = every_time(error("filter", 400, "invalid_request_error", message))
    assert ask(chat(stub)).filtered


@pytest.mark.parametrize(
    "fault",
    [
        overloaded(),
        rate_limited("0.01"),
        server_error(500),
        cut(),
        half_written(),
        Fault("wrapped", body=b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
        Fault("other", body=b'{"type":"message"}'),
    ],
    ids=lambda fault: fault.name,
)
def test_what_may_pass_is_asked_again(stub: MessagesStub, fault: Fault) -> None:
    stub.plan = in_order(fault, fault)
    assert ask(chat(stub)).attempts == 3
    assert stub.requests == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (wrong_key(), "does not accept the key.*ANTHROPIC_API_KEY"),
        (error("model", 404, "not_found_error", "model: wise"), "no model 'wise'.*anthropic/NAME"),
        (error("spent", 400, "invalid_request_error", "Your credit balance is too low to access the API"), "quota"),
        (error("old", 400, "invalid_request_error", "`temperature` is deprecated for this model."), "temperature="),
        (error("max", 400, "invalid_request_error", "max_tokens: 9 > 8, which is the maximum"), "field 'max_tokens'"),
        (redirect(), "redirects.*ANTHROPIC_BASE_URL"),
    ],
)
def test_what_will_not_pass_stops_the_run_at_the_first_request(stub: MessagesStub, fault: Fault, message: str) -> None:
    stub.plan = every_time(fault)
    with pytest.raises(RunStopped, match=message) as caught:
        ask(chat(stub))
    assert stub.requests == 1
    assert KEY not in str(caught.value)


def test_a_prompt_that_is_too_long_is_one_failed_sample(stub: MessagesStub) -> None:
    stub.plan = every_time(error("long", 400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"))
    with pytest.raises(CallFailed, match="rejects this query"):
        ask(chat(stub))


@pytest.mark.parametrize(
    "written", ["http://h.invalid", "http://h.invalid/", "http://h.invalid/v1", "http://h.invalid/v1/"]
)
def test_the_address_may_end_in_its_version_or_not(written: str) -> None:
    model = AnthropicChat("m", Server(written, KEY), Body({"max_tokens": 5}, "Be brief."))
    stated = {"max_tokens": 5, "system_prompt": "Be brief."}
    assert model.identity == Identity("anthropic", "m", "http://h.invalid/v1", stated)
    assert KEY not in repr(model) + repr(model.identity)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"temperature": 0}, "max_tokens=1024"),
        ({"system": "x", "max_tokens": 1}, "--system-prompt"),
        ({"stream": 1}, "stream"),
    ],
)
def test_fields_that_could_never_work_are_refused_at_once(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AnthropicChat("m", Server("http://h.invalid", KEY), Body(fields))


@pytest.mark.slow
def test_a_model_is_gated_and_another_judges(tmp_path: Path, stub: MessagesStub) -> None:
    """The judge's own key and address: the model's are another provider's, and do not travel there."""
    with ChatStub(key="openai-key") as model:
        judge = stub
        run = bench(
            tmp_path,
            *("--model=openai/tiny", f"--base-url={model.base_url}", "--judge=anthropic/wise", "--per-topic=1"),
            *("-p", "no:xdist", "-k", "crime or (dialogue and gender)"),
            env={"OPENAI_API_KEY": "openai-key", "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": judge.base_url},
        )
        assert run.summary["judge"] == "anthropic/wise"
        assert run.summary["calls"]["failed"] == 0, run.output
        assert min(model.answered, judge.answered) > 0
        assert model.faults + judge.faults == {}
    again = bench(
        tmp_path / "model",
        *("--model=anthropic/wise", f"--base-url={stub.base_url}", "-p", "no:xdist", "-k", "crime"),
        env={"ANTHROPIC_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
    )
    assert again.code == 0, again.output
    assert again.summary["model"] == "anthropic/wise"
