"""How many lines a whole run prints, and how wide, as a user types it."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.running import CHECKOUT, PATIENCE, environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def printed(folder: Path, width: int, *options: str) -> list[str]:
    given = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--ledger={folder / 'ledger.sqlite'}", *options]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        given,
        cwd=CHECKOUT,
        env=environment({"COLUMNS": str(width)}),
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("options", "width", "most"), [((), 80, 40), (("--model=control/stereotype:0.8",), 120, 80)], ids=["pass", "fail"]
)
def test_a_whole_run_stays_on_a_screen_and_says_how_its_counts_belong_together(
    tmp_path: Path, options: tuple[str, ...], width: int, most: int
) -> None:
    lines = printed(tmp_path, width, *options)
    # How often progress is told depends on how long the run takes.
    told = [line for line in lines if not re.match(r"fairgate: [\d,]+/", line)]
    assert len(told) <= most - 2, "\n".join(lines)
    assert max(map(len, lines)) <= width
    text = " ".join(lines)
    counted = re.search(r"Results: (\d+) tests and (\d+) gates", text)
    assert counted, text
    ended = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|inconclusive|error)", lines[-1])}
    assert sum(ended.values()) == int(counted[1]) + int(counted[2])
    begun = [line for line in lines if line and not line.startswith(" ")]
    assert len(set(begun)) == len(begun), "a line is printed twice"


def test_on_a_terminal_a_bar_is_drawn_in_place_and_leaves_nothing_behind(tmp_path: Path) -> None:
    outer, inner = pty.openpty()
    given = [
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "crime and base"),
        *("--model=python/tests.plugin.models:slow", "--max-in-flight=2", "--per-topic=20"),
        f"--ledger={tmp_path / 'ledger.sqlite'}",
    ]
    env = environment({"TERM": "xterm", "COLUMNS": "80"})
    with subprocess.Popen(given, cwd=CHECKOUT, env=env, stdout=inner, stderr=inner) as run:  # noqa: S603 - ours
        os.close(inner)
        shown = b""
        while run.poll() is None or select.select([outer], [], [], 0)[0]:
            if not select.select([outer], [], [], 0.1)[0]:
                continue
            try:
                shown += os.read(outer, 65536)
            except OSError:  # the other end is closed
                break
    os.close(outer)
    text = shown.decode()
    bars = re.findall(r"\r([█░]{20} [^\r\n\x1b]*)\x1b\[K", text)
    assert bars, text
    assert all(len(bar) < 80 for bar in bars)
    assert re.search(r"\d+/\d+ samples, \d+/s, .*left", bars[-1])
    # The last state is erased before the summary begins.
    assert text.rindex("\r\x1b[K") > text.rindex("░")
