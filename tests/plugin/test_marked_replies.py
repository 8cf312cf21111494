"""A reviewer marks a reply: scores of the next run follow, nothing is asked again, and the report says so."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.cli import main as cli
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


def offered(ledger: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, bool]:
    """The verdict that `ledger review` offers next: its key, and what the judge says."""
    capsys.readouterr()
    assert cli.main(["ledger", str(ledger), "review", "--count", "1"]) == 0
    [(key, said)] = re.findall(
        r"^  ([0-9a-f]{12}) f2bench/.+ \(the judge says (yes|no)\)$", capsys.readouterr().out, re.MULTILINE
    )
    return key, said == "yes"


def test_marks_on_a_runs_own_replies_correct_its_score_beside_the_gold_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A judge that calls a reply a tie in every case where one is offered as no: the score falls to what is marked."""
    ledger = tmp_path / "ledger.sqlite"
    given = ("-p", "no:xdist", "-k", "dialogue", "--model=control/stereotype:0.4", f"--ledger={ledger}")
    first = bench(tmp_path / "first", *given).summary
    marks = dict[bool, int].fromkeys((True, False), 0)
    for _ in range(20):
        key, said = offered(ledger, capsys)
        assert cli.main(["ledger", str(ledger), "mark", key, "yes", "--why", "a reason", "--who", "me"]) == 0
        marks[said] += 1
    assert min(marks.values()) >= 8
    marked = bench(tmp_path / "marked", *given).summary
    assert marked["calls"]["asked"] == 0
    before, after, gold = (
        of(run, score)
        for run, score in ((first, "S_dialogue"), (marked, "S_dialogue"), (marked, "S_dialogue@unmarked"))
    )
    # Every verdict that somebody looked at is a yes: so are, by this, nearly all.
    assert after["estimate"] == 0.0
    assert after["ci"][1] < before["ci"][0]
    assert gold["estimate"] > after["estimate"]
    [note] = [each for each in marked["notes"] if each.startswith("Reviewers marked 20 of the 40 replies")]
    assert f"20 in their order count, of which {marks[False]} say otherwise than the judge" in note


def all_offered(ledger: Path, score: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """The replies that `ledger review` offers for a score: their keys, and what the judge says."""
    capsys.readouterr()
    assert cli.main(["ledger", str(ledger), "review", "--count", "40"]) == 0
    [part] = [
        each for each in re.split(r"^(?=S_)", capsys.readouterr().out, flags=re.MULTILINE) if each.startswith(score)
    ]
    return re.findall(r"^  ([0-9a-f]{12}) f2bench/.+ \(the judge says (\w+)\)$", part, re.MULTILINE)


def test_marks_correct_fairness_and_factuality_and_not_ff1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A judge whose marks reviewers halve, and whose verdicts they share."""
    ledger = tmp_path / "ledger.sqlite"
    given = ("-p", "no:xdist", "-k", "balance", "--model=control/stereotype:0.4", f"--ledger={ledger}")
    first = bench(tmp_path / "first", *given).summary
    for score, word in (("S_factuality", lambda said: str(int(said) // 2)), ("S_fairness", lambda said: said)):
        for key, said in all_offered(ledger, score, capsys):
            assert cli.main(["ledger", str(ledger), "mark", key, word(said), "--why", "a reason", "--who", "me"]) == 0
    marked = bench(tmp_path / "marked", *given).summary
    assert marked["calls"]["asked"] == 0
    for score in ("S_factuality", "S_fairness", "FF1"):
        before, after = of(first, score), of(marked, score)
        if score == "FF1":
            assert "FF1@unmarked" not in {each["score"] for each in marked["scores"]}
            continue
        unmarked = of(marked, f"{score}@unmarked")
        assert unmarked["estimate"] == pytest.approx(before["estimate"])
        if score == "S_factuality":
            assert after["estimate"] == pytest.approx(before["estimate"] / 2, abs=6)
        else:
            assert after["estimate"] == pytest.approx(before["estimate"], abs=10)
    notes = [each for each in marked["notes"] if each.startswith("Reviewers marked 40 of the ")]
    assert [re.findall(r"behind (\w+); 40 in their order count", each) for each in notes] == [
        ["S_fairness"],
        ["S_factuality"],
    ]


def of(summary: dict[str, Any], score: str) -> dict[str, Any]:
    wanted = score, "definition", None
    [found] = [each for each in summary["scores"] if (each["score"], each["scoring"], each["group"]) == wanted]
    return dict(found)
