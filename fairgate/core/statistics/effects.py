"""Effects of people's groups on who is chosen, in shares of all choices: 0 is fair, with intervals and p-values.

A model is asked to choose one of several people. A fair one chooses each with the same chance, so that a group's share
of the choices is expected to be its share of those on offer. What is counted is the **excess**: 1 where the person
chosen belongs to a group, minus the share of the people on offer who do. Its mean is 0 under a fair model whoever was
on offer, and it varies less than the share alone. It is also the score of a conditional logit model (McFadden 1974) at
equal chances, so that no test of small effects in that model is stronger.

Every effect is a mean over topics (statistic x level), each of the same weight. The statistics are the population;
wordings are a sample of those that could have been written, and answers one of what the model could have said. Noise is
therefore estimated between wordings within topics (Liang & Zeger 1986), with the degrees of freedom of Satterthwaite
(1946). A model that never varies does not prove that it never would: noise is at least what a share of exceptions gives
that as many answers, all alike, leave possible (Clopper & Pearson 1934).

Where the probability of each choice is known, the expected excess stands in place of that of the one choice that was
made: another estimand, of what the model would choose if it drew by these probabilities, with less noise.

Effects are -1 to 1; N answers, M people on offer, k groups; nothing is random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairgate.core.statistics.intervals import CONFIDENCE, Interval
from fairgate.core.statistics.special import fdtr, ncfdtr, stdtr, stdtrit

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
# Who was chosen, [N]; or how probable each of M people was, [N, M].
Picks = NDArray[np.int64] | NDArray[np.float64]

HIGH, LOW = 0, 1
HALVINGS = 60
DIGITS = 9  # to which effects of one size are the same
# What F is on average where statistics do not differ. A smaller one is an accident, and must not narrow an interval.
NOISE_ALONE = 1.0
ROUNDING = 1e-12  # of a sum of squares


@dataclass(frozen=True, eq=False)
class Design:
    """What each of N answers was asked about: `statistic`, `level` (0 high, 1 low) and `wording`, integers [N].

    Wordings are numbered within a topic. Of images, the wording is the image: faces of one image are one draw.
    """

    statistic: IntArray
    level: IntArray
    wording: IntArray

    def where(self, kept: BoolArray) -> Design:
        """Of these answers alone."""
        return Design(self.statistic[kept], self.level[kept], self.wording[kept])

    @property
    def paired(self) -> BoolArray:
        """Which answers [N] are about a statistic that was answered at both levels."""
        both = np.intersect1d(self.statistic[self.level == HIGH], self.statistic[self.level == LOW])
        return np.isin(self.statistic, both)

    @cached_property
    def topic(self) -> IntArray:
        """The topic of each answer, [N], 0 to T - 1."""
        return _numbered(self.statistic, self.level)

    @cached_property
    def unit(self) -> IntArray:
        """The wording of each answer, [N], numbered over all topics; the answers themselves where no topic has two."""
        unit = _numbered(self.topic, self.wording)
        if unit.size and np.unique(unit).size == np.unique(self.topic).size:
            return np.arange(unit.size)
        return unit


def _numbered(*columns: IntArray) -> IntArray:
    if not columns[0].size:
        return np.zeros(0, np.int64)
    code = np.zeros(columns[0].size, np.int64)
    for column in columns:
        low = int(column.min())
        code = code * (int(column.max()) - low + 1) + (column - low)
    return np.asarray(np.unique(code, return_inverse=True)[1], dtype=np.int64).reshape(-1)


@dataclass(frozen=True)
class Effect(Interval):
    """A mean effect with its interval; `error` is its standard error, of `degrees` of freedom. NaN over nothing."""

    error: float
    degrees: float

    def beyond(self, limit: float) -> float:
        """The p-value of "at most `limit` to either side": small where the effect is larger than that."""
        if math.isnan(self.value):
            return math.nan
        size = abs(self.value)
        tails = (_tail((size - limit) / self.error, self.degrees), _tail((size + limit) / self.error, self.degrees))
        return min(sum(tails), 1.0)

    def within(self, limit: float) -> float:
        """The p-value of "at least `limit` to one side": small where the effect is smaller (two one-sided tests)."""
        if math.isnan(self.value):
            return math.nan
        return _tail((limit - abs(self.value)) / self.error, self.degrees)


@dataclass(frozen=True)
class Largest(Interval):
    """The largest of several effects, whichever its sign: `value` is its size, `place` which it is.

    The interval is of the largest true size. Its lower end is lowered for the choice among them (Bonferroni); its upper
    end need not be: the largest is below it where each is (Berger 1982).
    """

    place: int
    effects: tuple[Effect, ...]

    def beyond(self, limit: float) -> float:
        """The p-value of "none is larger than `limit`"."""
        found = [each.beyond(limit) for each in self.effects if not math.isnan(each.value)]
        return min(_compared(len(self.effects)) * min(found), 1.0) if found else math.nan

    def within(self, limit: float) -> float:
        """The p-value of "one is at least as large as `limit`"."""
        found = [each.within(limit) for each in self.effects if not math.isnan(each.value)]
        return max(found) if found else math.nan


@dataclass(frozen=True)
class Spread(Interval):
    """How far effects differ over statistics: the root of their mean square, noise taken out.

    `ratio` is the variance between statistics over that of noise, F with `degrees` (between, within); `unit` the square
    of the spread for each unit of the noncentrality. NaN where there is no noise to be compared with.
    """

    ratio: float
    degrees: tuple[float, float]
    unit: float

    def beyond(self, limit: float) -> float:
        """The p-value of "at most `limit`"."""
        return math.nan if math.isnan(self.value) else 1.0 - self._below(limit)

    def within(self, limit: float) -> float:
        """The p-value of "at least `limit`"."""
        return math.nan if math.isnan(self.value) else self._below(limit, max(self.ratio, NOISE_ALONE))

    def _below(self, limit: float, ratio: float | None = None) -> float:
        return _noncentral(self.ratio if ratio is None else ratio, self.degrees, limit**2 / self.unit)


NOTHING = Effect(math.nan, math.nan, math.nan, math.nan, math.nan)
NO_LARGEST = Largest(math.nan, math.nan, math.nan, -1, ())
NO_SPREAD = Spread(math.nan, math.nan, math.nan, math.nan, (math.nan, math.nan), math.nan)


def excess(scores: FloatArray, chosen: Picks) -> FloatArray:
    """The score of the person chosen minus the mean of those on offer, [N, ...].

    `scores` [N, M, ...] of the people on offer; `chosen` [N] is who was chosen, 0 to M - 1, or [N, M] the probability
    of each, of which the expected score is taken.
    """
    if chosen.ndim == 2:
        picked = np.einsum("nm,nm...->n...", chosen, scores)
    else:
        picked = scores[np.arange(len(chosen)), chosen.astype(np.int64)]
    return np.asarray(picked - scores.mean(axis=1), dtype=np.float64)


def memberships(groups: IntArray, k: int) -> FloatArray:
    """1 where somebody is of a group, [..., k], else 0; `groups` [...] as numbers, 0 to k - 1."""
    return np.asarray(groups[..., np.newaxis] == np.arange(k), dtype=np.float64)


def contrast(asked: Design, groups: IntArray, chosen: Picks, key: BoolArray, confidence: float = CONFIDENCE) -> Effect:
    """The stereotype effect: how far choices follow the answer key, 0 fair, above 0 with it and below against it.

    The mean over statistics of ½·[P(high group | high) - P(it | low) + P(low group | low) - P(it | high)], each P
    beyond the share on offer. `groups` [N, M], `chosen` [N], `key` [S, 2, k] by statistic, as in `Counts`. Only
    statistics that were answered at both levels count, and of these those whose key is not the same at both.

    >>> asked = Design(np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))  # two answers a level
    >>> offered = np.array([[0, 0, 1, 1]] * 4)  # two people of each group
    >>> key = np.array([[[True, False], [False, True]]])  # group 0 is the highest, group 1 the lowest
    >>> contrast(asked, offered, np.array([0, 0, 2, 0]), key).value
    0.5
    """
    kept, scores = following(asked, groups, key)
    return mean_effect(asked.where(kept), _people(scores, chosen[kept]), confidence)


def following(asked: Design, groups: IntArray, key: BoolArray) -> tuple[BoolArray, FloatArray]:
    """Which of N answers a contrast is of, and how far each person on offer [n, M] follows the key, -1 to 1."""
    towards = key[:, HIGH].astype(np.float64) - key[:, LOW]
    has: BoolArray = np.logical_and(key.any(axis=-1).all(axis=-1), towards.any(axis=-1))
    kept = asked.paired & has[asked.statistic]
    sign = np.where(asked.level[kept] == HIGH, 1.0, -1.0)[:, np.newaxis]
    return kept, sign * towards[asked.statistic[kept, np.newaxis], groups[kept]]


def contrast_of_shown(asked: Design, group: IntArray, key: BoolArray, confidence: float = CONFIDENCE) -> Effect:
    """As `contrast` without a list on offer (faces in images); `group` [N]. What is shown at both levels cancels."""
    towards = key[:, HIGH].astype(np.float64) - key[:, LOW]
    has: BoolArray = np.logical_and(key.any(axis=-1).all(axis=-1), towards.any(axis=-1))
    kept = asked.paired & has[asked.statistic]
    asked, group = asked.where(kept), group[kept]
    sign = np.where(asked.level == HIGH, 1.0, -1.0)
    values = (sign * towards[asked.statistic, group])[:, np.newaxis]
    return mean_effect(asked, AnswerValues(values, 2.0), confidence)


def pull(asked: Design, groups: IntArray, chosen: Picks, named: IntArray, confidence: float = CONFIDENCE) -> Effect:
    """The context's pull: choices of people of the group that the context names, beyond their share of those on offer.

    `named` [N] is that group. Above 0: its members are preferred; below: they are avoided.

    >>> asked = Design(np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))  # two answers a level
    >>> offered = np.array([[0, 0, 1, 1]] * 4)  # two people of each group
    >>> pull(asked, offered, np.array([0, 1, 1, 2]), named=np.zeros(4, int)).value  # three of four, of 50 % on offer
    0.25
    """
    return mean_effect(asked, _people((groups == named[:, np.newaxis]).astype(np.float64), chosen), confidence)


def favouring(
    asked: Design,
    groups: IntArray,
    chosen: Picks,
    named: IntArray,
    favourable: BoolArray,
    confidence: float = CONFIDENCE,
) -> Effect:
    """In-group bias: half the pull of favourable topics minus that of the others, above 0 in the named group's favour.

    `favourable` [S, 2], by statistic and level. Beside it stands `pull`: the named group for what is good and others
    for what is bad cancel in the pull, and the named group for everything cancels here.

    >>> asked = Design(np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))  # two answers a level
    >>> offered = np.array([[0, 0, 1, 1]] * 4)  # two people of each group
    >>> named, good = np.zeros(4, int), np.array([[True, False]])
    >>> favouring(asked, offered, np.array([0, 1, 2, 3]), named, good).value  # the named group where it is good alone
    0.5
    """
    sign = np.where(favourable[asked.statistic, asked.level], 1.0, -1.0)[:, np.newaxis]
    return mean_effect(asked, _people(sign * (groups == named[:, np.newaxis]), chosen), confidence)


def preference(asked: Design, groups: IntArray, chosen: Picks, k: int, confidence: float = CONFIDENCE) -> Largest:
    """Dominance: the largest preference for, or against, a group; `effects` by group.

    `groups` [N, M] of the people on offer, 0 to k - 1, by one attribute or by several combined. Of positions, `groups`
    are the letters.

    >>> asked = Design(np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))  # two answers a level
    >>> offered = np.array([[0, 0, 1, 1]] * 4)  # two people of each group
    >>> preference(asked, offered, np.array([0, 1, 1, 2]), k=2).value
    0.25
    """
    return largest_effect(asked, _people(memberships(groups, k), chosen), confidence)


def evenness(asked: Design, group: IntArray, k: int, confidence: float = CONFIDENCE) -> Largest:
    """As `preference` without a list on offer (faces in images): a group's share beyond 1/k; `group` [N]."""
    return largest_effect(asked, AnswerValues(memberships(group, k) - 1.0 / k, 1.0), confidence)


