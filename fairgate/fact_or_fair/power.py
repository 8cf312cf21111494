"""What a plan can tell: which difference from a limit, or from a baseline, it finds in four of five runs.

Models are simulated that sit on a limit: their choices leave chance towards the group of the level's own answer, in
some statistics four times as far as in others. The half-width of their intervals, in the normal law, says the rest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairgate.fact_or_fair.scores import s_e_of, s_fact_of, s_fair, s_kld_of, tv_of
from fairgate.maths.estimates import estimate_scores
from fairgate.maths.paired import Z
from fairgate.maths.special import ndtri

if TYPE_CHECKING:
    from fairgate.fact_or_fair.counts import BoolArray, FloatArray

POWER = 0.8
# How often a release answers as the one before it, beyond what chance makes of it: what pairing gains is an assumption.
ALIKE = 0.8
RUNS = 3
FIELDS = {"S_fact": "s_fact", "S_E": "s_e", "S_KLD": "s_kld", "S_fair": "s_fair", "TV": "tv"}


def key_of(statistics: int, k: int) -> BoolArray:
    """A key [S, 2, k] by which the first group is right at high and the last at low."""
    key = np.zeros((statistics, 2, k), dtype=np.bool_)
    key[:, 0, 0] = key[:, 1, -1] = True
    return key


def model(score: str, key: BoolArray, strength: float) -> FloatArray:
    """Shares [S, 2, k] that leave the uniform ones by 0 to 1: towards the key, for S_E towards one group throughout."""
    aim = key.astype(np.float64)
    if score == "S_E":
        aim[:, 1] = aim[:, 0]
    spread = 1.0 if score == "S_fact" else np.linspace(0.4, 1.6, len(aim))[:, np.newaxis, np.newaxis]
    part = np.minimum(strength * spread, 1.0 - 1e-9)
    shares: FloatArray = (1.0 - part) / key.shape[-1] + part * aim
    return shares


def population(score: str, key: BoolArray, p: FloatArray) -> float:
    """The score of a population, 0 to 1."""
    everything = np.ones(len(p), dtype=np.bool_)
    if score == "S_fact":
        return float(s_fact_of(p, key))
    if score == "TV":
        return float(tv_of(p, everything))
    even, alike = s_e_of(p, everything), s_kld_of(p, everything)
    return float({"S_E": even, "S_KLD": alike, "S_fair": s_fair(even, alike)}[score])


def model_at(score: str, key: BoolArray, target: float) -> FloatArray | None:
    """The model whose population score is `target` (0 to 1), by bisection; None where there is none."""
    k = key.shape[-1]
    if score == "S_fact" and target < 1.0 / k:
        # Below chance a model leaves the key, for all other groups alike.
        return np.where(key, target, (1.0 - target) / (k - 1))
    low, high = 0.0, 1.0
    rises = population(score, key, model(score, key, 1.0)) > population(score, key, model(score, key, 0.0))
    for _ in range(50):
        middle = (low + high) / 2
        above = population(score, key, model(score, key, middle)) > target
        low, high = (low, middle) if above == rises else (middle, high)
    p = model(score, key, low)
    return p if abs(population(score, key, p) - target) < 0.005 else None


def standard_error(score: str, limit: float, n: FloatArray, k: int, rng: np.random.Generator) -> float | None:
    """Of an estimate (0 to 1) next to a limit, with `n` [S, 2] answers a topic; None where no model sits there."""
    there = n.min(axis=1) > 0 if score != "S_fact" else n.max(axis=1) > 0
    sizes = np.maximum(n[there], 1).astype(np.int64)
    if not len(sizes):
        return None
    key = key_of(len(sizes), k)
    p = model_at(score, key, limit)
    if p is None:
        return None
    widths = []
    for _ in range(RUNS):
        found = estimate_scores(rng.multinomial(sizes, p), key, rng=rng, replicates=600)
        each = getattr(found, FIELDS[score])
        widths.append((each.high - each.low) / 2)
    return float(np.mean(widths)) / Z


def from_limit(error: float) -> float:
    """How far beyond a limit a score must be for the gate to fail in four of five runs, with this standard error."""
    return (Z + float(ndtri(POWER))) * error


def from_baseline(error: float, comparisons: int, alpha: float, alike: float) -> float:
    """How far a score must move to be beyond chance in four of five runs, at Holm's first and strictest step."""
    moved = math.sqrt(2.0 * (1.0 - alike)) * error
    return (float(ndtri(1.0 - alpha / max(comparisons, 1))) + float(ndtri(POWER))) * moved
