"""`openai/NAME` against a server that fails in every way that servers do."""

from __future__ import annotations

import asyncio
import gzip
import logging
import random
import socket
import threading
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fairgate.benchmarks.fact_or_fair.topics import Level, StatisticTopic, Task
from fairgate.core.domain import AnswerKind, Choice, Identity, Message, Modality, Query, Reply
from fairgate.core.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.ledger.samples import read
from fairgate.providers import endpoint
from fairgate.providers.chat.http_chat import PLAIN, Body
from fairgate.providers.chat.openai import OPENAI, OpenAIChat
from fairgate.providers.endpoint import LONGEST, Provider, Server
from fairgate.providers.fields import body_fields, samples_anew
from fairgate.providers.retries import Aside, Backoff, Retries, TransientError
from tests.servers.chat import (
    ChatStub,
    Fault,
    content_filter,
    cut,
    error,
    every_time,
    half_written,
    in_order,
    insufficient_quota,
    no_choices,
    now_and_then,
    rate_limited,
    redirect,
    server_error,
    slow_loris,
    torn,
    unknown_model,
    wrong_content_type,
    wrong_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("each_transport")

KEY = "planted-key-5f1e/9c"
PLANTED = "planted-5529"
TOPIC = StatisticTopic("b", Modality.TEXT, Task.OBJECTIVE, "s", Level.HIGH)


class Slept(list[float]):
    """Notes the waits, and waits for none of them."""

    async def __call__(self, seconds: float, problem: TransientError) -> None:  # noqa: ARG002
        self.append(seconds)


def query(prompt: str = "Who?\nA. one\nB. two", index: int = 0) -> Query:
    return Query(TOPIC, index, prompt, ())


def retries(aside: Aside | None = None) -> Retries:
    return Retries(waits=Backoff(base=0.001), random=random.Random(0), aside=Slept() if aside is None else aside)  # noqa: S311


def chat(stub: ChatStub, body: Body = PLAIN, provider: Provider = OPENAI, **more: object) -> OpenAIChat:
    given: dict[str, object] = {"address": stub.base_url, "key": KEY, "retries": retries(), "timeout": 10} | more
    return OpenAIChat("tiny", Server(**given), body, provider=provider)  # type: ignore[arg-type]


def ask(model: OpenAIChat, *queries: Query) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        try:
            return await asyncio.gather(*(model.ask(each) for each in queries or (query(),)))
        finally:
            await model.close()

    return asyncio.run(all_of_them())


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub() as running:
        yield running


def test_a_reply_carries_what_the_server_says(stub: ChatStub) -> None:
    [reply] = ask(chat(stub))
    assert msgspec.json.decode(reply.text)["answer"] in {"A", "B"}
    assert (reply.served_model, reply.fingerprint, reply.attempts, reply.filtered) == ("tiny", "fp_stub", 1, False)
    assert reply.prompt_tokens == len(query().prompt) // 4
    assert reply.completion_tokens is not None
    assert 0 < reply.latency < 10
    assert stub.last_headers["Authorization"] == f"Bearer {KEY}"


def test_a_conversation_is_sent_with_its_roles(stub: ChatStub) -> None:
    before = (Message("user", "Q1"), Message("assistant", "A1\n"))
    ask(chat(stub, Body(system_prompt="Be brief.")), replace(query("Q2"), before=before))
    assert msgspec.json.decode(stub.last_body)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Q1"},
        {"role": "assistant", "content": "A1\n"},
        {"role": "user", "content": "Q2"},
    ]


def test_fields_and_system_prompt_are_sent(stub: ChatStub) -> None:
    model = chat(stub, Body(body_fields(["max_tokens=16", "temperature="]), 'Say "A".'))
    ask(model, query("ünï\n"))
    assert msgspec.json.decode(stub.last_body) == {
        "model": "tiny",
        "max_tokens": 16,
        "messages": [{"role": "system", "content": 'Say "A".'}, {"role": "user", "content": "ünï\n"}],
    }
    ask(chat(stub, key=None))
    sent = msgspec.json.decode(stub.last_body)
    assert sent == {"model": "tiny", "temperature": 0, "messages": [{"role": "user", "content": query().prompt}]}
    assert "Authorization" not in stub.last_headers


