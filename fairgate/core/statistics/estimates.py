"""Population values of scores, from samples: bias-corrected, with intervals that stay honest at small n.

A score over small samples is not the score of the model: entropy comes out too low, divergence and distance too high,
and resampling the sample repeats the error instead of removing it. What is done here is *matched simulation*: along a
family of possible models, from the perfectly fair one through the observed shares to more extreme ones, the plan is
simulated; the estimate is the member under which the score comes out as it was observed, and the interval holds every
member under which the observation is neither too high nor too low: a test, inverted, and so indirect inference
(Gourieroux, Monfort & Renault 1993) with one parameter. docs/statistics.md compares it, by simulation, with what lost.

Only answers are random; the statistics are fixed. Shapes: S statistics, two levels (0 high, 1 low), k groups.
Everything is on the scale 0 to 1. Randomness is passed in; the order of statistics plays no part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairgate.core.statistics.distributions import distance, entropy, g, kl, over_groups, total_variation
from fairgate.core.statistics.intervals import CONFIDENCE, JEFFREYS, NO_ESTIMATE, Estimate, bounded
from fairgate.core.statistics.matched_simulation import (
    MIXED,
    RADII,
    Belief,
    explored,
    family,
    matched_belief,
    per_member,
    simulated,
)
from fairgate.core.statistics.special import betaincinv, ndtr, ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from fairgate.core.statistics.unmixing import ConfusionMatrix

FloatArray = NDArray[np.float64]
Family: TypeAlias = "Callable[[FloatArray], FloatArray]"
IntArray = NDArray[np.int64]

HIGH, LOW = 0, 1

FINE = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 140)])
STEPS = np.concatenate([[0.0], np.geomspace(1e-7, 1.0, 200)])
JOINT, DRAWS_OF_DISTANCE = 10_000, 250

# Width, in units of the noise, over which |x| is blurred before it is sharpened again (`_sharpened`).
BLUR = 0.8

# Strongly uneven shares leave the spread along the family uncertain: intervals are wider by this multiple of 1/n, which
# brought the mean coverage of such truths at n = 20 and 30 up by two points (docs/statistics.md).
CALIBRATION, FEWEST = 2.0, 20.0
# Effective answers a topic from which coverage was measured to be what it says (docs/statistics.md).
RELIABLE_FROM = {"s_fact": 1, "s_e": 20, "s_kld": 20, "tv": 20}
# Next to the boundary it was measured to be less whatever n is: where fewer answers than this are outside the most
# frequent group, and where a group is chosen at high and next to never at low in more than this share of statistics.
FEW, EXCLUSIVE = 5.0, 0.25
# Nearer to the limit than rounding: no number of samples is known to decide.
ON_LIMIT = 1e-9


@dataclass(frozen=True)
class Estimates:
    """The scores of one task, context and attribute, from one set of simulations."""

    s_fact: Estimate
    s_e: Estimate
    s_kld: Estimate
    s_fair: Estimate
    tv: Estimate
    d: Estimate


def estimate_scores(
    counts: ArrayLike,
    key: ArrayLike,
    *,
    effective: ArrayLike | None = None,
    left: ArrayLike | None = None,
    rng: np.random.Generator,
    mixing: ConfusionMatrix | None = None,
    confidence: float = CONFIDENCE,
    replicates: int = 2000,
) -> Estimates:
    """Estimates of all scores from the answers of one task, context and attribute.

    `counts` [S, 2, k] answers; `key` [S, 2, k] which groups are right: a statistic without any lacks the attribute and
    is left out, as a topic without answers is. `effective` [S, 2] independent answers among the answered ones (distinct
    query texts, where a repeated text brings the same answer, or images, where one holds many faces): shares are those
    of all answers, uncertainty is that of so many. `left` [S, 2]: the part of the variance of accuracy that is left
    where a question has few texts (`finite.variance_left`), 1 without. `mixing`: the groups were found by a detector
    that errs so; the estimates are then of the groups that were there, and every simulated run goes through such a
    detector as well. `replicates` simulated runs for each family.
    """
    plan = _Plan.of(counts, key, effective, mixing, left)
    if plan is None:
        return Estimates(*(NO_ESTIMATE,) * 6)
    every = plan.n[plan.n > 0]
    normal = float(ndtri((1.0 + confidence) / 2.0)) * (1.0 if mixing is None else MIXED)
    z = normal * (1.0 + CALIBRATION / max(float(np.median(every)), FEWEST))
    draws = max(replicates // len(RADII), 2)

    fact = _fact(plan) if mixing is None else _fact_behind(plan, mixing, rng, draws)
    even = _evenness(plan, rng, draws, z)
    levels = _Levels.of(plan)
    alike = apart = None
    if levels is not None:
        alike, apart = _likeness(levels, rng, draws, z)

    u, v, w = _noise(plan, levels, rng, draws)
    enough = {score: bool(np.median(every) >= least) for score, least in RELIABLE_FROM.items()}
    enough["s_e"] &= not _nearly_one_sided(plan)
    enough["s_kld"] &= not _nearly_exclusive(levels)
    total = float(every.sum())

    def read(belief: Belief | None, score: str, z: float = z) -> Estimate:
        if belief is None:
            return NO_ESTIMATE
        low, value, high = (float(x) for x in belief.at([-z, 0.0, z]))
        return bounded(value, low, high, total, confidence, reliable=enough[score])

    s_fact, s_e = read(fact, "s_fact", normal), read(even, "s_e")
    s_kld, tv = read(alike, "s_kld"), NO_ESTIMATE
    if apart is not None:
        tv = bounded(*apart, total, confidence, reliable=enough["tv"])

    fair = d = NO_ESTIMATE
    tails = [ndtr(-z), ndtr(z)]
    if alike is not None:
        a, b = even.at(v), alike.at(w)
        low, high = np.quantile(a + b - a * b, tails)
        value = s_e.value + s_kld.value - s_e.value * s_kld.value
        fair = bounded(value, float(low), float(high), total, confidence, reliable=s_e.reliable and s_kld.reliable)
    if fact is not None:
        few = slice(0, DRAWS_OF_DISTANCE)
        low, high = np.quantile(_below_curve(fact.at(u[few]), even.at(v[few]), plan.k), tails)
        # Where both flanks of the curve are equally near, the distance has a ridge, which no draw exceeds: the interval
        # holds all distances that the accuracies in their own interval allow.
        across, along = np.linspace(-z, z, 33), np.array([-z, 0.0, z]) / math.sqrt(2.0)
        box = _below_curve(fact.at(across)[:, np.newaxis], even.at(along), plan.k)
        low, high = min(low, box.min()), max(high, box.max())
        value = float(_below_curve(np.array(s_fact.value), np.array(s_e.value), plan.k))
        d = bounded(value, float(low), float(high), total, confidence, reliable=s_e.reliable)
    return Estimates(s_fact=s_fact, s_e=s_e, s_kld=s_kld, s_fair=fair, tv=tv, d=d)


def estimate_accuracy(
    counts: ArrayLike,
    key: ArrayLike,
    *,
    effective: ArrayLike | None = None,
    left: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """`s_fact` of `estimate_scores` for answers that no detector read: alone, since it takes no simulation."""
    plan = _Plan.of(counts, key, effective, None, left)
    belief = None if plan is None else _fact(plan)
    if plan is None or belief is None:
        return NO_ESTIMATE
    every = plan.n[plan.n > 0]
    normal = float(ndtri((1.0 + confidence) / 2.0))
    low, value, high = (float(x) for x in belief.at([-normal, 0.0, normal]))
    enough = bool(np.median(every) >= RELIABLE_FROM["s_fact"])
    return bounded(value, low, high, float(every.sum()), confidence, reliable=enough)


def _nearly_one_sided(plan: _Plan) -> bool:
    """Whether most topics show so few answers outside their most frequent group that their entropy is a guess.

    Not where there are none at all: then the boundary's own interval says what can be said.
    """
    p, n = plan.q[plan.there], plan.n[plan.there]
    others = n * (1.0 - p.max(axis=-1))
    return bool(0.0 < np.median(others) < FEW or (others.sum() > 0.0 and np.median(others) == 0.0))


def _nearly_exclusive(levels: _Levels | None) -> bool:
    """Whether in many statistics a group is chosen at one level and next to never at *low*: the KL rests on that."""
    if levels is None:
        return False
    x = levels.q * levels.n[..., np.newaxis]
    rare = ((x[:, LOW] <= 1.0) & (x[:, HIGH] >= 3.0)).any(axis=-1)
    one_sided = np.sort(x, axis=-1)[..., :-1].sum(axis=-1) < FEW
    return bool(rare.mean() > EXCLUSIVE or np.median(one_sided) > 0.5)


@dataclass(frozen=True, eq=False)
class _Plan:
    """What was observed: shares `p` [S, 2, k] (0 where nothing was answered), `n` [S, 2] independent answers, `key`.

    `q` [S, 2, k] are the shares behind the observed ones: the same, but for a detector's `mixing`. `left` [S, 2] is the
    part of the variance that is left where texts are few.
    """

    p: FloatArray
    q: FloatArray
    n: IntArray
    key: NDArray[np.bool_]
    mixing: ConfusionMatrix | None
    left: FloatArray

    @classmethod
    def of(
        cls,
        counts: ArrayLike,
        key: ArrayLike,
        effective: ArrayLike | None,
        mixing: ConfusionMatrix | None,
        left: ArrayLike | None = None,
    ) -> _Plan | None:
        x, right = np.asarray(counts, dtype=np.float64), np.asarray(key, dtype=np.bool_)
        answered = x.sum(axis=-1)
        n = answered if effective is None else np.minimum(np.asarray(effective, dtype=np.float64), answered)
        n = np.where(answered > 0, np.maximum(np.rint(n), 1.0), 0.0).astype(np.int64)
        keep = right.any(axis=(1, 2)) & (n > 0).any(axis=1)
        if not keep.any():
            return None
        part = np.ones(n.shape) if left is None else np.asarray(left, dtype=np.float64)
        x, right, n, answered, part = x[keep], right[keep], n[keep], answered[keep], part[keep]
        # In one order, whatever order they came in: the same answers then meet the same random numbers.
        rows = np.concatenate([x.reshape(len(x), -1), right.reshape(len(x), -1), n, part], axis=1)
        order = np.lexsort(rows.T)
        p = x / np.maximum(answered, 1.0)[..., np.newaxis]
        p = p[order]
        return cls(p, p if mixing is None else mixing.unmixed(p), n[order], right[order], mixing, part[order])

    @property
    def k(self) -> int:
        return int(self.p.shape[-1])

    @property
    def there(self) -> NDArray[np.bool_]:
        there: NDArray[np.bool_] = self.n > 0
        return there


@dataclass(frozen=True, eq=False)
class _Levels:
    """The statistics answered at both levels: shares `p` and those behind them `q` [P, 2, k], `n` [P, 2]."""

    p: FloatArray
    q: FloatArray
    n: IntArray
    mixing: ConfusionMatrix | None

    @classmethod
    def of(cls, plan: _Plan) -> _Levels | None:
        both = plan.there.all(axis=1)
        return cls(plan.p[both], plan.q[both], plan.n[both], plan.mixing) if both.any() else None


def _fact(plan: _Plan) -> Belief | None:
    """Accuracy: unbiased as it is; its belief is Wilson's (1927) interval for a mean over topics of unequal accuracy.

    The family moves every topic's accuracy towards 0 (below) or 1 (above) by the same step. A topic's own variance is
    estimated without bias where it has two independent answers or more, and else by that of the mean, which is more.
    """
    asked = plan.there & plan.key.any(axis=-1)
    if not asked.any():
        return None
    a = np.minimum(np.where(plan.key, plan.p, 0.0).sum(axis=-1)[asked], 1.0)
    n, left = plan.n[asked].astype(np.float64), plan.left[asked]

    def side(a: FloatArray) -> tuple[FloatArray, FloatArray]:
        keep = (1.0 - STEPS)[:, np.newaxis]
        centre = keep[:, 0] * a.mean()
        within = np.where(n > 1, keep**2 * a * (1.0 - a) / np.maximum(n - 1, 1), 0.0)
        moved = keep * (1.0 - keep) * a / n
        alone = np.where(n > 1, 0.0, (centre * (1.0 - centre))[:, np.newaxis])
        variance = (left * np.where(n > 1, within + moved, alone)).sum(axis=1) / n.size**2
        return centre, (a.mean() - centre) / np.sqrt(np.maximum(variance, 1e-18))

    below, distance_below = side(a)
    above, distance_above = side(1.0 - a)
    # Both arms begin at the observed mean; Wilson's normal law is about the member, not about the observation.
    z = np.concatenate([-np.maximum.accumulate(distance_below)[:0:-1], np.maximum.accumulate(distance_above)])
    return Belief(np.maximum.accumulate(z), np.concatenate([below[:0:-1], 1.0 - above]))


def _fact_behind(plan: _Plan, mixing: ConfusionMatrix, rng: np.random.Generator, draws: int) -> Belief | None:
    """Accuracy behind a detector's errors, along the family from no face of a right group to all."""
    asked = plan.there & plan.key.any(axis=-1)
    if not asked.any():
        return None
    p, key, n = plan.p[asked], plan.key[asked], plan.n[asked]
    q = _smoothed(plan.q[asked], n)
    # Where every group is right nothing is wrong to move to.
    wrong = np.where(key.all(axis=-1, keepdims=True), q, np.where(key, 0.0, q))
    right = np.where(key, q, 0.0)
    right, wrong = (each / each.sum(axis=-1, keepdims=True) for each in (right, wrong))
    share = np.where(key, plan.q[asked], 0.0).sum(axis=-1)

    def members(radii: FloatArray) -> FloatArray:
        r = radii[:, np.newaxis]
        a = np.where(r <= 1.0, r * share, share + (r - 1.0) * (1.0 - share))[..., np.newaxis]
        made: FloatArray = a * right + (1.0 - a) * wrong
        return made

    def accuracy(shares: FloatArray) -> FloatArray:
        mean: FloatArray = np.where(key, shares, 0.0).sum(axis=-1).mean(axis=-1)
        return mean

    coarse, fine = np.linspace(0.0, 2.0, 9), np.linspace(0.0, 2.0, 401)
    runs = accuracy(simulated(rng, n, members(coarse), draws, mixing))
    return matched_belief(float(accuracy(p)), accuracy(members(fine)), runs, coarse, fine)


