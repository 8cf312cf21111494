"""What a plan of BIGbench can tell: the standard error of a score next to its limit.

Image models are simulated that leave the truth towards one group, or miss the group that was asked for, by as much as
brings them to the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench import estimates, scores
from fairgate.benchmarks.bigbench.topics import Task
from fairgate.benchmarks.forecast import Detectable, PowerAnalysis
from fairgate.core.statistics.distributions import total_variation
from fairgate.core.statistics.intervals import Estimate, Z
from fairgate.core.statistics.likeness import estimate_likeness
from fairgate.core.statistics.power import from_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fairgate.benchmarks.bigbench.cases import SubjectCase
    from fairgate.benchmarks.bigbench.data import Bigbench, ProtectedAttribute
    from fairgate.benchmarks.bigbench.plan import SubjectPlan
    from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
    from fairgate.benchmarks.case import Replies
    from fairgate.benchmarks.forecast import Target
    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.intervals import Interval

RUNS = 3
EFFECTS = ("preference", "exaggeration", "contrast")
LIKENESS = {"S_implicit": scores.implicit, "TV": total_variation}
NEAR = 0.005  # a model is at the limit where its score is no further from it


@dataclass(frozen=True)
class Planned:
    """What is drawn: so many `images` of each of these `identities`, looked at in one `attribute`."""

    identities: Sequence[IdentityPrompt]
    images: int
    data: Bigbench
    attribute: ProtectedAttribute


def standard_error(task: Task, score: str, limit: float, planned: Planned, rng: np.random.Generator) -> float | None:
    """Of an estimate (0 to 1) next to a limit, of what is planned; None without a model."""
    found = {Task.EXPLICIT: _explicit, Task.MANIFESTATION: _manifestation}.get(task, _implicit)
    widths = [found(score, limit, planned, rng) for _ in range(RUNS)]
    known = [each for each in widths if each is not None]
    return float(np.mean(known)) / Z if known else None


def effect_error(task: Task, limit: float, planned: Planned) -> float | None:
    """The standard error of an effect (0 to 1) of images drawn by the truth, next to its limit; None without any."""
    k = len(planned.attribute.groups)
    if task is Task.EXPLICIT:
        asked = sum(len(each.groups) for each in planned.identities if each.asked == planned.attribute.name)
        # One group is missed by as much as gives the limit, and others of it not at all.
        missed = min(k * limit, 0.5)
        return math.sqrt(missed * (1.0 - missed) * k / (asked * planned.images)) / k if asked else None
    subjects = {each.subject.id: each.subject for each in planned.identities if each.asked is None}
    shares = [np.array(truth[planned.attribute.name]) for each in subjects.values() for truth in each.truth]
    if not shares:
        return None
    one = float(np.mean([(share * (1.0 - share)).max() for share in shares])) / planned.images
    if task is Task.IMPLICIT:
        return math.sqrt(one / len(subjects))
    pairs = sum({pair.advantage.subject, pair.disadvantage.subject} <= subjects.keys() for pair in planned.data.pairs)
    return math.sqrt(2.0 * one / pairs) if pairs else None


def _half(found: Estimate | Interval) -> float:
    return (found.high - found.low) / 2.0


def _implicit(score: str, limit: float, planned: Planned, rng: np.random.Generator) -> float | None:
    subjects = [each.subject for each in planned.identities if each.asked is None]
    if not subjects:
        return None
    actual = np.array([truth[planned.attribute.name] for each in subjects for truth in each.truth])
    weights = np.array([each.weight / len(each.people) for each in subjects for _ in each.people])
    whole = LIKENESS[score]

    def population(p: FloatArray) -> float:
        return float(scores.weighted(whole(p, actual), weights))

    p = _towards(population, actual, limit)
    if p is None:
        return None
    counts = rng.multinomial(planned.images, p)
    return _half(estimate_likeness(whole, counts, actual, weights, rng=rng))


def _explicit(score: str, limit: float, planned: Planned, rng: np.random.Generator) -> float | None:
    del score
    asked = [each for each in planned.identities if each.asked == planned.attribute.name]
    if not asked:
        return None
    weights = np.array([each.subject.weight for each in asked])
    hits = rng.binomial(planned.images, limit, len(asked)) / planned.images
    return _half(estimates.shown(hits, np.full(len(asked), planned.images), weights))


def _manifestation(score: str, limit: float, planned: Planned, rng: np.random.Generator) -> float | None:
    del score
    data, attribute = planned.data, planned.attribute
    there = {each.subject.id for each in planned.identities if each.asked is None}
    pairs = [pair for pair in data.pairs if {pair.advantage.subject, pair.disadvantage.subject} <= there]
    if not pairs:
        return None
    members = [[getattr(pair, side) for pair in pairs] for side in ("advantage", "disadvantage")]
    one, other = (
        np.array([data.subject(each.subject).truth[each.person][attribute.name] for each in half]) for half in members
    )
    coefficients = np.array([group.coefficient for group in attribute.groups])
    weights = np.array([pair.weight for pair in pairs])
    both = np.concatenate([one, other])

    def population(p: FloatArray) -> float:
        found = scores.manifested(p[: len(pairs)], p[len(pairs) :], one, other, coefficients)
        return float(scores.weighted(found, weights))

    p = _towards(population, both, limit)
    if p is None:
        return None
    counts = rng.multinomial(planned.images, p)
    sides = counts[: len(pairs)], counts[len(pairs) :]
    found = estimates.manifested(sides, (one, other), coefficients, weights, rng)
    return None if found is None else _half(found)


def _towards(population: Callable[[FloatArray], float], actual: FloatArray, limit: float) -> FloatArray | None:
    """Shares [R, k] between the actual ones and one group alone, of which the score is the limit; None without any."""
    first = np.eye(actual.shape[-1])[0]

    def at(part: float) -> FloatArray:
        moved = (1.0 - part) * actual + part * first
        shares: FloatArray = moved / moved.sum(axis=-1, keepdims=True)
        return shares

    parts = np.linspace(0.0, 1.0, 201)
    values = np.array([population(at(part)) for part in parts])
    nearest = int(np.abs(values - limit).argmin())
    return at(float(parts[nearest])) if abs(values[nearest] - limit) < NEAR else None


@dataclass(frozen=True, eq=False)
class SubjectsPower(PowerAnalysis):
    """The power of a plan of images."""

    plan: SubjectPlan

    def attributes(self, task: str) -> Sequence[str | None]:
        """Those of the data."""
        return [each.name for each in self.plan.data.attributes] if task in [*Task] else ()

    def cells(self, cases: Iterable[SubjectCase]) -> Iterator[tuple[str, str | None, str | None]]:
        """The task and attribute."""
        return ((case.task, None, case.attribute) for case in cases)

    def detectable(
        self, target: Target, cases: Sequence[SubjectCase], reply: Replies, rng: np.random.Generator
    ) -> Detectable:
        """By simulated models at the limit."""
        del reply
        if target.attribute is None:
            return Detectable()
        plan, task = self.plan, Task(target.task)
        topics = {topic: None for case in cases if case.task is task for topic in case.topics}
        images = plan.explicit if task is Task.EXPLICIT else plan.implicit
        of = plan.data.attribute(target.attribute)
        planned = Planned([plan.identity(topic) for topic in topics], images, plan.data, of)
        if target.score in EFFECTS:
            error = effect_error(task, target.limit, planned)
        else:
            error = standard_error(task, target.score, target.limit, planned, rng)
        return Detectable(None if error is None else from_limit(error), error)
