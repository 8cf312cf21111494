"""What a built wheel and sdist hold: the files of the project by name, and nothing else that lies in a checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.running import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE = (
    *(".env", "shard-1.sqlite", "report/summary.md", "data/private/people.csv", "data/fact_or_fair/.env"),
    *("fairgate/.env", "fairgate/cli/templates/.env", "tests/l.sqlite", "docs/l.sqlite", "examples/.env"),
)
SUITE = ("conftest.py", "data/", "fixtures/", "pytest.ini", "tests_bench/", "thresholds")


@pytest.mark.parametrize("place", ["data/faces/extra.toml", "pytest.ini", "SECURITY.md", "thresholds.toml"])
def test_a_link_is_not_published(tmp_path: Path, place: str) -> None:
    for name in ("hatch_build.py", "pyproject.toml", "README.md"):
        shutil.copyfile(CHECKOUT / name, tmp_path / name)
    (tmp_path / "secret").write_text("precious")
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).unlink(missing_ok=True)
    (tmp_path / place).symlink_to(tmp_path / "secret")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert f"{place}: it is a link, and what it leads to is not to be published" in done.stderr


def test_wheel_and_sdist_hold_all_that_is_tracked_and_nothing_else(tmp_path: Path) -> None:
    if not (CHECKOUT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("what is tracked, git alone says")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True)  # noqa: S607 - as installed
    tracked = {name for name in listed.stdout.split("\0") if (CHECKOUT / name).is_file()}
    for name in tracked:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / name, tmp_path / name)
    for name in PRIVATE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("private")
    subprocess.run([sys.executable, "-m", "hatchling", "build"], cwd=tmp_path, capture_output=True, check=True)
    [wheel], [sdist] = (tmp_path / "dist").glob("*.whl"), (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert held - {"PKG-INFO"} == tracked
    carried = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = {name for name in tracked if name.startswith("fairgate/")}
    assert carried == package | {f"fairgate/_suite/{name}" for name in tracked if name.startswith(SUITE)}
