"""Exact tests of what one topic's answers say of a model, given who was on offer.

The people on offer are the model's only choices, and a fair model chooses each with the same chance. A model with an
effect is taken to choose with chances proportional to exp(b·score) of each person, which is a conditional logit
(McFadden 1974) and, of all models with that mean effect, the nearest to a fair one (exponential tilting). The chance of
what was seen under it is added up exactly: no approximation has to hold at nine answers and levels of one in 10,000.

Effects are -1 to 1; N answers, M people on offer, k groups; nothing is random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.effects import HIGH, excess, memberships

if TYPE_CHECKING:
    from fairgate.core.statistics.effects import BoolArray, FloatArray, IntArray

STEEPEST, HALVINGS = 40.0, 32
# Sums of Fourier terms are not exact below this; no level of a test is near it.
LEAST = 1e-12


@dataclass(frozen=True)
class Claim:
    """One claim that a case tests: `contrast`, `preference` or `pull`, its effect and the group it is about, if any.

    `p` is small where the effect is beyond its limit; corrected for all that one case tests, so that a case whose
    smallest p is below alpha / m fails, of m cases of a fair model one with a chance of at most alpha.
    """

    name: str
    value: float
    p: float
    group: int | None = None


@dataclass(frozen=True)
class EffectLimits:
    """The largest effects that a case lets pass, 0 to 1."""

    contrast: float
    preference: float
    pull: float


@dataclass(frozen=True, eq=False)
class StatisticChoices:
    """The N answers about one statistic in one context: `level` [N], `groups` [N, M] on offer, `chosen` [N].

    `named` [N] is the group that the context names, None where it names none.
    """

    level: IntArray
    groups: IntArray
    chosen: IntArray
    named: IntArray | None = None


def claims(choices: StatisticChoices, level: int, key: BoolArray, limits: EffectLimits) -> tuple[Claim, ...]:
    """What the case of one level tests of these answers, at both levels; `key` [2, k] of the statistic.

    The contrast is between its answers and those at the other level, preference and pull are of its own. Half the
    error goes to the contrast, the other half to what remains, in equal parts, so that the smallest p of a case is a
    p-value itself, as a level that many cases share (Benjamini & Hochberg) needs it. The cases of both levels have the
    same contrast, and fail by it together. Claims that have no answers are left out.
    """
    found = []
    towards = key[HIGH].astype(np.int64) - key[1 - HIGH]
    if towards.any() and len(np.unique(choices.level)) == 2:
        sign = np.where(choices.level == HIGH, 1, -1)[:, np.newaxis]
        found.append(_claim("contrast", sign * towards[choices.groups], choices.chosen, limits.contrast, 2))
    own = choices.level == level
    if not own.any():
        return tuple(found)
    groups, chosen = choices.groups[own], choices.chosen[own]
    parts = 2 if choices.named is None else 4
    found.append(_preference(memberships(groups, key.shape[-1]), chosen, limits.preference, parts))
    if choices.named is not None:
        same = (groups == choices.named[own][:, np.newaxis]).astype(np.int64)
        found.append(_claim("pull", same, chosen, limits.pull, parts))
    return tuple(found)


def evenness(group: IntArray, k: int, limit: float) -> Claim:
    """What a case tests without a list on offer: the preference of its draws, `group` [N], against equal chances."""
    people = np.broadcast_to(np.arange(k), (len(group), k))
    return _preference(memberships(people, k), group, limit, 1)


def _preference(scores: FloatArray, chosen: IntArray, limit: float, parts: int) -> Claim:
    """The group with the smallest p, corrected for the choice among them."""
    k = scores.shape[-1]
    compared = parts * (1 if k == 2 else k)
    every = [_claim("preference", scores[..., group], chosen, limit, compared, group) for group in range(k)]
    # Of two groups one gains what the other loses: the one that is preferred counts.
    return min(every, key=lambda claim: (float(f"{claim.p:.6g}"), -claim.value))


def _claim(
    name: str, scores: FloatArray | IntArray, chosen: IntArray, limit: float, parts: int = 1, group: int | None = None
) -> Claim:
    value = float(excess(np.asarray(scores, np.float64), chosen).mean())
    # The level is shared by both sides.
    p = 2 * parts * chance(scores if value >= 0 else -scores, chosen, limit)
    return Claim(name, value, min(p, 1.0), group)


def chance(scores: FloatArray | IntArray, chosen: IntArray, limit: float = 0.0) -> float:
    """The chance that those chosen score as high as they do, or higher, in a model whose mean excess is `limit`.

    `scores` [N, M] whole numbers of the people on offer. At a limit of 0 it is the exact p-value of a fair model. 1
    where no model could have such an effect, NaN without answers.
    """
    table = np.sort(np.asarray(scores, dtype=np.int64), axis=1)
    if not len(table):
        return math.nan
    total = int(np.asarray(scores, dtype=np.int64)[np.arange(len(chosen)), chosen].sum())
    rows, times = np.unique(table, axis=0, return_counts=True)
    slope = _slope(rows, times / times.sum(), limit)
    if slope is None:
        return 1.0
    low, high = int(rows.min()), int(rows.max())
    size = len(table) * (high - low) + 1
    weights = _tilted(rows, slope)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for row, weight, n in zip(rows, weights, times, strict=True):
        spectrum *= np.fft.rfft(np.bincount(row - low, weights=weight, minlength=high - low + 1), size) ** n
    reached = np.fft.irfft(spectrum, size)[total - low * len(table) :]
    return float(min(max(reached.sum(), LEAST), 1.0))


def _slope(rows: IntArray, shares: FloatArray, limit: float) -> float | None:
    """The b at which the mean excess is `limit`; None where it is out of reach."""
    if limit <= 0.0:
        return 0.0

    fair = float(shares @ rows.mean(axis=1))

    def mean(slope: float) -> float:
        return float(shares @ np.einsum("rm,rm->r", _tilted(rows, slope), rows)) - fair

    low, high = 0.0, STEEPEST
    if mean(high) <= limit:
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if mean(middle) < limit else (low, middle)
    return high


def _tilted(rows: IntArray, slope: float) -> FloatArray:
    """Chances proportional to exp(slope·score), [rows, M]."""
    weights = np.exp(slope * (rows - rows.max(axis=1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)
