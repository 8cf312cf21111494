"""What a run leaves behind, without xdist, with `-n 0` and with `-n 2`: the same, whichever way."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.running import bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import ControlRuns
    from tests.running import Outcome

WAYS = ("plain", "again", "workers")
CASES = 20  # of crime: 2 levels, each objective by gender and race, and in four contexts by gender and race
SAMPLES = 4 * 2 + 8 * 6


@pytest.fixture(params=WAYS)
def run(request: pytest.FixtureRequest, control_runs: ControlRuns) -> Outcome:
    found: Outcome = getattr(control_runs, request.param)
    return found


def test_a_pass_exits_with_zero(run: Outcome) -> None:
    assert run.code == 0, run.output
    assert run.summary["verdict"] == "pass"
    assert run.summary["exit"] == 0


def test_the_verdict_says_that_only_a_control_was_gated(run: Outcome) -> None:
    said = "PASS: control/oracle (no model was given: only a control was gated)"
    assert said in run.output
    assert run.summary["headline"].startswith(said)
    assert (run.summary["control"], run.summary["model"]) == (True, "control/oracle")
    assert "only a control was gated" in (run.folder / "allure" / "environment.properties").read_text()


def test_the_report_is_printed_verdict_first_in_80_columns(run: Outcome) -> None:
    _, _, report = run.output.partition("fairgate: pass =")
    lines = report.splitlines()[1:]
    assert lines[0].startswith("PASS: ")
    assert max(map(len, lines)) <= 80
    assert "A pass is not a certificate of fairness" in report


def test_a_run_over_a_part_is_marked_so(run: Outcome) -> None:
    scores = [each for each in run.summary["scores"] if each["score"] == "S_fact"]
    defined = [each for each in scores if each["scoring"] == "definition"]
    assert {each["attribute"]: each["topics"] for each in defined} == {"gender": [2, 30], "race": [2, 36]}
    # The released subjective program counts all 19 statistics for either attribute.
    released = [each for each in scores if (each["scoring"], each["task"]) == ("reference", "subjective")]
    assert all(each["topics"] == [2, 38] for each in released)
    assert "(2/30)" in run.output
    assert "(2/36)" in run.output
    assert any("n of m topics only" in note for note in run.summary["notes"])
    assert not any(value is not None for row in run.summary["leaderboard"].values() for value in row.values())


def test_only_what_was_selected_is_listed(run: Outcome) -> None:
    assert run.summary["calls"]["planned"] == SAMPLES
    assert run.summary["cases"] == {"passed": CASES, "failed": 0, "inconclusive": 0, "error": 0}


def test_cases_that_were_left_out_are_told_beside_the_verdict(run: Outcome) -> None:
    selected = run.summary["selected"]
    assert selected["cases"] == CASES < selected["of"]
    told = f"plan quick, {CASES} of {selected['of']} cases selected; "
    assert told in run.summary["headline"]
    assert told in " ".join(run.output.split())


def test_a_case_without_a_model_for_it_is_not_left_out(control_runs: ControlRuns, tmp_path: Path) -> None:
    given = ("-p", "no:xdist", "-k", "crime and gender and not f2bench")
    runs = [bench(tmp_path / name, *given, f"--{name}=control/oracle") for name in ("model", "t2i-model")]
    assert sum(each.summary["selected"]["of"] for each in runs) == control_runs.plain.summary["selected"]["of"]


def test_a_second_run_asks_nothing(control_runs: ControlRuns) -> None:
    assert control_runs.plain.summary["calls"] == {
        "planned": SAMPLES, "asked": SAMPLES, "reused": 0, "missing": 0, "retried": 0, "failed": 0,
    }  # fmt: skip
    again = control_runs.again.summary["calls"]
    assert (again["asked"], again["reused"], again["missing"]) == (0, SAMPLES, 0)


def test_summaries_are_the_same_to_the_last_byte(control_runs: ControlRuns) -> None:
    assert control_runs.plain.summary_bytes == control_runs.workers.summary_bytes
    # What was reused was not asked, nor were its tokens counted: nothing else may differ.
    first, second = (
        {key: value for key, value in run.summary.items() if key not in ("calls", "tokens")}
        for run in (control_runs.plain, control_runs.again)
    )
    assert json.dumps(first) == json.dumps(second)


def test_step_summaries_are_the_same(control_runs: ControlRuns) -> None:
    first, second = (
        (run.folder / "report" / "summary.md").read_text() for run in (control_runs.plain, control_runs.workers)
    )
    assert first.replace("plain", "way") == second.replace("workers", "way")


# Gates as tests


def test_gates_are_lines_of_the_terminal(run: Outcome) -> None:
    lines = re.findall(r"gates::(\S+) PASSED|PASSED gates::(\S+)", run.output)
    shown = {one or other for one, other in lines}
    assert len(shown) == len(run.summary["gates"]) == 14
    assert "fact-or-fair-text-subjective-base-race-TV" in shown
    assert re.search(rf"\b{CASES + 14} passed", run.output)


def junit(run: Outcome) -> list[ElementTree.Element]:
    return ElementTree.parse(run.folder / "junit.xml").findall(".//testcase")  # noqa: S314 - pytest wrote it


def test_gates_are_cases_of_junit_with_their_numbers(run: Outcome) -> None:
    found = junit(run)
    gates = [each for each in found if "gates" in (each.get("classname") or each.get("file") or "")]
    assert (len(found), len(gates)) == (CASES + 14, 14)
    for each in gates:
        properties = {found.get("name"): found.get("value") for found in each.iter("property")}
        assert {"estimate", "ci_low", "ci_high", "n", "limit", "verdict", "reason"} <= properties.keys()
        assert properties["verdict"] == "pass"


# Allure


def results(run: Outcome) -> Iterator[dict[str, Any]]:
    for path in (run.folder / "allure").glob("*-result.json"):
        yield json.loads(path.read_text(encoding="utf-8"))


def labels(result: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in result["labels"]}


def of_cases(run: Outcome) -> list[dict[str, Any]]:
    return [each for each in results(run) if labels(each)["epic"] != "Gates"]


def of_gates(run: Outcome) -> list[dict[str, Any]]:
    return [each for each in results(run) if labels(each)["epic"] == "Gates"]


def test_allure_has_a_result_for_each_case_where_a_reviewer_looks_for_it(run: Outcome) -> None:
    found = of_cases(run)
    assert len(found) == CASES
    assert {each["status"] for each in found} == {"passed"}
    assert {labels(each)["epic"] for each in found} == {"Fact-or-Fair"}
    assert Counter(labels(each)["feature"] for each in found) == {
        "objective": 4,
        **{f"subjective {context}": 4 for context in ("base", "representativeness", "attribution", "ingroup")},
    }
    assert {labels(each)["story"] for each in found} == {"Crime Rate, by gender", "Crime Rate, by race"}
    assert all(labels(each)["severity"] for each in found)


def attachments(run: Outcome) -> dict[str, dict[str, Path]]:
    """The files that each result shows, by name: in its body, its steps or its set-up."""
    folder = run.folder / "allure"

    def below(part: dict[str, Any]) -> dict[str, Path]:
        found = {each["name"]: folder / each["source"] for each in part.get("attachments", [])}
        for step in (*part.get("steps", []), *part.get("befores", [])):
            found |= below(step)
        return found

    shown = {each["uuid"]: below(each) for each in results(run)}
    for path in folder.glob("*-container.json"):
        container = json.loads(path.read_text(encoding="utf-8"))
        for child in container.get("children", []):
            if child in shown:
                shown[child] |= below(container)
    return shown


def test_allure_shows_what_each_case_stands_on(run: Outcome) -> None:
    shown = attachments(run)
    for each in of_cases(run):
        attached = shown[each["uuid"]]
        samples = 2 if labels(each)["feature"] == "objective" else 6
        [picture] = [path for path in attached.values() if path.suffix == ".svg"]
        [(name, table)] = [(name, path) for name, path in attached.items() if path.suffix == ".csv"]
        assert name == f"samples, the telling ones first ({samples} of {samples})"
        assert table.read_text().count("fact-or-fair/text/") == samples
        assert re.search(rf" of {samples}</desc>", picture.read_text())
        assert "can offend" in each["description"]
        [parameter] = each["parameters"]
        [command] = [line for line in each["description"].splitlines() if line.startswith("fairgate run ")]
        assert any(word.endswith(f"[{parameter['value'].strip(chr(39))}]") for word in shlex.split(command))


def test_allure_is_kept_to_few_files(run: Outcome) -> None:
    files = list((run.folder / "allure").iterdir())
    # A result and two attachments a case; the gates; the verdict with its text; environment and categories; and
    # what of a worker's own set-up was still being written.
    assert len(files) <= 3 * CASES + 14 + 2 + 2 + 4


def test_allure_has_gates_as_results_of_a_suite(run: Outcome) -> None:
    found = of_gates(run)
    assert len(found) == 1 + 14
    assert {labels(each)["parentSuite"] for each in found} == {"Gates"}
    assert {each["status"] for each in found} == {"passed"}
    assert any(each["fullName"] == "gates#verdict" for each in found)


def test_allure_follows_a_case_over_runs(control_runs: ControlRuns) -> None:
    histories = [sorted((each["historyId"], each["fullName"]) for each in results(run)) for run in control_runs.all]
    assert histories[0] == histories[1] == histories[2]
    assert len({history for history, _ in histories[0]}) == CASES + 1 + 14
