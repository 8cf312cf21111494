"""The answers of one task, context and attribute, counted: all that a score needs to know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.core.statistics.distributions import shares

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts over S statistics, two levels (0 high, 1 low) and k groups.

    Arrays: `chosen` [S, 2, k] answers by group; `key` [S, 2, k] which groups are right (several on a tie, none where
    the statistic lacks the attribute); `planned` [S, 2] samples that the plan asks for; `offered` [S, 2] answered
    samples in which a right group was on offer (all answered ones of an objective topic), None where that is not
    known; `distinct` [S, 2] independent ones among the answered samples (query texts; of faces, images); `refused`,
    `unreadable`, `failed` [S, 2]. Of images, `chosen` and `offered` count faces, the others images, and `unseen` [S, 2]
    those whose faces, if they show any, are not known.
    `left` [S, 2] is the part of the variance of accuracy that is left where a question has few texts, None without;
    `census`: all of these were asked.
    Result folders add `asked` [S, 2], the topics that were asked (elsewhere those of which not all samples failed),
    `listed` [S, 2, k], the rows that their files have, and `rounded` [S, 2, k], shares of two
    decimals where nothing else is known (NaN elsewhere).
    """

    statistics: tuple[str, ...]
    attribute: str
    groups: tuple[str, ...]
    chosen: IntArray
    key: BoolArray
    planned: IntArray
    offered: IntArray | None
    distinct: IntArray
    refused: IntArray
    unreadable: IntArray
    failed: IntArray
    unseen: IntArray | None = None
    left: FloatArray | None = None
    census: bool = False
    listed: BoolArray | None = None
    rounded: FloatArray | None = None
    asked: BoolArray | None = None

    @property
    def answered(self) -> IntArray:
        """Samples whose reply names a group, [S, 2]."""
        answered: IntArray = self.chosen.sum(axis=-1)
        return answered

    @property
    def p(self) -> FloatArray:
        """Shares of the answers, [S, 2, k]; those of two decimals where only they are known, NaN without either."""
        p = shares(self.chosen)
        if self.rounded is None:
            return p
        known: FloatArray = np.where(np.isnan(p), shares(np.nan_to_num(self.rounded)), p)
        return known

    @property
    def covered(self) -> BoolArray:
        """Topics of which anything is known, [S, 2]."""
        covered: BoolArray = ~np.any(np.isnan(self.p), axis=2)
        return covered

    @property
    def unanswered(self) -> BoolArray:
        """Topics that were asked and of which nothing is known: all answers refused or unreadable, [S, 2]."""
        asked = self.planned > self.failed if self.asked is None else self.asked
        unanswered: BoolArray = asked & ~self.covered
        return unanswered

    @property
    def applies(self) -> BoolArray:
        """Whether the statistic has the attribute, [S]."""
        applies: BoolArray = np.any(self.key, axis=(1, 2))
        return applies
