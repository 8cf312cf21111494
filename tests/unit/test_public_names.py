"""The Python interface: its names, what importing it loads, and the examples of docs/python.md."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import fairgate
from tests.running import CHECKOUT, environment

if TYPE_CHECKING:
    from pathlib import Path


def test_the_public_names_are_these() -> None:
    classes = ["ConfigError", "FairgateError", "GateResult", "Report", "ScoreResult", "Verdict"]
    names = [*classes, "__version__", "batched", "run"]
    assert sorted(fairgate.__all__) == names
    assert all(getattr(fairgate, name) is not None for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'runn'"):
        fairgate.__getattr__("runn")


def test_importing_the_package_loads_nothing_else() -> None:
    script = (
        "import json, sys; before = set(sys.modules); import fairgate; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, timeout=60, check=True
    )
    loaded = {name for name in json.loads(done.stdout) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert loaded == {"fairgate"}


@pytest.mark.slow
def test_the_examples_of_the_documentation_come_out_as_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (CHECKOUT / "docs" / "python.md").read_text(encoding="utf-8")
    example = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "python.md", None, 0)
    assert len(example.examples) > 10
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert not failed, "".join(said)
