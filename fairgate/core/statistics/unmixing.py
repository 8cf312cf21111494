"""A detector that errs: from the groups that it found back to the groups that were there.

A detector that calls a member of group i one of group j with probability C[i, j] turns true shares p into found ones
p·C. What was found is turned back by the shares that make it likeliest: maximum likelihood over the simplex, so that no
share is negative, where the plain inverse (Rogan & Gladen 1978, for two groups) gives negative ones. C itself comes
from finitely many faces of known groups, so that its uncertainty is carried along: rows are drawn from their posterior
with Jeffreys' prior. The figures hold for faces like the known ones: they need not carry over to another model's
images.

Shares are 0 to 1, k groups; randomness is passed in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.distributions import entropy
from fairgate.core.statistics.intervals import JEFFREYS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fairgate.core.statistics.distributions import FloatArray

STEPS = 400
# A face of one group is then likelier to be called so than a face of any other: else nothing can be turned back.
LEAST_DETERMINANT = 1e-3


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """What a detector made of faces of known groups: `counts` [k, k], first what is right, then what it found.

    Raises ValueError where it is no square table of counts, or a group has no face at all.
    """

    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        shape = self.counts.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"a confusion matrix is square, and not {shape}")
        if (self.counts < 0).any() or (self.counts.sum(axis=1) == 0).any():
            raise ValueError(f"every group needs faces that are counted, and not {self.counts.tolist()}")

    @cached_property
    def matrix(self) -> FloatArray:
        """The probabilities as observed, [k, k], rows sum to 1."""
        rows: FloatArray = self.counts / self.counts.sum(axis=1, keepdims=True)
        return rows

    @property
    def informative(self) -> bool:
        """Whether what was found says anything about what was there."""
        return bool(abs(np.linalg.det(self.matrix)) > LEAST_DETERMINANT)

    def drawn(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """The probabilities as they may be, [draws, k, k], after what was seen on the known faces."""
        rows = rng.standard_gamma(self.counts + JEFFREYS, size=(draws, *self.counts.shape))
        drawn: FloatArray = rows / rows.sum(axis=-1, keepdims=True)
        return drawn

    def unmixed(self, shares: ArrayLike) -> FloatArray:
        """The true shares [..., k] that make the found ones likeliest; 0 throughout where nothing was found.

        Expectation-maximisation (Dempster, Laird & Rubin 1977), which never leaves the simplex.
        """
        found = np.asarray(shares, dtype=np.float64)
        there = found.sum(axis=-1, keepdims=True) > 0
        p = np.full(found.shape, 1.0 / found.shape[-1])
        for _ in range(STEPS):
            expected = p @ self.matrix
            ratio = np.divide(found, expected, out=np.zeros_like(found), where=expected > 0)
            moved = p * (ratio @ self.matrix.T)
            done = np.abs(moved - p).max(initial=0.0) < 1e-12
            p = moved / np.maximum(moved.sum(axis=-1, keepdims=True), 1e-300)
            if done:
                break
        return np.where(there, p, 0.0)


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """How far a score may be from what was computed, 0 to 1."""

    low: float
    high: float


def fact_bounds(accuracy: float, error: float) -> ErrorBounds:
    """S_fact when a share `error` of the faces, 0 to 1, may have been called anything."""
    return ErrorBounds(max(accuracy - error, 0.0), min(accuracy + error, 1.0))


def evenness_bounds(p: ArrayLike, error: float) -> ErrorBounds:
    """The mean normalised entropy of shares [T, k] of which `error` each, 0 to 1, may belong to any group.

    The most even shares within reach are found by levelling, the least even by giving the rarest groups' to the most
    frequent one; every other distribution within reach lies between them (majorisation; Marshall, Olkin & Arnold 2011).
    """
    shares = np.asarray(p, dtype=np.float64)
    if not shares.size:
        return ErrorBounds(math.nan, math.nan)
    low, high = (np.stack([move(row, error) for row in shares]) for move in (_sharpest, _flattest))
    return ErrorBounds(float(entropy(low).mean()), float(entropy(high).mean()))


def distance_bounds(distances: ArrayLike, error: float) -> ErrorBounds:
    """The mean total variation between two levels, each of which may be off by `error`, 0 to 1; `distances` [P]."""
    tv = np.asarray(distances, dtype=np.float64)
    if not tv.size:
        return ErrorBounds(math.nan, math.nan)
    low, high = np.maximum(tv - 2.0 * error, 0.0), np.minimum(tv + 2.0 * error, 1.0)
    return ErrorBounds(float(low.mean()), float(high.mean()))


def _sharpest(p: FloatArray, error: float) -> FloatArray:
    moved, left = p.copy(), error
    top = int(p.argmax())
    for i in np.argsort(p, kind="stable"):
        if i != top:
            taken = min(left, float(moved[i]))
            moved[i] -= taken
            moved[top] += taken
            left -= taken
    return moved


def _flattest(p: FloatArray, error: float) -> FloatArray:
    """Cut from above and fill from below until `error` has changed its place, or all are equal."""
    even = 1.0 / p.size
    if np.maximum(p - even, 0.0).sum() <= error:
        return np.full(p.shape, even)
    return np.clip(p, _level(p, error), -_level(-p, error))


def _level(p: FloatArray, amount: float) -> float:
    """Where the water stands when `amount` is poured over the floor p."""
    floor = np.sort(p)
    levels = (np.cumsum(floor) + amount) / np.arange(1, p.size + 1)
    deep = int(np.flatnonzero(levels >= floor)[-1])
    return float(levels[deep])
