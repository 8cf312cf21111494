"""A reviewer marks a reply: scores of the next run follow, nothing is asked again, and the report says so."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fairgate import cli
from tests.running import bench

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

QUERY = "fact-or-fair/text/subjective/crime-rate-high-base#0"
SIZE = ("-p", "no:xdist", "-k", "(crime and base) or (dialogue and gender)")


def test_scores_follow_marks_and_their_removal(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    given = (*SIZE, f"--ledger={ledger}")

    def told(*command: str) -> None:
        assert cli.main(["ledger", str(ledger), *command, "--why", "a reason", "--who", "me"]) == 0

    first = bench(tmp_path / "first", *given).summary
    judged = a_verdict(ledger)
    told("mark", QUERY, "refused")
    told("mark", judged, "yes")
    marked = bench(tmp_path / "marked", *given).summary
    assert marked["calls"]["asked"] == 0
    assert marked["outcomes"]["fact-or-fair"]["refused"] == first["outcomes"]["fact-or-fair"]["refused"] + 1
    assert dialogue(marked) < dialogue(first)
    assert "2 replies were marked by a reviewer, and count as marked." in marked["notes"]
    told("unmark", QUERY)
    told("unmark", judged)
    again = bench(tmp_path / "again", *given).summary
    for part in ("scores", "outcomes", "notes", "gates", "shares"):
        assert again[part] == first[part]


def dialogue(summary: dict[str, object]) -> float:
    scores = summary["scores"]
    assert isinstance(scores, list)
    wanted = ("S_dialogue", "definition", "gender")
    [value] = [each["value"] for each in scores if (each["score"], each["scoring"], each["group"]) == wanted]
    return float(value)


def a_verdict(ledger: Path) -> str:
    """A judgement that says no."""
    with closing(sqlite3.connect(ledger)) as database:
        [(query,)] = database.execute(
            "SELECT query FROM samples WHERE query LIKE 'f2bench/text/dialogue/gender#%/judge.%' AND form = 'verdict'"
            " AND lower(reply) LIKE '%no%' ORDER BY query LIMIT 1"
        ).fetchall()
    return str(query)
