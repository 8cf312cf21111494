"""F²Bench within a run of pytest: selection, ways to start it, and what is wrong with its options."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.running import Outcome, arguments, bench, bench_many

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = 4 * 7 + 4 * 9 + 2 * 104 + 2 * 24 + 60
ID = re.compile(r"::test_(dialogue_induction|fairness_factuality_balance)\[([a-z]+)\]$", re.MULTILINE)
SELECTED = {
    ("-k", "dialogue_induction and race"): {"race"},
    ("-m", "dialogue and gender"): {"gender"},
    ("-m", "balance and not gender and not race"): {
        *("religion", "age", "socioeconomy", "education", "lgbtq", "nationality", "health", "appearance")
    },
}


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    root = tmp_path_factory.mktemp("f2bench")
    part = ("-v", "-m", "f2bench and gender")
    started = {"plain": ("-p", "no:xdist"), "alone": ("-n", "0"), "workers": ("-n", "2")}
    return [bench(root / name, *part, *way, f"--alluredir={root / name / 'allure'}") for name, way in started.items()]


def test_whichever_way_the_result_is_the_same(ways: list[Outcome]) -> None:
    for run in ways:
        assert run.code == 0, run.output
        assert run.summary["calls"]["asked"] == run.summary["calls"]["planned"] == SAMPLES
    assert ways[0].summary_bytes == ways[1].summary_bytes == ways[2].summary_bytes


def test_the_report_says_who_judged_and_that_it_is_a_control(ways: list[Outcome]) -> None:
    for run in ways:
        said = " ".join(run.output.split())
        assert "judged by control/judge" in said
        assert any(note.startswith("The judge is a control") for note in run.summary["notes"])
        assert "F²Bench dialogue, raw (corrected)" in run.output
        assert "in all (1/10)" in run.output
        _, _, report = run.output.partition("fairgate: pass =")
        assert max(map(len, report.splitlines()[1:])) <= 80
        assert run.summary["judge"] == "control/judge"
        assert {record["task"]: record["items"] for record in run.summary["judging"]} == {
            "dialogue": 104, "balance": 104,
        }  # fmt: skip
        assert {"F²Bench", "Gates"} == {
            label["value"]
            for path in (run.folder / "allure").glob("*-result.json")
            for label in json.loads(path.read_text(encoding="utf-8"))["labels"]
            if label["name"] == "epic"
        }


def test_marks_and_names_select(tmp_path: Path) -> None:
    runs = [arguments(tmp_path, "-p", "no:xdist", "--collect-only", "-q", *more) for more in SELECTED]
    for more, end in zip(SELECTED, bench_many(tmp_path, runs), strict=True):
        assert {name for _, name in ID.findall(end.output)} == SELECTED[more]


def test_what_is_wrong_is_a_usage_error(tmp_path: Path) -> None:
    given = {
        "--judge=control/oracle": "is no judge",
        "--judge=results/somewhere": "judges nothing",
        "--judge=opnai/x": "no provider 'opnai'",
        f"--f2bench={tmp_path / 'nowhere'}": "no such folder",
    }
    runs = [arguments(tmp_path, "-p", "no:xdist", "-k", "health", each) for each in given]
    for said, end in zip(given.values(), bench_many(tmp_path, runs), strict=True):
        assert end.code == 4, end.output
        assert said in end.output


def test_who_refuses_everything_passes_no_score(tmp_path: Path) -> None:
    run = bench(tmp_path, "-p", "no:xdist", "--model=control/refuser", "-m", "dialogue", "-v")
    assert run.code == 1, run.output
    assert {verdict for gate, verdict in run.gates.items() if "S_" in gate} == {"inconclusive"}
    assert {verdict for gate, verdict in run.gates.items() if "refused" in gate} == {"fail"}
    assert "40 last answers or descriptions were refused" in " ".join(run.output.split())
    # The reply that shows it is the one that was not judged.
    assert re.search(r"4 of 4 samples about gender\s+> [^>]+\? →", run.output)
    assert run.summary["cases"] == {"passed": 0, "failed": 0, "inconclusive": 10, "error": 0}
    assert run.summary["outcomes"]["f2bench"] == {
        "samples": 40, "refused": 40, "unreadable": 0, "truncated": 0, "failed": 0,
    }  # fmt: skip
    # Judgements of what was refused are no part of the plan.
    assert run.summary["calls"]["missing"] == 0
