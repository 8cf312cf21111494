"""`python/pkg.module:callable`."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.topics import Level, StatisticTopic, Task
from fairgate.core.domain import Identity, Message, Modality, Query, Reply
from fairgate.core.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.providers.python.chat import PythonChat, revision

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import asyncio, functools, threading, time
from fairgate.core.errors import CallFailed, ConfigError, FairgateError, RunStopped

loaded = 0
running = peak = 0
lock = threading.Lock()

def talked(messages):
    return " ".join(f"{each['role']}:{each['content']}" for each in messages)

def plain(prompt):
    return f"said {prompt}"

def other_thread(prompt):
    return threading.current_thread().name

def slow(prompt):
    global running, peak
    with lock:
        running += 1
        peak = max(peak, running)
    time.sleep(0.01)
    with lock:
        running -= 1
    return "x"

async def slow_async(prompt):
    global running, peak
    running += 1
    peak = max(peak, running)
    await asyncio.sleep(0.01)
    running -= 1
    return "x"

async def coroutine(prompt):
    await asyncio.sleep(0)
    return f"awaited {prompt}"

class Object:
    async def __call__(self, prompt):
        return f"object {prompt}"

    def method(self, prompt):
        return f"method {prompt}"

thing = Object()
bound = functools.partial(coroutine)
hidden_coroutine = lambda prompt: coroutine(prompt)
number = 7

def none(prompt): return None
def half(prompt): return "\\ud83d!"
def breaks(prompt): raise ValueError("bad key sk-abcdef123456\\n" + "z" * 900)
async def breaks_async(prompt): raise ValueError("bad key sk-abcdef123456")
def stops(prompt): raise StopIteration
def leaves(prompt): raise SystemExit(3)
def gives_up(prompt): raise RunStopped("the licence ran out.")
def tells(prompt): raise Own(f"401 for {KEY}", where=KEY, hint=KEY)
KEY = "verysecret-0123456789"
class Own(FairgateError): pass
class Wordless(Exception):
    def __str__(self): raise ValueError("no words")
def wordless(prompt): raise Wordless
async def wordless_async(prompt): raise Wordless
async def cancels(prompt): raise asyncio.CancelledError
"""


