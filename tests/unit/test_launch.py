"""How the suite is found and started, wherever it lies and whatever stands on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairgate.core.layout import suite
from fairgate.launch import CONTROLLER, arguments
from tests.running import PATIENCE, environment

SUITE = suite()
HERE = Path("/somewhere")


def test_an_installation_has_the_suite_inside_and_a_checkout_beside_it(tmp_path: Path) -> None:
    package = tmp_path / "fairgate"
    package.mkdir()
    assert suite(package) == tmp_path
    (package / "_suite").mkdir()
    assert suite(package) == package / "_suite"


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


def fairgate(here: Path, *given: str, **env: str) -> tuple[int, str]:
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "fairgate", *given],
        cwd=here, env=environment(env), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


CASE = "tests_bench/fact_or_fair/test_subjective.py"


def collected(here: Path, *given: str) -> set[str]:
    code, said = fairgate(here, "run", *given, "--collect-only", "-q")
    assert code == 0, said
    return {line.partition("::")[0] for line in said.splitlines() if "::" in line}


@pytest.mark.slow
def test_cases_are_those_of_the_suite_whatever_stands_on_the_command_line(tmp_path: Path) -> None:
    """Values of options may look like cases; in a folder of somebody else's nothing is collected or imported."""
    ran = tmp_path / "ran"
    (tmp_path / "conftest.py").write_text(f"open({str(ran)!r}, 'w')\n")
    (tmp_path / "test_theirs.py").write_text("def test_theirs(): pass\n")
    whole = collected(tmp_path)
    assert len(whole) > 3
    assert all(each.startswith("tests_bench/") for each in whole)
    assert collected(tmp_path, "--ignore", "tests_bench/bigbench") == whole
    assert collected(tmp_path, "--deselect", f"{CASE}::none", "--junitxml", "tests_bench/x.xml") == whole
    assert collected(tmp_path, "-s", CASE) == {CASE}
    for foreign in ("test_theirs.py", ".", str(tmp_path)):
        code, said = fairgate(tmp_path, "run", foreign)
        assert (code, said.strip()) == (
            4,
            f"ERROR: fairgate run: {foreign} is no case of fairgate. Cases are tests_bench/….",
        )
    assert fairgate(tmp_path, "run", "-q", "-k", "tests_bench/")[0] == 5
    assert not ran.exists()


@pytest.mark.slow
def test_what_the_environment_tells_pytest_changes_no_verdict_of_gate(tmp_path: Path) -> None:
    named = {"tests": [{"selector": "tests_bench.fact_or_fair.test_objective#test_objective"}], "version": "1.0"}
    (tmp_path / "plan.json").write_text(json.dumps(named))
    run = ("run", "-q", "-k", "crime and base", "--model=control/stereotype", "--ledger=l.sqlite")
    assert fairgate(tmp_path, *run)[0] == 1
    plan = {"ALLURE_TESTPLAN_PATH": "plan.json"}
    for told in ({"PYTEST_ADDOPTS": "--co"}, {"PYTEST_ADDOPTS": "-k zzz"}, plan):
        code, said = fairgate(tmp_path, "gate", "l.sqlite", **told)
        assert (code, "FAIL: control/stereotype" in said) == (1, True), told
    assert fairgate(tmp_path, *run, **plan)[0] == 1


@pytest.mark.parametrize("plugin", [CONTROLLER, "fairgate.suite", "fixtures.cases"])
def test_a_run_without_what_gates_it_never_ends_as_a_pass(plugin: str, tmp_path: Path) -> None:
    code, said = fairgate(tmp_path, "run", "-q", "-k", "crime and base", "-p", f"no:{plugin}")
    assert code, said
    assert plugin != CONTROLLER or (code == 4 and "without it nothing is gated" in said)


def test_the_header_holds_nothing_that_a_terminal_or_a_runner_obeys(tmp_path: Path) -> None:
    name = f"openai/m\x1b[31m ::error::x {'a' * 37} ::stop-commands::tok"
    _, said = fairgate(tmp_path, "run", "-k", "zzz", "--model", name, OPENAI_API_KEY="none")
    assert "\N{REPLACEMENT CHARACTER}[31m" in said
    assert "\x1b" not in said
    assert not [line for line in said.splitlines() if line.strip().startswith("::")]


def test_the_header_says_by_which_prices_a_budget_counts(tmp_path: Path) -> None:
    limits = 'extend = "default"\n[prices."openai/x"]\ninput = 0\noutput = 0.5\ndate = 2026-03-23\n'
    (tmp_path / "mine.toml").write_text(limits)
    given = ("--model=openai/x", "--budget-usd=2.5", "--thresholds=mine.toml")
    _, said = fairgate(tmp_path, "run", "-k", "zzz", *given, OPENAI_API_KEY="none")
    told = "at most 2.5 USD, at USD a million tokens: openai/x 0 in, 0.5 out (as of 2026-03-23)"
    assert told in " ".join(said.split())


def test_what_pytest_keeps_lies_where_it_was_started() -> None:
    assert f"cache_dir={HERE / '.fairgate' / 'pytest-cache'}" in arguments([], HERE)
    assert not any("cache_dir" in each for each in arguments(["-p", "no:cacheprovider"], HERE))
