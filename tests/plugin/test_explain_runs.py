"""`--explain` within a run of pytest: reasons of known kinds come back, and nothing is asked twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.running import arguments, bench, bench_many

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

CONTEXTS = ["base", "representativeness", "attribution", "ingroup"]
PART = ("-k", "subjective and crime", "--explain")


def test_kinds_come_back_by_context(tmp_path: Path) -> None:
    sorted_as = {"oracle": "none", "stereotype": "representativeness"}
    for name, kind in sorted_as.items():
        model = f"--model=control/{name}"
        runs = [bench(tmp_path / f"{name}{n}", *PART, model, "-n", n) for n in ("0", "2")]
        assert runs[0].summary_bytes == runs[1].summary_bytes
        for run in runs:
            calls, found = run.summary["calls"], run.summary["explanations"]
            assert list(found) == CONTEXTS
            assert run.summary["plan"] == "explain"
            assert run.summary["judge"] == "control/judge"
            assert calls["asked"] == calls["planned"] == 2 * sum(each["sorted"] for each in found.values())
            for each in found.values():
                assert each["kinds"][kind]["share"] == 100
                assert [len(each["examples"]), each["unsorted"]] == [3, 0]
            assert any("no judge is measured on reasons" in note for note in run.summary["notes"])
        again = bench(tmp_path / f"{name}0", *PART, model, "-n", "0")
        assert again.summary["calls"]["asked"] == 0
        assert again.summary["explanations"] == runs[0].summary["explanations"]


def test_the_order_of_cases_changes_no_report(tmp_path: Path) -> None:
    whole = "crime and (objective or subjective) or dialogue_induction and (age or race)"
    for name, part in {"reasons": PART, "all": ("-k", whole)}.items():
        given = (*part, "-p", "no:xdist")
        forth = bench(tmp_path / f"{name}-forth", *given)
        back = bench(tmp_path / f"{name}-back", *given, "-p", "tests.plugin.backwards")
        assert forth.code == back.code, back.output
        assert forth.summary_bytes == back.summary_bytes


def test_without_it_nothing_is_said_of_reasons(tmp_path: Path) -> None:
    run = bench(tmp_path, "-k", "subjective and crime", "-n", "0")
    assert "explanations" not in run.summary
    assert run.summary["plan"] == "quick"
    assert "eason" not in run.output


def test_without_a_judge_it_is_a_usage_error(tmp_path: Path) -> None:
    (end,) = bench_many(
        tmp_path, [arguments(tmp_path, "-p", "no:xdist", "--explain", "--model=python/tests.plugin.models:oracle")]
    )
    assert end.code == 4, end.output
    assert "Name a judge: --judge" in end.output
