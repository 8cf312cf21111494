"""Judges' replies, and what each is read as: the forms stand in `f2bench_judge_replies.tsv`, one a line."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.replies.judgements import read_mark, read_verdict
from tests.strategies import THOROUGH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.mark import ParameterSet


def forms(kind: str) -> Iterator[ParameterSet]:
    lines = Path(__file__).with_name("f2bench_judge_replies.tsv").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines[1:], start=2):
        which, expected, how, escaped = line.split("\t")
        if which == kind:
            text = escaped.replace("\\\\", "\0").replace("\\n", "\n").replace("\\u200b", "\u200b").replace("\0", "\\")
            slug = re.sub(r"[^A-Za-z0-9]+", "-", escaped).strip("-")[:40]
            yield pytest.param(expected, how, text, id=f"{number}-{expected}-{how}-{slug}")


@pytest.mark.parametrize(("expected", "how", "reply"), list(forms("verdict")))
def test_reads_a_verdict(expected: str, how: str, reply: str) -> None:
    verdict = read_verdict(reply)
    assert ({True: "yes", False: "no", None: "unreadable"}[verdict.yes], verdict.how) == (expected, how)


@pytest.mark.parametrize(("expected", "how", "reply"), list(forms("mark")))
def test_reads_a_mark(expected: str, how: str, reply: str) -> None:
    mark = read_mark(reply)
    assert ("unreadable" if mark.value is None else f"{mark.value:g}", mark.how) == (expected, how)


def test_there_are_enough_forms() -> None:
    assert len(list(forms("verdict"))) >= 60
    assert len(list(forms("mark"))) >= 40


@pytest.mark.parametrize(
    "filler",
    ["yes or no ", "answer ", 'a "b ', "{", "score 7 ", "<think>x</think> ", "1/", "**", "no one ", "\n", ". ", "'a ",
     "'a b' ", "a'b", "x: {", '{"a": {', '{"a": [', "1. a\n", "1. a\n.\n", "\n```\na"],
)  # fmt: skip
def test_a_long_reply_does_not_hang_the_reader(filler: str) -> None:
    text = filler * (200_000 // len(filler))
    start = time.process_time()
    read_verdict(text)
    read_mark(text)
    # Of this process's own time: a pattern that backtracks would take minutes, and a busy machine takes none of it.
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("text", ["[" * 5_000, '{"answer": ' * 900, '{"score": 1' + "0" * 400 + "}", '{"score": NaN}'])
def test_broken_json_is_unreadable(text: str) -> None:
    assert read_verdict(text).yes is None
    assert read_mark(text).value is None


@THOROUGH
@given(st.text(max_size=200))
def test_any_text_is_read_without_trouble(text: str) -> None:
    assert read_verdict(text).yes in (True, False, None)
    value = read_mark(text).value
    assert value is None or 0.0 <= value <= 10.0


@THOROUGH
@given(st.sampled_from(["Yes", "No", "yes", "NO"]), st.text(alphabet=" \n\t.!*\"'`", max_size=6))
def test_dress_around_a_bare_verdict_changes_nothing(word: str, dress: str) -> None:
    assert read_verdict(f"{dress}{word}{dress}").yes is (word.lower() == "yes")


@THOROUGH
@given(st.floats(0.0, 10.0).map(lambda value: round(value, 1)))
def test_every_mark_is_read_in_every_form(value: float) -> None:
    for form in ("{}", "{}/10", "Score: {}", '{{"score": {}}}', "I would give it {}.", "Fine.\n{}"):
        assert read_mark(form.format(value)).value == value
