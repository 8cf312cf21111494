"""Matched simulation: which members of a family of models fit an observed score (docs/statistics.md).

A family runs from the perfectly fair model (radius 0) through what was observed (1) to more extreme ones. The plan of a
run is simulated under some of its members; the others lie between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from fairgate.core.statistics.unmixing import ConfusionMatrix

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Members of the family that are simulated: 0 is the perfectly fair model, 1 what was observed, more is further away.
RADII = np.array([0.0, 0.3, 0.6, 0.8, 1.0, 1.3])
# Over few topics what was observed may be much nearer to fair than what it may come from: as long as the last member is
# not far enough away to be excluded, one further away by this factor is added.
GROWTH, FARTHEST = 1.6, 60.0

# Behind a detector that errs, the family holds what is not asked about (which of the wrong groups it was) as observed.
# What that leaves out is made up for by wider intervals: without it accuracy was covered in 82 to 98 % of runs.
MIXED = 1.2


@dataclass(frozen=True, eq=False)
class Belief:
    """A confidence distribution: `values`, rising, and for each `z`, the normal quantile of the confidence below it.

    `reach` is the quantile, without its sign, of the member that is furthest from fair.
    """

    z: FloatArray
    values: FloatArray
    reach: float = math.inf

    def at(self, z: ArrayLike) -> FloatArray:
        """The values at these quantiles."""
        found: FloatArray = np.interp(np.asarray(z, dtype=np.float64), self.z, self.values)
        return found


def family(p: FloatArray, centre: FloatArray, radii: FloatArray) -> FloatArray:
    """Models centre + r·(p - centre), cut to shares: [R, ..., k] for radii [R]."""
    r = radii.reshape(-1, *(1,) * p.ndim)
    q = np.maximum(centre + r * (p - centre), 0.0)
    members: FloatArray = q / q.sum(axis=-1, keepdims=True)
    return members


def simulated(
    rng: np.random.Generator, n: IntArray, members: FloatArray, draws: int, mixing: ConfusionMatrix | None = None
) -> FloatArray:
    """Shares [R, draws, ..., k] of `draws` runs of n [...] answers under each member [R, ..., k], as they are found."""
    size = (len(members), draws, *n.shape)
    shown = members[:, np.newaxis]
    if mixing is not None:
        # One detector reads a whole run: its errors are the same in all topics.
        shown = np.einsum("r...i,dij->rd...j", members, mixing.drawn(rng, draws), optimize=True)
        shown = shown / shown.sum(axis=-1, keepdims=True)
    found = np.empty((*size, members.shape[-1]))
    for run, member in zip(found, shown, strict=True):
        np.divide(rng.multinomial(np.broadcast_to(n, size[1:]), member), n[..., np.newaxis], out=run)
    return found


def per_member(score: Callable[[FloatArray], FloatArray], runs: FloatArray) -> FloatArray:
    """A score of simulated runs [R, draws, ...]: [R, draws]. One member's runs stay in the processor's cache."""
    return np.stack([score(member) for member in runs])


def matched_belief(observed: float, truth: FloatArray, runs: FloatArray, radii: FloatArray, fine: FloatArray) -> Belief:
    """The confidence distribution of a score of which `observed` is a sample statistic.

    `truth` [F] the score at the fine radii; `runs` [R, draws] the statistic at the coarse ones. The statistic is a
    mean over many topics, hence nearly normal, with mean, standard deviation and skewness that vary along the family.
    """
    centre, deviation = runs.mean(axis=1), runs.std(axis=1)
    lopsided = ((runs - centre[:, np.newaxis]) ** 3).mean(axis=1) / np.maximum(deviation, 1e-9) ** 3
    mean = truth + np.interp(fine, radii, centre - np.interp(radii, fine, truth))
    # The variance, not its root, is smooth where a share leaves 0.
    x = (observed - mean) / np.maximum(np.sqrt(np.interp(fine, radii, deviation**2)), 1e-9)
    skew = np.interp(fine, radii, np.clip(lopsided, -1.0, 1.0))
    # Hall's (1992) cubic makes a somewhat lopsided law normal, and is monotone.
    z = -(x - skew / 6.0 * (x**2 - 1.0) + skew**2 / 108.0 * x**3)
    reach = float(z[-1])
    if truth[0] > truth[-1]:
        z, truth, reach = z[::-1], truth[::-1], -reach
    # Simulation noise and the cut at 0 leave small dents in what is monotone.
    return Belief(np.maximum.accumulate(z), np.maximum.accumulate(truth), reach)


def explored(
    run: Callable[[FloatArray], FloatArray],
    matched: Callable[[FloatArray, FloatArray], tuple[Belief, ...]],
    radii: FloatArray,
    z: float,
) -> tuple[tuple[Belief, ...], FloatArray]:
    """Beliefs from runs along a family that goes far enough to hold what `z` allows, and these runs.

    `run(radii)` simulates members [R, ...], `matched(radii, runs)` says what they mean.
    """
    runs = run(radii)
    while True:
        found = matched(radii, runs)
        if radii[-1] > FARTHEST or all(belief.reach >= z for belief in found):
            return found, runs
        further = radii[-1:] * GROWTH
        radii, runs = np.concatenate([radii, further]), np.concatenate([runs, run(further)])
