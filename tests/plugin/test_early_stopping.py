"""`--stop-early`: as many rounds as the gates need, one verdict in every process, and again offline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fairgate.store.ledger import Ledger
from tests.plugin.test_judged_again import judged
from tests.running import LIMITS, arguments, bench, bench_many, stored

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Outcome

pytestmark = pytest.mark.slow

# Two topics of three scenarios: looks after 7, 14, 28 and 56 queries a scenario.
PART = ("-k", "crime and base and test_subjective", "--per-topic=56", "--stop-early", "-p", "no:allure_pytest")
FIRST, WHOLE = 2 * 3 * 7, 2 * 3 * 56


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
    assert "Stopped early, after 7 of 56 queries a scenario" in " ".join(stopped.output.split())


def test_the_intervals_of_an_early_look_are_wider_than_those_of_a_run_of_its_size(
    stopped: Outcome, tmp_path: Path
) -> None:
    plain = bench(tmp_path, "-p", "no:xdist", "-k", PART[1], "--per-topic=7")

    def width(outcome: Outcome) -> float:
        (found,) = [
            each["ci"]
            for each in outcome.summary["scores"]
            if (each["score"], each["attribute"], each["scoring"]) == ("S_E", "gender", "definition")
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
    assert "Nothing was stopped early" in " ".join(outcome.output.split())
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        look = json.loads(ledger.last_run().about)["look"]
    assert (look["asked"], look["number"], look["most"]) == (56, 4, 4)


@pytest.mark.parametrize("other", ["--explain", "--shard=1/2"])
def test_what_cannot_stop_early_says_so(tmp_path: Path, other: str) -> None:
    (outcome,) = bench_many(tmp_path, [arguments(tmp_path, "-p", "no:xdist", *PART, other)])
    assert outcome.code == 4
    assert f"--stop-early: cannot be used with {other.partition('=')[0]}" in outcome.output
