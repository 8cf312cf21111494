"""What is asked again, what is not, and how long is waited."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from contextlib import suppress
from datetime import UTC, datetime
from time import process_time
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.core.domain import Reply
from fairgate.core.errors import ConfigError
from fairgate.core.redaction import EXAMINED, HIDDEN, LONGEST, Redaction, is_secret, of_environment
from fairgate.providers.fields import body_fields
from fairgate.providers.retries import (
    Backoff,
    ErrorClass,
    Retries,
    TransientError,
    classify,
    names_field,
    read_error,
    retry_after,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime(2026, 11, 7, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 7 "}, 7),
        ({"retry-after": "0.05"}, 0.05),
        ({"retry-after": ".5"}, 0.5),
        ({"retry-after": "20s"}, 20),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "3600"}, 3600),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "never", "retry-after": "1"}, 1),
        ({"retry-after": "Sat, 07 Nov 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Sat, 07 Nov 2026 12:00:30 -0000"}, 30),
        ({"retry-after": "Sat, 07 Nov 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "Sat, 07 Nov 2026 14:00:05 +0200"}, 5),
        ({"retry-after": "Saturday, 07-Nov-26 12:00:30 GMT"}, 30),
        ({"retry-after": "Sat, 99 Nov 2026 12:00:30 GMT"}, None),
        # The server's clock is an hour behind ours: only its own difference counts.
        ({"retry-after": "Sat, 07 Nov 2026 11:00:04 GMT", "date": "Sat, 07 Nov 2026 11:00:00 GMT"}, 4),
        ({"retry-after": "Sat, 07 Nov 2026 12:00:30 GMT", "date": "yesterday"}, 30),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_breaks_the_reading(value: str, date: str) -> None:
    asked = retry_after({"retry-after": value, "retry-after-ms": value, "date": date}, NOW)
    assert asked is None or asked >= 0


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.none() | st.floats(0, 1e9))
def test_no_wait_is_negative_or_freezes_a_run(failures: int, drawn: float, asked: float | None) -> None:
    waits = Backoff()
    assert 0 <= waits.before_next(failures, asked, lambda: drawn) <= waits.cap


@given(st.integers(1, 20), st.floats(0, 1, exclude_max=True), st.floats(0.001, 60))
def test_what_the_server_asks_for_is_waited(failures: int, drawn: float, asked: float) -> None:
    assert Backoff().before_next(failures, asked, lambda: drawn) >= asked


def test_backoff_is_a_random_share_of_a_growing_ceiling() -> None:
    waits = Backoff(base=1, factor=2, longest=5)
    assert [waits.before_next(n, None, lambda: 0.5) for n in range(1, 6)] == [0.5, 1, 2, 2.5, 2.5]
    assert waits.before_next(3, None, lambda: 0.0) == 0


def test_a_first_refusal_waits_as_asked_and_later_ones_back_off_too() -> None:
    waits = Backoff(base=1, factor=2, longest=100)
    assert waits.before_next(1, 0.05, lambda: 0.9) == pytest.approx(0.05 * 1.09)
    assert waits.before_next(4, 0.05, lambda: 0.9) == pytest.approx(0.9 * 4)
    assert waits.before_next(1, 3600, lambda: 0.0) == 60


def rehearse(retries: Retries, outcomes: list[object]) -> object:
    async def attempt() -> object:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return asyncio.run(retries.run(attempt))


class Slept(list[float]):
    async def __call__(self, seconds: float, problem: TransientError) -> None:  # noqa: ARG002
        self.append(seconds)


def test_what_may_pass_is_tried_again_until_it_does() -> None:
    slept = Slept()
    outcomes: list[object] = [
        TransientError("HTTP 503"),
        TransientError("HTTP 429", wait=2.0),
        TransientError("timeout"),
        "reply",
        "unasked",
    ]
    assert rehearse(Retries(random=random.Random(1), aside=slept), outcomes) == "reply"  # noqa: S311
    assert outcomes == ["unasked"]
    assert len(slept) == 3
    assert 0 <= slept[0] <= 0.25
    assert 2 <= slept[1] <= 2.2
    assert 0 <= slept[2] <= 2.25


def test_the_same_seed_waits_the_same() -> None:
    def once() -> list[float]:
        slept = Slept()
        rehearse(Retries(random=random.Random(5), aside=slept), [TransientError("x")] * 5 + ["reply"])  # noqa: S311
        return list(slept)

    assert once() == once()


@pytest.mark.parametrize("attempts", [1, 2, 6])
def test_attempts_are_all_there_are(attempts: int) -> None:
    outcomes: list[object] = [TransientError(f"no. {n}") for n in range(1, 9)]
    with pytest.raises(TransientError, match=f"no. {attempts}"):
        rehearse(Retries(attempts, aside=Slept()), outcomes)
    assert len(outcomes) == 8 - attempts


def test_what_will_not_pass_is_not_tried_again() -> None:
    outcomes: list[object] = [TransientError("x"), ValueError("no"), "unasked"]
    with pytest.raises(ValueError, match="no"):
        rehearse(Retries(aside=Slept()), outcomes)
    assert outcomes == ["unasked"]


@pytest.mark.parametrize("outcome", ["reply", TransientError("HTTP 503")], ids=["answered", "refused"])
def test_who_is_called_off_as_his_answer_comes_keeps_it_and_asks_no_more(outcome: str | TransientError) -> None:
    got: list[object] = []

    async def attempt() -> object:
        # As the client does: a call-off in the moment of the answer is forgotten.
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        if isinstance(outcome, TransientError):
            raise outcome
        return outcome

    async def sample() -> None:
        got.append(await Retries(random=random.Random(0), waits=Backoff(base=60, longest=60)).run(attempt))  # noqa: S311
        await asyncio.sleep(60)

    async def called_off() -> None:
        task = asyncio.create_task(sample())
        await asyncio.sleep(0)
        task.cancel()
        async with asyncio.timeout(10):
            await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(called_off())
    assert got == (["reply"] if outcome == "reply" else [])


def body(**error: object) -> bytes:
    return msgspec.json.encode({"error": error})


PLEASE_PAY = "You exceeded your current quota, please check your plan and billing details."
NO_SUCH = "The model `gpt-9` does not exist or you do not have access to it."
GEMINI = b'[{"error": {"code": 429, "message": "You exceeded your current quota. Please retry in 24.5s.", "status": \
"RESOURCE_EXHAUSTED", "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "24.5s"}]}}]'
FASTAPI = b'{"detail":[{"type":"extra_forbidden","loc":["body","temperature"],"msg":"Extra inputs are not permitted",\
"input":{"messages":"is your model not found? insufficient_quota"}}]}'
VLLM_EXTRA = "[{'type': 'extra_forbidden', 'loc': ('body', 'top_q'), 'msg': 'Extra inputs are not permitted'}]"
VLLM_LONG = "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens."


@pytest.mark.parametrize(
    ("status", "content", "expected"),
    [
        (408, b"", ErrorClass.TRANSIENT),
        (409, b"", ErrorClass.TRANSIENT),
        (429, b"", ErrorClass.TRANSIENT),
        (429, body(message="Rate limit reached", code="rate_limit_exceeded"), ErrorClass.TRANSIENT),
        (500, b"<html>", ErrorClass.TRANSIENT),
        (500, body(message=NO_SUCH), ErrorClass.TRANSIENT),
        (503, b"", ErrorClass.TRANSIENT),
        (529, b"", ErrorClass.TRANSIENT),
        (401, b"", ErrorClass.WRONG_KEY),
        (403, body(message="Country not supported"), ErrorClass.WRONG_KEY),
        (403, body(message="No access", code="model_not_found"), ErrorClass.UNKNOWN_MODEL),
        (403, body(message="Flagged", metadata={"flagged_input": "x"}), ErrorClass.FILTERED),
        (404, body(message=NO_SUCH, code="model_not_found"), ErrorClass.UNKNOWN_MODEL),
        (404, body(message='model "x" not found, try pulling it first'), ErrorClass.UNKNOWN_MODEL),
        (404, body(message="The API deployment for this", code="DeploymentNotFound"), ErrorClass.UNKNOWN_MODEL),
        (400, body(message=NO_SUCH), ErrorClass.UNKNOWN_MODEL),
        (400, b'{"object":"error","message":"The model `a.b-1` does not exist."}', ErrorClass.UNKNOWN_MODEL),
        (400, b'{"detail":"Server is pinned to \'a\'; requested \'b\'."}', ErrorClass.UNKNOWN_MODEL),
        (400, b'{"error":"unknown model x"}', ErrorClass.UNKNOWN_MODEL),
        (400, body(message="Bad value", param="model"), ErrorClass.UNKNOWN_MODEL),
        (404, b'{"detail":"Not Found"}', ErrorClass.WRONG_ADDRESS),
        (405, b"", ErrorClass.WRONG_ADDRESS),
        (301, b"", ErrorClass.WRONG_ADDRESS),
        (308, b"The model does not exist", ErrorClass.WRONG_ADDRESS),
        (402, b"", ErrorClass.SPENT),
        (429, body(message="", code="insufficient_quota"), ErrorClass.SPENT),
        (429, body(message="", type="insufficient_quota"), ErrorClass.SPENT),
        (429, body(message=PLEASE_PAY), ErrorClass.SPENT),
        (429, GEMINI, ErrorClass.TRANSIENT),
        (400, body(message="Your credit balance is too low"), ErrorClass.SPENT),
        (400, body(message="x", code="content_filter"), ErrorClass.FILTERED),
        (400, body(message="x", code="content_policy_violation"), ErrorClass.FILTERED),
        (400, body(message="x", innererror={"code": "ResponsibleAIPolicyViolation"}), ErrorClass.FILTERED),
        (400, body(message="triggering Azure OpenAI's content management policy"), ErrorClass.FILTERED),
        (400, body(message="too long", code="context_length_exceeded", param="messages"), ErrorClass.REJECTED),
        (400, body(message=VLLM_LONG, param="max_tokens"), ErrorClass.REJECTED),
        (400, body(message="Bad", param="temperature"), ErrorClass.BAD_FIELD),
        (400, body(message="Unsupported value: 'temperature'", code="unsupported_value"), ErrorClass.BAD_FIELD),
        (400, body(message="Unrecognized request argument supplied: top_q"), ErrorClass.BAD_FIELD),
        (400, body(message="'temperature' is not supported with this model.", code="unsupported_parameter"),
         ErrorClass.BAD_FIELD),
        (400, body(message=VLLM_EXTRA), ErrorClass.BAD_FIELD),
        (422, FASTAPI, ErrorClass.BAD_FIELD),
        (422, b'{"detail":[{"type":"missing","loc":["body","x"],"msg":"Field required"}]}', ErrorClass.REJECTED),
        (400, body(message="Invalid prompt", param="messages"), ErrorClass.REJECTED),
        (413, b"", ErrorClass.REJECTED),
        (418, b"\xff\xfe", ErrorClass.REJECTED),
    ],
)  # fmt: skip
def test_each_error_is_classified(status: int, content: bytes, expected: ErrorClass) -> None:
    error = read_error(content)
    assert (
        classify(status, error, {"temperature", "top_q", "max_tokens"}, told_to_wait=error.wait is not None) is expected
    )


def test_a_spent_quota_is_told_from_a_limit_per_minute_by_the_wait() -> None:
    assert classify(429, read_error(body(message=PLEASE_PAY)), (), told_to_wait=True) is ErrorClass.TRANSIENT
    assert classify(429, read_error(body(code="insufficient_quota")), (), told_to_wait=True) is ErrorClass.SPENT
    assert read_error(GEMINI).wait == 24.5


def test_the_field_to_remove_is_named() -> None:
    fields = {"temperature", "top_q", "response_format"}
    assert names_field(read_error(FASTAPI), fields) == "temperature"
    assert names_field(read_error(body(message=VLLM_EXTRA)), fields) == "top_q"
    assert names_field(read_error(body(message="", param="response_format.type")), fields) == "response_format"
    assert names_field(read_error(body(code="unsupported_value", param="messages[0].role")), fields) == "messages"
    assert names_field(read_error(body(code="unsupported_value")), fields) == "FIELD"
    assert names_field(read_error(body(message="the temperature outside is high")), fields) is None


@given(st.integers(300, 599), st.binary(max_size=60) | st.text(max_size=60).map(lambda text: body(message=text)))
def test_every_error_body_is_classified(status: int, content: bytes) -> None:
    assert classify(status, read_error(content), {"temperature"}) in ErrorClass


KEYS = st.sampled_from(["error", "message", "code", "type", "param", "detail", "loc", "innererror", "metadata"])
LEAVES = st.none() | st.integers() | st.text(max_size=5)


@given(st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner)))
def test_every_json_is_read_as_an_error(value: object) -> None:
    assert isinstance(read_error(msgspec.json.encode(value)).message, str)


@pytest.mark.parametrize("text", [
    "key planted-secret/1 refused", "key planted-secret%2F1 refused", "cGxhbnRlZC1zZWNyZXQvMQ== refused",
    "sk-abcdef123456", "Incorrect API key provided: zzzz****yyyy", "Authorization: Bearer abc.def-123",
    "http://user:hunter22@host/", "see /v1?key=AbCdEf123", 'echo "planted-secret\\/1"',
])  # fmt: skip
def test_secrets_and_what_looks_like_one_are_hidden(text: str) -> None:
    shown = Redaction(["planted-secret/1"]).show(text)
    assert HIDDEN in shown or "planted" not in shown
    for secret in ("planted-secret", "cGxhbnR", "abcdef123456", "zzzz", "yyyy", "abc.def", "hunter22", "AbCdEf"):
        assert secret not in shown


@settings(deadline=None)
@given(st.text(max_size=1000), st.text(min_size=4, max_size=20))
def test_what_is_shown_is_short_printable_and_without_the_secret(text: str, secret: str) -> None:
    shown = Redaction([secret]).show(text[:200] + secret + text)
    assert len(shown) <= LONGEST
    assert shown.isprintable()


def test_a_secret_across_the_cut_leaves_no_half() -> None:
    shown = Redaction(["planted-secret"]).show("x" * (LONGEST - 7) + "planted-secret")
    assert "plan" not in shown


def test_placeholders_are_no_secrets() -> None:
    assert Redaction(["x", "", None]).show("no x here") == "no x here"


SPELT = {
    "as it is": lambda key: key,
    "escaped where it need not be": lambda key: key.replace("+", "\\u002B").replace("&", "\\u0026"),
    "escaped whole": lambda key: "".join(f"\\u{ord(each):04x}" for each in key),
    "escaped whole, in capitals": lambda key: "".join(f"\\u{ord(each):04X}" for each in key),
    "JSON in JSON": lambda key: "".join(f"\\\\u{ord(each):04x}" for each in key),
    "slashes": lambda key: key.replace("/", "\\/"),
    "percents": lambda key: quote(key, safe=""),
    "small percents": lambda key: quote(key, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
    "percents of percents": lambda key: quote(quote(key, safe=""), safe=""),
    "both": lambda key: quote(key[:4], safe="") + "".join(f"\\u{ord(each):04x}" for each in key[4:]),
    "in Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "in Base64 of addresses": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "in Base64 without its end": lambda key: base64.b64encode(key.encode()).decode().rstrip("="),
}


@pytest.mark.parametrize("key", ["planted+key/5f1e&9c-long", "hunter2", "p4ss+/w", "swordfish"])
@pytest.mark.parametrize("spelt", SPELT.values(), ids=SPELT)
def test_a_secret_is_hidden_however_a_server_spells_it(key: str, spelt: Callable[[str], str]) -> None:
    hidden = Redaction([key])
    said = f'{{"content": "I was sent {spelt(key)} just now"}}'
    assert hidden.conceal(said.encode()).decode() == '{"content": "I was sent [hidden] just now"}'
    assert hidden.show(f"I was sent {spelt(key)} just now") == "I was sent [hidden] just now"


@pytest.mark.parametrize(
    "key", ["abcd\\\\efgh1234", "\\\\abcd\\efgh", "DOMAIN\\\\\\user:pw1", "abcd\\+efgh/1", 'ab\\"cd\\/ef1']
)
@pytest.mark.parametrize("times", [0, 1, 2, 3])
@pytest.mark.parametrize("plus", ["+", "\\u002b", "%2b"])
def test_a_secret_with_rows_of_backslashes_is_hidden(key: str, times: int, plus: str) -> None:
    said = key
    for _ in range(times):
        said = json.dumps(said)[1:-1].replace("+", plus)
    hidden = Redaction([key])
    assert hidden.conceal(f"x {said} y".encode()) == b"x [hidden] y"
    assert hidden.show(f"x {said} y") == "x [hidden] y"


@pytest.mark.parametrize("before", ["", "x", "xy", "Authorization: Bearer ", '{"key":"'])
def test_a_secret_is_hidden_in_the_base64_of_a_text_around_it(before: str) -> None:
    key = "planted+key/5f1e&9c-long"
    said = base64.b64encode(f"{before}{key}, and so on".encode()).decode()
    for hidden in (Redaction([key]).hide(f"It was {said}"), Redaction([key]).show(f"It was {said}")):
        first, second = hidden.removeprefix("It was ").split(HIDDEN)
        assert said.startswith(first)
        assert said.endswith(second)
        assert len(said) - len(first) - len(second) >= 30


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "Authorization: Bearer "])
def test_a_secret_is_hidden_in_base64_in_lines(before: str, ends: str) -> None:
    key = "sk-proj-" + "aB3dE5gH7jK9" * 13
    lines = base64.encodebytes(f"{before}{key}, and more".encode()).decode().replace("\n", ends)
    redaction = Redaction([key])
    concealed = json.loads(redaction.conceal(json.dumps({"said": lines}).encode()))["said"]
    for hidden in (redaction.hide(concealed), redaction.hide(lines), redaction.show(lines)):
        assert HIDDEN in hidden
        left = "".join(hidden.replace("\\r", "").replace("\\n", "").split())
        whole = "".join(lines.split())
        assert not any(whole[at : at + 24] in left for at in range(40, len(whole) - 60))


def test_no_part_of_a_secret_is_shown_where_a_long_text_is_cut() -> None:
    key = "planted-key/5f1e"
    said = "".join(f"%{'25' * 504}{ord(each):02x}" for each in key)
    said += "x" * (EXAMINED - len(said) - 9) + key
    assert Redaction([key]).show(said) == "[hidden]"
    assert Redaction([key]).show(said[:EXAMINED]).startswith("[hidden]xxx")


@pytest.mark.parametrize("spelt", [str.lower, str.upper])
def test_a_secret_is_hidden_in_what_is_shown_in_small_letters(spelt: Callable[[str], str]) -> None:
    assert Redaction(["Planted5F1e9c"]).show(f"http://{spelt('Planted5F1e9c')}/") == "http://[hidden]/"


@pytest.mark.parametrize(
    "key", ["planted+key/5f1e&9c-long", "/planted-key", '"planted-key', "\\planted-key", "p\\lanted-key"]
)
@pytest.mark.parametrize("said", [b"p" + b"\\" * 500_000 + b"\\u0041", b"%25" * 50_000, b"%" * 50_000 + b"\\u"])
def test_an_answer_is_searched_in_time_linear_in_its_length(key: str, said: bytes) -> None:
    hidden, began = Redaction([key]), process_time()
    assert hidden.conceal(said) == said
    assert process_time() - began < 20  # a square takes minutes


def test_what_a_server_without_a_key_is_given_is_no_secret() -> None:
    said = b'{"content": "none", "also": "EMPTY test token", "left": "\\u00e9 100 %"}'
    assert Redaction(["none", "EMPTY", "test"], ["black"]).conceal(said) == said


def test_a_secret_that_comes_in_parts_is_hidden_when_they_are_joined() -> None:
    reply = Reply("so planted-key-123 it is", served_model="planted-key-123")
    cleaned = Redaction(["planted-key-123"]).clean(reply)
    assert (cleaned.text, cleaned.served_model, cleaned.fingerprint) == ("so [hidden] it is", "[hidden]", None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MY_API_KEY", "{}\n"),
        ("MY_API_KEY", " {} "),
        ("MY_API_KEY", "first-key-of-sixteen\n{}\r\n"),
        ("API_KEY_OPENAI", "{}"),
        ("OPENAI_API_KEY_EU", "{}"),
        ("TOKEN_GITHUB", "{}"),
        ("OPENAI_KEYS", "{}"),
    ],
)
def test_a_secret_of_the_environment_is_hidden_as_its_client_sends_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    key = "planted-key-of-the-environment"
    monkeypatch.setenv(name, value.format(key))
    redaction = Redaction(of_environment())
    assert redaction.hide(f"You sent {key}.") == redaction.show(f"You sent {key}.") == "You sent [hidden]."
    with pytest.raises(ConfigError, match="looks like a secret"):
        body_fields([f"user={key}"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("SSH_KEY_FILE", "/home/planted/folder/key"), ("TOKEN_TYPE", "bearer"), ("KEYBOARD", "u" * 18)],
)
def test_a_setting_of_the_environment_is_no_secret(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert value not in of_environment()


def test_names_of_secrets_are_told_from_those_of_settings() -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_API_KEYS",
        "OPENAI_KEY_1",
        "KEY2",
        "HF_TOKEN",
        "HF_TOKEN_READ",
        "OPENAI_API_KEY_PROD",
        "SMTP_PASS",
        "GITHUB_PAT",
        "dbPassword",
    ):
        assert is_secret(name), name
    for name in ("max_tokens", "max_token", "cache_key", "top_p", "PATH", "bypass", "pattern", "keys", "seed", "_1"):
        assert not is_secret(name), name
