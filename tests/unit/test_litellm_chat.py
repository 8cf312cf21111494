"""`litellm/NAME` with a stand-in for the library: what it is given, what is made of its replies and of its errors."""

from __future__ import annotations

import asyncio
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.core.domain import Identity
from fairgate.core.errors import CallFailed, ConfigError, RunStopped
from fairgate.providers.chat.http_chat import PLAIN, Body
from fairgate.providers.chat.litellm import LiteLLMChat
from fairgate.providers.endpoint import Server
from fairgate.providers.retries import Backoff, Retries
from tests.builders import query

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

    def __init__(self, *errors: Exception, says: object = "A", echoes: str = "") -> None:
        self.errors, self.says, self.echoes = list(errors), says, echoes
        self.given: list[dict[str, Any]] = []

    async def acompletion(self, **given: Any) -> object:
        self.given.append(given)
        if self.errors:
            raise self.errors.pop(0)
        usage = SimpleNamespace(prompt_tokens=7, completion_tokens=2)
        choice = SimpleNamespace(message=SimpleNamespace(content=self.says), finish_reason="stop")
        return SimpleNamespace(
            choices=[choice], usage=usage, model=f"served{self.echoes}", system_fingerprint=self.echoes
        )


def chat(monkeypatch: pytest.MonkeyPatch, library: Library, body: Body = PLAIN) -> LiteLLMChat:
    monkeypatch.setitem(sys.modules, "litellm", library)
    monkeypatch.setenv("SOME_API_KEY", KEY)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return LiteLLMChat("far/tiny", Server(None, retries=Retries(attempts=3, waits=Backoff(base=0.001))), body)


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


def test_without_the_library_the_mend_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with pytest.raises(ConfigError, match=r"pip install .fairgate\[litellm\]"):
        LiteLLMChat("far/tiny", Server(None))
