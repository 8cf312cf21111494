"""A benchmark that another package brings: installed with pip into a fresh environment, and used as ours are."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sysconfig
import venv
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from tests.running import CHECKOUT, PATIENCE, Outcome, bench, environment, finished, started, stored, wait_until_stored
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow

PROJECT = CHECKOUT / "examples" / "ambiguous_qa"
OWN = ("-m", "ambiguous_qa", "-p", "no:xdist")
CASES, GATES = 48, 16  # 24 items in two contexts; accuracy, bias, two rates
SAMPLES = 12 * CASES
FEW = ("-m", "ambiguous_qa and gender", "--per-topic=4", "--max-in-flight=4")
FEW_SAMPLES = 4 * 16
BROKEN = {
    "pyproject.toml": """
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"
        [project]
        name = "fairgate-broken"
        version = "1"
        [project.entry-points."fairgate.benchmarks"]
        broken = "fairgate_broken:plugin"
        """,
    "fairgate_broken.py": "raise RuntimeError('its data is gone')\n",
}


def run(python: Path, *command: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - an interpreter that this test made
        [python, *command],
        cwd=python.parent,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def install(python: Path, *what: str | Path) -> None:
    """Install without a network; the backend that builds the package is that of the tests' own environment."""
    pip = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation")
    done = run(python, *pip, *what)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own with the example installed. It sees the packages of the tests' own environment."""
    folder = tmp_path_factory.mktemp("environment")
    venv.EnvBuilder(with_pip=find_spec("pip") is None, symlinks=True).create(folder)
    inner = sysconfig.get_path("purelib", vars={"base": str(folder)})
    outer = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    lines = [f"import site; site.addsitedir({path!r})\n" for path in outer]
    (folder / inner / "outer.pth").write_text("".join(lines), encoding="utf-8")
    made = folder / "bin" / "python"
    install(made, PROJECT)
    return made


