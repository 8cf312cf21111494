"""A judge that errs: how well it does on known items, and what its verdicts say once its errors are allowed for.

A judge with sensitivity s (yes where yes is right) and specificity c (no where no is right) says yes to a share
q = p·s + (1 - p)·(1 - c) of items of which p are truly yes. Rogan & Gladen (1978) turn that round: p = (q + c - 1) /
(s + c - 1); a difference of two such shares is divided by s + c - 1 alone. Both s and c come from finitely many known
items, so their uncertainty is carried along: by simulation from Beta posteriors with Jeffreys' prior (as Lang &
Reiczigel 2014 find to cover well), beside the sampling of the items under judgement.

Everything is on the scale 0 to 1; randomness is passed in. The figures hold for items like the known ones: they need
not carry over to another model's replies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.statistics.intervals import CONFIDENCE, JEFFREYS, NOTHING, Interval, quantiles
from fairgate.core.statistics.proportions import jeffreys

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fairgate.core.statistics.distributions import FloatArray

DRAWS = 4_000


@dataclass(frozen=True, slots=True)
class JudgeConfusion:
    """A judge's verdicts on items whose answer is known, as counts: first what is right, then what the judge said.

    Unreadable verdicts are in none of the four: they are a rate of their own.
    """

    yes_yes: int
    yes_no: int
    no_yes: int
    no_no: int

    @property
    def items(self) -> int:
        """How many were judged readably."""
        return self.yes_yes + self.yes_no + self.no_yes + self.no_no


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well a judge does on known items. `kappa` is Cohen's, -1 to 1, the rest 0 to 1."""

    agreement: Interval
    kappa: Interval
    sensitivity: Interval
    specificity: Interval

    @property
    def informative(self) -> bool:
        """Whether a yes is likelier where it is right than where it is wrong: else nothing can be corrected."""
        return self.sensitivity.value + self.specificity.value > 1.0


def agreement(
    known: JudgeConfusion, rng: np.random.Generator, *, draws: int = DRAWS, confidence: float = CONFIDENCE
) -> Agreement:
    """Agreement, kappa, sensitivity and specificity of a judge, each with its interval.

    Shares have Jeffreys' interval (Brown, Cai & DasGupta 2001). Kappa's is simulated from the two posteriors at the
    known items' own share of yes, which the choice of the items has fixed.
    """
    yes, no = known.yes_yes + known.yes_no, known.no_yes + known.no_no
    right = known.yes_yes + known.no_no
    s, c = posteriors(known, rng, draws)
    prevalence = yes / known.items if known.items else math.nan
    simulated = kappa(prevalence, s, c)
    observed = float(kappa(prevalence, _ratio(known.yes_yes, yes), _ratio(known.no_no, no)))
    return Agreement(
        agreement=jeffreys(right, known.items, confidence),
        kappa=quantiles(observed, simulated, confidence),
        sensitivity=jeffreys(known.yes_yes, yes, confidence),
        specificity=jeffreys(known.no_no, no, confidence),
    )


def kappa(prevalence: ArrayLike, sensitivity: ArrayLike, specificity: ArrayLike) -> FloatArray:
    """Cohen's kappa of a judge against the truth, -1 to 1, all arguments broadcast; NaN where chance agrees wholly."""
    p, s, c = (np.asarray(each, dtype=np.float64) for each in (prevalence, sensitivity, specificity))
    says_yes = p * s + (1.0 - p) * (1.0 - c)
    agreed = p * s + (1.0 - p) * c
    by_chance = p * says_yes + (1.0 - p) * (1.0 - says_yes)
    room = np.asarray(1.0 - by_chance)
    return np.asarray(
        np.divide(agreed - by_chance, room, out=np.full(room.shape, np.nan), where=room > 0), dtype=np.float64
    )


