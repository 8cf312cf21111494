"""What reviewers' marks on a run's own replies say of a judge's scores: prediction-powered inference.

A judge says yes or no, or gives a mark; reviewers say what it should have said, of a part of the replies. Replies are
drawn by strata of what the judge said (no and yes; low, middle and high marks), and nothing rests on what the judge did
elsewhere, as on a gold set. Three kinds of scores are corrected (`Corrects`):

- RATE, a share of yes: q·P(yes by the reviewer | judge says yes) + (1 - q)·P(yes | no). Of verdicts of yes and no this
  post-stratified estimate is the power-tuned one of PPI++ (Angelopoulos, Duchi & Zrnic 2023).
- GAP, a distance of two shares of yes: divided by sensitivity + specificity - 1 (Rogan & Gladen 1978) as both are on
  these very replies, which the marks tell. They are taken to be the same wherever the two shares come from.
- MEAN, of marks: the judge's mean plus the mean of what reviewers differ by, stratum by stratum.

Shares have Jeffreys' posteriors, so that intervals hold for few marks too. Marked replies must be a random part of each
stratum: an order that no reviewer chooses says which. Everything is on the scale 0 to 1; randomness is passed in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.intervals import JEFFREYS, NOTHING, Interval, Z, quantiles
from fairgate.core.statistics.misclassification import DRAWS, JudgeConfusion
from fairgate.core.statistics.strata import draws

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fairgate.core.statistics.distributions import FloatArray

ENOUGH = 8  # marks of each stratum before they correct a score
MIDDLE, HIGH = 0.35, 0.65  # where the strata begin; a no is in the first, a yes in the last
# Two differences are added to those of a stratum, one to either side, so that a few marks all alike are not certain.
ADDED = 0.25
STEP = 1e-4
WRONG = 0.15  # the share of its replies in which a judge errs, where nothing is known


class Corrects(StrEnum):
    """What kind of score marks on a reply correct."""

    RATE = "rate"
    GAP = "gap"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Review:
    """A reply that the judge called yes (1) or no (0), or gave a mark (0 to 1), and what a reviewer says.

    `right` is None where it is not marked.
    """

    name: str
    said: float
    right: float | None

    @property
    def stratum(self) -> int:
        """0 for no, or a low mark, 1 for a middle one, 2 for yes, or a high one."""
        return (self.said >= MIDDLE) + (self.said >= HIGH)


def in_order(reviews: Iterable[Review]) -> list[Review]:
    """In the order in which they are to be marked: that of a hash of their names, the same for everybody."""
    return sorted(reviews, key=lambda each: blake2b(each.name.encode(), digest_size=16).digest())


def that_count(reviews: Iterable[Review]) -> list[tuple[Review, float]]:
    """The marks that count: of each stratum those before the first unmarked reply of the order.

    A mark further on, on a reply that somebody picked, changes that reply alone: such replies are no random ones.
    """
    found, closed = [], set[int]()
    for each in in_order(reviews):
        if each.right is None:
            closed.add(each.stratum)
        elif each.stratum not in closed:
            found.append((each, each.right))
    return found


def counted(reviews: Iterable[Review]) -> JudgeConfusion:
    """The marks of yes and no that count."""
    marks = [(bool(each.said), bool(right)) for each, right in that_count(reviews)]
    return JudgeConfusion(
        yes_yes=marks.count((True, True)),
        no_yes=marks.count((True, False)),
        yes_no=marks.count((False, True)),
        no_no=marks.count((False, False)),
    )


def enough(reviews: Sequence[Review]) -> bool:
    """Whether the marks correct a score: of each stratum `ENOUGH`, or all that there are."""
    have = _sizes(each for each, _ in that_count(reviews))
    return any(have.values()) and all(
        have.get(stratum, 0) >= min(ENOUGH, size) for stratum, size in _sizes(reviews).items()
    )


def corrected(judged: Interval, marks: JudgeConfusion, rng: np.random.Generator) -> Interval:
    """The rate of yes by the reviewers, from the judge's own rate with its interval and the marks."""
    rate = np.clip(draws(judged, rng, DRAWS), 0.0, 1.0)
    kept, missed = _posteriors(marks, rng)
    value = judged.value * _share(marks.yes_yes, marks.no_yes) + (1.0 - judged.value) * _share(
        marks.yes_no, marks.no_no
    )
    return quantiles(value, rate * kept + (1.0 - rate) * missed)


