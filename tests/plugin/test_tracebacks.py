"""What a failing test of a user's own suite prints: the passwords of addresses are not in it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.running import environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PLANTED = "planted-7731"
OWN_TESTS = """
def test_wrong(fairgate_run, fairgate_options):
    fairgate_run(plan="none-such")


def test_report(fairgate_report):
    assert fairgate_report
"""


@pytest.mark.parametrize("options", [[], ["--tb=long", "-l"]], ids=["usual", "long"])
def test_no_traceback_of_a_users_suite_shows_the_password_of_an_address(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["fairgate.plugin"]\n', encoding="utf-8")
    (tmp_path / "test_own.py").write_text(OWN_TESTS, encoding="utf-8")
    given = ["--fairgate-model=openai/x", f"--fairgate-base-url=http://me:{PLANTED}@127.0.0.1:1/v1"]
    given += ["--fairgate-thresholds=nowhere.toml", "--junitxml=own.xml", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "pytest", *given, *options],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "no plan 'none-such'" in done.stdout or "nowhere.toml" in done.stdout
    assert PLANTED not in done.stdout + done.stderr + (tmp_path / "own.xml").read_text(encoding="utf-8")