def posteriors(known: JudgeConfusion, rng: np.random.Generator, draws: int = DRAWS) -> tuple[FloatArray, FloatArray]:
    """Sensitivity and specificity [draws] as they may be, after what the judge did on the known items."""
    s = rng.beta(known.yes_yes + JEFFREYS, known.yes_no + JEFFREYS, draws)
    c = rng.beta(known.no_no + JEFFREYS, known.no_yes + JEFFREYS, draws)
    return s, c


def rogan_gladen(rate: ArrayLike, sensitivity: ArrayLike, specificity: ArrayLike) -> FloatArray:
    """The true rate behind a judged one, 0 to 1, all arguments broadcast; NaN where s + c is not above 1.

    What lies outside of 0 to 1 by chance is put at the end. Source: Rogan & Gladen (1978).
    """
    q, s, c = (np.asarray(each, dtype=np.float64) for each in (rate, sensitivity, specificity))
    return np.clip(_over(q + c - 1.0, s + c - 1.0), 0.0, 1.0)


def true_gap(gap: ArrayLike, sensitivity: ArrayLike, specificity: ArrayLike) -> FloatArray:
    """The true difference of two rates behind a judged one, -1 to 1, broadcast; NaN where s + c is not above 1."""
    d, s, c = (np.asarray(each, dtype=np.float64) for each in (gap, sensitivity, specificity))
    return np.clip(_over(d, s + c - 1.0), -1.0, 1.0)


def corrected_replicates(
    value: float,
    replicates: ArrayLike,
    known: JudgeConfusion,
    rng: np.random.Generator,
    *,
    gap: bool = False,
    confidence: float = CONFIDENCE,
) -> Interval:
    """The true rate of yes (0 to 1), or with `gap` the true difference of two (-1 to 1), with its interval.

    `value` is the judged one, `replicates` [R] bootstrap replicates of it: of items that come in clusters (readings of
    one instance, repeats), these are resampled whole.
    """
    judged = np.asarray(replicates, dtype=np.float64)
    s, c = posteriors(known, rng, judged.size)
    correct, ends = (true_gap, (-1.0, 1.0)) if gap else (rogan_gladen, (0.0, 1.0))
    return _corrected(float(correct(value, *_observed(known))), correct(judged, s, c), ends, confidence)


def corrected_products(
    value: float,
    replicates: ArrayLike,
    known: JudgeConfusion,
    rng: np.random.Generator,
    confidence: float = CONFIDENCE,
) -> Interval:
    """The true mean product of two differences of judged verdicts, -1 to 1, as `corrected_replicates` has one of them.

    The verdicts of a product are four, whose errors are independent: each difference is lessened by s + c - 1.
    """
    judged = np.asarray(replicates, dtype=np.float64)
    s, c = posteriors(known, rng, judged.size)

    def correct(product: ArrayLike, sensitivity: ArrayLike, specificity: ArrayLike) -> FloatArray:
        return true_gap(_over(np.asarray(product), _power(sensitivity, specificity)), sensitivity, specificity)

    return _corrected(float(correct(value, *_observed(known))), correct(judged, s, c), (-1.0, 1.0), confidence)


def _power(sensitivity: ArrayLike, specificity: ArrayLike) -> FloatArray:
    return np.asarray(sensitivity, dtype=np.float64) + np.asarray(specificity, dtype=np.float64) - 1.0


def _observed(known: JudgeConfusion) -> tuple[float, float]:
    return (
        _ratio(known.yes_yes, known.yes_yes + known.yes_no),
        _ratio(known.no_no, known.no_yes + known.no_no),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _over(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    above, below = np.broadcast_arrays(numerator, denominator)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0), dtype=np.float64)


def _corrected(value: float, draws: FloatArray, ends: tuple[float, float], confidence: float) -> Interval:
    """The interval over draws; all there is where too many of them know no answer."""
    if math.isnan(value):
        return NOTHING
    if np.isnan(draws).mean() > (1.0 - confidence) / 2.0:
        return Interval(value, *ends)
    return quantiles(value, draws, confidence)