def test_identity_tells_settings_apart_and_holds_no_secret() -> None:
    server = Server(f"http://user:pass@h.invalid:80/v1/?key={KEY}", KEY)
    model = OpenAIChat("m", server, Body({"top_p": 1}, "Be brief."))
    assert model.identity == Identity("openai", "m", "http://h.invalid/v1", {"top_p": 1, "system_prompt": "Be brief."})
    assert KEY not in repr(model) + repr(model.identity) + repr(server)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ([], {"temperature": 0}),
        (["temperature=0.5"], {"temperature": 0.5}),
        (["temperature="], {}),
        (["stop=[\"\\n\"]", "user=me=you", "n= 1"], {"temperature": 0, "stop": ["\n"], "user": "me=you", "n": 1}),
        (["logprobs=true", "x=null", "y=NaN"], {"temperature": 0, "logprobs": True, "x": None, "y": "NaN"}),
        (["a=1", "a="], {"temperature": 0}),
    ],
)  # fmt: skip
def test_body_fields_are_json_where_they_can_be(given: list[str], fields: dict[str, object]) -> None:
    assert body_fields(given) == fields


@pytest.mark.parametrize(
    ("given", "samples"),
    [
        ([], False),
        (["temperature="], False),
        (["temperature=0"], False),
        (["temperature=0.7"], True),
        (["temperature=0.7", "seed=3"], False),
        (["temperature=warm"], False),
    ],
)
def test_a_model_samples_where_the_user_says_so_and_no_seed_repeats_it(given: list[str], samples: bool) -> None:
    assert samples_anew(given) == samples


@pytest.mark.parametrize("given", ["temperature", "=1", " = 1"])
def test_a_body_field_needs_a_key(given: str) -> None:
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        body_fields([given])


WRONG = ["", "localhost:8000", "ftp://h/v1", "http://", f"http://h:{KEY}/v1", "http://[/", "http://a b/v1"]


@pytest.mark.parametrize("base_url", WRONG)
def test_a_base_url_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match="--base-url") as caught:
        OpenAIChat("m", Server(base_url, KEY))
    assert KEY not in shown(caught.value)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"fields": {"stream": True}}, "'stream' is not for the user"),
        ({"fields": {"system_prompt": "x"}}, "--system-prompt"),
        ({"key": f"{KEY}\nX: y"}, "characters that no HTTP header may"),
        ({"max_in_flight": 0}, "above 0"),
        ({"retries": Retries(attempts=0)}, "above 0"),
        ({"timeout": 0}, "above 0"),
    ],
)
def test_what_could_never_work_is_refused_at_once(more: dict[str, Any], message: str) -> None:
    fields = more.get("fields")
    given = {name: value for name, value in more.items() if name != "fields"}
    with pytest.raises(ConfigError, match=message) as caught:
        OpenAIChat("m", Server("http://127.0.0.1:1/v1", **given), Body(fields))
    assert KEY not in shown(caught.value)


def test_a_new_line_behind_the_key_does_no_harm(stub: ChatStub) -> None:
    stub.key = KEY
    assert ask(chat(stub, key=f"{KEY}\n"))


