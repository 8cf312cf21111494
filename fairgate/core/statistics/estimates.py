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
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairgate.core.statistics.distributions import distance, entropy, g, kl, over_groups, total_variation
from fairgate.core.statistics.special import betaincinv, ndtr, ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from fairgate.core.statistics.unmixing import ConfusionMatrix

FloatArray = NDArray[np.float64]
Family: TypeAlias = "Callable[[FloatArray], FloatArray]"
IntArray = NDArray[np.int64]

HIGH, LOW = 0, 1

# Members of the family that are simulated: 0 is the perfectly fair model, 1 what was observed, more is further away.
RADII = np.array([0.0, 0.3, 0.6, 0.8, 1.0, 1.3])
# Over few topics what was observed may be much nearer to fair than what it may come from: as long as the last member is
# not far enough away to be excluded, one further away by this factor is added.
GROWTH, FARTHEST = 1.6, 60.0
FINE = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 140)])
STEPS = np.concatenate([[0.0], np.geomspace(1e-7, 1.0, 200)])
JOINT, DRAWS_OF_DISTANCE = 10_000, 250

# Added to each group's count where a share of 0 would end all comparison: a group that was not chosen in n answers may
# be chosen rarely. Also what Krichevsky & Trofimov (1981) and Jeffreys' prior add.
JEFFREYS = 0.5
# Width, in units of the noise, over which |x| is blurred before it is sharpened again (`_sharpened`).
BLUR = 0.8

# Strongly uneven shares leave the spread along the family uncertain: intervals are wider by this multiple of 1/n, which
# brought the mean coverage of such truths at n = 20 and 30 up by two points (docs/statistics.md).
CALIBRATION, FEWEST = 2.0, 20.0
# The same for scores that compare each row with shares of its own, at as few as 2 to 4 answers a row.
LIKENESS = 5.0

# Behind a detector that errs, the family holds what is not asked about (which of the wrong groups it was) as observed.
# What that leaves out is made up for by wider intervals: without it accuracy was covered in 82 to 98 % of runs.
MIXED = 1.2

