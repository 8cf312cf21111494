"""How like generated shares are to actual ones, which differ from row to row: estimates of such scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.intervals import CONFIDENCE, NO_ESTIMATE, bounded
from fairgate.core.statistics.matched_simulation import MIXED, RADII, explored, family, matched_belief, simulated
from fairgate.core.statistics.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from fairgate.core.statistics.intervals import Estimate
    from fairgate.core.statistics.matched_simulation import Belief, FloatArray, IntArray
    from fairgate.core.statistics.unmixing import ConfusionMatrix

    # Members of a family [R, ..., k] at radii [R].
    Family = Callable[[FloatArray], FloatArray]

# Intervals are wider by this multiple of 1/n, as in `estimates`, at as few as 2 to 4 answers a row.
CALIBRATION, FEWEST = 5.0, 10.0


def estimate_likeness(
    score: Callable[[FloatArray, FloatArray], FloatArray],
    counts: ArrayLike,
    actual: ArrayLike,
    weights: ArrayLike,
    *,
    rng: np.random.Generator,
    mixing: ConfusionMatrix | None = None,
    confidence: float = CONFIDENCE,
    replicates: int = 600,
) -> Estimate:
    """The estimate of a score of how like generated shares are to actual ones.

    `score`: shares [..., R, k] and actual ones [R, k] -> values [..., R] of 0 to 1, which change in one direction as
    the former move away from the latter; the score is their mean by `weights` [R]. `counts` [R, k] independent answers,
    rows without any are left out. Two families run from the actual shares through the observed ones: one moves all rows
    alike, the other one row after the other, those that deviate most first. The estimate is the first one's; the
    interval holds what either says, since few answers a row do not tell many small deviations from few large ones.

    `mixing`: how the detector that found the answers errs. The observed shares are then those behind what it found, and
    what it found is compared with what it would find of the actual shares: errors alone move it away from these. The
    interval then holds what a third family says as well, in which all rows move towards the same shares.
    """
    x, centre, w = (np.asarray(each, dtype=np.float64) for each in (counts, actual, weights))
    keep = x.sum(axis=-1) > 0
    if not keep.any():
        return NO_ESTIMATE
    x, centre, w = x[keep], centre[keep], w[keep] / w[keep].sum()
    n = x.sum(axis=-1).astype(np.int64)
    rows = _Rows(score, x / n[:, np.newaxis], centre, n, w, mixing)
    draws = max(replicates // len(RADII), 2)
    z = float(ndtri((1.0 + confidence) / 2.0)) * (1.0 + CALIBRATION / max(float(np.median(n)), FEWEST))
    z *= 1.0 if mixing is None else MIXED
    (low, value, high), (low_few, _, high_few) = (
        map(float, rows.explored(each, rng, draws, z).at([-z, 0.0, z])) for each in (rows.all_alike, rows.one_by_one)
    )
    low, high = min(low, low_few), max(high, high_few)
    if mixing is not None:
        belief = rows.matched(rows.towards(x.sum(axis=0) / x.sum()), rng, draws)
        if np.any(within := np.abs(belief.z) <= z):
            low, high = min(low, belief.values[within].min()), max(high, belief.values[within].max())
    # Weights lessen what so many answers can say of answers of another kind.
    total = 1.0 / float((w**2 / n).sum())
    return bounded(value, low, high, total, confidence, reliable=True)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Found shares and actual ones `centre` [R, k], of `n` [R] answers, rows by weights `w` [R] that sum to 1."""

    score: Callable[[FloatArray, FloatArray], FloatArray]
    found: FloatArray
    centre: FloatArray
    n: IntArray
    w: FloatArray
    mixing: ConfusionMatrix | None

    @property
    def p(self) -> FloatArray:
        """The shares behind the found ones."""
        return self.found if self.mixing is None else self.mixing.unmixed(self.found)

    @property
    def found_centre(self) -> FloatArray:
        """What would be found of the actual shares."""
        return self.centre if self.mixing is None else self.centre @ self.mixing.matrix

    def mean(self, q: FloatArray, of: FloatArray) -> FloatArray:
        """The score of shares [..., R, k]: [...]."""
        whole: FloatArray = self.score(q, of) @ self.w
        return whole

    @property
    def all_alike(self) -> Family:
        """All rows move by the same part of their way."""
        p = self.p
        return lambda radii: family(p, self.centre, radii)

    @property
    def one_by_one(self) -> Family:
        """One row moves after the other, those that deviate most first."""
        p, w = self.p, self.w
        order = np.argsort(-np.abs(p - self.centre).sum(axis=-1) * np.sqrt(self.n), kind="stable")
        start = np.empty(w.size)
        start[order] = np.cumsum(w[order]) - w[order]

        def members(radii: FloatArray) -> FloatArray:
            share = np.clip((radii[:, np.newaxis] - start) / w, 0.0, np.maximum(radii, 1.0)[:, np.newaxis])
            q = np.maximum(self.centre + share[..., np.newaxis] * (p - self.centre), 0.0)
            found: FloatArray = q / q.sum(axis=-1, keepdims=True)
            return found

        return members

    def towards(self, shares: FloatArray) -> Family:
        """All rows move towards the shares behind these [k].

        Errors make a model of one group look as if some rows had another: no row's own shares then lead to it.
        """
        same = np.broadcast_to(shares if self.mixing is None else self.mixing.unmixed(shares), self.found.shape)
        return lambda radii: family(same, self.centre, radii)

    def explored(self, members: Family, rng: np.random.Generator, draws: int, z: float) -> Belief:
        """What a family says of the score, followed as far as `z` allows."""
        ((belief,), _) = explored(
            lambda radii: self._runs(members, radii, rng, draws),
            lambda radii, runs: (self._belief(members, radii, runs),),
            RADII,
            z,
        )
        return belief

    def matched(self, members: Family, rng: np.random.Generator, draws: int) -> Belief:
        """What a family says of the score, followed as far as `RADII` go."""
        return self._belief(members, RADII, self._runs(members, RADII, rng, draws))

    def _runs(self, members: Family, radii: FloatArray, rng: np.random.Generator, draws: int) -> FloatArray:
        return self.mean(simulated(rng, self.n, members(radii), draws, self.mixing), self.found_centre)

    def _belief(self, members: Family, radii: FloatArray, runs: FloatArray) -> Belief:
        fine = np.unique([*np.linspace(0.0, radii[-1], 66), *radii])
        observed = float(self.mean(self.found, self.found_centre))
        return matched_belief(observed, self.mean(members(fine), self.centre), runs, radii, fine)
