"""docs/ci.md: the recipes parse, their shell steps are shell, and the plain one does what it says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
import yaml

from fairgate.benchmarks.registry import registry
from fairgate.cli.init import TEMPLATES
from fairgate.gating.thresholds import load
from tests.running import CHECKOUT, LIMITS, PATIENCE, environment

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.slow

BLOCK = re.compile(
    r"^## (?P<title>[^\n]+)\n(?:(?!^## ).)*?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
RECIPES = {
    found["title"]: found["text"] for found in BLOCK.finditer((CHECKOUT / "docs" / "ci.md").read_text(encoding="utf-8"))
}
BASH = shutil.which("bash") or "bash"


def steps(recipe: dict[str, Any]) -> list[str]:
    """All shell of a recipe of GitHub's or GitLab's."""
    jobs = recipe["jobs"].values() if "jobs" in recipe else [job for job in recipe.values() if isinstance(job, dict)]
    found = [step["run"] for job in jobs for step in job.get("steps", []) if "run" in step]
    return found + [line for job in jobs for line in (*job.get("before_script", []), *job.get("script", []))]


@pytest.mark.parametrize("title", ["GitHub, several machines", "GitLab"])
def test_a_recipe_is_yaml_and_its_steps_are_shell(title: str) -> None:
    shell = steps(yaml.safe_load(RECIPES[title]))
    assert any("fairgate merge" in step for step in shell)
    assert any("--shard" in step for step in shell)
    are_shell(shell)


def are_shell(steps: Iterable[str]) -> None:
    for step in steps:
        plain = re.sub(r"\$\{\{.*?\}\}", "1", step)
        done = subprocess.run([BASH, "-n", "-c", plain], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603 - our own documentation
        assert done.returncode == 0, f"{step}\n{done.stderr}"


def test_the_action_runs_with_the_options_that_it_is_given(tmp_path: Path) -> None:
    """Its step of the run, as a runner starts it; every step after it runs also when that is red."""
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text(encoding="utf-8"))
    recipe = yaml.safe_load(RECIPES["GitHub, one machine"])
    [used] = [step for step in recipe["jobs"]["fairness-gate"]["steps"] if "fairgate" in step["uses"]]
    assert used["with"].keys() <= action["inputs"].keys()
    steps = action["runs"]["steps"]
    [at] = [number for number, step in enumerate(steps) if step.get("id") == "gate"]
    before, gate, after = steps[:at], steps[at], steps[at + 1 :]
    assert [step["if"] for step in after] == ["${{ always() }}"] * 3
    are_shell(step["run"] for step in (*before, gate, *after) if "run" in step)
    more = {
        "OPTIONS": f"-q -p no:cacheprovider -n 0 -k 'crime and base' --model=control/refuser --thresholds={LIMITS}",
        "REPORT": "report",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    for step, code in ((gate, 1), (after[0], 0)):
        done = subprocess.run(  # noqa: S603 - our own action
            [BASH, "-euo", "pipefail", "-c", step["run"]],
            cwd=tmp_path, env=environment(more), capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
    assert (tmp_path / "output").read_text() == "exit=1\n"
    assert "FAIL" in (tmp_path / "summary").read_text()
    assert (tmp_path / "report" / "junit.xml").exists()


def test_what_installs_runs_no_module_of_the_checkout(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "pip.py").write_text(f"open({str(ran)!r}, 'w')\n")
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text(encoding="utf-8"))
    ours = [step["run"] for step in action["runs"]["steps"] if "pip install" in step.get("run", "")]
    theirs = re.findall(r"python .*pip install --quiet .*", (CHECKOUT / "docs" / "ci.md").read_text(encoding="utf-8"))
    template = re.findall(r"python .*pip install .*", (TEMPLATES / "workflow.yml").read_text(encoding="utf-8"))
    assert (len(ours), len(theirs), len(template)) == (1, 3, 1)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    for step in (*ours, *theirs, *template):
        subprocess.run(  # noqa: S603 - our own recipes
            [BASH, "-c", step],
            cwd=tmp_path, env=environment({"PATH": path, "SOURCE": "./none", "FAIRGATE": "./none"}),
            capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert not ran.exists(), step


def test_the_limits_that_the_page_shows_are_valid(tmp_path: Path) -> None:
    text = (CHECKOUT / "docs" / "ci.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```toml\n(extend.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "limits.toml").write_text(shown)
    assert load(tmp_path / "limits.toml", registry()).gates[0].max == 10


def test_the_images_are_built_as_hadolint_asks() -> None:
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    files = [CHECKOUT / "Dockerfile", CHECKOUT / "Dockerfile.cuda"]
    done = subprocess.run([hadolint, *files], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - a linter
    assert done.returncode == 0, done.stdout


def test_gitlab_finds_the_junit_file_that_the_gate_writes() -> None:
    judging = yaml.safe_load(RECIPES["GitLab"])["fairness-gate"]
    assert f"--junitxml {judging['artifacts']['reports']['junit']}" in judging["script"][-1]


def test_every_option_of_a_recipe_is_one() -> None:
    known = {each.flag for each in registry().options} | {"--junitxml"}
    told = subprocess.run(
        [sys.executable, "-m", "fairgate", "gate", "--help"],
        cwd=CHECKOUT, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=True,
    ).stdout  # fmt: skip
    found = 0
    for line in "\n".join(RECIPES.values()).splitlines():
        if "fairgate run " in line or "fairgate gate" in line:
            for option in re.findall(r"(?<= )--[a-z-]+", line.partition("#")[0].partition("fairgate ")[2]):
                found += 1
                assert option in (told if "fairgate gate" in line else known), line
    assert found > 10


@pytest.mark.parametrize(("model", "code", "verdict"), [("oracle", 0, "pass"), ("refuser", 1, "fail")])
def test_the_plain_recipe_shards_merges_and_judges(tmp_path: Path, model: str, code: int, verdict: str) -> None:
    more = {
        "MODEL": f"control/{model}",
        "OUT": str(tmp_path),
        "OPTIONS": "-k crime -m subjective -p no:cacheprovider",
        "GATE": f"--thresholds={LIMITS}",
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    done = subprocess.run(  # noqa: S603 - our own documentation
        [BASH, "-c", RECIPES["Plain shell"]],
        cwd=CHECKOUT, env=environment(more), capture_output=True, text=True, timeout=4 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    summary = json.loads((tmp_path / "report" / "summary.json").read_text())
    assert (summary["verdict"], summary["cases"]["error"]) == (verdict, 0)
    cases = ElementTree.parse(tmp_path / "junit.xml").findall(".//testcase")  # noqa: S314 - pytest wrote it
    assert len(cases) >= sum(summary["cases"].values()) + len(summary["gates"])
    assert f"fairgate: {verdict}" in done.stdout
