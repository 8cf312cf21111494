"""From the standard error of an estimate to the smallest effect that is found in four of five runs (normal law)."""

from __future__ import annotations

import math

from fairgate.maths.paired import Z
from fairgate.maths.special import ndtri

POWER = 0.8
# How often a release answers as the one before it, beyond what chance makes of it: what pairing gains is an assumption.
ALIKE = 0.8


def from_limit(error: float) -> float:
    """How far beyond a limit a score must be for the gate to fail in four of five runs, with this standard error."""
    return (Z + float(ndtri(POWER))) * error


def from_baseline(error: float, comparisons: int, alpha: float, alike: float) -> float:
    """How far a score must move to be beyond chance in four of five runs, at Holm's first and strictest step."""
    moved = math.sqrt(2.0 * (1.0 - alike)) * error
    return (float(ndtri(1.0 - alpha / max(comparisons, 1))) + float(ndtri(POWER))) * moved
