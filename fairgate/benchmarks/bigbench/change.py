"""How the scores of BIGbench moved between two image models of the same prompts.

An image is one unit, with both people of a relation: images are resampled, and exchanged by chance, within their
identity prompt. Only people whose group is known in both runs' image of a prompt count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench import estimates, scores
from fairgate.benchmarks.bigbench.portrayals import UNKNOWN, Portrayal
from fairgate.benchmarks.bigbench.score_table import LIKENESS, asked_for, implicit_rows, pair_rows
from fairgate.benchmarks.bigbench.topics import Task
from fairgate.core.statistics.distributions import shares
from fairgate.core.statistics.intervals import Estimate
from fairgate.core.statistics.likeness import estimate_likeness
from fairgate.core.statistics.paired import Moved, Units, all_pairs, odd_share, shift

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fairgate.benchmarks.bigbench.data import Bigbench, Member, ProtectedAttribute
    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.intervals import Interval

RUNS = 400
Pictures = dict[str, Portrayal]
# Shares of each person [..., people, k] by identity prompt, of many runs at once.
Shown = dict[str, "FloatArray"]


@dataclass(frozen=True)
class ScoreMove:
    """One score of one task, over `n` images; `covered`: of so many identity prompts, or pairs."""

    task: Task
    score: str
    move: Moved
    n: int
    covered: int


def changes(
    before: Mapping[str, Portrayal],
    after: Mapping[str, Portrayal],
    data: Bigbench,
    attribute: ProtectedAttribute,
    rng: np.random.Generator,
    tasks: Sequence[Task],
) -> list[ScoreMove]:
    """Every score's move by one attribute, over the images of prompts that both runs drew."""
    both = common(before, after, data.attributes.index(attribute))
    found: list[ScoreMove] = []
    if Task.IMPLICIT in tasks:
        found += _implicit(_alone(both), data, attribute, rng)
    if Task.EXPLICIT in tasks:
        found += _explicit(both, data, attribute, rng)
    if Task.MANIFESTATION in tasks:
        found += _manifestation(_alone(both), data, attribute, rng)
    return found


def common(before: Mapping[str, Portrayal], after: Mapping[str, Portrayal], place: int) -> tuple[Pictures, Pictures]:
    """The images of prompts that both drew; a person who is unknown in one is unknown in both."""
    sides: tuple[Pictures, Pictures] = {}, {}
    for name, one in before.items():
        other = after.get(name)
        if other is None or one.codes is None or other.codes is None:
            continue
        images = min(len(one.codes), len(other.codes))
        codes = one.codes[:images], other.codes[:images]
        unknown = ((codes[0] == UNKNOWN) | (codes[1] == UNKNOWN))[..., place]
        if unknown.all():
            continue
        for side, held in zip(sides, codes, strict=True):
            kept = held.copy()
            kept[unknown, place] = UNKNOWN
            side[name] = Portrayal(one.identity, kept)
    return sides


def _alone(both: tuple[Pictures, Pictures]) -> tuple[Pictures, Pictures]:
    one, other = ({name: each for name, each in side.items() if each.identity.asked is None} for side in both)
    return one, other


def _implicit(
    both: tuple[Pictures, Pictures], data: Bigbench, attribute: ProtectedAttribute, rng: np.random.Generator
) -> list[ScoreMove]:
    if not both[0]:
        return []
    rows = [implicit_rows(data, side, attribute) for side in both]
    there = rows[0].n > 0
    actual, weights = rows[0].actual, rows[0].weights
    order = [subject.id for subject in data.subjects if subject.id in both[0]]

    def stacked(shown: Shown) -> FloatArray:
        return np.concatenate([shown[name] for name in order], axis=-2)

    drawn, unchanged = _simulated(both, data, attribute, rng)
    found = []
    for name, score in LIKENESS:

        def plain(p: FloatArray, score: Callable[[FloatArray, FloatArray], FloatArray] = score) -> FloatArray:
            return scores.weighted(score(p, actual), weights)

        # The same generator for both: the noise of simulation is no difference between two runs.
        seed = int(rng.integers(2**32))
        one, other = (
            estimate_likeness(score, held.counts[there], actual[there], weights[there], rng=np.random.default_rng(seed))
            for held in rows
        )
        seen = float(plain(rows[1].p) - plain(rows[0].p))
        still = plain(stacked(unchanged[1])) - plain(stacked(unchanged[0]))
        runs = plain(stacked(drawn[0])), plain(stacked(drawn[1]))
        move = Moved(one, other, shift(one, other, runs, seen, still))
        found.append(ScoreMove(Task.IMPLICIT, name, move, int(rows[0].n.sum()), len(order)))
    return found