def corrected_gap(judged: Interval, reviews: Sequence[Review], rng: np.random.Generator) -> Interval:
    """The distance of two rates of yes by the reviewers, 0 to 1, from the judge's own and all of its verdicts."""
    marks, n, yes = counted(reviews), len(reviews), sum(each.said for each in reviews)
    rate = rng.beta(yes + JEFFREYS, n - yes + JEFFREYS, DRAWS)
    informative = _informative(rate, *_posteriors(marks, rng))
    means = _share(marks.yes_yes, marks.no_yes, JEFFREYS), _share(marks.yes_no, marks.no_no, JEFFREYS)
    seen = float(_informative(np.array((yes + JEFFREYS) / (n + 2 * JEFFREYS)), *map(np.array, means)))
    if not seen > 0.0:
        return NOTHING if math.isnan(judged.value) else Interval(judged.value, 0.0, 1.0)
    gaps = draws(judged, rng, DRAWS)
    true = np.where(informative > 0.0, gaps / np.maximum(informative, STEP), 1.0)
    found = quantiles(min(judged.value / seen, 1.0), np.clip(true, 0.0, 1.0))
    # Drawn, the end of an interval that reaches 0 comes out beside it.
    return Interval(found.value, 0.0, found.high) if judged.low <= 0.0 else found


def corrected_mean(judged: Interval, reviews: Sequence[Review], rng: np.random.Generator) -> Interval:
    """The mean mark by the reviewers, from the judge's own mean with its interval and all of its marks."""
    differences: dict[int, list[float]] = {}
    for each, right in that_count(reviews):
        differences.setdefault(each.stratum, []).append(right - each.said)
    value, moved = judged.value, draws(judged, rng, DRAWS)
    for stratum, size in _sizes(reviews).items():
        there = np.array(differences[stratum])
        part, n = size / len(reviews), len(there)
        value += part * float(there.mean())
        moved += part * (there.mean() + _spread(there) / math.sqrt(n) * rng.standard_t(n + 1, DRAWS))
    return quantiles(min(max(value, 0.0), 1.0), np.clip(moved, 0.0, 1.0))


def to_mark(reviews: Sequence[Review], count: int, corrects: Corrects = Corrects.RATE) -> list[Review]:
    """The next replies to be marked: each from the stratum whose mark lessens the variance most (Neyman 1934).

    First of those strata that have fewer than are `ENOUGH`.
    """
    left: dict[int, list[Review]] = {}
    for each in in_order(reviews):
        if each.right is None:
            left.setdefault(each.stratum, []).append(each)
    weigh, have = _weights(reviews, corrects), _sizes(each for each, _ in that_count(reviews))
    chosen: list[Review] = []
    while len(chosen) < count and any(left.values()):

        def gain(stratum: int) -> tuple[bool, float]:
            n = have.get(stratum, 0)
            return n < ENOUGH, weigh[stratum] ** 2 * (1.0 / (n + 1.0) - 1.0 / (n + 2.0))

        stratum = max((each for each in left if left[each]), key=gain)
        chosen.append(left[stratum].pop(0))
        have[stratum] = have.get(stratum, 0) + 1
    return chosen


def half_width(reviews: Sequence[Review], more: int, corrects: Corrects = Corrects.RATE) -> float:
    """About what the corrected score's interval would be to either side after so many marks more.

    Of a GAP relative to the score's distance from its best; what the replies themselves leave open comes on top.
    """
    weigh, have = _weights(reviews, corrects), _sizes(each for each, _ in that_count(reviews))
    for each in to_mark(reviews, more, corrects):
        have[each.stratum] = have.get(each.stratum, 0) + 1
    error = sum(weigh[stratum] ** 2 / (have.get(stratum, 0) + 1.0) for stratum in _sizes(reviews))
    if corrects is Corrects.GAP:
        return Z * math.sqrt(error)
    said = np.array([each.said for each in reviews])
    kept = 1.0
    if corrects is Corrects.RATE:
        marks = counted(reviews)
        kept = _share(marks.yes_yes, marks.no_yes, JEFFREYS) - _share(marks.yes_no, marks.no_no, JEFFREYS)
    return Z * math.sqrt(error + kept**2 * float(said.var()) / len(said))