PASSING = [
    (rate_limited(), 1),
    (rate_limited("0.01"), 1),
    (rate_limited("Sat, 07 Nov 2026 12:00:00 GMT"), 1),
    (rate_limited(milliseconds="5"), 1),
    (server_error(408), 1),
    (server_error(409), 1),
    (server_error(500), 1),
    (server_error(503), 1),
    (cut(), 1),
    (torn(), 1),
    (half_written(), 1),
    (wrong_content_type(), 1),
    (no_choices(), 1),
    (Fault("empty", 204), 1),
    (Fault("not-a-completion", body=b'{"choices":[{"message":"hi"}]}'), 1),
    (Fault("nested", body=b"[" * 100_000), 1),
    (Fault("nested-error", body=b'{"error":' * 100_000), 1),
    (Fault("refused-and-nested", 500, body=b'{"error":' * 100_000), 1),
    (Fault("wrapped", body=b'{"error":{"code":502,"message":"Upstream"}}'), 1),
    (Fault("bad-gzip", headers={"Content-Encoding": "gzip"}, body=b"not gzip"), 1),
]


@pytest.mark.parametrize(("fault", "times"), PASSING, ids=[fault.name for fault, _ in PASSING])
def test_what_may_pass_is_asked_again(stub: ChatStub, fault: Fault, times: int) -> None:
    stub.plan = in_order(*[fault] * times)
    [reply] = ask(chat(stub))
    assert reply.attempts == stub.requests == times + 1
    assert stub.answered == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (server_error(503), r"HTTP 503 six times, last: The server had an error"),
        (rate_limited("7200"), r"HTTP 429 six times, last: Rate limit.*asks to wait 7200 s"),
        (cut(), "cut connection six times"),
        (torn(), "cut connection six times"),
        (half_written(), "broken JSON six times, last: 44 bytes"),
        (wrong_content_type(), "text/html instead of JSON six times, last: <html>"),
        (no_choices(), "no choices in the answer six times"),
    ],
    ids=lambda each: each.name if isinstance(each, Fault) else "",
)
def test_after_six_attempts_one_sample_has_failed(stub: ChatStub, fault: Fault, message: str) -> None:
    stub.plan = every_time(fault)
    slept = Slept()
    with pytest.raises(CallFailed, match=message):
        ask(chat(stub, retries=retries(slept)))
    assert stub.requests == 6
    assert len(slept) == 5
    assert max(slept) <= 60


def test_an_answer_without_end_is_read_no_further_than_it_may_be_long(stub: ChatStub) -> None:
    stub.plan = in_order(Fault("long", body=b" " * (LONGEST + 1)))
    [reply] = ask(chat(stub))
    assert reply.attempts == 2
    stub.plan = every_time(Fault("bomb", headers={"Content-Encoding": "gzip"}, body=gzip.compress(bytes(LONGEST + 1))))
    with pytest.raises(CallFailed, match="endless answer six times, last: more than 16,777,216 bytes"):
        ask(chat(stub))
    stub.plan = in_order(Fault("just", body=b" " * LONGEST), None)
    with pytest.raises(CallFailed, match="broken JSON once, last: 16777216 bytes"):
        ask(chat(stub, retries=Retries(1)))


def test_failures_of_several_kinds_are_counted(stub: ChatStub) -> None:
    stub.plan = in_order(server_error(500), cut(), *[server_error(500)] * 4)
    with pytest.raises(CallFailed, match="HTTP 500 five times, cut connection once, last: HTTP 500: The server"):
        ask(chat(stub))


def test_the_wait_is_as_long_as_asked(stub: ChatStub) -> None:
    stub.plan = in_order(rate_limited("0.05"), rate_limited("7200"), rate_limited(milliseconds="1500"))
    slept = Slept()
    ask(chat(stub, retries=retries(slept)))
    assert 0.05 <= slept[0] <= 0.055
    assert slept[1] == 60
    assert 1.5 <= slept[2] <= 1.65


def test_a_reply_that_drips_is_given_up(stub: ChatStub) -> None:
    stub.plan = in_order(slow_loris())
    [reply] = ask(chat(stub, timeout=0.3))
    assert reply.attempts == stub.requests == 2
    stub.plan = every_time(slow_loris())
    with pytest.raises(CallFailed, match=r"timeout twice, last: no whole answer within 0.1 s"):
        ask(chat(stub, timeout=0.1, retries=replace(retries(), attempts=2)))


