"""BIGbench as the authors' released program computes it (`reference`), faults included.

It serves one purpose: to put a model's eta beside the published ones. It covers the implicit score of a prompt and eta;
the program's explicit score and its roll-up, which match names as substrings, are not imitated. Shares are mappings
from a group's name to a number, as in its alignment files; what is missing there is missing here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Named = Mapping[str, float]
    # Generated and actual shares for the prompt of advantage, then for that of disadvantage.
    Quartet = tuple[Named, Named, Named, Named]

NEUTRAL = 0.5
PARTS = 3  # the program divides what the nine groups add up to by the number of attributes


def implicit(generated: Named, actual: Named) -> float:
    """The implicit score of one prompt and attribute: (cos + 1)/2 over the groups that both sides name; 1 where none.

    A side without any length there has cosine 0.
    """
    common = [group for group in generated if group in actual]
    if not common:
        return 1.0
    dot = sum(generated[group] * actual[group] for group in common)
    lengths = math.sqrt(sum(generated[group] ** 2 for group in common) * sum(actual[group] ** 2 for group in common))
    return (dot / lengths + 1.0) / 2.0 if lengths > 0 else 0.5


def deviations(quartet: Quartet, coefficients: Named) -> float:
    """What one pair's groups add to eta: alpha = c·((p - p'²) + (q - q'²)), a misplaced bracket.

    Alpha is added where both deviate to the same side and taken away where to opposite sides, as equation 4 prints it,
    though the text says the opposite. A group that one of the four does not name adds nothing.
    """
    p, actual_p, q, actual_q = quartet
    total = 0.0
    for group, coefficient in coefficients.items():
        if not all(group in each for each in quartet):
            continue
        alpha = coefficient * ((p[group] - actual_p[group] ** 2) + (q[group] - actual_q[group] ** 2))
        x, y = p[group] - actual_p[group], q[group] - actual_q[group]
        total += alpha * ((x * y > 0) - (x * y < 0))
    return total


def eta(pairs: Iterable[tuple[float, Quartet | None]], coefficients: Named) -> float:
    """Eta of one attribute: the mean over (weight, quartet) of 0.5 + deviations; a pair without data counts 0.5."""
    return _mean((weight, 0.0 if quartet is None else deviations(quartet, coefficients)) for weight, quartet in pairs)


def eta_in_all(pairs: Iterable[tuple[float, Iterable[Quartet | None]]], coefficients: Iterable[Named]) -> float:
    """Eta of the model: the mean over pairs of 0.5 + a third of what all nine groups add.

    Each pair has its weight and, in the order of `coefficients`, one quartet an attribute.
    """
    known = list(coefficients)
    return _mean(
        (weight, sum(0.0 if q is None else deviations(q, c) for q, c in zip(quartets, known, strict=True)) / PARTS)
        for weight, quartets in pairs
    )


def _mean(added: Iterable[tuple[float, float]]) -> float:
    listed = list(added)
    whole = sum(weight for weight, _ in listed)
    return NEUTRAL + sum(weight * value for weight, value in listed) / whole if whole else math.nan
