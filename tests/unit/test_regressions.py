"""Limits on drops: the verdict, and words that agree with the interval beside it."""

from __future__ import annotations

import pytest

from fairgate.benchmarks.gate_result import Verdict
from fairgate.comparison.regressions import Regression, held

FAIL, PASS, OPEN = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("low", "likely", "high", "alarm", "verdict", "said"),
    [
        (6.0, 8.0, 10.0, True, FAIL, "a drop beyond chance, of more than 5"),
        (2.0, 8.0, 14.0, True, FAIL, "of more than 5 by its estimate; how much more, or whether by less, the interval"),
        (-1.0, 8.0, 17.0, True, FAIL, "of more than 5 by its estimate; the interval is wider than what the test"),
        (-1.0, 1.0, 3.0, False, PASS, "no drop of more than 5"),
        (1.0, 2.0, 3.0, True, PASS, "a drop beyond chance, but of no more than 5"),
        (
            6.0,
            8.0,
            10.0,
            False,
            OPEN,
            "by the interval alone a drop of more than 5, but not beyond chance with all in view",
        ),
        (2.0, 4.0, 6.0, True, OPEN, "a drop is beyond chance, one of more than 5 neither shown nor ruled out"),
        (2.0, 8.0, 14.0, False, OPEN, "neither shown nor ruled out, nor is any drop beyond chance with all in view"),
        (-9.0, 0.0, 9.0, False, OPEN, "a drop of more than 5 is neither shown nor ruled out"),
    ],
)
def test_a_verdict_and_its_words_agree_with_the_interval_or_say_why_not(
    low: float, likely: float, high: float, alarm: bool, verdict: Verdict, said: str
) -> None:
    found, reason = held(Regression(low, likely, high, alarm), 5.0, "drop")
    assert found is verdict
    assert said in reason
