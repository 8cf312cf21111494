"""The command from a folder of somebody else's: nothing that lies there is imported or read as settings."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.running import environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

FOREIGN = ("numpy", "scipy", "msgspec", "aiohttp", "uvloop", "pytest", "_pytest", "xdist", "execnet", "allure_commons")
STANDARD = ("json", "sqlite3", "struct", "weakref", "random", "socket", "asyncio", "logging", "statistics", "tomllib")
NAMED = ("conftest", "sitecustomize", "usercustomize", "evil", "fairgate_plugin", "fixtures")
SETTINGS = {
    "pytest.ini": "[pytest]\naddopts = -p evil\npythonpath = .\n",
    "tox.ini": "[pytest]\naddopts = -p evil\n",
    "setup.cfg": "[tool:pytest]\naddopts = -p evil\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n",
    "thresholds.toml": "broken =\n",
    "fairgate.toml": "broken =\n",
    "matplotlibrc": "broken\ntext.usetex: True\nbackend: module://evil\n",
    ".env": "PYTEST_ADDOPTS=-p evil\n",
    "evil-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1\n",
    "evil-1.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n[fairgate.benchmarks]\nevil = evil:plugin\n",
    "evil.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: evil\nVersion: 1\n",
    "evil.egg-info/entry_points.txt": "[pytest11]\nevil = evil\n[fairgate.benchmarks]\nevil = evil:plugin\n",
}
# What an installer writes as the command.
COMMAND = "import sys\nfrom fairgate.__main__ import main\nsys.exit(main())\n"
SOME = ("-q", "--model=control/oracle", "-k", "crime and base", "--inconclusive=pass", "--no-plots")


def planted(folder: Path) -> Path:
    """A folder of such modules and settings; a module that is imported leaves its name in a file beside the folder."""
    ran = folder.with_name("ran")
    for name in (*FOREIGN, *STANDARD, *NAMED):
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(ran)!r}, 'a').write(__name__ + ' ')\nraise RuntimeError(__name__)\n")
    for name, text in SETTINGS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return ran


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, *map(str, command)], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def test_no_command_imports_what_lies_in_the_current_folder(tmp_path: Path) -> None:
    folder, command, ledger = tmp_path / "theirs", tmp_path / "fairgate", tmp_path / "ledger.sqlite"
    ran = planted(folder)
    command.write_text(COMMAND)
    asked = (*SOME, f"--ledger={ledger}")
    for given in (
        ("run", *asked, "-n", "2"),
        ("run", *asked),
        ("gate", str(ledger), "--inconclusive=pass", f"--report-dir={tmp_path / 'report'}"),
        ("compare", str(ledger), str(ledger), "--plot", str(tmp_path / "plot.svg")),
        ("ledger", str(ledger), "verify"),
        ("published",),
    ):
        done = run(folder, command, *given)
        assert done.returncode == 0, (given, done.stdout, done.stderr)
        assert not ran.exists(), (given, ran.read_text())
        assert "matplotlibrc" not in done.stderr


def test_started_as_a_module_only_what_python_needs_to_start_is_looked_for_there(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    ran = planted(folder)
    done = run(folder, "-m", "fairgate", "run", *SOME)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not ran.exists(), ran.read_text()
