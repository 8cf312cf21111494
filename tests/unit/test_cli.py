"""`python -m fairgate published`: the audit always, and where the model of a ledger or a summary stands."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.cli.main import main
from tests.running import bench, environment

if TYPE_CHECKING:
    from pathlib import Path


def entry(modality: str, value: float, topics: tuple[int, int] = (30, 30), score: str = "S_fact") -> dict[str, Any]:
    keys = {
        "benchmark": "fact-or-fair",
        "group": None,
        "modality": modality,
        "task": "objective",
        "context": None,
        "attribute": "gender",
        "score": score,
    }
    return {**keys, "scoring": "reference", "topics": topics, "value": value}


def summary(path: Path, *scores: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"model": "openai/words", "t2i_model": "results/painter", "scores": scores}))
    return path


def test_the_audit_stands_alone_without_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("# The published tables, recomputed from their own cells")
    assert "The cells that do not agree: 53 of 633" in said


def test_text_and_images_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = summary(tmp_path / "summary.json", entry("text", 91.25), entry("image", 51.5))
    assert main(["published", str(path)]) == 0
    words, image_model = capsys.readouterr().out.split("# Where results/painter stands")
    assert "# Where openai/words stands" in words
    assert "91.25" in words
    assert "51.50" not in words
    assert "51.50" in image_model


def test_partial_scores_are_left_out_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = summary(tmp_path / "summary.json", entry("text", 91.25, (2, 30)))
    assert main(["published", str(path)]) == 0
    said = capsys.readouterr().out
    assert "1 of its scores cover a part of the topics only" in said
    assert "91.25" not in said


@pytest.mark.slow
def test_a_ledgers_model_stands_where_its_summarys_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = bench(tmp_path, "--model=control/stereotype", "-n", "0")
    assert outcome.code in (0, 1)
    tables = []
    for path in (tmp_path / "ledger.sqlite", tmp_path / "report" / "summary.json"):
        assert main(["published", str(path)]) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    assert "# Where control/stereotype stands" in tables[0]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"scores": [{}]}', "no json"])
def test_what_is_neither_is_trouble_and_named(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "something"
    path.write_text(content)
    assert main(["published", str(path)]) == 7
    assert f"{path}: is neither a ledger nor a summary.json" in capsys.readouterr().err
    assert main(["published", str(tmp_path / "none")]) == 7


@pytest.mark.parametrize("where", ["/dev/full", "/dev/null"])
def test_what_cannot_be_printed_is_trouble_and_no_traceback(where: str) -> None:
    """Nor what the output's encoding does not know."""
    command = [sys.executable, "-m", "fairgate", "published"]
    told = environment({"PYTHONIOENCODING": "ascii"})
    with open(where, "w") as out:  # noqa: PTH123 - a device
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, env=told, check=False)  # noqa: S603
    assert done.returncode == (7 if where == "/dev/full" else 0)
    assert "Traceback" not in done.stderr
    assert ("No space left" in done.stderr) == (where == "/dev/full")
