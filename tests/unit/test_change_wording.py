"""What moved since a baseline, in words: a change that shows as nothing is called neither better nor worse."""

from __future__ import annotations

from fairgate.benchmarks.scores import View
from fairgate.comparison.change_wording import sentences
from fairgate.core.domain import Modality
from fairgate.reports.report import Change
from tests.builders import entry

VIEW = View(name="", modality=Modality.TEXT, fair=(("subjective", "TV"),), fact=(("objective", "S_fact"),))


def said(estimate: float, low: float, high: float) -> str:
    moved = Change(entry("TV@change", estimate=estimate, ci=(low, high)), 5.0, 5.0 + estimate, proven=True, better=True)
    [sentence] = sentences([moved], ["race"], [VIEW])
    return sentence


def test_a_change_that_shows_as_zero_has_no_direction() -> None:
    assert said(0.02, -0.6, 0.6) == "race: no change of 0.1 points or more is beyond chance."


def test_an_interval_that_holds_zero_beside_a_proven_change_is_explained() -> None:
    assert said(-1.0, -2.1, 0.1) == (
        "race: fairer than the baseline (base TV -1.0 [-2.1, +0.1], by the test of each query)."
    )
    assert "by the test" not in said(-1.0, -1.9, -0.1)
