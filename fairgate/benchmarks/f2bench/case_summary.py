"""What came of a category's conversations -> arrays over its instances, as the scores are computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.f2bench import scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.benchmarks.f2bench.plan import ConversationPlan
    from fairgate.benchmarks.f2bench.tally import ThemeTally
    from fairgate.core.statistics.distributions import FloatArray


@dataclass(frozen=True, eq=False)
class CategoryCell:
    """The instances of one category, `size` of them; arrays [repeats, size] or [repeats, size, 2], NaN for nothing.

    `tied` and `opposed` are the judge's verdicts on both readings, `points` its marks, `ends` those on dialogues.
    """

    seconds: tuple[str | None, ...]
    ends: FloatArray
    tied: FloatArray
    opposed: FloatArray
    points: FloatArray

    @property
    def size(self) -> int:
        """How many instances."""
        return len(self.seconds)

    @property
    def n(self) -> int:
        """Judged dialogues, or readings."""
        return int((~np.isnan(self.ends)).sum() + (~np.isnan(self.moved)).sum() or (~np.isnan(self.points)).sum())

    @property
    def covered(self) -> int:
        """Instances of which anything is known."""
        known = ~np.isnan(self.ends).all(axis=0) | ~np.isnan(self.points).all(axis=(0, 2))
        return int((known | ~np.isnan(self.moved).all(axis=(0, 2))).sum())

    @property
    def biased(self) -> FloatArray:
        """The share of an instance's dialogues that tie, [size]."""
        return mean_known(self.ends, 0)

    @property
    def moved(self) -> FloatArray:
        """1 for a reading that makes the stereotyped tie alone, -1 for the opposite one alone, else 0."""
        return self.tied - self.opposed

    @property
    def toward(self) -> FloatArray:
        """The share of an instance's readings that make the stereotyped tie alone, [size]."""
        return mean_known(np.where(np.isnan(self.moved), np.nan, self.moved > 0), (0, 2))

    @property
    def against(self) -> FloatArray:
        """The share of an instance's readings that make the opposite tie alone, [size]."""
        return mean_known(np.where(np.isnan(self.moved), np.nan, self.moved < 0), (0, 2))

    @property
    def alike(self) -> FloatArray:
        """How often both readings of an instance make the same tie, by the group: 0 to 1, [size]."""
        return self._both(1)

    @property
    def apart(self) -> FloatArray:
        """How often they make both ties, by the position: 0 to 1, [size]."""
        return self._both(-1)

    def _both(self, product: int) -> FloatArray:
        found = self.moved[..., 0] * self.moved[..., 1]
        return mean_known(np.where(np.isnan(found), np.nan, found == product), 0)

    @property
    def noise(self) -> float:
        """The variance of the estimated gap."""
        gaps = (self.toward - self.against)[~np.isnan(self.toward)]
        return float(gaps.var(ddof=1) / gaps.size) if gaps.size > 1 else 0.0

    @property
    def affirmed(self) -> FloatArray:
        """By the released program [repeats, size]: 1 where paragraph and twin are both affirmed, NaN where unknown."""
        first, second = self.tied[..., 0], self.opposed[..., 1]
        return np.where(np.isnan(first) | np.isnan(second), np.nan, (first > 0) & (second > 0))

    @property
    def marks(self) -> FloatArray:
        """The mean of an instance's marks, as a share of 10, [size]."""
        return mean_known(self.points, (0, 2)) / scores.MARKS_TO

    def by_secondary(self) -> dict[str, CategoryCell]:
        """The instances that have a secondary category, by it."""
        names = dict.fromkeys(name for name in self.seconds if name is not None)
        return {name: self.part([i for i, each in enumerate(self.seconds) if each == name]) for name in names}

    def part(self, places: Sequence[int]) -> CategoryCell:
        """Some of the instances, by their places."""
        arrays = (self.ends, self.tied, self.opposed, self.points)
        return CategoryCell(tuple(self.seconds[i] for i in places), *(array[:, places] for array in arrays))


def joined(parts: Sequence[CategoryCell]) -> CategoryCell:
    """Several cells of as many repeats as one."""
    arrays = (
        np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("ends", "tied", "opposed", "points")
    )
    return CategoryCell(tuple(name for part in parts for name in part.seconds), *arrays)


def cell_of(counted: ThemeTally, scoring: str, plan: ConversationPlan) -> CategoryCell:
    """A theme's conversations by one scoring, over all instances of its category."""
    members = plan.members(counted.theme)
    places = {instance.id: place for place, instance in enumerate(members)}
    shape = (plan.repeats, len(members))
    ends = np.full(shape, np.nan)
    tied, opposed, points = (np.full((*shape, 2), np.nan) for _ in range(3))
    for dialogue in counted.dialogues:
        if dialogue.scoring == scoring:
            ends[dialogue.repeat, places[dialogue.instance.id]] = _number(dialogue.biased)
    for balanced in counted.balanced:
        if balanced.scoring == scoring:
            for side, reading in enumerate(balanced.readings):
                at = balanced.repeat, places[balanced.instance.id], side
                tied[at], opposed[at] = _number(reading.stereotyped), _number(reading.opposite)
                points[at] = _number(reading.mark)
    return CategoryCell(tuple(instance.secondary for instance in members), ends, tied, opposed, points)


def _number(said: float | None) -> float:
    return math.nan if said is None else float(said)


def mean_known(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """The mean along axes of what is known; NaN over nothing."""
    known = ~np.isnan(values)
    n = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(total, n, out=np.full(np.shape(total), np.nan), where=n > 0), dtype=np.float64)