@pytest.fixture(scope="module")
def oracle(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("oracle")
    files = (f"--junitxml={folder / 'junit.xml'}", f"--alluredir={folder / 'allure'}")
    saved = f"--save-baseline={folder / 'baseline.json'}"
    return bench(folder, *OWN, "--model=control/oracle", *files, saved, python=python)


def assert_the_same(run: Outcome, other: Outcome) -> None:
    for part in ("verdict", "scores", "gates", "rates", "cases"):
        assert run.summary[part] == other.summary[part], part


def own(run: Outcome, part: str) -> list[dict[str, Any]]:
    return [each for each in run.summary[part] if each.get("task") == "ambiguous_qa"]


def test_oracle_passes_every_case_and_gate(oracle: Outcome) -> None:
    assert oracle.code == 0, oracle.output
    assert oracle.summary["cases"] == {"passed": CASES, "failed": 0, "inconclusive": 0, "error": 0}
    gates = own(oracle, "gates")
    assert [each["verdict"] for each in gates] == ["pass"] * GATES
    assert {each["score"] for each in gates} == {"accuracy", "bias", "refused", "unreadable"}


def test_a_model_that_follows_stereotypes_fails(python: Path, oracle: Outcome, tmp_path: Path) -> None:
    before = f"--baseline={oracle.folder / 'baseline.json'}"
    limits = f"--thresholds={CHECKOUT / 'thresholds.toml'}"
    found = bench(tmp_path, *OWN, "--model=control/stereotype", before, limits, "-v", python=python)
    assert found.code == 1, found.output
    failed = {(each["context"], each["score"]) for each in own(found, "gates") if each["verdict"] == "fail"}
    scores = {(context, score) for context in ("ambiguous", "disambiguated") for score in ("accuracy", "bias")}
    assert failed >= scores
    # Each failed gate has its reason in words, with a reply.
    assert "a model that reads the text names nobody" in found.output
    # Beside the baseline, in numbers and in a sentence.
    assert failed >= {(context, f"{score}@change") for context, score in scores}
    assert found.summary["comparison"]["queries"] == SAMPLES
    assert re.search(r"by gender: less fair and less accurate than the\s+baseline", found.output)


def test_cases_fail_by_themselves_where_their_own_answers_prove_it(python: Path, tmp_path: Path) -> None:
    plan = ("--plan=paper", "--per-topic=48", "-k", "parking and not disambiguated")
    found = bench(tmp_path, *OWN, *plan, "--model=control/stereotype:1", python=python)
    assert found.code == 1
    assert "test_ambiguous_qa[gender-parking-ambiguous]" in found.output
    assert "48 of 48 answers name the person whom a stereotype suggests" in " ".join(found.output.split())


def test_workers_come_to_the_same(python: Path, oracle: Outcome, tmp_path: Path) -> None:
    found = bench(tmp_path, "-m", "ambiguous_qa", "-n", "2", "--model=control/oracle", python=python)
    assert found.code == 0, found.output
    assert_the_same(found, oracle)


def test_shards_are_merged_and_judged_offline(python: Path, oracle: Outcome, tmp_path: Path) -> None:
    parts = [tmp_path / str(number) for number in (1, 2)]
    for number, folder in enumerate(parts, start=1):
        shard = bench(folder, *OWN, f"--shard={number}/2", "--model=control/oracle", python=python)
        assert shard.code == 0, shard.output
        assert shard.summary["cases"]["passed"] == CASES // 2
    merged = tmp_path / "merged.sqlite"
    done = run(python, "-m", "fairgate", "merge", merged, *(folder / "ledger.sqlite" for folder in parts))
    assert done.returncode == 0, done.stderr
    limits = f"--thresholds={CHECKOUT / 'tests' / 'thresholds.toml'}"
    done = run(python, "-m", "fairgate", "gate", merged, f"--report-dir={tmp_path / 'report'}", limits)
    assert done.returncode == 0, done.stdout
    assert_the_same(Outcome(done.returncode, done.stdout, tmp_path), oracle)


def test_a_dry_run_says_what_the_plan_can_tell(python: Path, tmp_path: Path) -> None:
    found = bench(tmp_path, *OWN, "--dry-run", "--model=control/oracle", python=python)
    assert found.code == 0, found.output
    assert f"{CASES} cases, {SAMPLES} samples" in found.output
    assert re.search(r"^  bias gender, 2 contexts +<= 20 +\d+\.\d", found.output, re.MULTILINE)
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_run_that_was_killed_goes_on(python: Path, tmp_path: Path) -> None:
    """What was answered is not asked again, and the end is that of a run that nobody killed."""
    with ChatStub() as stub:
        undisturbed = bench(tmp_path / "undisturbed", *FEW, *served(stub), "-p", "no:xdist", python=python)
        assert undisturbed.summary["calls"]["asked"] == FEW_SAMPLES
    folder = tmp_path / "killed"
    with ChatStub(latency=0.05) as stub:
        stub.most = FEW_SAMPLES // 2 + 4  # so that the run cannot be done before it is killed
        with started(folder, *FEW, *served(stub), "-p", "no:xdist", python=python) as process:
            wait_until_stored(folder / "ledger.sqlite", FEW_SAMPLES // 2, process)
            os.killpg(process.pid, signal.SIGKILL)
            assert finished(process, folder).code == -signal.SIGKILL
        stub.let_go()
        kept = stored(folder / "ledger.sqlite")
        assert FEW_SAMPLES // 2 <= kept < FEW_SAMPLES
        again = bench(folder, *FEW, *served(stub), "-p", "no:xdist", python=python)
    assert again.summary["calls"]["reused"] == kept
    assert again.code == undisturbed.code, again.output
    assert_the_same(again, undisturbed)


def served(stub: ChatStub) -> Sequence[str]:
    return ("--model=openai/tiny", f"--base-url={stub.base_url}")


def test_the_page_shows_its_cases_and_gates(oracle: Outcome) -> None:
    page = (oracle.folder / "report" / "index.html").read_text(encoding="utf-8")
    assert re.search(r'"name":"disambiguated income accuracy","asks":"[^"]+\?","verdict":"pass"', page)
    assert "test_installed.py::test_ambiguous_qa[age-names-ambiguous]" in page
    assert "Who was forgetful?" in page


def test_junit_has_its_cases_and_gates(oracle: Outcome) -> None:
    cases = list(ET.parse(oracle.folder / "junit.xml").getroot().iter("testcase"))  # noqa: S314 - pytest wrote it
    names = [(each.get("classname"), each.get("name")) for each in cases]
    assert ("tests_bench.installed.test_installed", "test_ambiguous_qa[gender-parking-ambiguous]") in names
    assert ("gates", "ambiguous-qa-text-ambiguous_qa-ambiguous-gender-bias") in names
    assert len(names) == CASES + GATES


def test_allure_has_its_cases_where_a_reviewer_looks(oracle: Outcome) -> None:
    results = [json.loads(path.read_text("utf-8")) for path in (oracle.folder / "allure").glob("*-result.json")]
    ours = [each for each in results if each["fullName"].startswith("tests_bench.installed.test_installed#")]
    assert len(ours) == CASES
    labels = {(label["name"], label["value"]) for each in ours for label in each["labels"]}
    assert ("epic", "Questions about two people") in labels
    assert ("feature", "ambiguous_qa disambiguated") in labels
    assert all(len(each["attachments"]) == 2 for each in ours)


def test_its_own_tests_pass_where_it_is_installed(python: Path) -> None:
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={PROJECT}", PROJECT)
    assert done.returncode == 0, done.stdout


def test_a_benchmark_that_cannot_be_loaded_is_named(python: Path, oracle: Outcome, tmp_path: Path) -> None:
    """By a run and by every command, as wrong usage."""
    project, there = tmp_path / "project", tmp_path / "there"
    project.mkdir()
    for name, text in BROKEN.items():
        (project / name).write_text("\n".join(line.strip() for line in text.splitlines()), encoding="utf-8")
    install(python, project, f"--target={there}")
    paths = {"PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT, there)))}
    found = bench(tmp_path, *OWN, "--model=control/oracle", python=python, env=paths)
    gate = run(python, "-m", "fairgate", "gate", oracle.folder / "ledger.sqlite", env=paths)
    saved = oracle.folder / "baseline.json"
    compare = run(python, "-m", "fairgate", "compare", saved, saved, env=paths)
    assert (found.code, gate.returncode, compare.returncode) == (4, 4, 4)
    for said in (found.output, gate.stdout + gate.stderr, compare.stdout + compare.stderr):
        (line,) = [line for line in said.splitlines() if line.strip()]
        assert "package fairgate-broken, entry point fairgate_broken:plugin" in line
        assert "RuntimeError: its data is gone" in line


def test_no_file_outside_its_folder_names_it() -> None:
    """Neither the benchmark nor anything that it declares: fairgate needs no line of its own for it."""
    named = re.compile(r"ambiguous[-_ ]?qa|disambiguated|Questions about two people", re.IGNORECASE)
    files = [path for room in ("fairgate", "fixtures", "tests_bench", "data") for path in (CHECKOUT / room).rglob("*")]
    files += [CHECKOUT / name for name in ("conftest.py", "pytest.ini", "thresholds.toml")]
    texts = [path for path in files if path.suffix in {".py", ".toml", ".ini", ".js", ".css", ".csv", ".html"}]
    assert len(texts) > 200
    assert [path for path in texts if named.search(path.read_text(encoding="utf-8"))] == []
