"""How the suite is found and started, wherever it lies and whatever stands on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fairgate.core.layout import suite
from fairgate.launch import arguments

SUITE = suite()
HERE = Path("/somewhere")


def test_an_installation_has_the_suite_inside_and_a_checkout_beside_it(tmp_path: Path) -> None:
    package = tmp_path / "fairgate"
    package.mkdir()
    assert suite(package) == tmp_path
    (package / "_suite").mkdir()
    assert suite(package) == package / "_suite"


def test_the_whole_suite_is_collected_where_no_case_is_named() -> None:
    found = arguments(["-k", "race", "--ledger", "/elsewhere/x"], HERE)
    assert found[-5:] == ["-k", "race", "--ledger", "/elsewhere/x", str(SUITE / "tests_bench")]


@pytest.mark.parametrize("case", ["tests_bench", "tests_bench/f2bench", "tests_bench/a/test_b.py::test_b[c]"])
def test_named_cases_are_those_of_the_suite(case: str) -> None:
    assert arguments(["-v", case], HERE)[-2:] == ["-v", str(SUITE / case)]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--modle=x", "--modle. Did you mean --model?"),
        ("--zzz", "--zzz. See `fairgate run --help` and `pytest --help`."),
    ],
)
def test_an_option_that_nobody_knows_is_named_without_pytests_usage(option: str, said: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fairgate", "run", option]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    assert done.returncode == 4
    assert done.stderr.strip() == f"ERROR: fairgate run: unrecognized option {said}"


def test_what_pytest_keeps_lies_where_it_was_started() -> None:
    assert f"cache_dir={HERE / '.fairgate' / 'pytest-cache'}" in arguments([], HERE)
    assert not any("cache_dir" in each for each in arguments(["-p", "no:cacheprovider"], HERE))
