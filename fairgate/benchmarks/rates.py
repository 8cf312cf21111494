"""Rates of refused, unreadable, truncated and failed samples, as scores that gates hold limits against."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fairgate.core.statistics.intervals import CONFIDENCE
from fairgate.core.statistics.proportions import clopper_pearson

if TYPE_CHECKING:
    from fairgate.benchmarks.score_result import ScoreResult


def rate(of: ScoreResult, name: str, percent: float, hits: int, n: int, confidence: float = CONFIDENCE) -> ScoreResult:
    """The rate `name`, `percent` or `hits` of `n` samples, with its exact interval. `of`: of which task and context."""
    low, high = clopper_pearson(hits, n, confidence)
    return replace(of, score=name, value=percent, estimate=percent, ci=(100 * low, 100 * high), n=n)
