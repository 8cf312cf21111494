"""The dossier of a run: impact ratios, error rates, three renderings, and nothing that a model said."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairgate.benchmarks.detector_errors import detector_errors
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.limits import Waiver
from fairgate.benchmarks.selection_rates import GroupRate, SelectionRates
from fairgate.cli.main import main
from fairgate.core.statistics.unmixing import ConfusionMatrix
from fairgate.reports.dossier.contents import Party, Provenance, chapters
from fairgate.reports.dossier.frameworks import FRAMEWORKS
from fairgate.reports.dossier.render import to_html, to_json, to_markdown
from tests.builders import gate, report
from tests.running import CHECKOUT, bench

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "<script>alert(1)</script> | @everyone [x](http://evil.invalid)\x1b[31m"


def origin(**given: object) -> Provenance:
    parties = (Party("model", "openai", "tiny", "http://127.0.0.1:1/v1", {"system_prompt": HOSTILE}),)
    usual: dict[str, object] = {
        "ledger": "ledger.sqlite",
        "hashes": {"ledger.sqlite": "ab" * 32},
        "run": "r1",
        "members": ("r1",),
        "sampled": "2026-03-01T10:00:00",
        "parties": parties,
        "versions": {"data version": "0123"},
        "environment": {"Python": "3.11"},
    }
    return Provenance(**usual | given)  # type: ignore[arg-type] # filled in by name


def test_an_impact_ratio_is_the_rate_over_the_highest_rate() -> None:
    groups = (GroupRate("a", 40, 10), GroupRate("b", 20, 10), GroupRate("c", 10, 0), GroupRate("d", 0, 0))
    rates = SelectionRates("of", "all", ("x",), 20, groups)
    assert [each.rate for each in groups] == [0.25, 0.5, 0.0, None]
    assert [rates.impact_ratio(each) for each in groups] == [0.5, 1.0, 0.0, None]


def test_where_nobody_was_chosen_there_is_no_impact_ratio() -> None:
    rates = SelectionRates("of", "all", ("x",), 0, (GroupRate("a", 4, 0), GroupRate("b", 4, 0)))
    assert [rates.impact_ratio(each) for each in rates.groups] == [None, None]


def test_a_detectors_errors_are_measured_published_or_not_known() -> None:
    groups = {"gender": ("male", "female"), "race": ("Asian",), "age": ("old",)}
    measured = {"gender": ConfusionMatrix(np.array([[90, 10], [5, 15]]))}
    found = detector_errors("B", "faces/x", groups, measured, {"race": 0.2})
    assert [(row.name, row.cells[:3]) for row in found.rows] == [
        ("gender: male", ("10.0", "10", "100")),
        ("gender: female", ("25.0", "5", "20")),
        ("race", ("20.0", "", "")),
        ("age", ("not known", "", "")),
    ]


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_no_text_becomes_markup() -> None:
    hostile = report(model=HOSTILE, notes=(HOSTILE,))
    page, text = to_html(hostile, origin()), to_markdown(hostile, origin())
    elements = Elements(page).found
    assert {tag for tag, _ in elements} <= {
        *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "p"),
        *("div", "table", "thead", "tbody", "tr", "th", "td"),
    }
    policy = next(attributes["content"] for _, attributes in elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    for rendered in (page, text):
        assert "\x1b" not in rendered
    assert "<script" not in re.sub(r"`[^`\n]*`|\\<", "", text)


def test_every_part_that_another_document_points_to_is_there() -> None:
    titles = {chapter.title for chapter in chapters(report(), origin())}
    named = {
        part.partition(":")[0].partition(" (")[0].strip()
        for table in FRAMEWORKS
        for row in table.rows
        for part in row.cells[0].split(";")
    }
    assert named - {"-"} <= titles
    assert len(named) > 5


def test_a_waiver_is_shown_with_its_owner() -> None:
    waiver = Waiver(gate=gate().name, reason="is being fixed", owner="Mira Obi", expires=datetime.date(2026, 3, 1))
    waived = replace(gate(Verdict.WAIVED), waiver=waiver)
    text = to_markdown(report(gates=(waived,)), origin())
    assert "| waived | Mira Obi | is being fixed | 2026-03-01 |" in text
    assert "No gate is waived." in to_markdown(report(), origin())


@pytest.fixture(scope="module")
def dossier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of a model that never chooses one group, and of its dossier."""
    folder = tmp_path_factory.mktemp("run")
    limits = f"--thresholds={CHECKOUT / 'thresholds.toml'}"
    outcome = bench(folder, "--model=control/never-asian", limits, "-k", "base", "-m", "subjective", "-n", "0")
    assert outcome.code == 1, outcome.output
    assert main(["evidence", str(folder / "ledger.sqlite"), f"--output={folder}"]) == 0
    return folder


@pytest.mark.slow
def test_a_dossier_has_the_verdict_of_the_run_and_the_ledgers_hash(dossier: Path) -> None:
    whole = json.loads((dossier / "evidence.json").read_text())
    judged = json.loads((dossier / "report" / "summary.json").read_text())
    for key in ("verdict", "headline", "gates", "scores", "cases", "limits"):
        assert whole["summary"][key] == judged[key]
    content = (dossier / "ledger.sqlite").read_bytes()
    assert whole["provenance"]["hashes"]["ledger.sqlite"] == hashlib.sha256(content).hexdigest()
    assert whole["provenance"]["parties"][0]["name"] == "never-asian"
    assert {"fairgate", "Python", "numpy"} <= whole["provenance"]["environment"].keys()
    assert whole["verdict"] == "fail"
    assert whole["failed"]


@pytest.mark.slow
def test_a_group_that_is_never_chosen_has_the_impact_ratio_0(dossier: Path) -> None:
    tables = json.loads((dossier / "evidence.json").read_text())["selection_rates"]
    assert {tuple(each["by"]) for each in tables} == {("gender",), ("race",), ("gender", "race")}
    assert any("favourable" in each["choices"] for each in tables)
    for table in tables:
        assert sum(each["chosen"] for each in table["groups"]) == table["n"] > 0
        assert sum(each["offered"] for each in table["groups"]) == 4 * table["n"]
        ratios = {each["group"]: each["impact_ratio"] for each in table["groups"]}
        assert max(ratio for ratio in ratios.values() if ratio is not None) == 1.0
        assert {ratio for group, ratio in ratios.items() if "Asian" in group} <= {0.0}


@pytest.mark.slow
def test_a_dossier_holds_no_prompt(dossier: Path) -> None:
    """Prompts quote scenarios, and replies stand beside them in the ledger alone."""
    for name in ("evidence.md", "evidence.html", "evidence.json"):
        text = (dossier / name).read_text()
        assert "Choose" not in text
        assert "A. " not in text


def test_a_ledger_without_a_run_has_no_dossier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.sqlite"
    assert main(["evidence", str(path), f"--output={tmp_path / 'out'}"]) == 4
    assert "none.sqlite" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_json_is_whole_where_nothing_was_chosen() -> None:
    assert json.loads(to_json(report(), origin()))["selection_rates"] == []