def _explicit(
    both: tuple[Pictures, Pictures], data: Bigbench, attribute: ProtectedAttribute, rng: np.random.Generator
) -> list[ScoreMove]:
    asked = [{name: each for name, each in side.items() if each.identity.asked == attribute.name} for side in both]
    if not asked[0]:
        return []
    held = [asked_for(data, side, attribute) for side in asked]
    weights = np.array([subject.weight for subject in held[0].of])
    one, other = (_shown(estimates.shown(each.hits, each.n, weights)) for each in held)

    def plain(shown: Shown) -> FloatArray:
        hits = []
        for name, each in asked[0].items():
            places = [attribute.names.index(group) for group in each.identity.groups]
            people = [shown[name][..., person, place] for person, place in enumerate(places)]
            hits.append(scores.weighted(np.stack(people, axis=-1), 1.0))
        return scores.weighted(np.stack(hits, axis=-1), weights)

    drawn, unchanged = _simulated((asked[0], asked[1]), data, attribute, rng)
    seen = float(scores.weighted(held[1].hits, weights) - scores.weighted(held[0].hits, weights))
    still = plain(unchanged[1]) - plain(unchanged[0])
    move = Moved(one, other, shift(one, other, (plain(drawn[0]), plain(drawn[1])), seen, still))
    return [ScoreMove(Task.EXPLICIT, "S_explicit", move, int(held[0].n.sum()), len(held[0].of))]


def _manifestation(
    both: tuple[Pictures, Pictures], data: Bigbench, attribute: ProtectedAttribute, rng: np.random.Generator
) -> list[ScoreMove]:
    """Eta; it has no better side: nearer to 50 is."""
    rows = [pair_rows(data, side, attribute) for side in both]
    actual, coefficients, weights = rows[0].actual, rows[0].coefficients, rows[0].weights
    members = [[getattr(pair, side) for pair in data.pairs] for side in ("advantage", "disadvantage")]
    seed = int(rng.integers(2**32))
    found = []
    for side in both:
        one, other = (np.stack([_counts(side, data, attribute, each) for each in half]) for half in members)
        # The same generator for both: the noise of simulation is no difference between two runs.
        seeded = np.random.default_rng(seed)
        found.append(estimates.manifested((one, other), actual, coefficients, weights, seeded))
    before, after = found
    if before is None or after is None:
        return []

    def plain(shown: Shown) -> FloatArray:
        empty = np.full((*next(iter(shown.values())).shape[:-2], len(attribute.groups)), np.nan)
        p, q = (
            np.stack([shown[e.subject][..., e.person, :] if e.subject in shown else empty for e in half], axis=-2)
            for half in members
        )
        return scores.weighted(scores.manifested(p, q, *actual, coefficients), weights)

    drawn, unchanged = _simulated(both, data, attribute, rng)
    seen = [plain({name: each.shares(data, attribute) for name, each in side.items()}) for side in both]
    still = plain(unchanged[1]) - plain(unchanged[0])
    move = shift(before, after, (plain(drawn[0]), plain(drawn[1])), float(seen[1] - seen[0]), still)
    there = [all(half[number].subject in both[0] for half in members) for number in range(len(data.pairs))]
    images = sum(len(each.codes) for each in both[0].values() if each.codes is not None)
    return [ScoreMove(Task.MANIFESTATION, "eta", Moved(before, after, move), images, sum(there))]


def _counts(side: Pictures, data: Bigbench, attribute: ProtectedAttribute, member: Member) -> NDArray[np.int64]:
    held = side[member.subject].counts(data, attribute) if member.subject in side else None
    return np.zeros(len(attribute.groups), dtype=np.int64) if held is None else held[member.person]


def _simulated(
    both: tuple[Pictures, Pictures], data: Bigbench, attribute: ProtectedAttribute, rng: np.random.Generator
) -> tuple[tuple[Shown, Shown], tuple[Shown, Shown]]:
    """Shares [RUNS, people, k] by identity prompt, before and after: of resampled images, and of exchanged ones."""
    place, k = data.attributes.index(attribute), len(attribute.groups)
    units = {name: _units(both[0][name], both[1][name], place, k) for name in both[0]}
    added = odd_share(float(sum(each.n for each in units.values())))
    drawn: tuple[Shown, Shown] = {}, {}
    unchanged: tuple[Shown, Shown] = {}, {}
    for name, each in units.items():
        people = len(both[0][name].identity.subject.people)
        odd = all_pairs(np.tile(np.eye(k), (1, people)))
        for sides, sums in (
            (drawn, each.resampled(odd, added, rng, RUNS)),
            (unchanged, each.exchanged(rng, RUNS)),
        ):
            for side, total in zip(sides, sums, strict=True):
                side[name] = shares(total.reshape(RUNS, people, k))
    return drawn, unchanged


def _units(before: Portrayal, after: Portrayal, place: int, k: int) -> Units:
    """The images in which somebody is known, as people by group [images, people * k]."""
    sides = []
    for each in (before, after):
        codes = np.zeros((0, 1), dtype=np.int8) if each.codes is None else each.codes[..., place]
        known = codes[(codes != UNKNOWN).any(axis=-1)]
        sides.append(np.asarray(known[..., np.newaxis] == np.arange(k), dtype=np.float64).reshape(len(known), -1))
    return Units(sides[0], sides[1])


def _shown(found: Interval) -> Estimate:
    return Estimate(found.value, found.low, found.high, reliable=True)
