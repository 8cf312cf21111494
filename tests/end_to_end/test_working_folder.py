"""The command from a folder of somebody else's: nothing that lies there is imported or read as settings."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.running import CHECKOUT, environment

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


@pytest.mark.parametrize("link", [".fairgate", ".fairgate/ledger.sqlite"])
@pytest.mark.parametrize("how", ["run", "pytest"])
def test_a_default_ledger_that_is_a_link_is_refused(tmp_path: Path, link: str, how: str) -> None:
    folder, elsewhere = tmp_path / "theirs", tmp_path / "elsewhere"
    elsewhere.mkdir()
    empty = elsewhere / "ledger.sqlite"
    empty.touch(mode=0o644)
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(elsewhere if link == ".fairgate" else empty)
    plain = ("-p", "no:cacheprovider")  # with its cache, links in .fairgate are refused anyway
    asked = (
        (*SOME, *plain) if how == "run" else ("-c", CHECKOUT / "pytest.ini", *SOME, *plain, CHECKOUT / "tests_bench")
    )
    done = run(folder, "-m", *(("fairgate", "run") if how == "run" else ("pytest",)), *asked)
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"{link} is a link" in done.stderr
    assert list(elsewhere.iterdir()) == [empty]
    assert empty.stat().st_size == 0
    assert empty.stat().st_mode & 0o777 == 0o644


def test_a_ledger_that_the_user_named_may_be_a_link(tmp_path: Path) -> None:
    folder, ledger = tmp_path / "mine", tmp_path / "disk" / "ledger.sqlite"
    folder.mkdir()
    ledger.parent.mkdir()
    (folder / "ledger.sqlite").symlink_to(ledger)
    done = run(folder, "-m", "fairgate", "run", *SOME, "--ledger=ledger.sqlite")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ledger.stat().st_size


def test_no_default_output_follows_a_link(tmp_path: Path) -> None:
    folder, elsewhere, ledger = tmp_path / "theirs", tmp_path / "elsewhere", tmp_path / "ledger.sqlite"
    for each in (folder, elsewhere, folder / "images"):
        each.mkdir()
    assert run(tmp_path, "-m", "fairgate", "run", *SOME, f"--ledger={ledger}").returncode == 0
    (elsewhere / "empty").touch()
    for link, command in {
        "fairgate-evidence": ("evidence", ledger),
        ".github": ("init",),
        "images/faces.sqlite": ("faces", "images", "--detector=control/fairface"),
    }.items():
        (folder / link).symlink_to(elsewhere / "empty" if link.endswith("sqlite") else elsewhere)
        done = run(folder, "-m", "fairgate", *command)
        assert done.returncode == 4, done.stdout + done.stderr
        assert f"{link} is a link" in done.stderr
    assert [each.name for each in elsewhere.iterdir()] == ["empty"]
    assert not (elsewhere / "empty").stat().st_size
    assert not (folder / "fairgate.toml").exists()
