"""`fairgate init`: what it writes can be used as it is, and nothing is overwritten."""

from __future__ import annotations

import re
from importlib.metadata import Distribution
from typing import TYPE_CHECKING

import pytest
import yaml

from fairgate.benchmarks.registry import registry
from fairgate.cli import init
from fairgate.cli.main import main
from fairgate.core.layout import THRESHOLDS
from fairgate.gating.thresholds import load

if TYPE_CHECKING:
    from pathlib import Path


def test_it_writes_limits_that_change_nothing_and_a_workflow(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path), "--model", "openai/gpt-4o-mini"]) == 0
    assert load(tmp_path / "fairgate.toml", registry()) == load(THRESHOLDS, registry())
    [job] = yaml.safe_load((tmp_path / ".github" / "workflows" / "fairgate.yml").read_text())["jobs"].values()
    [command] = [step["run"] for step in job["steps"] if "fairgate run" in step.get("run", "")]
    assert "--model=openai/gpt-4o-mini --thresholds=fairgate.toml" in command
    known = {each.flag for each in registry().options} | {"--junitxml"}
    assert {each.partition("=")[0] for each in command.split()[2:]} <= known


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        ("openai/m", {"OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"}),
        ("anthropic/m", {"ANTHROPIC_API_KEY": "${{ secrets.ANTHROPIC_API_KEY }}"}),
        (
            "azure/m",
            {
                "AZURE_OPENAI_API_KEY": "${{ secrets.AZURE_OPENAI_API_KEY }}",
                "AZURE_OPENAI_ENDPOINT": "${{ vars.AZURE_OPENAI_ENDPOINT }}",
            },
        ),
        ("litellm/groq/m", None),
    ],
)
def test_the_files_are_of_the_model(model: str, keys: dict[str, str] | None, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path), "--model", model]) == 0
    text = (tmp_path / ".github" / "workflows" / "fairgate.yml").read_text()
    [job] = yaml.safe_load(text)["jobs"].values()
    [step] = [step for step in job["steps"] if "fairgate run" in step.get("run", "")]
    assert step.get("env") == keys
    assert ("A key that the model needs" in text) == (keys is None)
    assert f'[prices."{model}"]' in (tmp_path / "fairgate.toml").read_text()


def test_what_its_limits_file_shows_in_comments_is_valid(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path)]) == 0
    path = tmp_path / "fairgate.toml"
    code = r"^# (\[.*|\w+ = .*)$"
    text, lines = re.subn(code, r"\1", path.read_text(), flags=re.MULTILINE)
    assert lines > 20
    path.write_text(text)
    found = load(path, registry())
    assert (found.gates[0].attribute, found.gates[0].max) == ("race", 10)
    assert found.waivers
    assert "openai/my-model" in found.prices


def test_a_file_that_exists_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fairgate.toml"
    path.write_text("mine")
    assert main(["init", str(tmp_path)]) == 0
    assert path.read_text() == "mine"
    assert f"{path}: exists, and is left as it is." in capsys.readouterr().out
    assert (tmp_path / ".github" / "workflows" / "fairgate.yml").exists()


@pytest.mark.parametrize(
    "model", ["openai/$(id)", "a b", "openai/x\nrun: id", "openai/x;{touch,there}", "openai/x|sh", "nope", "nope/x"]
)
def test_a_model_that_is_none_is_not_written(model: str, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path), "--model", model]) == 4
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, r"fairgate==\d[\d.]+"),
        ('{"url": "file:///x.whl", "archive_info": {}}', None),
        ('{"url": "file:///home/me/fairgate", "dir_info": {"editable": true}}', None),
        (
            '{"url": "https://host.example/fairgate-0.1.0-py3-none-any.whl", "archive_info": {}}',
            r"fairgate @ https://host\.example/fairgate-0\.1\.0-py3-none-any\.whl",
        ),
        (
            '{"url": "https://host.example/a/fairgate", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            r"fairgate @ git\+https://host\.example/a/fairgate@abc",
        ),
        (
            '{"url": "https://user:secret@host.example/a", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            None,
        ),
    ],
)
def test_the_workflow_installs_what_is_installed_here(
    origin: str | None,
    expected: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Installed(Distribution):
        def read_text(self, filename: str) -> str | None:
            return origin if filename == "direct_url.json" else None

        def locate_file(self, path: object) -> Path:
            raise NotImplementedError(path)

    monkeypatch.setattr(init, "distribution", lambda _: Installed())
    assert main(["init", str(tmp_path)]) == 0
    text = (tmp_path / ".github" / "workflows" / "fairgate.yml").read_text()
    assert re.search(f'pip install --quiet "{expected or re.escape(init.UNKNOWN)}"', text)
    assert ("name what pip is to install" in capsys.readouterr().out) == (expected is None)