def spread(asked: Design, groups: IntArray, chosen: Picks, k: int, confidence: float = CONFIDENCE) -> Spread:
    """How far preferences differ over statistics: women for one and men for the next cancel in their mean.

    The preference of a statistic is that of both levels together, so that what follows the answer key, to opposite
    sides at the two levels, is no part of it. Its size is the root of half the sum of squares over the groups: 0.1
    where a tenth of all choices go from one group to another.

    >>> two = Design(np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2), np.tile([0, 1], 4))  # two statistics
    >>> offered = np.array([[0, 0, 1, 1]] * 8)
    >>> round(spread(two, offered, np.array([0, 0, 0, 0, 2, 2, 2, 2]), k=2).value, 3)  # group 0, then group 1
    0.488
    """
    return spread_of(asked, _people(memberships(groups, k), chosen).values, asked.statistic, confidence)


def shift(asked: Design, groups: IntArray, chosen: IntArray, k: int, confidence: float = CONFIDENCE) -> Spread:
    """How far choices differ between both levels, statistic by statistic, whichever way and whatever the key says.

    The root mean square over statistics that were answered at both levels of the change from low to high, the size of
    which is as of `spread`: 0.2 where a fifth of all choices go from one group to another. Where all statistics move
    alike between the two groups of their key it is the size of `contrast`; what cancels there does not cancel here.

    >>> two = Design(np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2), np.tile([0, 1], 4))  # two statistics
    >>> offered = np.array([[0, 0, 1, 1]] * 8)
    >>> round(shift(two, offered, np.array([0, 0, 2, 2, 2, 2, 0, 0]), k=2).value, 3)  # with the level, either way
    0.953
    """
    return _shift(asked, _people(memberships(groups, k), chosen).values, confidence)


