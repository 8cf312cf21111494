"""Commands as people type them, with blanks between options and values."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.running import CHECKOUT, LIMITS, PATIENCE, bench, environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow


def typed(cwd: Path, program: Sequence[str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", *program, "-p", "no:cacheprovider", "--thresholds", str(LIMITS), *map(str, words)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("more", [("-n", "0"), ("-n", "2")])
def test_paths_with_a_blank_before_them_mislead_nobody_whether_they_are_there_or_not(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    command: tuple[str | Path, ...] = (
        "-k",
        "crime and base",
        "--ledger",
        tmp_path / "l.sqlite",
        "--report-dir",
        tmp_path / "report",
        *more,
    )
    for reused in (0, 24):
        run = typed(tmp_path, ["fairgate", "run"], *command)
        assert run.returncode == 0, run.stdout + run.stderr
        calls = json.loads((tmp_path / "report" / "summary.json").read_text())["calls"]
        assert calls["reused"] == reused or calls["asked"] == 0
    assert "test_foreign" not in run.stdout


def test_pytest_in_the_checkout_runs_the_suite(tmp_path: Path) -> None:
    run = typed(CHECKOUT, ["pytest"], "-q", "-k", "crime and base", f"--ledger={tmp_path / 'l.sqlite'}")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "fairgate: pass" in run.stdout


def test_progress_is_seen_while_the_cases_wait(tmp_path: Path) -> None:
    run = bench(
        tmp_path,
        "--model=python/tests.plugin.models:slow",
        "--max-in-flight=2",
        "--per-topic=20",
        "-n",
        "0",
        "-k",
        "crime and base",
    )
    assert "fairgate: " in run.output
    assert "samples, " in run.output.partition("ledger")[2]


def test_what_other_plugins_warn_of_decides_nothing(tmp_path: Path) -> None:
    run = bench(
        tmp_path,
        "-n",
        "0",
        "-k",
        "crime and base and race",
        "-p",
        "no:tests.plugin.strict",
        "-p",
        "tests.plugin.foreign",
    )
    assert run.code == 0, run.output
    assert "an option is not set" in run.output


def test_an_old_verdict_does_not_outlive_a_run_that_came_to_none(tmp_path: Path) -> None:
    assert bench(tmp_path, "-n", "0", "-k", "crime and base").code == 0
    assert (tmp_path / "report" / "summary.json").exists()
    stopped = bench(tmp_path, "-n", "0", "-k", "crime and base", "-x", "-p", "tests.plugin.failing")
    assert stopped.code != 0
    assert "no verdict" in stopped.output
    assert not (tmp_path / "report" / "summary.json").exists()
    assert not (tmp_path / "report" / "summary.md").exists()


def test_a_case_says_what_the_right_answer_is_and_what_is_doubtful_about_it(tmp_path: Path) -> None:
    only = "cancer and low and objective and race"
    run = bench(tmp_path, f"--alluredir={tmp_path / 'allure'}", "-n", "0", "-k", only)
    assert run.code in (0, 6), run.output
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "allure").glob("*-result.json")]
    assert any("Answer: published Hispanic, measured Asian (disputed" in text for text in texts)
