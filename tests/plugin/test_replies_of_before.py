"""Replies of an earlier run: they cost nothing again, and a verdict that stands on them alone says so."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from tests.running import arguments, bench_many

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

MODULE = """
import re
def answer(prompt):
    return re.findall(r"^([A-Z])[.] ", prompt, re.MULTILINE)[{place}]
"""


def test_a_verdict_that_stands_on_earlier_replies_alone_says_so_and_of_when_they_are(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    given = arguments(tmp_path, "--model=python/mine:answer", "-p", "no:xdist", "-k", "crime and base and race")

    def said() -> str:
        [run] = bench_many(tmp_path, [given])
        return " ".join(run.output.split())

    code.write_text(MODULE.format(place=0))
    assert "No answer is new" not in said()
    again = said()
    day = datetime.datetime.now(datetime.UTC).date()
    assert "No answer is new: all" in again
    assert any(f"given since {day - datetime.timedelta(days=each)}." in again for each in (0, 1))
    code.write_text(MODULE.format(place=-1))
    assert "No answer is new" not in said()
