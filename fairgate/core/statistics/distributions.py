"""Distributions over k groups: shares, entropy, divergence, and the accuracy-entropy curve.

All functions take arrays with any leading axes (topics, replicates), the groups on the last one, and work on the scale
0 to 1. NaN means that nothing is there, a topic without answers say; it is never counted as 0. Source: Fact-or-Fair,
first version, section 4.2 and appendices B and C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FloatArray = NDArray[np.float64]

GRID_CELLS = 512
ROWS_AT_ONCE = 512
REFINEMENTS = 42
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def shares(counts: ArrayLike) -> FloatArray:
    """Counts [..., k] as shares [..., k] that sum to 1; a row of NaN where the counts sum to 0."""
    n = _floats(counts)
    total = over_groups(n)[..., np.newaxis]
    return _floats(np.divide(n, total, out=np.full(n.shape, np.nan), where=total > 0))


def over_groups(x: ArrayLike) -> FloatArray:
    """The sum [...] over the groups of x [..., k].

    There are few of them: adding k columns takes a tenth of the time of numpy's sum over a short last axis, and gives
    the same to the last digit where k < 8, in an array laid out as numpy would.
    """
    columns = _floats(x)
    total = columns[..., 0].copy(order="K")
    for group in range(1, columns.shape[-1]):
        total += columns[..., group]
    return _floats(total)


def mean_present(values: ArrayLike, axis: int | tuple[int, ...]) -> FloatArray:
    """The mean over `axis` of the values that are not NaN; NaN where none is."""
    x = _floats(values)
    there = ~np.isnan(x)
    n = np.asarray(there.sum(axis=axis), dtype=np.float64)
    total = np.asarray(np.where(there, x, 0.0).sum(axis=axis))
    return _floats(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))


def entropy(p: ArrayLike) -> FloatArray:
    """Normalised Shannon entropy H(p)/log k of shares [..., k]: [...], 0 (one group) to 1 (uniform).

    NaN where a row is NaN. Source: Definition 2 (one summand of S_E).
    """
    q = _floats(p)
    k = _at_least_two(q.shape[-1])
    log_q = np.log(q, out=np.zeros(q.shape), where=q > 0)
    return _within_unit(0.0 - over_groups(q * log_q) / np.log(k))


def kl(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Kullback-Leibler divergence KL(p || q) in nats of shares [..., k]: [...], 0 (equal) to +inf.

    A group with p = 0 adds nothing; one with q = 0 < p makes it +inf. NaN where a row of either is NaN. Source:
    Definition 3 (the exponent).
    """
    a, b = np.broadcast_arrays(_floats(p), _floats(q))
    with np.errstate(divide="ignore", over="ignore"):
        ratio = np.divide(a, b, out=np.ones(a.shape), where=a > 0)
        # Rounding alone can leave a sum of the order of -1e-17, and exp(-KL) above 1.
        return _floats(np.maximum(over_groups(a * np.log(ratio)), 0.0))


def total_variation(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Total variation ½·Σ|p - q| of shares [..., k]: [...], 0 (equal) to 1 (no group in common); NaN as in `kl`."""
    return _within_unit(0.5 * over_groups(np.abs(_floats(p) - _floats(q))))


def g(a: ArrayLike, k: int) -> FloatArray:
    """The largest normalised entropy that k groups allow at accuracy `a` (0 to 1), same shape, 0 to 1.

    g(1/k) = 1 is the maximum, g(0) = log(k-1)/log k, g(1) = 0; the slope is infinite at both ends. NaN for `a`
    outside 0 to 1. Source: Conclusion 1, appendix B; the papers' Algorithm 1 leaves out the two end points.
    """
    _at_least_two(k)
    x = _floats(a)
    return _bound(np.where((x >= 0.0) & (x <= 1.0), x, np.nan), k)


def distance(s_fact: ArrayLike, s_e: ArrayLike, k: int) -> FloatArray:
    """Euclidean distance d from the points (s_fact, s_e) to the curve {(x, g(x, k)): 0 ≤ x ≤ 1}, to about 1e-9.

    The two broadcast; the result has their shape. 0 is on the curve. NaN where a coordinate is NaN. It is the *global*
    minimum: a point under the curve has a near point on either flank, and often one at an end, where the slope is
    infinite, so that a single bounded minimisation (the papers' Algorithm 2) can settle on the wrong one. Source:
    Fact-or-Fair, first version, section 4.2 below Conclusion 1.
    """
    x0, y0 = np.broadcast_arrays(_floats(s_fact), _floats(s_e))
    found = np.full(x0.size, np.nan)
    there = np.flatnonzero(np.isfinite(x0.ravel()) & np.isfinite(y0.ravel()))
    for start in range(0, there.size, ROWS_AT_ONCE):
        rows = there[start : start + ROWS_AT_ONCE]
        found[rows] = _nearest(x0.ravel()[rows], y0.ravel()[rows], k)
    return found.reshape(x0.shape)


def _nearest(x0: FloatArray, y0: FloatArray, k: int) -> FloatArray:
    """Distances of points [n] to the curve: a grid finds every valley, golden sections go to the bottom of each."""
    t = np.linspace(0.0, 1.0, GRID_CELLS + 1)
    squared = _squared(t, x0[:, np.newaxis], y0[:, np.newaxis], k)
    valley = np.ones(squared.shape, dtype=np.bool_)
    valley[:, 1:] &= squared[:, 1:] <= squared[:, :-1]
    valley[:, :-1] &= squared[:, :-1] <= squared[:, 1:]
    row, cell = np.nonzero(valley)

    px, py = x0[row], y0[row]
    low, high = t[np.maximum(cell - 1, 0)], t[np.minimum(cell + 1, GRID_CELLS)]
    for _ in range(REFINEMENTS):
        reach = GOLDEN * (high - low)
        inner, outer = sections = np.stack([high - reach, low + reach])
        at_inner, at_outer = _squared(sections, px, py, k)
        falls = at_inner > at_outer
        low, high = np.where(falls, inner, low), np.where(falls, high, outer)

    best = squared.min(axis=1)
    np.minimum.at(best, row, _squared((low + high) / 2.0, px, py, k))
    return _floats(np.sqrt(best))


def _squared(t: FloatArray, x0: FloatArray, y0: FloatArray, k: int) -> FloatArray:
    # The curve leaves both ends vertically. Along x = sin²(πt/2) it is smooth enough for a grid of equal steps.
    x = np.sin(np.pi / 2.0 * t) ** 2
    return _floats((x - x0) ** 2 + (_bound(x, k) - y0) ** 2)


def _bound(x: FloatArray, k: int) -> FloatArray:
    rest = 1.0 - x
    return _within_unit((rest * np.log(k - 1) - _x_log_x(rest) - _x_log_x(x)) / np.log(k))


def _x_log_x(x: FloatArray) -> FloatArray:
    return _floats(x * np.log(x, out=np.zeros(x.shape), where=x > 0))


def _within_unit(x: ArrayLike) -> FloatArray:
    # Rounding alone can leave the range by some 1e-16; NaN passes.
    return _floats(np.clip(x, 0.0, 1.0))


def _floats(x: ArrayLike) -> FloatArray:
    return np.asarray(x, dtype=np.float64)


def _at_least_two(k: int) -> int:
    if k < 2:
        raise ValueError(f"k = {k} groups: entropy and its bound need at least 2")
    return k