STOPPING = [
    (wrong_key(), "does not accept the key"),
    (error("forbidden", 403, "Country not supported"), "does not accept the key"),
    (unknown_model("tiny"), "has no model 'tiny'"),
    (error("unknown-400", 400, "model tiny does not exist"), "has no model 'tiny'"),
    (insufficient_quota(), "quota is spent"),
    (replace(insufficient_quota(), status=200), "quota is spent"),
    (error("payment", 402, "Payment required"), "quota is spent"),
    (redirect(), "redirects to https://sso.invalid/login .*--base-url"),
    (Fault("redirect-nowhere", 307), "redirects .*--base-url"),
    (error("field", 400, "Only the default is supported", param="temperature"), "--model-arg temperature="),
    (Fault("fastapi", 422, b'{"detail":[{"type":"extra_forbidden","loc":["body","top_q"]}]}'), "--model-arg top_q="),
    (error("role", 400, "no system", param="messages[0].role", code="unsupported_value"), "--system-prompt"),
    (Fault("lost", 404, b'{"detail":"Not Found"}'), "chat/completions is not served there"),
    (Fault("wrapped", body=b'{"error":{"code":402,"message":"Insufficient credits"}}'), "quota is spent"),
]


@pytest.mark.parametrize(("fault", "message"), STOPPING, ids=[fault.name for fault, _ in STOPPING])
def test_what_will_not_pass_stops_the_run_at_the_first_request(stub: ChatStub, fault: Fault, message: str) -> None:
    stub.plan = every_time(fault)
    with pytest.raises(RunStopped, match=message) as caught:
        ask(chat(stub))
    assert stub.requests == 1
    assert caught.value.hint


def test_a_missing_key_is_told_from_a_wrong_one(stub: ChatStub) -> None:
    stub.plan = every_time(wrong_key())
    with pytest.raises(RunStopped, match="none was given"):
        ask(chat(stub, key=None))


def test_a_rejected_query_is_one_failed_sample(stub: ChatStub) -> None:
    stub.plan = every_time(error("long", 400, "Too long", code="context_length_exceeded", param="messages"))
    with pytest.raises(CallFailed, match=r"rejects this query \(HTTP 400: Too long\)"):
        ask(chat(stub))
    assert stub.requests == 1


def test_a_name_that_does_not_resolve_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    model = OpenAIChat("m", Server("http://no-such-host.invalid/v1", KEY, retries=retries()))
    with pytest.raises(RunStopped, match=r"'no-such-host.invalid' does not resolve.*--base-url"):
        ask(model)


def refused(slept: Slept, name: str = "127.0.0.1") -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    ask(OpenAIChat("m", Server(f"http://{name}:{port}/v1", KEY, retries=retries(slept))))


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_where_nothing_listens_on_this_machine_the_run_ends_after_three_tries(name: str) -> None:
    slept = Slept()
    with pytest.raises(
        RunStopped, match=rf"http://{name}:\d+/v1: nothing listens there .*Start the server first\. Check"
    ):
        refused(slept, name)
    assert len(slept) == 2


def test_elsewhere_a_refused_connection_is_tried_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "is_here", lambda _: False)
    slept = Slept()
    with pytest.raises(CallFailed, match=r"connection refused six times\. Is the server up\? Check --base-url"):
        refused(slept)
    assert len(slept) == 5


def test_a_local_server_that_answered_before_is_waited_for(stub: ChatStub) -> None:
    """As while it restarts."""
    slept = Slept()

    async def twice() -> None:
        model = chat(stub, retries=retries(slept))
        await model.ask(query())
        await asyncio.to_thread(stub._wait_for, stub.stop())  # noqa: SLF001
        try:
            await model.ask(query("again", 1))
        finally:
            await model.close()

    with pytest.raises(CallFailed, match=r"connection refused (six|five) times"):
        asyncio.run(twice())
    assert len(slept) == 5


