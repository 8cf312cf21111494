"""What the process of a model prints: shown, and nothing that a terminal or a CI's runner obeys."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fairgate
from fairgate.core.errors import ConfigError
from fairgate.providers.python import child_output
from fairgate.providers.python.child_output import LINE, MOST, ChildOutput
from fairgate.providers.python.child_process import ChildChat
from tests.builders import query

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.core.domain import Reply

ORDERS = "::stop-commands::pause\n  ::error file=x::hello\n\x1b]0;owned\x07\x1b[2J##[add-mask]x\u2028::error::y\n"
KEY = "key-of-the-user-0123456789"
MODULE = f"""
import os, subprocess, sys, threading

def says(prompt):
    print("asked", prompt)
    print({ORDERS!r}, file=sys.stderr)
    os.write(1, b"\\xff from C\\n")
    subprocess.run([sys.executable, "-c", "print('from a process of its own')"])
    return prompt

def for_ever(prompt):
    def write():
        while True:
            os.write(2, b"x" * 65536 if prompt == "one line" else b"y\\n" * 32768)
    if prompt != "last":
        threading.Thread(target=write, daemon=True).start()
    return prompt

def leaves_one_behind(prompt):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3)"])
    return prompt
"""


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "leaves.py").write_text("import os; print('no licence:\\x1b[2J', flush=True); os._exit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])


def ask(name: str, *prompts: str) -> list[str]:
    async def one_by_one() -> list[Reply]:
        model = ChildChat(f"mine:{name}", None, 4, 60)
        try:
            return [await model.ask(replace(query(), prompt=prompt)) for prompt in prompts]
        finally:
            await model.close()

    return [each.text for each in asyncio.run(one_by_one())]


def shown(content: bytes) -> list[str]:
    """The lines that are shown of these bytes."""
    said, (reading, writing) = io.StringIO(), os.pipe()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", said)
        thread = ChildOutput("python/mine:x").read(os.fdopen(reading, "rb"))
    with os.fdopen(writing, "wb") as file:
        file.write(content)
    thread.join()
    return said.getvalue().split("\n")[:-1]


@pytest.mark.usefixtures("_here")
def test_what_a_callable_prints_is_shown_and_obeyed_by_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("says", "a", "b") == ["a", "b"]
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.split("\n")
    assert [line for line in lines if line.startswith("asked")] == ["asked a", "asked b"]
    assert lines.count("\ufffd from C") == lines.count("from a process of its own") == 2
    assert not [line for line in lines if line.lstrip().startswith("::") and ":: " not in line]
    assert "##[" not in said.err
    assert {each for each in said.err if not each.isprintable()} == {"\n"}


@pytest.mark.usefixtures("_here")
def test_what_it_said_before_it_ended_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="exit 3"):
        ChildChat("leaves:x", None, 1, 60)
    assert capsys.readouterr().err == "no licence:\\x1b[2J\n"


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("prompt", ["one line", "many lines"])
def test_a_callable_that_prints_without_end_holds_up_nothing(prompt: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("for_ever", prompt, *["last"] * 20)[-1] == "last"
    assert len(capsys.readouterr().err) < MOST + 2 * LINE


@pytest.mark.usefixtures("_here")
def test_a_process_that_it_leaves_behind_is_not_waited_for() -> None:
    assert ask("leaves_one_behind", "a") == ["a"]


def test_an_output_without_end_is_cut_and_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_output, "MOST", 100)
    lines = shown(b"0123456789\n" * 200_000)
    assert lines[:-1] == ["0123456789"] * 10
    assert lines[-1] == "python/mine:x: it prints more than 100 characters, which are not shown."


def test_a_line_is_cut_and_the_next_is_shown() -> None:
    assert shown(b"x" * 5_000_000 + b"\nnext\nlast, without an end") == [
        "x" * (LINE - 1) + "\N{HORIZONTAL ELLIPSIS}",
        "next",
        "last, without an end",
    ]


def test_a_bar_that_is_drawn_over_itself_is_shown_as_it_ends() -> None:
    bar = b"".join(b"\r%3d %%" % number for number in range(101))
    assert shown(bar * 1000 + b"\nloaded\r\n\tin 3 s\n") == ["100 %", "loaded", "        in 3 s"]


def test_no_output_shows_a_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert shown(f"GET /models with {KEY}\n".encode()) == ["GET /models with [hidden]"]


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
def test_a_run_from_python_prints_nothing_of_it_unless_it_is_asked_to(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for verbose in (False, True):
        fairgate.run(
            "python/mine:says",
            select="crime and base",
            verbose=verbose,
            ledger=tmp_path / f"{verbose}.sqlite",
            per_topic=1,
        )
        said = capfd.readouterr()
        assert ("asked" in said.out + said.err) is verbose
        assert "\n::" not in said.out + said.err
