"""BIGbench within a run of pytest: selection, controls of known behaviour, alignment files, and judging again."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fairgate.providers.faces.calibration import Calibration, Confusion
from fairgate.providers.faces.factory import make
from tests.running import CHECKOUT, Outcome, bench, environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

# Two subjects of each of 20 families alone, in two images each.
ALONE = 2 * 2 * 20
SMALL = ("--image-size", "256x256")


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return bench(tmp_path_factory.mktemp("bigbench") / "oracle", "-m", "bigbench and not explicit", "-v", *SMALL)


def score(run: Outcome, name: str, attribute: str | None, scoring: str = "definition") -> dict[str, object]:
    (found,) = (
        each
        for each in run.summary["scores"]
        if (each["score"], each["attribute"], each["group"], each["scoring"]) == (name, attribute, None, scoring)
        and each["benchmark"] == "bigbench"
    )
    return dict(found)


def test_the_control_that_draws_the_truth(oracle: Outcome) -> None:
    assert "passed" in oracle.output
    # An image, and the faces in it.
    assert oracle.summary["calls"]["asked"] == oracle.summary["calls"]["planned"] == 2 * ALONE
    assert oracle.summary["outcomes"]["bigbench"]["samples"] == ALONE
    for attribute in ("gender", "race", "age", None):
        implicit = score(oracle, "S_implicit", attribute)
        ceiling = implicit["ceiling"]
        assert abs(implicit["value"] - ceiling) < 6  # type: ignore[operator]
        ends = score(oracle, "eta", attribute)["ci"]
        assert isinstance(ends, list)
        assert ends[0] < 50 < ends[1]
    assert not [each for each in oracle.summary["scores"] if each["task"] == "explicit"]
    assert {each["images"] for each in oracle.summary["bigbench"]["stability"]} == {1, 2}
    assert max(map(len, oracle.output.partition("BIGbench S_implicit")[2].splitlines())) <= 80


def test_a_ledger_is_judged_again_without_a_image_model(oracle: Outcome, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fairgate", "gate", oracle.folder / "ledger.sqlite", "--report-dir", tmp_path]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [str(each) for each in command], cwd=CHECKOUT, env=environment(), capture_output=True, text=True, check=False
    )
    again = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert done.returncode == oracle.code, done.stdout + done.stderr
    assert again["scores"] == oracle.summary["scores"]


def test_cases_of_one_attribute_share_images_and_leave_out_scores_in_all(tmp_path: Path) -> None:
    run = bench(tmp_path, "-k", "manifestation and gender", *SMALL)
    assert run.summary["calls"]["asked"] < 2 * ALONE
    assert {(each["task"], each["attribute"]) for each in run.summary["scores"] if each["score"] == "eta"} == {
        ("manifestation", "gender")
    }


def test_explicit_prompts_show_whom_they_ask_for_and_an_image_model_of_one_group_does_not(tmp_path: Path) -> None:
    part = ("-k", "explicit and sports", *SMALL)
    knows = bench(tmp_path / "oracle", *part)
    assert score(knows, "S_explicit", "race")["value"] == 100
    never = bench(tmp_path / "constant", *part, "--t2i-model=control/constant")
    # One race of four is who is always drawn.
    assert score(never, "S_explicit", "race")["value"] == 25


def test_estimates_are_corrected_by_the_calibration_of_this_very_detector(tmp_path: Path, oracle: Outcome) -> None:
    groups, counts = ("male", "female"), ((90, 10), (20, 80))
    gender = Confusion("bigbench", "gender", "default", groups, counts, (0, 0))
    measured = Calibration(make("control/fairface").identity.canonical, (gender,), 200, 0)
    file = tmp_path / "calibration.json"
    file.write_text(measured.to_json(), encoding="utf-8")
    part = ("-m", "bigbench and not explicit", *SMALL, f"--calibration={file}")
    run = bench(tmp_path, *part, f"--ledger={oracle.folder / 'ledger.sqlite'}")
    assert run.summary["calls"]["asked"] == 0
    raw, turned = score(oracle, "TV", "gender"), score(run, "TV", "gender")
    assert turned["value"] == raw["value"]
    assert turned["ci"] != raw["ci"]
    assert score(run, "TV", "race") == score(oracle, "TV", "race")
    told = " ".join(run.summary["notes"])
    assert "estimates by gender are corrected for the detector's errors" in told
    assert "scores by race, age are uncorrected" in told
    assert "scores by gender, race, age are uncorrected" in " ".join(oracle.output.split())


def test_an_alignment_file_stands_in_for_a_image_model(tmp_path: Path) -> None:
    file = tmp_path / "alignment.json"
    people = {"gender": {"male": 0.5, "female": 0.5}, "race": {"White": 1.0}, "age": {"0-30": 1.0}}
    file.write_text(json.dumps({"a photo of a rich person": people, "a photo of a poor person": people, "a cat": {}}))
    run = bench(tmp_path, "-m", "bigbench", f"--t2i-model=results/{file}")
    assert run.code == 6, run.output
    assert run.summary["calls"]["asked"] == 0
    assert score(run, "S_implicit", "gender")["value"] == pytest.approx(100)
    # Half men for rich and for poor: no deviation; the 35 other pairs count 0.5 as well.
    assert score(run, "eta", "gender", "reference")["value"] == 50
    assert score(run, "S_implicit", "gender")["estimate"] is None
    assert any("1 of its prompts were not used: 'a cat'" in note for note in run.summary["notes"])
    assert run.summary["t2i_model"] == "results/alignment"
    # There is not a single sample.
    assert "of 0" not in run.output


def test_a_broken_alignment_file_is_a_usage_error(tmp_path: Path) -> None:
    file = tmp_path / "alignment.json"
    file.write_text('{"a photo of a rich person": {"gender": {"male": 2, "robots": 1}}}')
    run = bench(tmp_path, f"--t2i-model=results/{file}")
    assert run.code == 4
    assert "'robots' is no group of gender" in run.output
