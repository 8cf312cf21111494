"""`litellm/NAME` with a stand-in for the library: what it is given, what is made of its replies and of its errors."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.core.domain import Form, Identity
from fairgate.core.errors import CallFailed, ConfigError, RunStopped
from fairgate.providers.chat.http_chat import PLAIN, Body
from fairgate.providers.chat.litellm import LiteLLMChat
from fairgate.providers.endpoint import Server
from fairgate.providers.retries import Backoff, Retries
from tests.builders import query
from tests.logprobs import as_openai, tokens

if TYPE_CHECKING:
    from fairgate.core.domain import Reply

KEY = "planted-litellm-key-61"


class LibraryError(Exception):
    def __init__(self, status: int | None, message: str) -> None:
        super().__init__(message)
        self.status_code = status


class ContentPolicyViolationError(LibraryError):
    pass


class Library:
    """Answers, after having raised what it was told to."""

    def __init__(self, *errors: Exception, says: object = "A", echoes: str = "", logprobs: object = None) -> None:
        self.errors, self.says, self.echoes, self.logprobs = list(errors), says, echoes, logprobs
        self.given: list[dict[str, Any]] = []

    async def acompletion(self, **given: Any) -> object:
        self.given.append(given)
        if self.errors:
            raise self.errors.pop(0)
        usage = SimpleNamespace(prompt_tokens=7, completion_tokens=2)
        message = SimpleNamespace(content=self.says)
        choice = SimpleNamespace(message=message, finish_reason="stop", logprobs=self.logprobs)
        return SimpleNamespace(
            choices=[choice], usage=usage, model=f"served{self.echoes}", system_fingerprint=self.echoes
        )


def chat(
    monkeypatch: pytest.MonkeyPatch, library: Library, body: Body = PLAIN, address: str | None = None
) -> LiteLLMChat:
    monkeypatch.setitem(sys.modules, "litellm", library)
    monkeypatch.setenv("SOME_API_KEY", KEY)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return LiteLLMChat("far/tiny", Server(address, retries=Retries(attempts=3, waits=Backoff(base=0.001))), body)


def ask(model: LiteLLMChat) -> Reply:
    return asyncio.run(model.ask(query()))


def test_it_reads_no_settings_of_a_folder_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_MODE", "")
    monkeypatch.delenv("LITELLM_MODE")
    chat(monkeypatch, Library())
    assert os.environ["LITELLM_MODE"] == "PRODUCTION"


def test_it_is_given_the_conversation_and_its_reply_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    model = chat(monkeypatch, library, Body({"top_p": 1}, "Be brief."))
    reply = ask(model)
    assert library.given == [
        {
            "model": "far/tiny",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": query().prompt}],
            "num_retries": 0,
            "top_p": 1,
        }
    ]
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.served_model) == ("A", 7, 2, "served")
    assert model.identity == Identity("litellm", "far/tiny", None, {"top_p": 1, "system_prompt": "Be brief."})


def test_a_key_that_comes_back_is_hidden_in_all_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = ask(chat(monkeypatch, Library(says=f"A, and {KEY}; café \ud83d", echoes=f" {KEY}")))
    kept = (reply.text, reply.served_model, reply.fingerprint)
    assert kept == ("A, and [hidden]; café ?", "served [hidden]", " [hidden]")


def test_what_a_gateway_may_say_apart_of_an_address_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:planted-proxy-word@proxy.invalid:3128")
    said = ("planted-password", "planted-token", "planted-proxy-word")
    library = Library(says=f"A. You sent {' and '.join(said)}.", echoes=" planted-token")
    address = "http://user:planted-password@127.0.0.1:9/v1?token=planted-token"
    reply = ask(chat(monkeypatch, library, address=address))
    assert reply.text == "A. You sent [hidden] and [hidden] and [hidden]."
    assert (reply.served_model, reply.fingerprint) == ("served [hidden]", " [hidden]")


def test_a_secret_of_the_environment_may_be_any_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_PASSWORD", os.fsdecode("contraseña-secreta".encode("latin-1")))
    assert ask(chat(monkeypatch, Library())).text == "A"


@pytest.mark.parametrize("says", [None, "", 7])
def test_a_reply_without_a_text_is_an_empty_one(monkeypatch: pytest.MonkeyPatch, says: object) -> None:
    reply = ask(chat(monkeypatch, Library(says=says)))
    assert (reply.text, reply.fingerprint) == ("", None)


def test_what_may_pass_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(LibraryError(429, "slow down"), LibraryError(None, "connection lost"))
    assert ask(chat(monkeypatch, library)).attempts == 3
    library = Library(*(LibraryError(500, f"broken, {KEY}") for _ in range(3)))
    with pytest.raises(CallFailed, match="HTTP 500") as caught:
        ask(chat(monkeypatch, library))
    assert KEY not in str(caught.value)
    assert caught.value.attempts == 3


def test_what_will_not_pass_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(LibraryError(401, f"bad key {KEY}"))
    with pytest.raises(RunStopped, match="HTTP 401") as caught:
        ask(chat(monkeypatch, library))
    assert KEY not in str(caught.value)
    assert len(library.given) == 1


def test_a_refused_prompt_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(chat(monkeypatch, Library(ContentPolicyViolationError(400, "no")))).filtered


LISTED = as_openai(tokens(["A"], 0, {"A": 0.7, "B": 0.3}))


@pytest.mark.parametrize("given", [LISTED, SimpleNamespace(model_dump=lambda: LISTED)], ids=["table", "pydantic"])
def test_tokens_come_with_choices_where_probabilities_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, given: object
) -> None:
    library = Library(logprobs=given)
    model = chat(monkeypatch, library, Body({"top_logprobs": 5}, probabilities=True))
    [token] = ask(model).tokens or ()
    assert dict(token.likely) == pytest.approx({b"A": 0.7, b"B": 0.3})
    asyncio.run(model.ask(replace(query(), form=Form.TEXT)))
    assert [each.get("logprobs") for each in library.given] == [True, None], "texts are asked without"
    assert library.given[0]["top_logprobs"] == 5
    assert model.identity.canonical == chat(monkeypatch, library, Body({"top_logprobs": 5})).identity.canonical


@pytest.mark.parametrize("given", [None, [], "no", {"content": None}])
def test_a_provider_that_gives_no_probabilities_is_told_from_a_run_without(
    monkeypatch: pytest.MonkeyPatch, given: object
) -> None:
    assert ask(chat(monkeypatch, Library(logprobs=given), Body(probabilities=True))).tokens == ()
    assert ask(chat(monkeypatch, Library(logprobs=LISTED))).tokens is None


@pytest.mark.parametrize(
    ("body", "field", "option"),
    [
        (Body(probabilities=True), "logprobs", "--probabilities"),
        (Body({"top_logprobs": 5}, probabilities=True), "top_logprobs", "--probabilities"),
        (Body(answer_format="json_schema"), "response_format", "--answer-format"),
    ],
)
def test_a_field_that_the_provider_does_not_have_ends_the_run_with_the_option_that_asks_for_it(
    monkeypatch: pytest.MonkeyPatch, body: Body, field: str, option: str
) -> None:
    problem = LibraryError(400, f"litellm.UnsupportedParamsError: far does not support parameters: ['{field}'], for x")
    with pytest.raises(RunStopped, match=f"Leave {option} away"):
        ask(chat(monkeypatch, Library(problem), body))


def test_without_the_library_the_mend_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with pytest.raises(ConfigError, match=r"pip install .fairgate\[litellm\]"):
        LiteLLMChat("far/tiny", Server(None))
