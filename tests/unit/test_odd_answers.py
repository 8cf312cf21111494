"""Answers of servers in which any one field is odd: they are read, or they are unreadable, and end nothing."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.core.redaction import Redaction
from fairgate.providers.chat.anthropic import read_message
from fairgate.providers.chat.openai import read_completion
from fairgate.providers.fields import parsed_json
from fairgate.providers.images.openai import Sent, read_images

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fairgate.core.domain import Reply

TOKEN = {"token": "A", "bytes": [65], "logprob": -0.1}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
SPOKEN = [{"type": "text", "text": "A"}]
COMPLETION = {
    "choices": [
        {
            "message": {"content": SPOKEN, "refusal": None},
            "finish_reason": "stop",
            "logprobs": {"content": [TOKEN | {"top_logprobs": [TOKEN]}]},
        }
    ],
    "usage": USAGE,
    "model": "m",
    "system_fingerprint": "f",
}
COLUMNS = {"tokens": ["A"], "token_logprobs": [-0.1], "top_logprobs": [{"A": -0.1}]}
IN_COLUMNS = {"choices": [{"message": {"content": "A"}, "logprobs": COLUMNS}]}
MESSAGE = {
    "content": SPOKEN,
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "cache_read_input_tokens": 1, "output_tokens": 2},
    "model": "m",
}
IMAGES = {"data": [{"b64_json": "QQ==", "url": "https://images.invalid/a"}], "usage": USAGE, "model": "m"}
WEIGHED = partial(read_completion, weighed=True)
ODD: list[Any] = [
    None,
    True,
    {},
    [],
    [[]],
    {"a": {}},
    "",
    "\ud83d",
    0,
    -1,
    10**400,
    -(10**400),
    float("inf"),
    float("nan"),
    0.5,
]


def changed(value: Any) -> Iterator[Any]:
    """The value with one thing in it, or itself, replaced by each odd one."""
    yield from ODD
    for key, held in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        for each in changed(held):
            whole = value.copy()
            whole[key] = each
            yield whole


# As bytes: no JSON, or more than a reader of it may take.
ODD_BYTES = {
    "not UTF-8": b'"caf\xe9"',
    "half an emoji": b'"\xed\xa0\xbd"',
    "control character": b'"a\nb\x00"',
    "many digits": b"1" * 5_000,
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep in objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
}
NEEDED = {"choices", "message", "refusal", "data", "b64_json", 0}


def beside(value: Any) -> Iterator[Any]:
    """The answer with one thing in it that is not the reply replaced by each odd one, or more behind the reply."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in pairs:
        if key == "content":
            continue  # the reply itself
        for each in beside(held) if key in NEEDED else changed(held):
            whole = value.copy()
            whole[key] = each
            yield whole
    if isinstance(value, list):
        yield from ([*value, each] for each in ODD)


@pytest.mark.parametrize(
    ("read", "answer"),
    [(WEIGHED, COMPLETION), (WEIGHED, IN_COLUMNS), (read_message, MESSAGE), (read_images, IMAGES)],
    ids=["completion", "columns", "message", "images"],
)
def test_nothing_odd_beside_a_reply_loses_it(
    read: Callable[[bytes, float, int], Reply | Sent | None], answer: dict[str, object]
) -> None:
    def said(content: bytes) -> object:
        found = read(content, 0.0, 1)
        return found.content if isinstance(found, Sent) else None if found is None else found.text

    whole = json.dumps(answer).encode()
    expected = said(whole)
    assert expected in ("A", b"A")
    for each in beside(answer):
        assert said(json.dumps(each).encode()) == expected, each
    for field in ("model", "usage", "system_fingerprint", "stop_reason", "unknown"):
        for what, odd in ODD_BYTES.items():
            assert said(whole[:-1] + f',"{field}":'.encode() + odd + b"}") == expected, (field, what)


def test_an_answer_that_never_ends_to_nest_is_unreadable_at_once() -> None:
    many = 10**5
    escaped = rb"\"" * many
    for content in (b"[" * many, b'{"choices":[' * many, b"[" * many + b'"' + escaped, b"[" * many + b"}" * many):
        assert read_completion(content, 0.0, 1) is None
        with pytest.raises(ValueError, match=r"\w"):
            parsed_json(content)


@pytest.mark.parametrize(
    ("read", "answer"),
    [(WEIGHED, COMPLETION), (WEIGHED, IN_COLUMNS), (read_message, MESSAGE), (read_images, IMAGES)],
    ids=["completion", "columns", "message", "images"],
)
def test_one_odd_field_ends_nothing(read: Callable[[bytes, float, int], object], answer: dict[str, object]) -> None:
    assert read(json.dumps(answer).encode(), 0.0, 1) is not None
    for each in changed(answer):
        read(json.dumps(each).encode(), 0.0, 1)


NAMELESS = "[a name of 10,000 characters]"  # cut, it might end in half a secret


def test_the_name_that_a_server_gives_its_model_is_not_kept_where_it_is_long() -> None:
    for read, answer in ((read_completion, COMPLETION), (read_message, MESSAGE)):
        reply = read(json.dumps(answer | {"model": "m" * 10_000, "system_fingerprint": "f" * 10_000}).encode(), 0.0, 1)
        assert reply is not None
        assert (reply.served_model, reply.fingerprint) in ((NAMELESS, NAMELESS), (NAMELESS, None))
    sent = read_images(json.dumps(IMAGES | {"model": "m" * 10_000}).encode(), 0.0, 1)
    assert sent is not None
    assert sent.reply.served_model == NAMELESS


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize(("read", "answer"), [(read_completion, COMPLETION), (read_message, MESSAGE)])
def test_an_answer_in_another_encoding_than_secrets_are_looked_for_in_is_not_read(
    read: Callable[[bytes, float, int], object], answer: dict[str, object], encoding: str
) -> None:
    content = json.dumps(answer).encode(encoding)
    assert read(Redaction(["key-of-sixteen-letters"]).conceal(content), 0.0, 1) is None
