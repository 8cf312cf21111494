"""The answers of one task, context and attribute, counted: all that a score needs to know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts over S statistics, two levels (0 high, 1 low) and k groups.

    Arrays: `chosen` [S, 2, k] answers by group; `key` [S, 2, k] which groups are right (several on a tie, none where
    the statistic lacks the attribute); `planned` [S, 2] samples that the plan asks for; `offered` [S, 2] answered
    samples in which a right group was on offer (all answered ones of an objective topic); `distinct` [S, 2] distinct
    query texts among the answered samples; `refused`, `unreadable`, `failed` [S, 2].
    """

    statistics: tuple[str, ...]
    attribute: str
    groups: tuple[str, ...]
    chosen: IntArray
    key: BoolArray
    planned: IntArray
    offered: IntArray
    distinct: IntArray
    refused: IntArray
    unreadable: IntArray
    failed: IntArray

    @property
    def answered(self) -> IntArray:
        """Samples whose reply names a group, [S, 2]."""
        answered: IntArray = self.chosen.sum(axis=-1)
        return answered

    @property
    def applies(self) -> BoolArray:
        """Whether the statistic has the attribute, [S]."""
        applies: BoolArray = np.any(self.key, axis=(1, 2))
        return applies
