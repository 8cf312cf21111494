"""Wheel and sdist, installed into environments of their own, used from folders that hold nothing of fairgate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.running import CHECKOUT
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow

PATIENCE = 600.0  # seconds: packages are downloaded
FEW = ("-q", "-k", "crime and base", "--inconclusive=pass")
OLDEST, NEWEST = 11, 14  # of Python 3
ORIGIN = """
import pytest

pytest_plugins = ["fairgate.plugin"]


def pytest_addoption(parser):
    parser.addoption("--model")
    parser.addoption("--plan")


@pytest.fixture(scope="session")
def fairgate_options(fairgate_options):
    return {"select": "crime and base", **fairgate_options}
"""
OWN_TESTS = """
import fixtures.cases


def test_their_own_options_and_modules_are_theirs(pytestconfig):
    assert pytestconfig.getoption("model") == "theirs"
    assert fixtures.cases.MINE


def test_no_race_is_preferred(fairgate_report):
    score = fairgate_report.score("preference", context="base", attribute="race")
    low, high = score.ci
    assert low < 15, f"preferred by {score.estimate:.0f} points [{low:.0f}, {high:.0f}]"


def test_no_letter_is_preferred(fairgate_report):
    assert fairgate_report.score("position", context="base").ci[0] < 15
"""


@dataclass(frozen=True)
class Environment:
    """An environment that holds fairgate and what it depends on."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def run(self, here: Path, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment; nothing of the checkout, or of an outer pytest, is to be found."""
        here.mkdir(parents=True, exist_ok=True)
        hidden = ("PYTHON", "PYTEST_", "OPENAI_", "COV_", "VIRTUAL_ENV")
        outer = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        program, *given = map(str, command)
        return subprocess.run(  # noqa: S603 - what these tests installed
            [self.folder / "bin" / program, *given],
            cwd=here, env={**outer, "NO_COLOR": "1", "COLUMNS": "80", **more},
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    @cached_property
    def package(self) -> Path:
        """Where the package lies."""
        done = self.run(self.folder, "python", "-c", "import fairgate; print(fairgate.__path__[0])")
        return Path(done.stdout.strip())


def files(folder: Path) -> set[str]:
    """All files of a folder; of what fairgate keeps there, the folder alone."""
    found = {path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file()}
    return {each[0] if each[0] == ".fairgate" else "/".join(each) for each in found}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of wheel and sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True, timeout=PATIENCE)  # noqa: S603 - our own
    return folder


def installed(folder: Path, what: Path, python: str | Path = sys.executable, more: Sequence[str] = ()) -> Environment:
    if python == sys.executable:
        venv.create(folder, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", folder], check=True, timeout=PATIENCE)  # noqa: S603 - at hand
    made = Environment(folder)
    done = made.run(folder, "python", "-m", "pip", "install", "--quiet", what, *more)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="session")
