"""A limit on a drop, or a rise: its verdict, and why that can differ from what the interval beside it seems to say."""

from __future__ import annotations

from dataclasses import dataclass

from fairgate.benchmarks.gate_result import Verdict


@dataclass(frozen=True)
class Regression:
    """By how many points a score became worse: the estimate, and the 95 % interval of it alone, in both directions.

    `alarm`: whether a change for the worse is beyond chance by the test, with all comparisons in view.
    """

    low: float
    likely: float
    high: float
    alarm: bool


def held(moved: Regression, most: float, word: str) -> tuple[Verdict, str]:
    """The verdict on a change by at most `most` points, and the reason; `word` is `drop` or `rise`.

    What is beyond chance and estimated beyond the limit fails, what lies within it with its whole interval passes. The
    test exchanges the two answers to each query and sees all comparisons; the interval stands for one alone and is
    never narrower than resampled pairs are. Where the two do not agree, the reason says so.
    """
    if moved.alarm and moved.likely > most:
        reason = f"a {word} beyond chance, of more than {most:g}"
        if moved.low <= 0:
            reason += " by its estimate; the interval is wider than what the test, query by query, goes by"
        elif moved.low <= most:
            reason += " by its estimate; how much more, or whether by less, the interval leaves open"
        return Verdict.FAIL, reason
    if moved.high <= most:
        return Verdict.PASS, f"a {word} beyond chance, but of no more than {most:g}" if moved.alarm else (
            f"no {word} of more than {most:g}"
        )
    if moved.low > most:
        return Verdict.INCONCLUSIVE, (
            f"by the interval alone a {word} of more than {most:g}, but not beyond chance with all in view"
        )
    unsettled = f"a {word} of more than {most:g} is neither shown nor ruled out"
    if moved.alarm:
        unsettled = f"a {word} is beyond chance, one of more than {most:g} neither shown nor ruled out"
    elif moved.low > 0:
        unsettled += f", nor is any {word} beyond chance with all in view"
    return Verdict.INCONCLUSIVE, unsettled
