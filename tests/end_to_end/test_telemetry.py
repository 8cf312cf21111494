"""onnxruntime reports its use to an outside host by default. In what fairgate starts, it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fairgate.providers.faces import toy_graphs
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

SESSION = f"import onnxruntime; onnxruntime.InferenceSession({str(toy_graphs.FOLDER / 'fairface' / 'fairface.onnx')!r})"


def written(home: Path, *command: str) -> list[str]:
    """What a process writes below a home of its own.

    With nothing of ours in its environment, and nothing by which onnxruntime knows a CI: there it reports nothing.
    """
    env = {"PATH": os.environ["PATH"]}
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *command], cwd=CHECKOUT, env=env | {"HOME": str(home)}, capture_output=True, timeout=120
    )
    assert done.returncode == (7 if "doctor" in command else 0), done.stdout
    return [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file() and "onnxruntime" in str(path)]


def test_there_is_something_to_turn_off(tmp_path: Path) -> None:
    """Once this fails, onnxruntime no longer reports by default, and the tests below say nothing."""
    assert written(tmp_path, "-c", SESSION)


@pytest.mark.parametrize("entry", ["package", "command line", "plugin"])
def test_nothing_is_written_for_the_outside(tmp_path: Path, entry: str) -> None:
    case = tmp_path / "test_session.py"
    case.write_text(f"def test_session():\n    {SESSION}\n", encoding="utf-8")
    command = {
        "package": ("-c", f"import fairgate; {SESSION}"),
        "command line": ("-m", "fairgate", "doctor"),
        "plugin": ("-m", "pytest", "-p", "no:cacheprovider", "-p", "fairgate.plugin", str(case)),
    }
    home = tmp_path / "home"
    home.mkdir()
    assert written(home, *command[entry]) == []