TELLING = "raise RuntimeError('401 for key verysecret-0123456789 at https://me:swordfish@host')"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current directory, which nobody put on the path."""
    name = f"mine_{tmp_path.name.replace('-', '_')}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / "chat.py").write_text(MODULE)
    (tmp_path / name / "telling.py").write_text(TELLING)
    (tmp_path / name / "broken.py").write_text("import nothing_of_this_name")
    (tmp_path / name / "raises.py").write_text("raise RuntimeError('no weights here')")
    (tmp_path / name / "leaves.py").write_text("raise SystemExit(2)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    return name


def query(prompt: str = "hello") -> Query:
    topic = StatisticTopic("b", Modality.TEXT, Task.OBJECTIVE, "s", Level.HIGH)
    return Query(topic, 0, prompt, ())


def test_a_conversation_is_given_as_a_list_of_messages(package: str) -> None:
    before = (Message("user", "one"), Message("assistant", "two"))

    async def said() -> Reply:
        model = PythonChat(f"{package}.chat:talked")
        try:
            return await model.ask(replace(query("three"), before=before))
        finally:
            await model.close()

    assert asyncio.run(said()).text == "user:one assistant:two user:three"


def ask(target: str, times: int = 1, max_in_flight: int = 4) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        model = PythonChat(target, max_in_flight=max_in_flight)
        try:
            return await asyncio.gather(*(model.ask(query()) for _ in range(times)))
        finally:
            await model.close()

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("plain", "said hello"),
        ("coroutine", "awaited hello"),
        ("thing", "object hello"),
        ("thing.method", "method hello"),
        ("bound", "awaited hello"),
        ("hidden_coroutine", "awaited hello"),
        ("half", "?!"),
    ],
)
def test_whatever_can_be_called_is_asked(package: str, path: str, said: str) -> None:
    [reply] = ask(f"{package}.chat:{path}")
    assert (reply.text, reply.attempts, reply.filtered) == (said, 1, False)


def test_plain_functions_run_beside_the_event_loop(package: str) -> None:
    [reply] = ask(f"{package}.chat:other_thread")
    assert reply.text.startswith("fairgate-python")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fairgate-python")]


@pytest.mark.parametrize("path", ["slow", "slow_async"])
def test_no_more_are_in_flight_than_allowed(package: str, path: str) -> None:
    assert len(ask(f"{package}.chat:{path}", times=12, max_in_flight=3)) == 12
    assert sys.modules[f"{package}.chat"].peak == 3


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none", "it returned NoneType, not str"),
        ("breaks", r"ValueError: bad key \[hidden\].*chat\.py:\d+"),
        ("breaks_async", r"ValueError: bad key \[hidden\] \(chat\.py:\d+\)"),
        ("stops", "StopIteration"),
        ("leaves", "SystemExit: 3"),
        ("wordless", "Wordless: it cannot be put into words"),
        ("wordless_async", "Wordless: it cannot be put into words"),
        ("cancels", "CancelledError"),
    ],
)
def test_a_bad_call_is_one_failed_sample(package: str, path: str, message: str) -> None:
    began = time.monotonic()
    with pytest.raises(CallFailed, match=message) as caught:
        ask(f"{package}.chat:{path}")
    assert "abcdef" not in str(caught.value)
    assert caught.value.__context__ is None
    assert len(str(caught.value)) < 500
    assert time.monotonic() - began < 10, "it hangs"


def test_an_error_of_ours_that_the_users_code_raises_shows_no_secret(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "verysecret-0123456789")
    with pytest.raises(FairgateError, match=r"^\[hidden\]: 401 for \[hidden\] \[hidden\]$") as caught:
        ask(f"{package}.chat:tells")
    assert "verysecret" not in repr(vars(caught.value))
    assert caught.value.__context__ is None


def test_code_that_knows_more_may_stop_the_run(package: str) -> None:
    with pytest.raises(RunStopped, match="licence"):
        ask(f"{package}.chat:gives_up")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("chat", "python/pkg.module:callable"),
        ("{}.chat:", "python/pkg.module:callable"),
        ("../chat.py:plain", "python/pkg.module:callable"),
        ("no_such_package.chat:plain", "no module 'no_such_package'.*PYTHONPATH"),
        ("{}.chit:plain", "no module '.*chit'"),
        ("{}.chat:plian", "has no 'plian'.*Did you mean 'plain'"),
        ("{}.chat:number", "number is int, which cannot be called"),
        ("{}.chat:Object", "Object is a class"),
        ("{}.telling:plain", r"telling failed: RuntimeError: 401 for key \[hidden\] at https://\[hidden\]@host\."),
        ("{}.broken:plain", "importing .*broken failed: No module named 'nothing_of_this_name'"),
        ("{}.raises:plain", "RuntimeError: no weights here"),
        ("{}.leaves:plain", "SystemExit: 2"),
    ],
)
def test_what_cannot_be_loaded_is_named(
    package: str, target: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "verysecret-0123456789")
    with pytest.raises(ConfigError, match=message):
        PythonChat(target.format(package))


def test_identity_holds_the_revision_where_there_is_one(package: str) -> None:
    target = f"{package}.chat:plain"
    assert PythonChat(target).identity == Identity("python", target)
    assert PythonChat(target, "v2").identity == Identity("python", target, parameters={"revision": "v2"})
    assert repr(PythonChat(target)) == f"PythonChat('{target}')"


def test_the_revision_is_the_only_argument() -> None:
    assert revision([]) is None
    assert revision(["revision=a=b"]) == "a=b"
    assert revision(["revision=1", "revision="]) is None
    for wrong in ("temperature=1", "revision"):
        with pytest.raises(ConfigError, match="revision=TEXT"):
            revision([wrong])


def test_a_limit_below_one_would_wait_for_ever(package: str) -> None:
    with pytest.raises(ConfigError, match="in-flight"):
        PythonChat(f"{package}.chat:plain", max_in_flight=0)