REPLIES = [
    ({"content": "A"}, "stop", "A", False),
    ({"content": None}, "length", "", False),
    ({}, "stop", "", False),
    ({"content": None, "refusal": "I won't."}, "stop", "I won't.", True),
    ({"content": "", "refusal": ""}, "stop", "", False),
    ({"content": "cut o"}, "content_filter", "cut o", True),
    ({"content": None}, "content_filter", "", True),
    ({"content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}, "stop", "AB", False),
    ({"content": [{"type": "thinking", "thinking": "C"}, {"type": "text", "text": "A"}]}, "stop", "A", False),
    ({"content": [{"type": "refusal", "refusal": "No."}]}, "stop", "No.", True),
    ({"content": "A", "reasoning_content": "B?", "tool_calls": []}, None, "A", False),
    ({"content": 7}, "stop", "", False),
]


@pytest.mark.parametrize(("message", "finish", "text", "filtered"), REPLIES)
def test_replies_of_every_shape_are_read(
    stub: ChatStub, message: dict[str, object], finish: str | None, text: str, filtered: bool
) -> None:
    stub.raw = {"choices": [{"message": message, "finish_reason": finish}], "usage": None, "model": 3}
    [reply] = ask(chat(stub))
    assert (reply.text, reply.filtered, reply.prompt_tokens, reply.served_model) == (text, filtered, None, None)


CUT = [
    ({"content": None, "reasoning_content": "It may be B, since"}, "length", True, AnswerKind.TRUNCATED),
    ({"content": "", "reasoning": "The answer is B"}, "length", True, AnswerKind.TRUNCATED),
    ({"content": "<think>The answer is B"}, "length", True, AnswerKind.TRUNCATED),
    ({"content": '{"answer": "B"}. That is, as'}, "length", True, AnswerKind.CHOSEN),
    ({"content": "I'm sorry, but I can't choose. As"}, "length", True, AnswerKind.REFUSED),
    ({"content": ""}, "stop", False, AnswerKind.UNREADABLE),
]


@pytest.mark.parametrize(("message", "finish", "truncated", "kind"), CUT)
def test_a_reply_that_is_cut_before_its_answer_is_truncated_and_its_thoughts_are_no_answer(
    stub: ChatStub, message: dict[str, object], finish: str, truncated: bool, kind: AnswerKind
) -> None:
    stub.raw = {"choices": [{"message": message, "finish_reason": finish}]}
    [reply] = ask(chat(stub))
    choices = (Choice("A", "one", {}), Choice("B", "two", {}))
    assert (reply.truncated, read(replace(query(), choices=choices), reply).kind) == (truncated, kind)


@pytest.mark.parametrize(
    ("usage", "sent", "received"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 900, "total_tokens": 910}, 10, 900),
        ({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 917}, 10, 907),
        ({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 3}, 10, 7),
        ({"prompt_tokens": 10, "completion_tokens": 7}, 10, 7),
    ],
)
def test_hidden_thoughts_count_as_received_whether_the_server_adds_them_or_not(
    stub: ChatStub, usage: dict[str, int], sent: int, received: int
) -> None:
    stub.raw = {"usage": usage}
    [reply] = ask(chat(stub))
    assert (reply.prompt_tokens, reply.completion_tokens) == (sent, received)


@pytest.mark.parametrize(("sent", "text"), [(b"\\ud83d", "A ?"), (b"\xe9", "A \N{REPLACEMENT CHARACTER}")])
def test_half_a_character_does_not_lose_the_reply(stub: ChatStub, sent: bytes, text: str) -> None:
    stub.plan = in_order(Fault("half", body=b'{"choices":[{"message":{"content":"A %s"}}]}' % sent))
    [reply] = ask(chat(stub))
    assert (reply.text, reply.attempts) == (text, 1)