def _weights(reviews: Sequence[Review], corrects: Corrects) -> Mapping[int, float]:
    """By stratum: the standard deviation of one mark, times how far the score follows the stratum's mean of marks."""
    sizes, marks = _sizes(reviews), that_count(reviews)
    if corrects is Corrects.MEAN:
        apart = {s: np.array([right - each.said for each, right in marks if each.stratum == s]) for s in sizes}
        return {stratum: size / len(reviews) * _spread(apart[stratum]) for stratum, size in sizes.items()}
    pairs = {s: [bool(right) for each, right in marks if each.stratum == s] for s in (0, 2)}
    # Two marks beforehand: one of either kind, of a GAP in agreement with the judge, which else seems to tell nothing.
    before = {0: 1.0, 2: 1.0} if corrects is Corrects.RATE else {0: 2 * WRONG, 2: 2 * (1.0 - WRONG)}
    shares = {s: (sum(right) + before[s]) / (len(right) + 2.0) for s, right in pairs.items()}
    spread = {s: math.sqrt(p * (1.0 - p)) for s, p in shares.items()}
    rate = sizes.get(2, 0) / max(len(reviews), 1)
    if corrects is Corrects.RATE:
        return {0: (1.0 - rate) * spread[0], 2: rate * spread[2]}
    q = np.array((sizes.get(2, 0) + JEFFREYS) / (len(reviews) + 2 * JEFFREYS))
    at = float(_informative(q, np.array(shares[2]), np.array(shares[0])))
    by_yes = float(_informative(q, np.array(shares[2] + STEP), np.array(shares[0]))) - at
    by_no = float(_informative(q, np.array(shares[2]), np.array(shares[0] + STEP))) - at
    # Of a judge that seems to tell nothing, as if it told a little: else no mark would be worth more than another.
    slopes = {0: by_no / STEP / max(at, 0.1), 2: by_yes / STEP / max(at, 0.1)}
    return {stratum: abs(slopes[stratum]) * spread[stratum] for stratum in (0, 2)}


def _informative(rate: FloatArray, kept: FloatArray, missed: FloatArray) -> FloatArray:
    """Sensitivity + specificity - 1 of a judge that says yes at a rate: `kept` of these are, `missed` of the rest."""
    true = rate * kept + (1.0 - rate) * missed
    return np.asarray(rate * (1.0 - rate) * (kept - missed) / (true * (1.0 - true)), dtype=np.float64)


def _posteriors(marks: JudgeConfusion, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The share of what the judge calls yes that is, and of what it calls no, as they may be after the marks."""
    kept = rng.beta(marks.yes_yes + JEFFREYS, marks.no_yes + JEFFREYS, DRAWS)
    return kept, rng.beta(marks.yes_no + JEFFREYS, marks.no_no + JEFFREYS, DRAWS)


def _spread(differences: FloatArray) -> float:
    """The standard deviation of differences, with two of `ADDED` beforehand, one to either side of their mean."""
    n = differences.size
    squares = float(((differences - differences.mean()) ** 2).sum()) if n else 0.0
    return math.sqrt((squares + 2 * ADDED**2) / (n + 1))


def _sizes(reviews: Iterable[Review]) -> dict[int, int]:
    found: dict[int, int] = {}
    for each in reviews:
        found[each.stratum] = found.get(each.stratum, 0) + 1
    return found


def _share(yes: int, no: int, prior: float = 0.0) -> float:
    """The share of yes; without items and prior a value of weight zero."""
    whole = yes + no + 2 * prior
    return (yes + prior) / whole if whole else 0.0