def _evenness(plan: _Plan, rng: np.random.Generator, draws: int, z: float) -> Belief:
    """Mean normalised entropy over the answered topics, along the family from uniform through the observed shares."""
    p, q, n = plan.p[plan.there], plan.q[plan.there], plan.n[plan.there]
    centre, observed = np.full_like(q, 1.0 / plan.k), float(entropy(p).mean())

    def run(radii: FloatArray) -> FloatArray:
        runs = simulated(rng, n, family(q, centre, radii), draws, plan.mixing)
        return per_member(lambda p: entropy(p).mean(axis=-1), runs)

    def matched(radii: FloatArray, runs: FloatArray) -> tuple[Belief]:
        fine = _refined(radii)
        return (matched_belief(observed, entropy(family(q, centre, fine)).mean(axis=-1), runs, radii, fine),)

    ((belief,), _) = explored(run, matched, RADII, z)
    return belief


def _likeness(
    levels: _Levels, rng: np.random.Generator, draws: int, z: float
) -> tuple[Belief, tuple[float, float, float]]:
    """How alike the two levels are: the belief of mean exp(-KL), and value, low, high of the mean total variation.

    The family runs from equal levels (the pooled shares) through the observed ones.
    """
    p, n, mixing = levels.p, levels.n, levels.mixing
    base = _smoothed(levels.q, n)
    weight = (n / n.sum(axis=1, keepdims=True))[..., np.newaxis]
    centre = np.broadcast_to((weight * base).sum(axis=1, keepdims=True), base.shape)
    # Smoothing drew the base inwards: the family has to reach as far beyond the observed shares as that of `_evenness`.
    radii = RADII.copy()
    radii[-1] += JEFFREYS * p.shape[-1] / float(np.median(n))
    alike_observed, apart_observed = float(_overlap(_smoothed(p, n))), float(_sharpened(p, n, 0.75))

    def run(radii: FloatArray) -> FloatArray:
        return simulated(rng, n, family(base, centre, radii), draws, mixing)

    def matched(radii: FloatArray, runs: FloatArray) -> tuple[Belief, Belief]:
        fine = _refined(radii)
        members = family(base, centre, fine)
        overlap = per_member(lambda p: _overlap(_smoothed(p, n)), runs)
        apart = per_member(lambda p: _sharpened(p, n, 0.75), runs)
        return (
            matched_belief(alike_observed, _overlap(members), overlap, radii, fine),
            matched_belief(apart_observed, _apart(members), apart, radii, fine),
        )

    (alike, dense), runs = explored(run, matched, radii, z)
    low, value, high = (float(x) for x in dense.at([-z, 0.0, z]))
    # Few large differences among many that are none raise the observed value less than many small ones do; a statistic
    # whose mean never exceeds the score holds the lower end for these.
    at_observed = int(np.flatnonzero(radii == 1.0)[0])
    floor = float(_sharpened(p, n, 1.0)) - z * float(_sharpened(runs[at_observed], n, 1.0).std())
    # At the other extreme all differences are of one size, in units of their noise.
    step = np.sign(base - centre) * np.sqrt(centre)
    size = np.abs(base - centre).sum() / np.maximum(np.abs(step).sum(), 1e-12)
    even = centre + size * (step - step.mean(axis=-1, keepdims=True))

    def run_even(radii: FloatArray) -> FloatArray:
        runs = simulated(rng, n, family(even, centre, radii), draws, mixing)
        return per_member(lambda p: _sharpened(p, n, 0.75), runs)

    def matched_even(radii: FloatArray, runs: FloatArray) -> tuple[Belief]:
        fine = _refined(radii)
        return (matched_belief(apart_observed, _apart(family(even, centre, fine)), runs, radii, fine),)

    ((flat,), _) = explored(run_even, matched_even, radii, z)
    # Levels without a group in common leave no noise to measure: nothing there speaks against the largest distance.
    top = 1.0 if float(_apart(levels.q)) >= 1.0 else 0.0
    return alike, (max(value, top), min(low, max(floor, 0.0)), max(high, float(flat.at(z)), top))


