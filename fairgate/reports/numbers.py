"""How every reader sees a number and an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairgate.benchmarks.score_result import ScoreResult

# The width of an interval, in points, from which on tenths say nothing: two digits of an uncertainty are enough.
COARSE = 20.0


def number(value: float | None, decimals: int = 1) -> str:
    """One decimal, a dash where there is nothing."""
    if value is None:
        return "-"
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.removeprefix("-")


def decimals(entry: ScoreResult, *limits: float | None) -> int:
    """The decimals that an estimate carries: none where its interval is wide, but one where that would hide a limit.

    `limits` are what it is held against: an end that would round to the other side of one of them, or onto it, keeps
    its decimal.
    """
    low, high = entry.ci
    if low is None or high is None or high - low < COARSE:
        return 1
    near = any(bound is not None and abs(end - bound) < 1.0 for bound in limits for end in (low, high))
    return 1 if near else 0


def estimate(entry: ScoreResult, *limits: float | None) -> str:
    """The estimate with as many decimals as it carries, a dash where there is none."""
    return number(entry.estimate, decimals(entry, *limits))


def interval(entry: ScoreResult, *limits: float | None) -> str:
    """The estimate's interval, a dash where there is none."""
    low, high = entry.ci
    if low is None or high is None:
        return "-"
    places = decimals(entry, *limits)
    return f"[{number(low, places)}, {number(high, places)}]"


def ceiling(entry: ScoreResult) -> str:
    """What a perfect model would score, nothing where that is not known."""
    return "" if entry.ceiling is None else number(entry.ceiling[0])


def coverage(entry: ScoreResult | None) -> str:
    """What part of the topics a score covers, e.g. ` (4/36)`; nothing where it is all of them."""
    return f" ({entry.topics[0]}/{entry.topics[1]})" if entry is not None and entry.partial else ""
