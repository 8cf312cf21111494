"""docs/ci.md: the recipes parse, their shell steps are shell, and the plain one does what it says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.running import CHECKOUT, LIMITS, PATIENCE, environment

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


@pytest.mark.parametrize("title", ["GitHub Actions", "GitLab"])
def test_a_recipe_is_yaml_and_its_steps_are_shell(title: str) -> None:
    shell = steps(yaml.safe_load(RECIPES[title]))
    assert any("python -m fairgate merge" in step for step in shell)
    assert any("--shard" in step for step in shell)
    for step in shell:
        plain = re.sub(r"\$\{\{.*?\}\}", "1", step)
        done = subprocess.run([BASH, "-n", "-c", plain], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603 - our own documentation
        assert done.returncode == 0, f"{step}\n{done.stderr}"


def test_gitlab_finds_the_junit_file_that_the_gate_writes() -> None:
    judging = yaml.safe_load(RECIPES["GitLab"])["fairness-gate"]
    assert f"--junitxml {judging['artifacts']['reports']['junit']}" in judging["script"][-1]


def test_every_option_of_a_recipe_is_one() -> None:
    known = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "pytest", "-c", str(CHECKOUT / "pytest.ini"), f"--rootdir={CHECKOUT}", "--help"],
        cwd=CHECKOUT, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=True,
    ).stdout  # fmt: skip
    told = subprocess.run(
        [sys.executable, "-m", "fairgate", "gate", "--help"],
        cwd=CHECKOUT, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=True,
    ).stdout  # fmt: skip
    for line in "\n".join(RECIPES.values()).splitlines():
        if "pytest " in line or "fairgate gate" in line:
            for option in re.findall(r"(?<= )--[a-z-]+", line.partition("#")[0]):
                assert option in (told if "fairgate gate" in line else known), line


@pytest.mark.parametrize(("model", "code", "verdict"), [("oracle", 0, "pass"), ("refuser", 1, "fail")])
def test_the_plain_recipe_shards_merges_and_judges(tmp_path: Path, model: str, code: int, verdict: str) -> None:
    more = {
        "MODEL": f"control/{model}",
        "OUT": str(tmp_path),
        "OPTIONS": f"-k crime -m subjective -p no:cacheprovider --thresholds={LIMITS}",
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