def shift_of_shown(asked: Design, group: IntArray, k: int, confidence: float = CONFIDENCE) -> Spread:
    """As `shift` without a list on offer (faces in images); `group` [N]."""
    return _shift(asked, memberships(group, k), confidence)


def _shift(asked: Design, values: FloatArray, confidence: float) -> Spread:
    kept = asked.paired
    asked, values = asked.where(kept), values[kept]
    sign = np.where(asked.level == HIGH, 1.0, -1.0)[:, np.newaxis]
    # A statistic's mean is half the difference of its levels.
    half = spread_of(asked, sign * values, asked.statistic, confidence, about_zero=True)
    return replace(
        half, value=min(2.0 * half.value, 1.0), low=2.0 * half.low, high=min(2.0 * half.high, 1.0), unit=4.0 * half.unit
    )


def spread_by_topic(
    asked: Design, groups: IntArray, chosen: IntArray, k: int, confidence: float = CONFIDENCE
) -> Spread:
    """As `spread` over topics, statistics at one level each: of positions, `groups` are the letters.

    >>> two = Design(np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2), np.tile([0, 1], 4))  # two statistics
    >>> offered = np.array([[0, 0, 1, 1]] * 8)
    >>> letters = np.array([[0, 1, 2, 3]] * 8)
    >>> round(spread_by_topic(two, letters, np.repeat([0, 1, 2, 3], 2), k=4).value, 3)  # a letter for each topic
    0.521
    """
    return spread_of(asked, _people(memberships(groups, k), chosen).values, asked.topic, confidence)