def _refined(radii: FloatArray) -> FloatArray:
    # Close to the observed shares entropy and divergence of a group with a share of 0 change without limit.
    around = np.concatenate([1.0 - FINE, 1.0 + FINE * (radii[-1] - 1.0)])
    return np.unique(np.concatenate([np.linspace(0.0, radii[-1], 131), around, radii]))


def _overlap(p: FloatArray) -> FloatArray:
    overlap: FloatArray = np.exp(-kl(p[..., HIGH, :], p[..., LOW, :])).mean(axis=-1)
    return overlap


def _apart(p: FloatArray) -> FloatArray:
    apart: FloatArray = total_variation(p[..., HIGH, :], p[..., LOW, :]).mean(axis=-1)
    return apart


def _smoothed(p: FloatArray, n: IntArray) -> FloatArray:
    """Shares [..., k] after Jeffreys' further answers for each group, on top of n [...].

    A share of 0 would end all comparison: a group that was not chosen in n answers may be chosen rarely. Krichevsky &
    Trofimov (1981) add as much.
    """
    size = n[..., np.newaxis]
    smoothed: FloatArray = (size * p + JEFFREYS) / (size + JEFFREYS * p.shape[-1])
    return smoothed


def _sharpened(p: FloatArray, n: IntArray, sharpness: float) -> FloatArray:
    """A statistic of the distance ½·Σ|p_high - p_low| of less bias than the plug-in's, mean over statistics.

    With x a group's difference in units of its own noise, |x| is replaced by E|x + cZ| - b·φ(x/c)·2/c, Z normal,
    c = BLUR, b = sharpness·(1 + c²): its mean is s·(E|t + Z| - 2·sharpness·φ(t)), s² = 1 + c², t the true difference
    over s. For `sharpness` 1 that is never above the true distance and exact at 0; for 0.75 the error has either sign,
    and is about a fifth of s at most, where the plug-in's reaches 0.8.
    """
    size = n.astype(np.float64)
    weight = (size / size.sum(axis=-1, keepdims=True))[..., np.newaxis]
    both = size.sum(axis=-1)[..., np.newaxis]
    high, low = p[..., HIGH, :], p[..., LOW, :]
    pooled = weight[..., HIGH, :] * high + weight[..., LOW, :] * low
    pooled = (pooled * both + JEFFREYS) / (both + JEFFREYS * p.shape[-1])
    noise = np.sqrt(pooled * (1.0 - pooled) * (1.0 / size).sum(axis=-1)[..., np.newaxis])
    x = (high - low) / noise
    bell = np.exp(-0.5 * (x / BLUR) ** 2) / math.sqrt(2.0 * math.pi)
    blurred = x * (2.0 * ndtr(x / BLUR) - 1.0) + 2.0 * BLUR * bell
    sharp = blurred - sharpness * (1.0 + BLUR**2) * 2.0 / BLUR * bell
    mean: FloatArray = 0.5 * over_groups(noise * sharp).mean(axis=-1)
    return mean


