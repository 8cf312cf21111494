"""Differences of scores between two runs over the same queries: intervals, and which of many are beyond chance.

A score's difference is that of the two estimates, so that the bias of small samples, which is not the same for a fair
model as for an unfair one, is out of both. Its interval is put together from the intervals of the two by the method of
variance estimates recovery, with the correlation that resampled pairs show (Zou 2007): answers to the same query tend
to agree, and what both runs share cannot tell them apart. It is never narrower than resampled pairs are.
docs/statistics.md compares it, by simulation, with what lost.

Everything is on the scale 0 to 1, differences -1 to 1; randomness is passed in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.intervals import Interval, Z
from fairgate.core.statistics.special import ndtr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.intervals import Estimate
    from fairgate.core.statistics.matched_simulation import IntArray

# Added to the pairs of all topics together, spread over all cells: pairs that all agree do not prove that none differs.
PAIR = 1.0
TINY = 1e-12


@dataclass(frozen=True)
class Shift(Interval):
    """A score's difference, after minus before, with its 95 % interval; NaN over nothing.

    `z` is how far it is, in standard deviations, from what two runs differ by where nothing changed.
    """

    z: float

    def chance(self, *, upwards: bool) -> float:
        """The one-sided p-value: the chance to see such a rise, or fall, where nothing changed."""
        return float(ndtr(-self.z if upwards else self.z))

    @property
    def changed(self) -> float:
        """The two-sided p-value."""
        return 2.0 * float(ndtr(-abs(self.z)))


NOTHING = Shift(math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Moved:
    """One score before and after (0 to 1), and its difference."""

    before: Estimate
    after: Estimate
    shift: Shift


@dataclass(frozen=True, eq=False)
class Units:
    """What both runs have of one stratum, unit by unit: `before` and `after` [U, D], e.g. an image's faces by group.

    A unit is what comes or stays away as a whole, an image with all of its faces, or an instance with its repeats.
    """

    before: FloatArray
    after: FloatArray

    @property
    def n(self) -> int:
        """How many units."""
        return len(self.before)

    def resampled(self, odd: Units, added: float, rng: np.random.Generator, runs: int) -> tuple[FloatArray, FloatArray]:
        """Sums before and after [runs, D] of as many units drawn from these, a share `added` of them from `odd`."""
        if not self.n:
            empty = np.zeros((runs, self.before.shape[-1]))
            return empty, empty
        chances = np.concatenate([np.full(self.n, (1.0 - added) / self.n), np.full(odd.n, added / odd.n)])
        drawn = rng.multinomial(self.n, chances, runs).astype(np.float64)
        return drawn @ np.concatenate([self.before, odd.before]), drawn @ np.concatenate([self.after, odd.after])

    def exchanged(self, rng: np.random.Generator, runs: int) -> tuple[FloatArray, FloatArray]:
        """Sums before and after [runs, D] where each unit's two sides are exchanged, or not, by chance."""
        other = (rng.random((runs, self.n)) < 0.5).astype(np.float64) @ (self.after - self.before)
        return self.before.sum(axis=0) + other, self.after.sum(axis=0) - other


def odd_share(n: float) -> float:
    """The share of one unit that may be anything, beside `n` units that were seen."""
    return PAIR / (n + PAIR)


def all_pairs(values: FloatArray) -> Units:
    """Every value [P, D] before with every value after: what a unit that may be anything is drawn from."""
    return Units(np.repeat(values, len(values), axis=0), np.tile(values, (len(values), 1)))


def resampled(tables: FloatArray, n: IntArray, rng: np.random.Generator, runs: int) -> tuple[FloatArray, FloatArray]:
    """Counts before and after [runs, S, 2, k] of runs over `n` [S, 2] pairs drawn from `tables` [S, 2, k, k].

    `tables` count pairs by the group before (rows) and after (columns); topics without pairs stay empty.
    """
    k = tables.shape[-1]
    there = tables.sum(axis=(-2, -1), keepdims=True)
    observed = np.divide(tables, there, out=np.full(tables.shape, 1.0 / k**2), where=there > 0)
    added = odd_share(float(n.sum()))
    flat = ((1.0 - added) * observed + added / k**2).reshape(*n.shape, k * k)
    drawn = rng.multinomial(np.broadcast_to(n, (runs, *n.shape)), flat).reshape(runs, *tables.shape)
    return drawn.sum(axis=-1, dtype=np.float64), drawn.sum(axis=-2, dtype=np.float64)


