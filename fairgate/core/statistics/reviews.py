"""What reviewers' marks on a run's own replies say of a judge's rate: prediction-powered inference.

The judge's verdicts on all replies are corrected by how often reviewers say otherwise, among those the judge called
yes and among those it called no. Of verdicts of yes and no this post-stratified estimate is the power-tuned one of
PPI++ (Angelopoulos, Duchi & Zrnic 2023): regression on a yes or no has a value for each. It rests on nothing that the
judge did elsewhere, as on a gold set. The two shares have Jeffreys' posteriors, so that the interval holds for few
marks too. Marked replies must be a random part of each verdict's: an order that no reviewer chooses says which.

Everything is on the scale 0 to 1; randomness is passed in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.intervals import JEFFREYS, Interval, Z, quantiles
from fairgate.core.statistics.misclassification import DRAWS, JudgeConfusion
from fairgate.core.statistics.strata import draws

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ENOUGH = 8  # marks of each verdict before they correct a score


@dataclass(frozen=True, slots=True)
class Review:
    """A reply that the judge called yes or no, and what a reviewer says; `right` None where it is not marked."""

    name: str
    said: bool
    right: bool | None


def in_order(reviews: Iterable[Review]) -> list[Review]:
    """In the order in which they are to be marked: that of a hash of their names, the same for everybody."""
    return sorted(reviews, key=lambda each: blake2b(each.name.encode(), digest_size=16).digest())


def counted(reviews: Iterable[Review]) -> JudgeConfusion:
    """The marks that count: of each verdict those before the first unmarked reply of the order.

    A mark further on, on a reply that somebody picked, changes that reply alone: such replies are no random ones.
    """
    right = {said: [True] * 0 for said in (True, False)}
    closed = set[bool]()
    for each in in_order(reviews):
        if each.right is None:
            closed.add(each.said)
        elif each.said not in closed:
            right[each.said].append(each.right)
    return JudgeConfusion(
        yes_yes=sum(right[True]),
        no_yes=len(right[True]) - sum(right[True]),
        yes_no=sum(right[False]),
        no_no=len(right[False]) - sum(right[False]),
    )


def enough(marks: JudgeConfusion, reviews: Sequence[Review]) -> bool:
    """Whether the marks correct a score: of each verdict `ENOUGH`, or all that there are."""
    yes = sum(each.said for each in reviews)
    have = marks.yes_yes + marks.no_yes, marks.yes_no + marks.no_no
    return sum(have) > 0 and all(
        n >= min(ENOUGH, all_) for n, all_ in zip(have, (yes, len(reviews) - yes), strict=True)
    )


def corrected(judged: Interval, marks: JudgeConfusion, rng: np.random.Generator) -> Interval:
    """The rate of yes by the reviewers, from the judge's own rate with its interval and the marks."""
    rate = np.clip(draws(judged, rng, DRAWS), 0.0, 1.0)
    kept = rng.beta(marks.yes_yes + JEFFREYS, marks.no_yes + JEFFREYS, DRAWS)
    missed = rng.beta(marks.yes_no + JEFFREYS, marks.no_no + JEFFREYS, DRAWS)
    value = judged.value * _share(marks.yes_yes, marks.no_yes) + (1.0 - judged.value) * _share(
        marks.yes_no, marks.no_no
    )
    return quantiles(value, rate * kept + (1.0 - rate) * missed)


def to_mark(reviews: Sequence[Review], count: int) -> list[Review]:
    """The next replies to be marked: each from the verdict whose mark lessens the variance most (Neyman 1934)."""
    yes = sum(each.said for each in reviews)
    left = {
        said: [each for each in in_order(reviews) if each.said is said and each.right is None] for said in (True, False)
    }
    spread, have = _spreads(counted(reviews))
    part = {True: yes / max(len(reviews), 1), False: 1.0 - yes / max(len(reviews), 1)}
    chosen: list[Review] = []
    while len(chosen) < count and any(left.values()):

        def gain(said: bool) -> float:
            n = have[said] + 1.0
            return (part[said] * spread[said]) ** 2 * (1.0 / n - 1.0 / (n + 1.0))

        said = max((each for each in left if left[each]), key=gain)
        chosen.append(left[said].pop(0))
        have[said] += 1
    return chosen


def half_width(reviews: Sequence[Review], more: int) -> float:
    """About what the corrected rate's interval would be to either side after so many marks more."""
    n, yes = len(reviews), sum(each.said for each in reviews)
    spread, have = _spreads(counted(reviews))
    for each in to_mark(reviews, more):
        have[each.said] += 1
    rate = yes / n
    parts = {True: rate, False: 1.0 - rate}
    marks = sum((parts[said] * spread[said]) ** 2 / (have[said] + 1.0) for said in (True, False))
    kept = _share(*_pairs(counted(reviews))[True], prior=JEFFREYS) - _share(
        *_pairs(counted(reviews))[False], prior=JEFFREYS
    )
    return Z * math.sqrt(marks + kept**2 * rate * (1.0 - rate) / n)


def _pairs(marks: JudgeConfusion) -> dict[bool, tuple[int, int]]:
    return {True: (marks.yes_yes, marks.no_yes), False: (marks.yes_no, marks.no_no)}


def _spreads(marks: JudgeConfusion) -> tuple[dict[bool, float], dict[bool, int]]:
    """By verdict: the standard deviation of what is right, with one mark of either kind beforehand, and the marks."""
    pairs = _pairs(marks)
    shares = {said: _share(*pair, prior=1.0) for said, pair in pairs.items()}
    return {said: math.sqrt(p * (1.0 - p)) for said, p in shares.items()}, {
        said: sum(pair) for said, pair in pairs.items()
    }


def _share(yes: int, no: int, prior: float = 0.0) -> float:
    """The share of yes; without items and prior a value of weight zero."""
    whole = yes + no + 2 * prior
    return (yes + prior) / whole if whole else 0.0