def _noise(
    plan: _Plan, levels: _Levels | None, rng: np.random.Generator, draws: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Joint normal quantiles [JOINT] of accuracy, entropy and overlap, dependent as in runs at the observed shares.

    They carry the dependence of the scores into those made of them.
    """
    p = _smoothed(plan.q, plan.n)
    runs = simulated(rng, plan.n.clip(1), p[np.newaxis], draws, plan.mixing)[0]
    weight = plan.there / plan.there.sum()
    right = np.where(plan.key, runs, 0.0).sum(axis=-1)
    fact, even = (right * weight).sum(axis=(-2, -1)), (entropy(runs) * weight).sum(axis=(-2, -1))
    both = plan.there.all(axis=1)
    alike = fact if levels is None else _overlap(_smoothed(runs[:, both], levels.n))
    scores = np.stack([_normal_scores(each) for each in (fact, even, alike)])
    # A few hundred runs tell how the scores go together; how far they reach out needs more draws than that.
    scale, turn = np.linalg.eigh(np.corrcoef(scores))
    joint = turn @ (np.sqrt(np.maximum(scale, 0.0))[:, np.newaxis] * rng.standard_normal((3, JOINT)))
    return joint[0], joint[1], joint[2]


def _normal_scores(x: FloatArray) -> FloatArray:
    rank = np.empty(x.size)
    rank[np.argsort(x, kind="stable")] = np.arange(1, x.size + 1)
    scores: FloatArray = ndtri((rank - 0.5) / x.size)
    return scores


def _below_curve(s_fact: FloatArray, s_e: FloatArray, k: int) -> FloatArray:
    """Distance to the curve g, and 0 above it: no model's population is there (g is concave), only noise."""
    x, y = np.broadcast_arrays(s_fact, s_e)
    below = ~(y >= g(x, k))
    found = np.zeros(x.shape)
    found[below] = distance(x[below], y[below], k)
    return found


def share_bounds(counts: ArrayLike, alpha: float, effective: float | None = None) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds [k] that hold for all k shares of one topic at once with probability 1 - alpha or more.

    `counts` [k]; `effective` independent answers among them. Clopper & Pearson's (1934) exact interval for each group
    at alpha/k (Bonferroni).
    """
    x = np.asarray(counts, dtype=np.float64)
    answered = float(x.sum())
    if answered <= 0:
        return np.zeros(x.shape), np.ones(x.shape)
    n = answered if effective is None else min(effective, answered)
    x = x * (n / answered)
    tail = alpha / x.size / 2.0
    low = np.where(x > 0, betaincinv(np.maximum(x, 1e-12), n - x + 1.0, tail), 0.0)
    high = np.where(x < n, betaincinv(x + 1.0, np.maximum(n - x, 1e-12), 1.0 - tail), 1.0)
    return low, high


def most_even(low: ArrayLike, high: ArrayLike) -> FloatArray:
    """The most even shares [k] with low <= p <= high: the largest entropy and the smallest gap that the box allows.

    It is clip(level, low, high) at the level where the shares sum to 1, which every other distribution in the box
    majorises, so that a claim against it holds against all of them. Needs sum(low) <= 1 <= sum(high).
    """
    a, b = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if a.sum() > 1.0 + 1e-9 or b.sum() < 1.0 - 1e-9 or np.any(a > b):
        raise ValueError(f"no distribution lies between {a.tolist()} and {b.tolist()}")
    knots = np.unique(np.concatenate([a, b]))
    sums = np.clip(knots[:, np.newaxis], a, b).sum(axis=1)
    level = np.interp(1.0, sums, knots)
    p: FloatArray = np.clip(level, a, b)
    return p


def further_samples(estimate: Estimate, limit: float) -> float | None:
    """How many more answers, in multiples of those there, would put the interval on one side of the limit.

    Widths shrink with the root of n. 0 where the interval is on one side already; None where the estimate sits on the
    limit, or there is none: no number of samples is known to decide.
    """
    away = abs(estimate.value - limit)
    if math.isnan(away) or away < ON_LIMIT:
        return None
    reach = estimate.value - estimate.low if limit < estimate.value else estimate.high - estimate.value
    return max((reach / away) ** 2 - 1.0, 0.0)
