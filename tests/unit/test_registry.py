"""Installed benchmarks: what cannot be told apart is an error that names the package."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks import registry
from fairgate.core.errors import PluginError

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
from fairgate.benchmarks.base import Plugin
from fairgate.benchmarks.scores import TaskSpec
from fairgate.core.domain import Modality

class Riddles(Plugin):
    name, title, order, scores, markers, plan = {name!r}, "Riddles", 9, (), {{}}, object
    tasks = (TaskSpec(name={task!r}, modality=Modality.TEXT, about="riddles"),)
    tests = {{{test!r}: "It is witty."}}
    def open(self, request):
        return ()

plugin = Riddles()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where packages are installed: their metadata is read as that of any other."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def installed(folder: Path, package: str, module: str, **named: str) -> None:
    metadata = folder / f"{package}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[fairgate.benchmarks]\n{package} = {module}:plugin\n")
    (folder / f"{module}.py").write_text(MODULE.format(**named))
    sys.modules.pop(module, None)


def load() -> registry.Registry:
    registry.registry.cache_clear()
    try:
        return registry.registry()
    finally:
        registry.registry.cache_clear()


def test_an_installed_benchmark_stands_behind_ours(folder: Path) -> None:
    installed(folder, "riddles", "riddles_one", name="riddles", task="riddle", test="riddle")
    found = load()
    assert [each.name for each in found.plugins][-1] == "riddles"
    assert found.test_module("riddles", "riddle") == "installed.test_installed"
    assert found.test_module("fact-or-fair", "objective") == "fact_or_fair.test_objective"


@pytest.mark.parametrize(
    ("name", "task", "test", "said"),
    [
        ("riddles", "other", "other", "two installed benchmarks are named 'riddles'"),
        ("other", "riddle", "other", "the benchmarks 'riddles' and 'other' both have the text task 'riddle'"),
        ("other", "other", "riddle", "the benchmarks 'riddles' and 'other' both have the test function 'riddle'"),
    ],
)
def test_names_that_two_benchmarks_share_are_an_error(name: str, task: str, test: str, said: str, folder: Path) -> None:
    installed(folder, "riddles", "riddles_one", name="riddles", task="riddle", test="riddle")
    installed(folder, "zz-more", "riddles_two", name=name, task=task, test=test)
    with pytest.raises(PluginError) as caught:
        load()
    assert said in str(caught.value)
    assert "package " in str(caught.value)
