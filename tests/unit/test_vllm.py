"""`vllm/NAME` with a stand-in for the library: what it is given, and what is made of its outputs."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.core.domain import Message
from fairgate.core.errors import ConfigError
from fairgate.providers.local import options
from fairgate.providers.local.options import Named, TextOptions, seed_of
from tests.builders import query

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULE = "fairgate.providers.local.vllm"


class Engine:
    """As vLLM's `LLM`: one output for each prompt, in their order."""

    template: str | None = "a template"
    problem: Exception | None = None

    def __init__(self, **given: Any) -> None:
        if self.problem is not None:
            raise self.problem
        self.loaded, self.asked, self.drawn = given, [], []  # type: ignore[var-annotated]

    def get_tokenizer(self) -> Any:
        return SimpleNamespace(chat_template=self.template)

    def chat(self, asked: list[Any], drawn: list[Any], *, use_tqdm: bool) -> list[Any]:
        assert not use_tqdm
        self.asked, self.drawn = asked, drawn
        return [self._output(turns[-1]["content"]) for turns in asked]

    def generate(self, asked: list[Any], drawn: list[Any], *, use_tqdm: bool) -> list[Any]:
        assert not use_tqdm
        self.asked, self.drawn = asked, drawn
        return [self._output(text) for text in asked]

    @staticmethod
    def _output(text: str) -> Any:
        ended = "length" if "long" in text else "stop"
        made = SimpleNamespace(text=f" {text} \ud83d", finish_reason=ended, token_ids=[1, 2])
        return SimpleNamespace(outputs=[made], prompt_token_ids=[1, 2, 3])


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    library = ModuleType("vllm")
    library.LLM = type("LLM", (Engine,), {})  # type: ignore[attr-defined]
    library.SamplingParams = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", library)
    monkeypatch.setattr(options, "find_spec", lambda name: name)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield importlib.import_module(MODULE)
    sys.modules.pop(MODULE, None)  # bound to the stand-in


NAMED = ("vllm", "some/model", ["temperature=0.5", "max_new_tokens=8", "revision=abc"], TextOptions, "Be brief.")
ASKED = [
    replace(query(), prompt="short", index=0, before=(Message("user", "Then?"),)),
    replace(query(), prompt="long", index=1),
]


def test_conversations_go_out_together_each_with_its_own_seed(vllm: Any) -> None:
    model = vllm.Vllm(Named.of(*NAMED))
    engine = model._engine  # noqa: SLF001 - the stand-in
    assert engine.loaded == {
        "model": "some/model",
        "revision": "abc",
        "dtype": "auto",
        "trust_remote_code": False,
        "seed": 0,
    }
    first, second = model.answer(ASKED)
    assert engine.asked[0] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Then?"},
        {"role": "user", "content": "short"},
    ]
    assert [vars(each) for each in engine.drawn] == [
        {"temperature": 0.5, "top_p": 1.0, "max_tokens": 8, "seed": seed_of(each)} for each in ASKED
    ]
    assert (first.text, first.truncated, first.prompt_tokens, first.completion_tokens) == ("short ?", False, 3, 2)
    assert second.truncated


def test_a_model_without_a_chat_template_gets_the_bare_text(vllm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm.LLM, "template", None)
    model = vllm.Vllm(Named.of(*NAMED))
    model.answer(ASKED)
    assert model._engine.asked == ["Be brief.\n\nThen?\n\nshort", "Be brief.\n\nlong"]  # noqa: SLF001 - the stand-in


def test_an_engine_that_does_not_start_is_an_error_that_says_why(vllm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm.LLM, "problem", RuntimeError("no GPU was found"))
    with pytest.raises(ConfigError, match=r"it cannot be loaded.*no GPU was found"):
        vllm.load(Named.of(*NAMED), 4)
