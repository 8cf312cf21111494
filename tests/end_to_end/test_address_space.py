"""Under a `ulimit -v` that the libraries of a run do not fit in: one line and exit 7, before they are loaded."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from fairgate.core.address_space import NEEDED
from tests.running import arguments, environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no ulimit")

ENOUGH_FOR_PYTHON = (400_000, 800_000, 1_600_000, NEEDED - 1)  # kB
BARE = ("-p", "no:hypothesispytest", "-p", "no:allure_pytest", "-p", "no:pyreqwest", "-p", "no:xdist", "-p", "no:anyio")


def under(limit: int, folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """The command, ended after a minute by what it cannot ignore."""
    shell = f'ulimit -v {limit} && exec "$@"'
    return subprocess.run(  # noqa: S603 - our own interpreter
        ["/bin/sh", "-c", shell, "sh", sys.executable, *command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("limit", ENOUGH_FOR_PYTHON)
def test_the_command_says_so_at_once(tmp_path: Path, limit: int) -> None:
    began = time.monotonic()
    done = under(limit, tmp_path, "-m", "fairgate", "run")
    assert time.monotonic() - began < 10
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (7, "", 1)
    assert done.stderr.startswith(f"ulimit -v: {limit} kB of address space are too little")
    assert f"ulimit -v {NEEDED}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_pytest_in_a_checkout_says_so_too(tmp_path: Path) -> None:
    given = [each for each in arguments(tmp_path) if each not in ("-p", "tests.plugin.strict", "no:cacheprovider")]
    given = [each for each in given if not each.startswith("no:")]
    done = under(1_200_000, tmp_path, "-m", "pytest", *BARE, *given)
    assert done.returncode == 7
    assert done.stderr.splitlines()[-1].startswith("ulimit -v: 1200000 kB")


def test_with_as_much_as_is_named_a_command_runs(tmp_path: Path) -> None:
    done = under(NEEDED, tmp_path, "-m", "fairgate", "--version")
    assert (done.returncode, done.stderr) == (0, "")