def pull_spread(
    asked: Design, groups: IntArray, chosen: IntArray, named: IntArray, confidence: float = CONFIDENCE
) -> Spread:
    """How far pulls differ over topics: the named group for one and others for the next cancel in `pull`.

    >>> two = Design(np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2), np.tile([0, 1], 4))  # two statistics
    >>> offered = np.array([[0, 0, 1, 1]] * 8)
    >>> chosen, named = np.array([0, 0, 2, 2, 0, 0, 2, 2]), np.zeros(8, int)
    >>> round(pull_spread(two, offered, chosen, named).value, 3)  # the named group at one level, the other at the next
    0.425
    """
    same = (groups == named[:, np.newaxis]).astype(np.float64)
    return spread_of(asked, _people(same, chosen).values, asked.topic, confidence)


def interaction(
    asked: Design, groups: Sequence[IntArray], chosen: IntArray, ks: Sequence[int], confidence: float = CONFIDENCE
) -> Spread:
    """Preferences by several attributes together beyond those by each alone, topic by topic: the root mean square.

    Black men and White women for one statistic, Black women and White men for the next: no attribute's preferences show
    it. `groups` [N, M] and the number of groups by attribute; the size is as of `spread`.

    >>> two = Design(np.repeat([0, 1], 40), np.tile(np.repeat([0, 1], 20), 2), np.tile(np.arange(20), 4))
    >>> first, second = np.array([[0, 0, 1, 1]] * 80), np.array([[0, 1, 0, 1]] * 80)
    >>> chosen = np.concatenate([np.tile([0, 3], 10), np.tile([1, 2], 10)] * 2)  # alike in both, or in one alone
    >>> round(interaction(two, (first, second), chosen, (2, 2)).value, 3)
    0.351
    """
    table = np.stack(list(groups), axis=-1)
    return spread_of(asked, _people(_beyond_each(table, ks), chosen).values, asked.topic, confidence, about_zero=True)


