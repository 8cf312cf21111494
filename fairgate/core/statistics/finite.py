"""Finite populations: the part of an estimate's variance that is left where many, or all, texts were asked.

Where a question has few texts, e.g. one for each order of its options, the texts are the population. Once all of them
were asked, no sampling error is left of them: what is left is that the model could answer the same text otherwise. Two
answers to one text differ with twice the variance of one, so that texts asked more than once show how large that is
(Cochran 1977, chapters 2 and 11). Texts that were never repeated show nothing: then nothing is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.core.statistics.proportions import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Repeats:
    """Answers to texts that were asked before: how many, and how many of them differ from another to the same text."""

    answers: float = 0.0
    changed: float = 0.0

    def __add__(self, other: Repeats) -> Repeats:
        """Both together."""
        return Repeats(self.answers + other.answers, self.changed + other.changed)


def repeats(texts: Iterable[Mapping[Any, int]]) -> Repeats:
    """What the answers to each text, counted by what they say, tell of answers to the same text."""
    found = Repeats()
    for said in texts:
        n = sum(said.values())
        if n > 1:
            alike = sum(each * (each - 1) for each in said.values()) / (n * (n - 1))
            found += Repeats(n - 1.0, (n - 1.0) * (1.0 - alike))
    return found


def variance_left(
    accuracy: float,
    distinct: IntArray,
    answered: IntArray,
    texts: int,
    seen: Repeats,
    *,
    independent: IntArray | None = None,
    confidence: float = 0.95,
) -> FloatArray:
    """The part, 0 to 1, that is left of each topic's binomial variance over `independent` answers.

    `distinct` of the `texts` there are were answered, `answered` times in all; `accuracy` is the mean over topics. The
    noise of answers to one text is not more than what `seen` leaves possible. `independent`: by default `distinct`.
    """
    differ = clopper_pearson(seen.changed, seen.answers, confidence)[1] if seen.answers else 1.0
    whole = accuracy * (1.0 - accuracy)
    noise = min(differ / 2.0 / whole, 1.0) if whole > 0 else 1.0
    sampled = (1.0 - np.minimum(distinct / texts, 1.0)) / np.maximum(distinct, 1)
    draws = distinct if independent is None else independent
    left: FloatArray = np.minimum(draws * (sampled + noise / np.maximum(answered, 1)), 1.0)
    return left
