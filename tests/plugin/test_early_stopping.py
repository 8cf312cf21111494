"""Runs in rounds: as many as the gates need, one verdict in every process, and again offline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fairgate.ledger.ledger import Ledger
from tests.plugin.test_judged_again import judged
from tests.running import LIMITS, arguments, bench, bench_many, stored

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Outcome

pytestmark = pytest.mark.slow

# Two topics of three scenarios: looks after 3, 9, 11, 13, 16, 20, 40, 80 and 168 answers.
PART = ("-k", "crime and base and test_subjective", "--per-topic=56", "--stop-early", "-p", "no:allure_pytest")
FIRST, WHOLE = 2 * 9, 2 * 3 * 56


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return bench(tmp_path_factory.mktemp("stopped"), "-p", "no:xdist", *PART)


def of_scores(outcome: Outcome) -> object:
    return [outcome.summary[part] for part in ("scores", "gates", "verdict", "notes")]


def test_a_run_ends_with_the_first_look_that_decides_every_gate(stopped: Outcome) -> None:
    assert stopped.code == 0, stopped.output
    assert stored(stopped.folder / "ledger.sqlite") == FIRST
    calls = stopped.summary["calls"]
    assert (calls["planned"], calls["asked"], calls["missing"]) == (FIRST, FIRST, 0)
    assert any(note.startswith("Asked in rounds, 18 of 336 calls: every gate is") for note in stopped.summary["notes"])


def test_the_intervals_of_an_early_look_are_wider_than_those_of_a_run_of_its_size(
    stopped: Outcome, tmp_path: Path
) -> None:
    plain = bench(tmp_path, "-p", "no:xdist", "-k", PART[1], "--per-topic=3")

    def width(outcome: Outcome) -> float:
        (found,) = [
            each["ci"]
            for each in outcome.summary["scores"]
            if (each["score"], each["attribute"]) == ("contrast", "gender")
        ]
        return float(found[1] - found[0])

    assert width(stopped) > 1.1 * width(plain)


def test_workers_know_what_was_settled_on(stopped: Outcome, tmp_path: Path) -> None:
    spread = bench(tmp_path, "-n", "2", *PART)
    assert spread.code == 0, spread.output
    assert of_scores(spread) == of_scores(stopped)


def test_what_was_stopped_early_is_neither_asked_again_nor_judged_otherwise_offline(stopped: Outcome) -> None:
    before = of_scores(stopped)
    offline = judged(stopped.folder / "offline", stopped.folder / "ledger.sqlite", f"--thresholds={LIMITS}")
    assert offline.code == 0, offline.output
    assert of_scores(offline) == before
    (again,) = bench_many(stopped.folder, [arguments(stopped.folder, "-p", "no:xdist", *PART)])
    assert again.summary["calls"]["reused"] == FIRST
    assert of_scores(again) == before


def test_a_gate_that_stays_open_keeps_the_run_asking_to_the_end(tmp_path: Path) -> None:
    limits = tmp_path / "thresholds.toml"
    # No number of answers shows that choices are perfectly even, or, where they are, that they are not.
    gate = '\n[[gates]]\nscore = "S_E"\ntask = "subjective"\nmin = 100\nreason = "Stays open."\n'
    limits.write_text(LIMITS.read_text(encoding="utf-8") + gate, encoding="utf-8")
    outcome = bench(tmp_path, "-p", "no:xdist", *PART, f"--thresholds={limits}")
    assert outcome.code == 6, outcome.output
    assert outcome.summary["calls"]["asked"] == WHOLE
    assert any("336 of 336 calls: gates that are undecided were asked" in note for note in outcome.summary["notes"])
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        looks = json.loads(ledger.runs.last().about)["looks"]
    [look] = looks.values()
    assert [*looks] == ["fact-or-fair-text-subjective-base"]
    assert (look["asked"], look["whole"], look["share"]) == (168, 168, pytest.approx(0.1 / 3))
    assert 0.1 / 3 < look["level"] < 1


def test_a_failed_gate_ends_the_run_and_what_is_open_stays_so(tmp_path: Path) -> None:
    gate = '\n[[gates]]\nscore = "position"\ntask = "subjective"\nmax = 20\nreason = "Fails what follows letters."\n'
    limits = in_rounds(tmp_path, gate)
    outcome = bench(tmp_path, "-p", "no:xdist", *PART, "--model=control/first-letter", f"--thresholds={limits}")
    assert outcome.code == 1, outcome.output
    assert "The run stopped early, since a gate failed. To decide" in " ".join(outcome.output.split())
    assert outcome.summary["calls"]["asked"] < WHOLE


def in_rounds(folder: Path, more: str = "") -> Path:
    """The limits of the tests with a plan that asks in rounds, and `more` limits."""
    path = folder / "rounds.toml"
    path.write_text(LIMITS.read_text(encoding="utf-8").replace("[plans.quick]", "[plans.quick]\nrounds = true") + more)
    return path


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ((), FIRST),
        (("--no-stop-early",), WHOLE),
        (("--shard=1/1",), WHOLE),
        (("--save-baseline=kept.json",), WHOLE),
    ],
)
def test_a_plan_asks_in_rounds_unless_all_of_it_is_needed(tmp_path: Path, more: tuple[str, ...], asked: int) -> None:
    given = [each for each in PART if each != "--stop-early"]
    outcome = bench(tmp_path, "-p", "no:xdist", *given, *more, f"--thresholds={in_rounds(tmp_path)}")
    assert stored(tmp_path / "ledger.sqlite") == asked, outcome.output


def test_a_budget_that_allows_no_further_round_leaves_gates_open(tmp_path: Path) -> None:
    # The first round is of six calls, the second of twelve more.
    outcome = bench(tmp_path, "-p", "no:xdist", *PART, "--budget-calls=17")
    assert outcome.code == 6, outcome.output
    assert outcome.summary["calls"]["asked"] == 6
    assert any("the budget does not allow a further round" in note for note in outcome.summary["notes"])


@pytest.mark.parametrize("other", ["--explain", "--shard=1/2", "--no-stop-early"])
def test_what_cannot_stop_early_says_so(tmp_path: Path, other: str) -> None:
    (outcome,) = bench_many(tmp_path, [arguments(tmp_path, "-p", "no:xdist", *PART, other)])
    assert outcome.code == 4
    assert f"--stop-early: cannot be used with {other.partition('=')[0]}" in outcome.output
