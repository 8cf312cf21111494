"""Runs of the benchmarks in processes of their own, as a user starts them; nothing of the checkout's own is touched."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CHECKOUT = Path(__file__).resolve().parent.parent
LIMITS = CHECKOUT / "tests" / "thresholds.toml"
PATIENCE = 120.0  # seconds until a run counts as hanging

# One after another in one process: starting an interpreter costs more than most of these runs.
MANY = """
import contextlib, io, json, sys, pytest
for args in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = int(pytest.main(args))
    print(json.dumps([code, said.getvalue()]), flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """How a run ended, what it printed, and the folder where it left its files."""

    code: int
    output: str
    folder: Path

    @property
    def summary_bytes(self) -> bytes:
        return (self.folder / "report" / "summary.json").read_bytes()

    @property
    def summary(self) -> dict[str, Any]:
        whole: dict[str, Any] = json.loads(self.summary_bytes)
        return whole

    @property
    def gates(self) -> dict[str, str]:
        """Verdicts of the gates by score, task, context and attribute."""
        return {
            " ".join(filter(None, (each["task"], each["context"], each["attribute"], each["score"]))): each["verdict"]
            for each in self.summary["gates"]
        }


def arguments(folder: Path, *more: str | Path, where: Sequence[str | Path] = ()) -> list[str]:
    """pytest's arguments for the benchmarks of this checkout, with everything that is written below `folder`."""
    given = [
        *("-c", CHECKOUT / "pytest.ini", "--rootdir", CHECKOUT, *(where or (CHECKOUT / "tests_bench",))),
        *("-p", "no:cacheprovider", "-p", "tests.plugin.strict", f"--thresholds={LIMITS}", "--no-plots"),
        *("-p", "no:anyio", "-p", "no:hypothesispytest"),  # of the tests' own libraries: half a second of each run
        *(f"--ledger={folder / 'ledger.sqlite'}", f"--report-dir={folder / 'report'}"),
        *more,
    ]
    return [str(each) for each in given]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what would change a run: an outer pytest's, a user's own endpoint and key.

    This checkout comes first on the path, whatever `more` puts on it.
    """
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "OPENAI_", "COV_"))
    }
    asked = dict(more or {})
    paths = [str(CHECKOUT), *filter(None, [asked.pop("PYTHONPATH", ""), inherited.get("PYTHONPATH")])]
    return inherited | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "80", "NO_COLOR": "1"} | asked


def bench(
    folder: Path,
    *more: str | Path,
    where: Sequence[str | Path] = (),
    env: Mapping[str, str] | None = None,
    python: str | Path = sys.executable,
) -> Outcome:
    """Run the benchmarks to their end, from `folder`."""
    with started(folder, *more, where=where, env=env, python=python) as process:
        return finished(process, folder)


def bench_many(folder: Path, runs: Sequence[Sequence[str]], env: Mapping[str, str] | None = None) -> list[Outcome]:
    """Run pytest with each of these arguments, one after another in one process."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", MANY, json.dumps(runs)],
        cwd=folder,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=PATIENCE * len(runs),
        check=False,
    )
    ended = [json.loads(line) for line in done.stdout.splitlines()]
    outcomes = [Outcome(code, output, folder) for code, output in ended]
    assert len(outcomes) == len(runs), done.stdout + done.stderr
    return outcomes


@contextlib.contextmanager
def started(
    folder: Path,
    *more: str | Path,
    where: Sequence[str | Path] = (),
    env: Mapping[str, str] | None = None,
    python: str | Path = sys.executable,
) -> Iterator[subprocess.Popen[str]]:
    """A run under way, in a process group of its own; whatever is left of it at the end is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [python, "-m", "pytest", *arguments(folder, *more, where=where)],
        cwd=folder,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def finished(process: subprocess.Popen[str], folder: Path) -> Outcome:
    """Wait for a run's end."""
    output, _ = process.communicate(timeout=PATIENCE)
    return Outcome(process.returncode, output, folder)


def stored(ledger: Path) -> int:
    """Samples that a ledger holds, looked at from outside."""
    if not ledger.exists():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=30)) as database:
        try:
            return int(database.execute("SELECT count(*) FROM samples").fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # still without tables


def wait_until_stored(ledger: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until a run has stored so many samples."""
    end = time.monotonic() + PATIENCE
    while stored(ledger) < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "the run hangs"
        time.sleep(0.01)
