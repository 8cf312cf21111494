"""The user's own code in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fairgate.core.domain import Identity, Message, Reply
from fairgate.core.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.ledger.images import ImageStore, hash_in
from fairgate.providers.python import child_process
from fairgate.providers.python.child_process import ChildChat
from tests.builders import query

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import os, signal, time
from fairgate.core.errors import RunStopped

def process(prompt): return str(os.getpid())
def last(messages): return messages[-1]["content"] if isinstance(messages, list) else messages
def ends(prompt): os._exit(0)
def crashes(prompt): os.kill(os.getpid(), signal.SIGSEGV)
def hangs(prompt): time.sleep(600 if prompt == "hang" else 0.01); return prompt
async def hangs_async(prompt):
    time.sleep(600 if prompt == "hang" else 0)
    return prompt
def breaks(prompt): raise ValueError("no licence")
def gives_up(prompt): raise RunStopped("the licence ran out.", hint="Buy one.")
def draws(prompt): return b"a picture"
def safe_path(prompt): return os.environ.get("PYTHONSAFEPATH", "unset")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "leaves.py").write_text("import os; os._exit(0)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    return tmp_path


def ask(name: str, *prompts: str, timeout: float = 60.0, ledger: Path | None = None) -> list[Reply | BaseException]:
    async def all_of_them() -> list[Reply | BaseException]:
        model = ChildChat(f"mine:{name}", None, 4, timeout, ledger)
        try:
            asked = (model.ask(replace(query(), prompt=prompt)) for prompt in prompts)
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def texts(replies: list[Reply | BaseException]) -> list[str]:
    return [each.text if isinstance(each, Reply) else type(each).__name__ for each in replies]


@pytest.mark.usefixtures("here")
def test_it_runs_in_one_process_that_is_not_this_one_and_is_gone_afterwards() -> None:
    [number] = {int(each) for each in texts(ask("process", "a", "b", "c"))}
    assert number != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


@pytest.mark.usefixtures("here")
@pytest.mark.skipif(sys.flags.safe_path, reason="it was set by whoever started the tests")
def test_what_it_starts_finds_its_own_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # as `fairgate run` does for its workers
    assert texts(ask("safe_path", "a")) == ["unset"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("name", "how"), [("ends", "exit 0"), ("crashes", "signal 11")])
def test_code_that_ends_its_process_stops_the_run(name: str, how: str) -> None:
    for problem in ask(name, "a", "b"):
        assert isinstance(problem, RunStopped)
        assert f"the callable ended its process ({how})" in str(problem)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["hangs", "hangs_async"])
def test_a_call_that_hangs_fails_by_the_time_and_the_others_have_their_replies(name: str) -> None:
    replies = ask(name, "hang", "b", "c", "d", "e", "f", timeout=4)
    assert texts(replies)[-1] == "f"
    assert isinstance(replies[0], CallFailed)
    assert "timeout: no reply within 4 s" in str(replies[0])
    assert "--request-timeout" in str(replies[0])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("breaks", CallFailed, r"ValueError: no licence \(mine\.py:"),
        ("gives_up", RunStopped, r"the licence ran out\. Buy one\."),
    ],
)
def test_what_it_raises_comes_over(name: str, kind: type[FairgateError], said: str) -> None:
    [problem] = ask(name, "a")
    assert isinstance(problem, kind)
    with pytest.raises(kind, match=said):
        raise problem


def test_the_image_of_an_image_model_is_in_the_store(here: Path) -> None:
    [reply] = ask("draws", "a", ledger=here / "l.sqlite")
    assert isinstance(reply, Reply)
    assert ImageStore(here / "l.sqlite").read(hash_in(reply.text) or "") == b"a picture"


@pytest.mark.usefixtures("here")
def test_a_conversation_comes_over() -> None:
    async def said() -> Reply:
        model = ChildChat("mine:last", None, 1, 60)
        try:
            return await model.ask(replace(query(), prompt="three", before=(Message("user", "one"),)))
        finally:
            await model.close()

    assert asyncio.run(said()).text == "three"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("target", "said"), [("mine:nothing", "has no 'nothing'"), ("leaves:x", "exit 0")])
def test_what_cannot_be_loaded_is_an_error_of_the_option(target: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ChildChat(target, None, 1, 60)


def test_a_function_whose_source_changed_is_another_model(here: Path) -> None:
    def identity(target: str, revision: str | None = None) -> Identity:
        model = ChildChat(target, revision, 1, 60.0)
        asyncio.run(model.close())
        return model.identity

    (here / "shown.py").write_text("from mine import last\n")
    before = [identity("mine:last"), identity("shown:last"), identity("mine:last", "v2")]
    assert identity("mine:last") == before[0]
    (here / "mine.py").write_text(
        MODULE.replace('return messages[-1]["content"]', 'return "other: " + messages[-1]["content"]')
    )
    after = [identity("mine:last"), identity("shown:last"), identity("mine:last", "v2")]
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, False, True]
    assert before[2].parameters == {"revision": "v2"}


def test_what_is_never_loaded_is_given_up(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "endless.py").write_text("import time; time.sleep(600)")
    monkeypatch.setattr(child_process, "LOADING", 0.6)
    with pytest.raises(ConfigError, match="python/endless:x: it is not loaded after 0 minutes"):
        ChildChat("endless:x", None, 1, 60)
