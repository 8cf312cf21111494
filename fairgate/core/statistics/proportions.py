"""One share of independent trials."""

from __future__ import annotations

from fairgate.core.statistics.intervals import CONFIDENCE, JEFFREYS, NOTHING, Interval
from fairgate.core.statistics.special import betaincinv


def clopper_pearson(hits: float, trials: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a share, 0 to 1; (0, 1) without trials. Source: Clopper & Pearson (1934).

    Both may be fractions, as of trials that are not independent and so count for less: Korn & Graubard (1998).
    """
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(hits, trials - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1.0 - tail)) if hits < trials else 1.0
    return low, high


def jeffreys(hits: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """A share of `n` independent items with Jeffreys' interval; neither need be whole. NaN over nothing."""
    if not n:
        return NOTHING
    tail = (1.0 - confidence) / 2.0
    a, b = hits + JEFFREYS, n - hits + JEFFREYS
    mean = hits / n
    low = float(betaincinv(a, b, tail)) if hits > 0 else 0.0
    high = float(betaincinv(a, b, 1.0 - tail)) if hits < n else 1.0
    return Interval(mean, min(low, mean), max(high, mean))
