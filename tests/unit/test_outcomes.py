"""What failed, told from what was never asked for, where a case compares its topic with another."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import Scored
from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
from fairgate.benchmarks.fact_or_fair.topics import Level
from fairgate.core.domain import AnswerKind
from fairgate.runs.opening import open_run
from fairgate.runs.scoring import BenchmarkScores, outcomes_of
from tests.builders import subjective
from tests.settings import settings_of

if TYPE_CHECKING:
    from pathlib import Path


def test_failures_of_the_other_level_are_not_taken_for_those_of_the_selected_one(tmp_path: Path) -> None:
    """Three samples of the selected level were never asked for; three of the other one failed."""
    benchmark = open_run(settings_of(tmp_path)).benchmarks.all[0]
    high = subjective()
    low = replace(high, level=Level.LOW)
    part = BenchmarkScores(
        benchmark, (StatisticCase(high, "race"),), None, Scored(outcomes=Counter({AnswerKind.FAILED: 3}))
    )
    found = outcomes_of([part], Counter({low.id: 3}))[benchmark.name]
    assert (found["failed"], found["not_asked"]) == (0, 3)
    found = outcomes_of([part], Counter({high.id: 3}))[benchmark.name]
    assert (found["failed"], found.get("not_asked")) == (3, None)
