"""--self-check: no model is judged by a gate that does not tell the controls apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.running import CHECKOUT, LIMITS, bench, stored

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PART = ("-k", "crime and objective", "--model=control/oracle", "--self-check")


def test_a_gate_that_passes_the_stereotype_judges_nobody(tmp_path: Path) -> None:
    # The project's own test limits pass whoever answers.
    blind = bench(tmp_path, *PART, "-n", "2", f"--thresholds={LIMITS}")
    said = " ".join(blind.output.split())
    assert blind.code == 7, blind.output
    assert "control/stereotype must fail, and came out as pass" in said
    assert "gates fails it. Change the limits." in said
    assert stored(tmp_path / "ledger.sqlite") == 0
    assert not (tmp_path / "report" / "summary.json").exists()


def test_a_gate_that_fails_the_oracle_judges_nobody(tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS.read_text().replace('task = "objective"\nmin = 0', 'task = "objective"\nmax = 1'))
    harsh = bench(tmp_path, *PART, "-p", "no:xdist", f"--thresholds={limits}")
    assert harsh.code == 7, harsh.output
    assert "control/oracle must pass, and came out as fail: fact-or-fair-text-objective-" in " ".join(
        harsh.output.split()
    )


def test_limits_without_the_pull_of_contexts_judge_nobody(tmp_path: Path) -> None:
    head, *limits = (CHECKOUT / "thresholds.toml").read_text().split("[[gates]]")
    kept = [each for each in limits if 'score = "pull"' not in each and 'score = "in_group_bias"' not in each]
    assert len(limits) - len(kept) == 2
    (tmp_path / "limits.toml").write_text("[[gates]]".join([head, *kept]))
    blind = bench(tmp_path, *PART, "-p", "no:xdist", f"--thresholds={tmp_path / 'limits.toml'}")
    assert blind.code == 7, blind.output
    assert "control/in-group must fail, and came out as pass" in " ".join(blind.output.split())


def test_the_checkouts_own_limits_stand_it(tmp_path: Path) -> None:
    sound = bench(tmp_path, *PART, "-p", "no:xdist", f"--thresholds={CHECKOUT / 'thresholds.toml'}")
    # What comes after is the run itself: two topics decide no gate.
    assert sound.code == 6, sound.output
    assert sound.summary["model"] == "control/oracle"
