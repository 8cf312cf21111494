"""`fairgate compare`: runs beside one another, from whatever file they left."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from fairgate.cli.main import main
from fairgate.comparison.baseline import save
from fairgate.reports.summary import to_json
from tests.builders import entry, report
from tests.unit.test_baseline import answered


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    save(tmp_path / "a.json", answered(0.95, 0.6, 1, "openai/one"))
    save(tmp_path / "b.json", answered(0.4, 0.0, 2, "openai/two"))
    (tmp_path / "summary.json").write_text(to_json(report()))
    return [str(tmp_path / name) for name in ("a.json", "b.json", "summary.json")]


def test_runs_stand_side_by_side_with_what_moved(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *files]) == 0
    said = capsys.readouterr().out
    assert said.startswith("A: openai/one, plan quick, seed 0\nB: openai/two, plan quick, seed 0\nC: openai/tiny")
    [row] = [line for line in said.splitlines() if line.startswith("subjective base race TV ")]
    first, second, summary = re.split(r" {2,}", row)[1:]
    assert float(first.split()[0]) > 30 > float(second.split()[0])
    assert first.endswith("]")
    assert summary == "50.0 [40.0, 60.0]"
    assert "- race: fairer but less factual than the baseline" in said
    assert "a summary has no answers to compare" in said


def test_the_table_is_aligned_and_markdown_where_it_is_asked_for(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("score "))
    table = lines[first : lines.index("", first)]
    assert set(table[1]) == {"-"}
    assert "|" not in "".join(table)
    assert len({len(line) for line in table}) == 1
    assert main(["compare", *files, "--format", "markdown"]) == 0
    said = capsys.readouterr().out
    assert "| score | A | B | C |\n| --- | ---: | ---: | ---: |\n" in said
    assert re.search(r"^\| subjective base race TV \|.+\| 50\.0 \[40\.0, 60\.0\] \|$", said, re.MULTILINE)


def test_a_score_over_a_part_of_the_topics_is_marked(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", files[0], files[1]]) == 0
    assert "(n/m)" not in capsys.readouterr().out
    Path(files[2]).write_text(to_json(report(entries=(entry(topics=(2, 36)),))))
    assert main(["compare", files[0], files[2]]) == 0
    said = capsys.readouterr().out
    assert "50.0 [40.0, 60.0] (2/36)\n" in said
    assert "(n/m): over n of m topics only" in said


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is an extra")
def test_they_are_drawn(files: list[str], tmp_path: Path) -> None:
    assert main(["compare", *files, "--plot", str(tmp_path / "plot.svg")]) == 0
    drawn = (tmp_path / "plot.svg").read_text()
    assert all(f"{letter}: openai/{name}" in drawn for letter, name in (("A", "one"), ("B", "two"), ("C", "tiny")))


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is an extra")
def test_a_name_is_no_formula(files: list[str], tmp_path: Path) -> None:
    Path(files[2]).write_text(to_json(report(model="openai/$\\frac$")))
    assert main(["compare", *files, "--plot", str(tmp_path / "plot.svg")]) == 0


def test_what_cannot_be_compared_is_said(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none.json").write_text(json.dumps({"scores": [{}]}))
    assert main(["compare", files[0]]) == 4
    assert "Name two or more" in capsys.readouterr().err
    assert main(["compare", files[0], str(tmp_path / "none.json")]) == 4
    assert "is neither a ledger nor a summary.json" in capsys.readouterr().err
    assert main(["compare", files[0], str(tmp_path / "nowhere")]) == 4
    assert "cannot be read" in capsys.readouterr().err