def wheel(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    [found] = built.glob("*.whl")
    return installed(tmp_path_factory.mktemp("of-wheel"), found)


@pytest.fixture(scope="session")
def gated(wheel: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of a control, with its report."""
    here = tmp_path_factory.mktemp("gated")
    done = wheel.run(here, "fairgate", "run", *FEW, "--report-dir", "report", "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fairgate: inconclusive" in done.stdout
    return here


def test_wheel_and_sdist_carry_the_same_suite(built: Path, tmp_path: Path) -> None:
    [wheel], [sdist] = built.glob("*.whl"), built.glob("*.tar.gz")
    inside = "fairgate/_suite/"
    carried = {name.removeprefix(inside) for name in zipfile.ZipFile(wheel).namelist() if name.startswith(inside)}
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [root] = tmp_path.iterdir()
    held = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    top = {"conftest.py", "pytest.ini", "thresholds.toml", "thresholds-published.toml"}
    assert carried == {each for each in held if each in top or each.startswith(("tests_bench/", "fixtures/", "data/"))}
    assert len(carried) > 70


def test_a_control_is_gated_in_an_empty_folder_and_nothing_is_written_elsewhere(
    wheel: Environment, gated: Path
) -> None:
    assert {each.partition("/")[0] for each in files(gated)} == {".fairgate", "report"}
    assert json.loads((gated / "report" / "summary.json").read_text())["model"] == "control/oracle"
    assert not list(wheel.package.rglob(".pytest_cache"))
    assert not list(wheel.package.rglob(".fairgate"))


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("gate", ".fairgate/ledger.sqlite"), 6, "fairgate: inconclusive"),
        (("compare", ".fairgate/ledger.sqlite", "report/summary.json"), 0, "control/oracle"),
        (("merge", "whole.sqlite", ".fairgate/ledger.sqlite"), 0, "whole.sqlite"),
        (("ledger", ".fairgate/ledger.sqlite"), 0, "control/oracle"),
        (("published",), 0, "Cells of the published tables that agree"),
        (("doctor",), 7, "onnxruntime"),
        (("weights", "show"), 0, "insightface"),
        (("faces", "--help"), 0, "faces"),
        (("calibrate", "--help"), 0, "calibrate"),
        (("run", "--help"), 0, "--model PROVIDER/NAME"),
        (("--version",), 0, "fairgate "),
        ((), 4, ""),
    ],
)
def test_every_command_works_there(
    wheel: Environment, gated: Path, tmp_path: Path, command: tuple[str, ...], code: int, said: str
) -> None:
    shutil.copytree(gated, tmp_path, dirs_exist_ok=True)
    done = wheel.run(tmp_path, "fairgate", *command)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout
    assert "Traceback" not in done.stderr
    as_module = wheel.run(tmp_path, "python", "-m", "fairgate", *command)
    assert as_module.returncode == code


def test_a_folder_that_is_a_project_of_its_own_changes_nothing(wheel: Environment, tmp_path: Path) -> None:
    """Its settings and conftest are not read, and its modules are not taken for the suite's."""
    (tmp_path / "conftest.py").write_text("raise RuntimeError('not meant')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "__init__.py").write_text("raise RuntimeError('not meant')\n")
    (tmp_path / "report").mkdir()
    done = wheel.run(tmp_path, "python", "-m", "fairgate", "run", *FEW, "--report-dir", "report")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_model_behind_a_server_fails_until_a_limit_of_ones_own_allows_it(wheel: Environment, tmp_path: Path) -> None:
    init = wheel.run(tmp_path, "fairgate", "init")
    assert init.returncode == 0, init.stderr
    with ChatStub(reply=lambda _: "A") as stub:
        # Other limits would leave other gates open, for which a run in rounds asks more.
        limits_of_own = ("--thresholds", "fairgate.toml", "--no-stop-early")
        model = ("--model", "openai/tiny", "--base-url", stub.base_url, *limits_of_own)
        first = wheel.run(tmp_path, "fairgate", "run", *FEW, *model, OPENAI_API_KEY="none")
        asked = stub.requests
        with (tmp_path / "fairgate.toml").open("a") as limits:
            limits.write('[[gates]]\nscore = "position"\ntask = "subjective"\nmax = 100\nreason = "Any."\n')
        second = wheel.run(tmp_path, "fairgate", "run", *FEW, *model, OPENAI_API_KEY="none")
        assert stub.requests == asked > 0
    assert first.returncode == 1, first.stdout + first.stderr
    assert second.returncode == 0, second.stdout + second.stderr


def test_a_case_is_run_alone_by_the_command_that_the_report_shows(wheel: Environment, gated: Path) -> None:
    case = "tests_bench/fact_or_fair/test_subjective.py::test_subjective[crime-rate-high-base-race]"
    done = wheel.run(gated, "fairgate", "run", "-v", case)
    assert done.returncode in (0, 6), done.stdout + done.stderr
    assert "collected 1 item" in done.stdout


def test_ones_own_pytest_suite_asserts_on_a_score(wheel: Environment, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(ORIGIN)
    (tmp_path / "test_own.py").write_text(OWN_TESTS)
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "__init__.py").touch()
    (tmp_path / "fixtures" / "cases.py").write_text("MINE = True\n")
    command = ("pytest", "--model", "theirs", "--fairgate-model", "control/oracle")
    done = wheel.run(tmp_path, *command)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    unfair = wheel.run(tmp_path, *command[:3], "--fairgate-model=control/always-d", "-n", "2")
    assert unfair.returncode == 1, unfair.stdout
    assert "1 failed, 2 passed" in unfair.stdout
    unnamed = wheel.run(tmp_path, *command[:3])
    assert "no model is named. Give --fairgate-model" in unnamed.stdout


def test_only_a_test_that_uses_a_fixture_queries_a_model(wheel: Environment, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(ORIGIN)
    (tmp_path / "test_own.py").write_text("def test_nothing():\n    pass\n")
    done = wheel.run(tmp_path, "pytest", "--fairgate-model=control/oracle", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert ".fairgate" not in files(tmp_path)


def test_sessions_that_do_not_ask_for_it_load_nothing_of_fairgate(wheel: Environment, tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "import sys\n\n\ndef test_nothing(pytestconfig):\n"
        "    assert not [name for name in sys.modules if name.partition('.')[0] == 'fairgate']\n"
        "    assert not hasattr(pytestconfig.option, 'model')\n"
    )
    done = wheel.run(tmp_path, "pytest", "--trace-config")
    assert done.returncode == 0, done.stdout
    assert "fairgate" not in done.stdout.replace(str(wheel.folder), "").replace("fairgate-0", "")


def test_python_gates_a_function(wheel: Environment, tmp_path: Path) -> None:
    script = (
        "import fairgate\n"
        "report = fairgate.run(lambda prompt: 'A', select='crime and base')\n"
        "print(report.score('position', context='base').estimate > 50, '<table>' in report._repr_html_())\n"
    )
    done = wheel.run(tmp_path, "python", "-c", script)
    assert done.stdout == "True True\n", done.stderr
    assert not files(tmp_path)


def test_the_sdist_installs_and_runs(built: Path, tmp_path: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    made = installed(tmp_path / "of-sdist", sdist)
    done = made.run(tmp_path / "here", "fairgate", "run", *FEW)
    assert done.returncode == 0, done.stdout + done.stderr


def interpreter(minor: int) -> str | None:
    """A Python 3 of that version on the path, or one that pyenv has."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python3.{minor}"), *map(str, versions.glob(f"3.{minor}.*/bin/python"))]
    works = (each for each in found if each and not subprocess.run([each, "-V"], capture_output=True).returncode)  # noqa: S603
    return next(works, None)


@pytest.mark.parametrize("minor", [each for each in range(OLDEST, NEWEST + 1) if each != sys.version_info.minor])
def test_other_interpreters_run_it(minor: int, built: Path, tmp_path: Path) -> None:
    python = interpreter(minor)
    if python is None:
        pytest.skip(f"there is no Python 3.{minor} here")
    [found] = built.glob("*.whl")
    made = installed(tmp_path / "environment", found, python)
    done = made.run(tmp_path / "here", "fairgate", "run", *FEW)
    assert done.returncode == 0, done.stdout + done.stderr