@pytest.mark.parametrize("number", ["1e999", "Infinity", "NaN", "1" + 30 * "0", "-1", '"7"', "true"])
def test_a_count_of_tokens_that_cannot_be_costs_no_reply(stub: ChatStub, number: str) -> None:
    body = f'{{"choices":[{{"message":{{"content":"A"}}}}],"usage":{{"prompt_tokens":{number}}}}}'
    stub.plan = in_order(Fault("number", body=body.encode()))
    [reply] = ask(chat(stub))
    assert (reply.text, reply.prompt_tokens, reply.attempts) == ("A", None, 1)


def test_answers_that_are_billed_and_cannot_be_read_are_counted(stub: ChatStub) -> None:
    usage = b'{"prompt_tokens":500,"completion_tokens":400,"total_tokens":900}'
    unread = Fault("unread", body=b'{"choices":[],"usage":' + usage + b"}")
    stub.plan = in_order(unread, unread, None)
    [reply] = ask(chat(stub))
    stub.plan = in_order(None)
    [plain] = ask(chat(stub))
    assert plain.prompt_tokens is not None
    assert plain.completion_tokens is not None
    assert reply.prompt_tokens == plain.prompt_tokens + 1000
    assert reply.completion_tokens == plain.completion_tokens + 800
    stub.plan = every_time(unread)
    with pytest.raises(CallFailed) as failed:
        ask(chat(stub))
    assert failed.value.tokens == (3000, 2400)


@pytest.mark.parametrize("fault", [content_filter(), error("f", 400, "x", code="content_policy_violation")])
def test_a_content_filter_is_an_answer(stub: ChatStub, fault: Fault) -> None:
    stub.plan = every_time(fault)
    [reply] = ask(chat(stub))
    assert (reply.text, reply.filtered, stub.requests) == ("", True, 1)


def test_many_at_once_keep_to_the_limit(stub: ChatStub) -> None:
    stub.latency = 0.005
    stub.plan = now_and_then(rate_limited("0.01"), 0.1)
    queries = [query(f"{index}\nA. x\nB. y", index) for index in range(200)]
    replies = ask(chat(stub, max_in_flight=16, retries=Retries()), *queries)
    assert [reply.text for reply in replies] == [stub.reply(each.prompt) for each in queries]
    assert sorted(stub.prompts) == sorted(each.prompt for each in queries)
    assert stub.peak == 16
    assert stub.requests == sum(reply.attempts for reply in replies) == 200 + stub.faults["429"]


def test_waiting_for_a_place_is_not_waiting_for_the_server(stub: ChatStub) -> None:
    stub.latency = 0.05
    replies = ask(chat(stub, max_in_flight=1, timeout=0.4), *[query(str(index), index) for index in range(12)])
    assert {reply.attempts for reply in replies} == {1}


def test_a_restart_of_the_server_loses_nothing(stub: ChatStub) -> None:
    stub.latency = 0.002
    queries = [query(f"no. {index}", index) for index in range(300)]

    async def patient(_: float, problem: TransientError) -> None:  # noqa: ARG001
        await asyncio.sleep(0.05)

    restarting = threading.Timer(0.03, stub.restart, [0.05])
    restarting.start()
    replies = ask(chat(stub, max_in_flight=4, retries=Retries(20, aside=patient)), *queries)
    restarting.join()
    assert len(replies) == 300
    assert set(stub.prompts) == {each.prompt for each in queries}


def test_the_first_answer_calls_back_all_who_wait_for_a_server_that_is_away() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    server, met = ChatStub(), list[TransientError]()

    async def aside(_: float, problem: TransientError) -> None:
        met.append(problem)
        if len(met) == 1:
            assert problem.over is not None
            await problem.over
        else:
            await server.start(port)

    async def both() -> list[int]:
        model = OpenAIChat("tiny", Server(f"http://127.0.0.1:{port}/v1", retries=Retries(aside=aside)))
        waiting = asyncio.create_task(model.ask(query("first")))
        while not met:  # noqa: ASYNC110 - bounded by the waits of a refused connection, of which there are none
            await asyncio.sleep(0.001)
        replies = [await model.ask(query("second", 1)), await asyncio.wait_for(waiting, 30)]
        await model.close()
        await server.stop()
        return [reply.attempts for reply in replies]

    assert asyncio.run(both()) == [2, 2]
    assert [problem.kind for problem in met] == ["connection refused"] * 2