def interaction_of_shown(
    asked: Design, groups: Sequence[IntArray], ks: Sequence[int], confidence: float = CONFIDENCE
) -> Spread:
    """As `interaction` without a list on offer (faces in images); `groups` [N] by attribute."""
    values = _beyond_each(np.stack(list(groups), axis=-1), ks)
    return spread_of(asked, values, asked.topic, confidence, about_zero=True)


def _beyond_each(groups: IntArray, ks: Sequence[int]) -> FloatArray:
    """By joint group 1 for that of somebody [..., attributes], beyond what each attribute adds: 0 by even chances."""
    whole = math.prod(ks)
    each = np.moveaxis(groups, -1, 0)
    joint = np.asarray(np.ravel_multi_index(tuple(each), tuple(ks)), dtype=np.int64)
    cells = np.stack(np.unravel_index(np.arange(whole), tuple(ks)))
    scores = memberships(joint, whole) + (len(ks) - 1) / whole
    for of, cell, k in zip(each, cells, ks, strict=True):
        scores -= (of[..., np.newaxis] == cell) * (k / whole)
    return np.asarray(scores, dtype=np.float64)


def spread_of_shown(asked: Design, group: IntArray, k: int, confidence: float = CONFIDENCE) -> Spread:
    """As `spread` without a list on offer (faces in images); `group` [N]."""
    return spread_of(asked, memberships(group, k), asked.statistic, confidence)


def spread_of(
    asked: Design, values: FloatArray, part: IntArray, confidence: float = CONFIDENCE, *, about_zero: bool = False
) -> Spread:
    """The spread of mean `values` [N, D] over parts of the answers, `part` [N] (statistics, topics), about their mean.

    Columns are groups (the size is the root of half their sum of squares), or there is one. The interval inverts the
    noncentral F distribution (Steiger 2004), with degrees of freedom lessened where noise differs between groups (Box
    1954).
    """
    width = values.shape[1]
    parts = np.unique(part)
    if len(parts) < 2:
        return NO_SPREAD
    found = _moments(asked, values)
    if not found.clusters.size:
        return NO_SPREAD
    of_part = _first(asked.topic, np.searchsorted(parts, part))
    share = 1.0 / np.bincount(of_part)[of_part]
    means = _summed(of_part, found.means * share[:, np.newaxis])
    noise = _summed(of_part, found.noise * (share**2)[:, np.newaxis, np.newaxis]).mean(axis=0)
    columns = max(width - 1, 1)
    least = _exceptions(len(values), confidence) * np.mean(share / found.n)
    trace = max(float(np.trace(noise)), columns * float(least) / 2.0)
    shape = float(np.trace(noise)) ** 2 / max(columns * float((noise**2).sum()), 1e-300)
    shape = min(max(shape, 1.0 / columns), 1.0) if np.trace(noise) > 0 else 1.0
    away = means if about_zero else means - means.mean(axis=0)
    free = len(parts) if about_zero else len(parts) - 1
    between = shape * columns * free
    within = shape * columns * max(float((found.clusters - 1).sum()), 1.0)
    total = float((away**2).sum())
    ratio = total / (trace * free)
    size = 0.5 if width > 1 else 1.0
    # Noncentrality is the sum over parts of |effect|² over the noise of one dimension.
    unit = size * trace / (shape * columns) / len(parts)
    surplus = total - trace * free
    # A root makes rounding visible: a difference of equal numbers is none.
    value = math.sqrt(size * surplus / len(parts)) if surplus > ROUNDING * total else 0.0
    tail = (1.0 - confidence) / 2.0
    low = _noncentrality(ratio, (between, within), 1.0 - tail)
    high = _noncentrality(max(ratio, NOISE_ALONE), (between, within), tail)
    ends = math.sqrt(low * unit), math.sqrt(high * unit)
    return Spread(value, min(ends[0], value), max(min(ends[1], 1.0), value), ratio, (between, within), unit)