def exchanged(tables: IntArray, rng: np.random.Generator, runs: int) -> tuple[FloatArray, FloatArray]:
    """Counts before and after [runs, S, 2, k] where each query's two answers are exchanged, or not, by chance.

    Where nothing changed, every such run was as likely as the one that was seen (a paired permutation test).
    """
    before, after = (
        np.broadcast_to(tables.sum(axis=axis), (runs, *tables.shape[:-1])).astype(np.float64) for axis in (-1, -2)
    )
    for one in range(tables.shape[-1]):
        for other in range(one + 1, tables.shape[-1]):
            there, back = tables[..., one, other], tables[..., other, one]
            kept = rng.binomial(there + back, 0.5, (runs, *there.shape)) - there
            before[..., one] += kept
            before[..., other] -= kept
            after[..., one] -= kept
            after[..., other] += kept
    return before, after


def shift(
    before: Estimate,
    after: Estimate,
    resampled_scores: tuple[FloatArray, FloatArray],
    seen: float,
    unchanged: FloatArray | None,
) -> Shift:
    """The difference of two estimates.

    Where no exchange of answers changes anything they are all the same, and so is the score.

    `resampled_scores` are the score [R] before and after, over resampled pairs; `seen` its plain difference, and
    `unchanged` [R] what that is where the answers are exchanged by chance (None: the runs have no queries in common).
    """
    runs_before, runs_after = resampled_scores
    value = after.value - before.value
    if math.isnan(value):
        return NOTHING
    if unchanged is not None and max(abs(seen), abs(value), float(np.ptp(unchanged))) < TINY:
        return Shift(0.0, 0.0, 0.0, 0.0)
    one, other = (before.high - before.low) / 2.0, (after.high - after.low) / 2.0
    spread = float(np.std(runs_after - runs_before))
    both = float(np.std(runs_before) * np.std(runs_after))
    shared = (
        float(np.mean((runs_before - runs_before.mean()) * (runs_after - runs_after.mean()))) / both if both else 0.0
    )
    reach = math.sqrt(max(one**2 + other**2 - 2.0 * shared * one * other, (Z * spread) ** 2))
    noise = reach / Z if unchanged is None else float(np.std(unchanged))
    away = value if unchanged is None else seen
    z = away / noise if noise > TINY else 0.0
    return Shift(value, max(value - reach, -1.0), min(value + reach, 1.0), z)


def holm(p: Sequence[float], alpha: float) -> list[bool]:
    """Which hypotheses to reject so that any false rejection has at most the chance `alpha` (Holm 1979).

    Holds whatever the dependence among them; a NaN stands for nothing tested.
    """
    there = sorted((value, place) for place, value in enumerate(p) if not math.isnan(value))
    rejected = [False] * len(p)
    for rank, (value, place) in enumerate(there):
        if value > alpha / (len(there) - rank):
            break
        rejected[place] = True
    return rejected


def shared_level(p: Iterable[float], alpha: float, family: int) -> float:
    """The level of each of a family's tests, those below it rejected (Benjamini & Hochberg 1995).

    `alpha` times the share of the family that is rejected at this very level; of a family of `family` tests those that
    are not among `p` count as not rejected. Where all hypotheses are true, any is rejected with a chance of at most
    `alpha`; else the rejected ones are expected to be false rejections in a share of at most `alpha`. Both hold for
    tests that are independent or depend positively.
    """
    rejected = 1
    for rank, value in enumerate(sorted(each for each in p if not math.isnan(each)), start=1):
        if value < alpha * rank / family:
            rejected = rank
    return alpha * rejected / family