# Effective answers a topic from which coverage was measured to be what it says (docs/statistics.md).
RELIABLE_FROM = {"s_fact": 1, "s_e": 20, "s_kld": 20, "tv": 20}
# Next to the boundary it was measured to be less whatever n is: where fewer answers than this are outside the most
# frequent group, and where a group is chosen at high and next to never at low in more than this share of statistics.
FEW, EXCLUSIVE = 5.0, 0.25
# What is not reliable has an interval wider by this factor.
CAUTION = 2.0
# Nearer to the limit than rounding: no number of samples is known to decide.
ON_LIMIT = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A score's population value with its interval, 0 to 1, low <= value <= high; NaN over nothing.

    `reliable` is False where there are too few answers a topic for the stated coverage; the interval is then widened.
    """

    value: float
    low: float
    high: float
    reliable: bool


@dataclass(frozen=True)
class Estimates:
    """The scores of one task, context and attribute, from one set of simulations."""

    s_fact: Estimate
    s_e: Estimate
    s_kld: Estimate
    s_fair: Estimate
    tv: Estimate
    d: Estimate


NOTHING = Estimate(math.nan, math.nan, math.nan, reliable=False)


@dataclass(frozen=True, eq=False)
class _Belief:
    """A confidence distribution: `values`, rising, and for each `z`, the normal quantile of the confidence below it.

    `reach` is the quantile, without its sign, of the member that is furthest from fair.
    """

    z: FloatArray
    values: FloatArray
    reach: float = math.inf

    def at(self, z: ArrayLike) -> FloatArray:
        found: FloatArray = np.interp(np.asarray(z, dtype=np.float64), self.z, self.values)
        return found


def estimate_scores(
    counts: ArrayLike,
    key: ArrayLike,
    *,
    effective: ArrayLike | None = None,
    left: ArrayLike | None = None,
    rng: np.random.Generator,
    mixing: ConfusionMatrix | None = None,
    confidence: float = 0.95,
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
        return Estimates(*(NOTHING,) * 6)
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

    def read(belief: _Belief | None, score: str, z: float = z) -> Estimate:
        if belief is None:
            return NOTHING
        low, value, high = (float(x) for x in belief.at([-z, 0.0, z]))
        return _bounded(value, low, high, total, confidence, reliable=enough[score])

    s_fact, s_e = read(fact, "s_fact", normal), read(even, "s_e")
    s_kld, tv = read(alike, "s_kld"), NOTHING
    if apart is not None:
        tv = _bounded(*apart, total, confidence, reliable=enough["tv"])

    fair = d = NOTHING
    tails = [ndtr(-z), ndtr(z)]
    if alike is not None:
        a, b = even.at(v), alike.at(w)
        low, high = np.quantile(a + b - a * b, tails)
        value = s_e.value + s_kld.value - s_e.value * s_kld.value
        fair = _bounded(value, float(low), float(high), total, confidence, reliable=s_e.reliable and s_kld.reliable)
    if fact is not None:
        few = slice(0, DRAWS_OF_DISTANCE)
        low, high = np.quantile(_below_curve(fact.at(u[few]), even.at(v[few]), plan.k), tails)
        # Where both flanks of the curve are equally near, the distance has a ridge, which no draw exceeds: the interval
        # holds all distances that the accuracies in their own interval allow.
        across, along = np.linspace(-z, z, 33), np.array([-z, 0.0, z]) / math.sqrt(2.0)
        box = _below_curve(fact.at(across)[:, np.newaxis], even.at(along), plan.k)
        low, high = min(low, box.min()), max(high, box.max())
        value = float(_below_curve(np.array(s_fact.value), np.array(s_e.value), plan.k))
        d = _bounded(value, float(low), float(high), total, confidence, reliable=s_e.reliable)
    return Estimates(s_fact=s_fact, s_e=s_e, s_kld=s_kld, s_fair=fair, tv=tv, d=d)


def estimate_accuracy(
    counts: ArrayLike,
    key: ArrayLike,
    *,
    effective: ArrayLike | None = None,
    left: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """`s_fact` of `estimate_scores` for answers that no detector read: alone, since it takes no simulation."""
    plan = _Plan.of(counts, key, effective, None, left)
    belief = None if plan is None else _fact(plan)
    if plan is None or belief is None:
        return NOTHING
    every = plan.n[plan.n > 0]
    normal = float(ndtri((1.0 + confidence) / 2.0))
    low, value, high = (float(x) for x in belief.at([-normal, 0.0, normal]))
    enough = bool(np.median(every) >= RELIABLE_FROM["s_fact"])
    return _bounded(value, low, high, float(every.sum()), confidence, reliable=enough)


def estimate_likeness(
    score: Callable[[FloatArray, FloatArray], FloatArray],
    counts: ArrayLike,
    actual: ArrayLike,
    weights: ArrayLike,
    *,
    rng: np.random.Generator,
    mixing: ConfusionMatrix | None = None,
    confidence: float = 0.95,
    replicates: int = 600,
) -> Estimate:
    """The estimate of a score of how like generated shares are to actual ones, which differ from row to row.

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
        return NOTHING
    x, centre, w = x[keep], centre[keep], w[keep] / w[keep].sum()
    n = x.sum(axis=-1).astype(np.int64)
    found_shares = x / n[:, np.newaxis]
    p = found_shares if mixing is None else mixing.unmixed(found_shares)
    found_centre = centre if mixing is None else centre @ mixing.matrix

    def mean(q: FloatArray, of: FloatArray) -> FloatArray:
        whole: FloatArray = score(q, of) @ w
        return whole

    order = np.argsort(-np.abs(p - centre).sum(axis=-1) * np.sqrt(n), kind="stable")
    start = np.empty(w.size)
    start[order] = np.cumsum(w[order]) - w[order]

    def few(radii: FloatArray) -> FloatArray:
        share = np.clip((radii[:, np.newaxis] - start) / w, 0.0, np.maximum(radii, 1.0)[:, np.newaxis])
        q = np.maximum(centre + share[..., np.newaxis] * (p - centre), 0.0)
        members: FloatArray = q / q.sum(axis=-1, keepdims=True)
        return members

    draws = max(replicates // len(RADII), 2)
    z = float(ndtri((1.0 + confidence) / 2.0)) * (1.0 + LIKENESS / max(float(np.median(n)), FEWEST / 2.0))
    z *= 1.0 if mixing is None else MIXED
    observed = float(mean(found_shares, found_centre))

    def run(radii: FloatArray, family: Family) -> FloatArray:
        return mean(_simulated(rng, n, family(radii), draws, mixing), found_centre)

    def matched(radii: FloatArray, runs: FloatArray, family: Family) -> tuple[_Belief]:
        fine = np.unique([*np.linspace(0.0, radii[-1], 66), *radii])
        return (_matched(observed, mean(family(fine), centre), runs, radii, fine),)

    found = []
    for family in (lambda radii: _family(p, centre, radii), few):
        ((belief,), _) = _explored(partial(run, family=family), partial(matched, family=family), RADII, z)
        found.append([float(each) for each in belief.at([-z, 0.0, z])])
    (low, value, high), (low_few, _, high_few) = found
    low, high = min(low, low_few), max(high, high_few)
    if mixing is not None:
        # Errors make a painter of one group look as if some rows had another: no row's own shares then lead to it.
        same = np.broadcast_to(mixing.unmixed(x.sum(axis=0) / x.sum()), p.shape)

        def together(radii: FloatArray) -> FloatArray:
            return _family(same, centre, radii)

        (belief,) = matched(RADII, run(RADII, together), together)
        if np.any(within := np.abs(belief.z) <= z):
            low, high = min(low, belief.values[within].min()), max(high, belief.values[within].max())
    # Weights lessen what so many answers can say of answers of another kind.
    total = 1.0 / float((w**2 / n).sum())
    return _bounded(value, low, high, total, confidence, reliable=True)


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


def _family(p: FloatArray, centre: FloatArray, radii: FloatArray) -> FloatArray:
    """Models centre + r·(p - centre), cut to shares: [R, ..., k] for radii [R]."""
    r = radii.reshape(-1, *(1,) * p.ndim)
    q = np.maximum(centre + r * (p - centre), 0.0)
    members: FloatArray = q / q.sum(axis=-1, keepdims=True)
    return members


def _simulated(
    rng: np.random.Generator, n: IntArray, members: FloatArray, draws: int, mixing: ConfusionMatrix | None = None
) -> FloatArray:
    """Shares [R, draws, ..., k] of `draws` runs of n [...] answers under each member [R, ..., k], as they are found."""
    size = (len(members), draws, *n.shape)
    shown = members[:, np.newaxis]
    if mixing is not None:
        # One detector reads a whole run: its errors are the same in all topics.
        shown = np.einsum("r...i,dij->rd...j", members, mixing.drawn(rng, draws), optimize=True)
        shown = shown / shown.sum(axis=-1, keepdims=True)
    simulated = np.empty((*size, members.shape[-1]))
    for found, member in zip(simulated, shown, strict=True):
        np.divide(rng.multinomial(np.broadcast_to(n, size[1:]), member), n[..., np.newaxis], out=found)
    return simulated


def _scored(score: Callable[[FloatArray], FloatArray], runs: FloatArray) -> FloatArray:
    """A score of simulated runs [R, draws, ...]: [R, draws]. One member's runs stay in the processor's cache."""
    return np.stack([score(member) for member in runs])


def _matched(observed: float, truth: FloatArray, simulated: FloatArray, radii: FloatArray, fine: FloatArray) -> _Belief:
    """The confidence distribution of a score of which `observed` is a sample statistic.

    `truth` [F] the score at the fine radii; `simulated` [R, draws] the statistic at the coarse ones. The statistic is a
    mean over many topics, hence nearly normal, with mean, standard deviation and skewness that vary along the family.
    """
    centre, deviation = simulated.mean(axis=1), simulated.std(axis=1)
    lopsided = ((simulated - centre[:, np.newaxis]) ** 3).mean(axis=1) / np.maximum(deviation, 1e-9) ** 3
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
    return _Belief(np.maximum.accumulate(z), np.maximum.accumulate(truth), reach)


def _explored(
    run: Callable[[FloatArray], FloatArray],
    matched: Callable[[FloatArray, FloatArray], tuple[_Belief, ...]],
    radii: FloatArray,
    z: float,
) -> tuple[tuple[_Belief, ...], FloatArray]:
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


def _fact(plan: _Plan) -> _Belief | None:
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
    return _Belief(np.maximum.accumulate(z), np.concatenate([below[:0:-1], 1.0 - above]))


def _fact_behind(plan: _Plan, mixing: ConfusionMatrix, rng: np.random.Generator, draws: int) -> _Belief | None:
    """Accuracy behind a detector's errors, along the family from nobody of a right group to none but these."""
    asked = plan.there & plan.key.any(axis=-1)
    if not asked.any():
        return None
    p, key, n = plan.p[asked], plan.key[asked], plan.n[asked]
    q = _smoothed(plan.q[asked], n, JEFFREYS)
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
    simulated = accuracy(_simulated(rng, n, members(coarse), draws, mixing))
    return _matched(float(accuracy(p)), accuracy(members(fine)), simulated, coarse, fine)


def _evenness(plan: _Plan, rng: np.random.Generator, draws: int, z: float) -> _Belief:
    """Mean normalised entropy over the answered topics, along the family from uniform through the observed shares."""
    p, q, n = plan.p[plan.there], plan.q[plan.there], plan.n[plan.there]
    centre, observed = np.full_like(q, 1.0 / plan.k), float(entropy(p).mean())

    def run(radii: FloatArray) -> FloatArray:
        runs = _simulated(rng, n, _family(q, centre, radii), draws, plan.mixing)
        return _scored(lambda p: entropy(p).mean(axis=-1), runs)

    def matched(radii: FloatArray, runs: FloatArray) -> tuple[_Belief]:
        fine = _refined(radii)
        return (_matched(observed, entropy(_family(q, centre, fine)).mean(axis=-1), runs, radii, fine),)

    ((belief,), _) = _explored(run, matched, RADII, z)
    return belief


def _likeness(
    levels: _Levels, rng: np.random.Generator, draws: int, z: float
) -> tuple[_Belief, tuple[float, float, float]]:
    """How alike the two levels are: the belief of mean exp(-KL), and value, low, high of the mean total variation.

    The family runs from equal levels (the pooled shares) through the observed ones.
    """
    p, n, mixing = levels.p, levels.n, levels.mixing
    base = _smoothed(levels.q, n, JEFFREYS)
    weight = (n / n.sum(axis=1, keepdims=True))[..., np.newaxis]
    centre = np.broadcast_to((weight * base).sum(axis=1, keepdims=True), base.shape)
    # Smoothing drew the base inwards: the family has to reach as far beyond the observed shares as that of `_evenness`.
    radii = RADII.copy()
    radii[-1] += JEFFREYS * p.shape[-1] / float(np.median(n))
    alike_observed, apart_observed = float(_overlap(_smoothed(p, n, JEFFREYS))), float(_sharpened(p, n, 0.75))

    def run(radii: FloatArray) -> FloatArray:
        return _simulated(rng, n, _family(base, centre, radii), draws, mixing)

    def matched(radii: FloatArray, runs: FloatArray) -> tuple[_Belief, _Belief]:
        fine = _refined(radii)
        members = _family(base, centre, fine)
        overlap = _scored(lambda p: _overlap(_smoothed(p, n, JEFFREYS)), runs)
        apart = _scored(lambda p: _sharpened(p, n, 0.75), runs)
        return (
            _matched(alike_observed, _overlap(members), overlap, radii, fine),
            _matched(apart_observed, _apart(members), apart, radii, fine),
        )

    (alike, dense), runs = _explored(run, matched, radii, z)
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
        runs = _simulated(rng, n, _family(even, centre, radii), draws, mixing)
        return _scored(lambda p: _sharpened(p, n, 0.75), runs)

    def matched_even(radii: FloatArray, runs: FloatArray) -> tuple[_Belief]:
        fine = _refined(radii)
        return (_matched(apart_observed, _apart(_family(even, centre, fine)), runs, radii, fine),)

    ((flat,), _) = _explored(run_even, matched_even, radii, z)
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


def _smoothed(p: FloatArray, n: IntArray, amount: float) -> FloatArray:
    """Shares [..., k] after `amount` further answers for each group, on top of n [...]."""
    size = n[..., np.newaxis]
    smoothed: FloatArray = (size * p + amount) / (size + amount * p.shape[-1])
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
    p = _smoothed(plan.q, plan.n, JEFFREYS)
    runs = _simulated(rng, plan.n.clip(1), p[np.newaxis], draws, plan.mixing)[0]
    weight = plan.there / plan.there.sum()
    right = np.where(plan.key, runs, 0.0).sum(axis=-1)
    fact, even = (right * weight).sum(axis=(-2, -1)), (entropy(runs) * weight).sum(axis=(-2, -1))
    both = plan.there.all(axis=1)
    alike = fact if levels is None else _overlap(_smoothed(runs[:, both], levels.n, JEFFREYS))
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


def _bounded(value: float, low: float, high: float, total: float, confidence: float, *, reliable: bool) -> Estimate:
    """An estimate inside 0 to 1, with an end that `total` answers of one kind allow (Clopper & Pearson 1934)."""
    least = ((1.0 - confidence) / 2.0) ** (1.0 / total)
    if not reliable:
        low, high = value - CAUTION * (value - low), value + CAUTION * (high - value)
    value = min(max(value, 0.0), 1.0)
    low, high = min(low, value, least), max(high, value, 1.0 - least)
    return Estimate(value, max(low, 0.0), min(high, 1.0), reliable)


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
