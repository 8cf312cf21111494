"""What a plan can tell: which difference from a limit, or from a baseline, it finds in four of five runs.

Models are simulated that sit on a limit: their choices leave chance towards the group of the level's own answer, in
some statistics four times as far as in others. The half-width of their intervals, in the normal law, says the rest. Of
effects of groups the standard error is that of a model without them, which needs no simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS
from fairgate.benchmarks.fact_or_fair.change import FIELDS
from fairgate.benchmarks.fact_or_fair.choices import PEOPLE
from fairgate.benchmarks.fact_or_fair.scores import s_e_of, s_fact_of, s_fair, s_kld_of, tv_of
from fairgate.benchmarks.fact_or_fair.specs import EFFECTS
from fairgate.benchmarks.forecast import Detectable, PowerAnalysis
from fairgate.core.statistics.estimates import estimate_scores
from fairgate.core.statistics.intervals import Z
from fairgate.core.statistics.power import from_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
    from fairgate.benchmarks.fact_or_fair.counts import BoolArray, FloatArray
    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.benchmarks.forecast import Target

RUNS = 3
LEVELS = ("high", "low")


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


# Spreads, and the variance of what each is of, in multiples of that of one topic's preference.
SPREADS = {
    "preference_spread": 0.5,
    "level_shift": 2.0,
    "interaction": 1.0,
    "pull_spread": 1.0,
    "position_spread": 1.0,
}


def effect_error(score: str, limit: float, n: FloatArray, k: int, within: float) -> float | None:
    """Of an effect of groups (0 to 1), of k groups, with `n` [S, 2] answers a topic; None without answers.

    `within`: the part of the variance of groups that lies among those on offer. Of spreads, next to their limit.
    """
    paired = score in ("contrast", "preference_spread", "level_shift")
    there = n[n.min(axis=1) > 0] if paired else n[n > 0][:, np.newaxis]
    if not there.size:
        return None
    one = within * (2.0 / k if score == "contrast" else (1.0 / k) * (1.0 - 1.0 / k))
    if score not in SPREADS:
        return math.sqrt(one * float((1.0 / there).sum())) / there.size
    # The square of a spread is half the sum over groups of squared preferences. Those of a statistic are of both levels
    # together, a level shift is their difference; that of pulls is of one group, and has no half.
    sides = 1 if score == "pull_spread" else k - 1
    noise = (1.0 if score == "pull_spread" else 0.5 * k) * one * float((1.0 / there).mean()) * SPREADS[score]
    square = (4.0 * limit**2 * noise / sides + 2.0 * noise**2 / sides) / len(there)
    return math.sqrt(square) / (2.0 * limit) if limit > 0 else None


@dataclass(frozen=True, eq=False)
class StatisticsPower(PowerAnalysis):
    """The power of a plan of choices, or of portraits; `answers`: how many a topic is planned to have.

    `within`: the part of the variance of groups that lies among the people on offer, not between queries.
    """

    dataset: Dataset
    answers: Callable[[StatisticTopic], int]
    within: float = 1.0

    def attributes(self, task: str) -> Sequence[str | None]:
        """Those of the data."""
        return [each.name for each in self.dataset.attributes] if task in OWN_TASKS else ()

    def cells(self, cases: Iterable[StatisticCase]) -> Iterator[tuple[str, str | None, str | None]]:
        """The task and context of its topic."""
        return ((case.topic.task, case.topic.context, case.attribute) for case in cases)

    def detectable(
        self, target: Target, cases: Sequence[StatisticCase], reply: Replies, rng: np.random.Generator
    ) -> Detectable:
        """By simulated models at the limit."""
        del reply
        n = self._sizes(target, cases)
        if target.score in {score.name for score in EFFECTS}:
            error = effect_error(target.score, target.limit, n, self._groups(target), self.within)
            return Detectable(None if error is None else from_limit(error), error, n.tobytes())
        if target.score not in FIELDS or target.attribute is None:
            return Detectable()
        error = standard_error(target.score, target.limit, n, self.dataset.attribute(target.attribute).k, rng)
        return Detectable(None if error is None else from_limit(error), error, n.tobytes())

    def _groups(self, target: Target) -> int:
        """How many groups, or letters, an effect tells apart."""
        if target.attribute is not None:
            return self.dataset.attribute(target.attribute).k
        return (
            PEOPLE
            if target.score in ("position", "position_spread")
            else math.prod(each.k for each in self.dataset.attributes)
        )

    def _sizes(self, target: Target, cases: Sequence[StatisticCase]) -> FloatArray:
        """Planned answers, or images, [S, 2] of the selected topics."""
        places = {statistic.slug: s for s, statistic in enumerate(self.dataset.statistics)}
        n = np.zeros((len(places), len(LEVELS)))
        for case in cases:
            topic = case.topic
            own = target.attribute in (None, case.attribute)
            if own and (topic.task, topic.context) == (target.task, target.context):
                n[places[topic.statistic], LEVELS.index(topic.level)] = self.answers(topic)
        return n