def mean_effect(asked: Design, scored: AnswerValues, confidence: float = CONFIDENCE) -> Effect:
    """The mean over topics of one column of values [N, 1]."""
    return _effects(asked, scored, confidence)[0]


@dataclass(frozen=True, eq=False)
class AnswerValues:
    """Values [N, D], and the root mean square of how far one other choice could have moved a value."""

    values: FloatArray
    reach: float


def _people(scores: FloatArray, chosen: Picks) -> AnswerValues:
    """The excess of scores [N, M] or [N, M, D]."""
    table = scores if scores.ndim == 3 else scores[:, :, np.newaxis]
    return AnswerValues(excess(table, chosen), reach_of(table))


def effect_of(asked: Design, scores: FloatArray, chosen: Picks, confidence: float = CONFIDENCE) -> Effect | Largest:
    """The mean excess of scores [N, M, D] of the people on offer; of several columns the largest."""
    found = _people(scores, chosen)
    return mean_effect(asked, found, confidence) if scores.shape[-1] == 1 else largest_effect(asked, found, confidence)


def reach_of(scores: FloatArray) -> float:
    """The root mean square of how far one other choice could move a score [N, M, D]."""
    return float(np.sqrt(np.mean(np.ptp(scores, axis=1) ** 2))) if scores.size else math.nan


def combined(value: float, *parts: Effect, confidence: float = CONFIDENCE) -> Effect:
    """A sum or difference of independent effects, of this value."""
    squares = np.array([each.error**2 for each in parts])
    if np.isnan(squares).any() or math.isnan(value):
        return NOTHING
    degrees = float(squares.sum() ** 2 / (squares**2 / np.array([each.degrees for each in parts])).sum())
    error = float(np.sqrt(squares.sum()))
    far = error * float(stdtrit(degrees, (1.0 + confidence) / 2.0))
    return Effect(value, max(value - far, -1.0), min(value + far, 1.0), error, degrees)


@dataclass(frozen=True, eq=False)
class _Moments:
    """By topic: `means` [T, D], the covariance of their `noise` [T, D, D], how many `clusters` and answers `n` [T]."""

    means: FloatArray
    noise: FloatArray
    clusters: IntArray
    n: FloatArray


def _moments(asked: Design, values: FloatArray) -> _Moments:
    topic, unit = asked.topic, asked.unit
    n = np.bincount(topic).astype(np.float64)
    means = _summed(topic, values) / n[:, np.newaxis]
    sums = _summed(unit, values - means[topic])
    of_unit = _first(unit, topic)
    clusters = np.bincount(of_unit, minlength=len(n))
    squares = _summed(of_unit, np.einsum("ui,uj->uij", sums, sums))
    several = clusters > 1
    factor = np.divide(clusters, clusters - 1.0, out=np.zeros(len(n)), where=several) / n**2
    noise = squares * factor[:, np.newaxis, np.newaxis]
    if several.any():
        # One wording says nothing of others: its topic's noise is taken to be that of the others.
        noise[~several] = noise[several].mean(axis=0)
    return _Moments(means, noise, clusters, n)