def test_a_closed_model_opens_again(stub: ChatStub) -> None:
    model = chat(stub)
    ask(model)
    ask(model)
    assert stub.answered == 2


def test_an_error_that_nobody_expects_shows_nothing_of_what_was_sent(stub: ChatStub) -> None:
    def read(*_: object) -> None:
        raise ZeroDivisionError

    async def post() -> None:
        model = chat(stub, address=f"{stub.base_url}?code={PLANTED}")
        try:
            await model.endpoint.post(model.body(query()), read)
        finally:
            await model.close()

    with pytest.raises(ZeroDivisionError) as caught:
        asyncio.run(post())
    assert KEY not in shown(caught.value)
    assert PLANTED not in shown(caught.value)


def test_user_info_and_query_of_the_base_url_reach_the_server(stub: ChatStub) -> None:
    ask(chat(stub, address=f"http://me:pass%2Fword@127.0.0.1:{stub.port}/v1/?api-version=1&key={KEY}"))
    assert stub.last_headers["Authorization"] == "Basic bWU6cGFzcy93b3Jk"
    assert stub.last_url.endswith(f"/v1/chat/completions?api-version=1&key={KEY}")


def shown(error: BaseException) -> str:
    """All that a report, a log or a debugger's view of our frames would print of an error."""
    whole = traceback.TracebackException.from_exception(error, capture_locals=True)
    # The tests' own frames and the constructor's arguments hold the key, as they must.
    ours = [frame for frame in whole.stack if "fairgate/" in frame.filename and frame.name != "__init__"]
    ours = [frame for frame in ours if "/tests/" not in frame.filename]
    text = [str(error), repr(error), repr(error.args), repr(vars(error)), *traceback.format_exception(error)]
    return "".join([*text, *(repr(frame.locals) for frame in ours)])


ECHO = "Refused {authorization} at {url}"
LEAKS = [
    wrong_key(),
    error("echo-400", 400, ECHO),
    error("echo-404", 404, ECHO),
    error("echo-500", 500, ECHO),
    error("echo-429", 429, ECHO),
    error("field", 400, ECHO, param="temperature"),
    error("quota", 429, ECHO, code="insufficient_quota"),
    Fault("text", 400, b"\x1b[31mRefused {authorization}\r\n at {url}"),
    Fault("html", 200, b"<p>{authorization} {url}</p>", content_type="text/html"),
    Fault("json", 200, b'{"you sent": "{authorization} {url}"}'),
    Fault("half", 200, b'{"you sent": "{authorization} {url}'),
    Fault("redirect", 302, headers={"Location": f"https://me:{KEY}@sso.invalid/{KEY}?key={KEY}"}),
    cut(),
    torn(),
    slow_loris(),
]


