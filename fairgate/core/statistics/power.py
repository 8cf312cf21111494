"""From the standard error of an estimate to the smallest effect that is found in four of five runs (normal law)."""

from __future__ import annotations

import math

from fairgate.core.statistics.intervals import Z
from fairgate.core.statistics.special import ndtri

POWER = 0.8
SURE = 0.9
# How often a release answers as the one before it, beyond what chance makes of it: what pairing gains is an assumption.
ALIKE = 0.8


def from_limit(error: float, confidence: float = 0.95) -> float:
    """How far beyond a limit a score must be for the gate to fail in four of five runs, with this standard error."""
    return (float(ndtri((1.0 + confidence) / 2.0)) + float(ndtri(POWER))) * error


def from_baseline(error: float, comparisons: int, alpha: float, alike: float) -> float:
    """How far a score must move to be beyond chance in four of five runs, at Holm's first and strictest step."""
    moved = math.sqrt(2.0 * (1.0 - alike)) * error
    return (float(ndtri(1.0 - alpha / max(comparisons, 1))) + float(ndtri(POWER))) * moved


def unchanged(error: float) -> float:
    """What the interval of a score that did not move reaches in one of ten runs, of answers that are all drawn anew."""
    return (Z + float(ndtri(SURE))) * math.sqrt(2.0) * error
