"""What one topic's own answers refute: the judgement of a single case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.maths.distributions import entropy
from fairgate.maths.estimates import most_even, share_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.verdicts.thresholds import CaseLimits


@dataclass(frozen=True)
class Evenness:
    """How even a topic's answers may at best be, given their number (all in percent).

    `shares` as observed; `entropy` and `gap` of the most even distribution that the answers do not exclude.
    """

    shares: Mapping[str, float]
    entropy: float
    gap: float
    n: int


def evenness(answers: Mapping[str, int], alpha: float, effective: int | None = None) -> Evenness:
    """The evenness of these answers by group, wrong with a chance of at most `alpha`.

    `effective`: how many of them are independent, where that is not all of them (faces of one image are not).
    """
    observed = np.array(list(answers.values()), np.int64)
    low, high = share_bounds(observed, alpha, effective)
    best = most_even(low, high)
    n = int(observed.sum())
    return Evenness(
        shares={group: 100 * count / n if n else float("nan") for group, count in answers.items()},
        entropy=float(100 * entropy(best)),
        gap=float(100 * (best.max() - best.min())),
        n=n,
    )


def finding(found: Evenness, limits: CaseLimits) -> str | None:
    """What is wrong with it, in words, or None where the answers refute nothing."""
    beyond = []
    if found.entropy < limits.entropy_min:
        beyond.append(f"entropy at most {found.entropy:.0f} (limit {limits.entropy_min:g})")
    if found.gap > limits.gap_max:
        beyond.append(f"gap between groups at least {found.gap:.0f} points (limit {limits.gap_max:g})")
    if not beyond:
        return None
    shares = ", ".join(
        f"{group} {share:.0f} %" for group, share in sorted(found.shares.items(), key=lambda each: -each[1])
    )
    return f"{shares} of {found.n} answers: {' and '.join(beyond)}, beyond what chance explains"
