"""The folder of Allure's results: cleaned once, and a case whose worker died is in it as missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.running import bench

if TYPE_CHECKING:
    from tests.running import Outcome

pytestmark = pytest.mark.slow

PART = ("-k", "crime and base", "-n", "2")
LOST = "test_subjective[crime-rate-low-base-race]"


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("crashed")
    results = folder / "allure"
    results.mkdir()
    (results / "of-an-earlier-run-result.json").write_text("{}")
    more = (f"--alluredir={results}", "--clean-alluredir", "-p", "tests.plugin.crash")
    return bench(folder, *PART, *more, env={"CRASH_IN": LOST})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("whole")
    return bench(folder, *PART, f"--alluredir={folder / 'allure'}")


def of_cases(run: Outcome) -> dict[str, dict[str, Any]]:
    """The results of cases, by the case's id."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in (run.folder / "allure").glob("*-result.json")]
    cases = [each for each in found if each["fullName"].startswith("tests_bench")]
    return {each["parameters"][0]["value"]: each for each in cases}


def test_a_folder_is_cleaned_once_whatever_the_number_of_workers(crashed: Outcome) -> None:
    assert not (crashed.folder / "allure" / "of-an-earlier-run-result.json").exists()
    assert len(of_cases(crashed)) == 4


def test_a_case_whose_worker_died_shows_as_missing(crashed: Outcome) -> None:
    assert crashed.code == 7, crashed.output
    lost = of_cases(crashed)["'crime-rate-low-base-race'"]
    assert lost["status"] == "broken"
    assert lost["statusDetails"]["message"].startswith("missing: worker ")
    others = [each["status"] for name, each in of_cases(crashed).items() if "low-base-race" not in name]
    assert others == ["passed"] * 3


def test_a_missing_case_keeps_its_history_and_its_place(crashed: Outcome, whole: Outcome) -> None:
    def labels(result: dict[str, Any]) -> dict[str, str]:
        own = ("epic", "feature", "story", "severity", "parentSuite", "suite", "subSuite")
        return {each["name"]: each["value"] for each in result["labels"] if each["name"] in own}

    lost, there = (of_cases(run)["'crime-rate-low-base-race'"] for run in (crashed, whole))
    for key in ("historyId", "testCaseId", "fullName", "name", "parameters"):
        assert lost[key] == there[key]
    assert labels(lost) == labels(there)