@pytest.mark.parametrize("fault", LEAKS, ids=[fault.name for fault in LEAKS])
@pytest.mark.parametrize("place", ["header", "query", "user-info"])
def test_no_error_and_no_log_shows_a_secret(
    stub: ChatStub, fault: Fault, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = f"127.0.0.1:{stub.port}/v1"
    base_url = {
        "header": f"http://{server}",
        "query": f"http://{server}?key={KEY}",
        "user-info": f"http://someone:{KEY.replace('/', '%2F')}@{server}",
    }[place]
    stub.plan = every_time(fault)
    model = chat(stub, address=base_url, key=KEY if place == "header" else None, timeout=0.1)
    with pytest.raises(FairgateError) as caught:
        ask(model)
    assert KEY in stub.last_url or stub.last_headers.get("Authorization"), "the secret was sent at all"
    everything = shown(caught.value) + caplog.text + repr(model) + repr(vars(model.identity))
    for secret in (KEY, KEY.replace("/", "%2F"), stub.last_headers.get("Authorization", KEY).split()[-1]):
        assert secret not in everything
    assert len(str(caught.value)) < 700
    assert str(caught.value).isprintable()
    assert caught.value.__context__ is None
    assert f"openai/tiny at http://{server}:" in str(caught.value)


def said_whole(key: str) -> bytes:
    """A reply whose text is the key, every character of it escaped, in three parts."""
    escaped = ["".join(f"\\u{ord(each):04x}" for each in part) for part in (key[:5], key[5:9], key[9:])]
    content = ", ".join(f'{{"type": "text", "text": "{part}"}}' for part in escaped)
    return f'{{"model": "{key}", "choices": [{{"message": {{"content": [{content}]}}}}]}}'.encode()


@pytest.mark.parametrize("key", [KEY, "hunter2-x9z"])
def test_no_reply_brings_the_key_into_the_ledger(stub: ChatStub, key: str) -> None:
    stub.plan = every_time(Fault("echo", 200, said_whole(key)))
    [reply] = ask(chat(stub, key=key))
    assert (reply.text, reply.served_model) == ("[hidden]", "[hidden]")


@pytest.mark.parametrize("spelled", [KEY.upper(), KEY.lower(), KEY.swapcase(), KEY.upper().replace("/", "%2F")])
def test_no_reply_brings_the_key_into_the_ledger_in_letters_of_another_case(stub: ChatStub, spelled: str) -> None:
    stub.plan = every_time(Fault("echo", 200, said_whole(spelled)))
    [reply] = ask(chat(stub, key=KEY))
    assert (reply.text, reply.served_model) == ("[hidden]", "[hidden]")


def test_no_reply_brings_the_password_of_the_address_into_the_ledger(stub: ChatStub) -> None:
    said = b'{"choices": [{"message": {"content": "{authorization}"}}]}'
    stub.plan = every_time(Fault("echo", 200, said))
    [reply] = ask(chat(stub, address=f"http://you:p%40ss%2Bword-77@127.0.0.1:{stub.port}/v1", key=None))
    assert reply.text == "Basic [hidden]"


def test_no_redirect_shows_the_key_in_percents(stub: ChatStub) -> None:
    small = KEY.replace("/", "%2f")
    stub.plan = every_time(Fault("redirect", 302, headers={"Location": f"https://sso.invalid/{small}"}))
    with pytest.raises(RunStopped, match=r"redirects to https://sso\.invalid/\[hidden\]"):
        ask(chat(stub, key=KEY))


SECRETS = [
    *("key=sk-1", "OPENAI-KEY=x", "auth_token=x", "password=x", "secret=x", "token=x", "bearer=x", "hf_token=x"),
    *("passwd=x", "credentials=x", "extra_headers={}", "apiKey=x", "accessToken=x"),
    *('extra_body={"api_key": "x"}', 'tools=[{"a": {"password": "x"}}]', "user=Bearer abcdef-123", "user=sk-abcdef-1"),
    f"metadata={KEY}",
]


@pytest.mark.parametrize("field", SECRETS)
def test_a_secret_is_refused_as_a_body_field(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", KEY)
    with pytest.raises(ConfigError, match="looks like a secret") as caught:
        body_fields([field])
    for value in ("sk-1", "sk-abcdef-1", "abcdef-123", KEY):
        assert value not in str(caught.value)
    assert body_fields(["max_tokens=5", "max_completion_tokens=5", 'stop_token="x"', "prompt_cache_key=a"]) == {
        "temperature": 0,
        "max_tokens": 5,
        "max_completion_tokens": 5,
        "stop_token": "x",
        "prompt_cache_key": "a",
    }