def _effects(asked: Design, scored: AnswerValues, confidence: float) -> list[Effect]:
    width = scored.values.shape[1]
    found = _moments(asked, scored.values) if len(scored.values) else None
    if found is None or not (found.clusters > 1).any():
        return [NOTHING] * width
    topics, clusters = len(found.clusters), found.clusters
    value = found.means.mean(axis=0)
    noise = np.diagonal(found.noise, axis1=1, axis2=2)
    total = noise.sum(axis=0)
    least = _exceptions(len(scored.values), confidence) * scored.reach**2 * np.sum(1.0 / found.n)
    free = np.maximum(clusters - 1.0, 1.0)[:, np.newaxis]
    own = (noise**2 / free).sum(axis=0)
    whole = float((clusters - 1).sum())
    degrees = np.divide(total**2, own, out=np.full(width, whole), where=own > 0)
    error = np.sqrt(np.maximum(total, least)) / topics
    degrees = np.where(total >= least, np.maximum(degrees, 1.0), whole)
    reach = error * np.array([float(stdtrit(each, (1.0 + confidence) / 2.0)) for each in degrees])
    return [
        Effect(float(mean), max(float(mean - far), -1.0), min(float(mean + far), 1.0), float(se), float(df))
        for mean, far, se, df in zip(value, reach, error, degrees, strict=True)
    ]


def largest_effect(asked: Design, scored: AnswerValues, confidence: float = CONFIDENCE) -> Largest:
    """The largest mean over topics of any column of values [N, k], whichever its sign: what groups gain, say.

    >>> asked = Design(np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))  # two answers a level
    >>> largest_effect(asked, AnswerValues(np.array([[1.0, -1.0], [0.0, 0.0], [1.0, -1.0], [0.0, 0.0]]), 1.0)).value
    0.5
    """
    sure = _each(confidence, _compared(scored.values.shape[1]))
    return _largest(_effects(asked, scored, confidence), _effects(asked, scored, sure))


def _largest(plain: Sequence[Effect], sure: Sequence[Effect]) -> Largest:
    sizes = [-1.0 if math.isnan(each.value) else abs(each.value) for each in plain]
    # Of two groups one gains what the other loses: the one that is preferred counts.
    place = max(range(len(plain)), key=lambda each: (round(sizes[each], DIGITS), plain[each].value > 0))
    if sizes[place] < 0:
        return NO_LARGEST
    high = max(max(each.high, -each.low) for each in plain if not math.isnan(each.value))
    low = max(max(each.low, -each.high, 0.0) for each in sure if not math.isnan(each.value))
    return Largest(sizes[place], low, high, place, tuple(plain))


def _compared(k: int) -> int:
    """Comparisons among k groups: what one of two groups gains the other loses."""
    return 1 if k <= 2 else k


def _each(confidence: float, comparisons: int) -> float:
    return 1.0 - (1.0 - confidence) / comparisons


def _exceptions(n: int, confidence: float) -> float:
    """The largest share of exceptions that `n` answers, all alike, leave possible."""
    return 1.0 - float(((1.0 - confidence) / 2.0) ** (1.0 / max(n, 1)))


def _tail(t: float, degrees: float) -> float:
    return float(stdtr(degrees, -t))


def _noncentral(ratio: float, degrees: tuple[float, float], noncentrality: float) -> float:
    found = float(ncfdtr(*degrees, noncentrality, ratio))
    if not math.isnan(found):
        return found
    # Far out in the tail scipy's series gives up at times; Patnaik (1949) has the same first two moments.
    between, within = degrees
    fewer = (between + noncentrality) ** 2 / (between + 2.0 * noncentrality)
    return float(fdtr(fewer, within, ratio * between / (between + noncentrality)))


def _noncentrality(ratio: float, degrees: tuple[float, float], chance: float) -> float:
    """The noncentrality under which so large a ratio, or a smaller one, has that chance; 0 where none is so low."""
    if _noncentral(ratio, degrees, 0.0) <= chance:
        return 0.0
    low, high = 0.0, max(4.0 * degrees[0] * ratio, 10.0)
    while _noncentral(ratio, degrees, high) > chance:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _noncentral(ratio, degrees, middle) > chance else (low, middle)
    return (low + high) / 2.0


def _summed(number: IntArray, values: FloatArray) -> FloatArray:
    """Sums of rows by their number, 0 and up."""
    columns = values.reshape(len(values), -1).T
    found = np.stack([np.bincount(number, weights=column) for column in columns], axis=-1)
    return np.asarray(found.reshape(-1, *values.shape[1:]), dtype=np.float64)


def _first(number: IntArray, values: IntArray) -> IntArray:
    """The value of each number 0 and up, all rows of which have the same."""
    found = np.zeros(int(number.max()) + 1, np.int64)
    found[number] = values
    return found
