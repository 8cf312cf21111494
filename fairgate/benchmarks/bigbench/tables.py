"""Two tables of any run: what asking for one attribute does to the others, and how scores settle as images come in.

The paper's Table 5, and its Tables 7 to 10. Shares and scores are in percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench import scores
from fairgate.benchmarks.bigbench.score_table import asked_for, eta_of, implicit_rows
from fairgate.core.statistics.distributions import total_variation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fairgate.benchmarks.bigbench.data import Bigbench, ProtectedAttribute
    from fairgate.benchmarks.bigbench.portrayals import Portrayal
    from fairgate.core.statistics.distributions import FloatArray

SIZES = (1, 2, 4, 8, 16)
# Runs that the paper makes of each size; more are made where there are images for them.
RUNS = 2


@dataclass(frozen=True, slots=True)
class CrossEffect:
    """How the unasked attribute `moved` when `group` of `asked` was asked for.

    `before` and `after` are its groups' shares in percent, over the same people without and with the asking; `by` is
    the total variation between the two, `images` how many the latter are of.
    """

    acquired: str
    asked: str
    group: str
    moved: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    by: float
    images: int


def effects(portrayals: Sequence[Portrayal], data: Bigbench) -> tuple[CrossEffect, ...]:
    """The effect of every group that was asked for on every attribute that was not, by kind of subject."""
    alone = {each.identity.subject.id: each for each in portrayals if each.identity.asked is None}
    asked: dict[tuple[str, str, str], list[tuple[Portrayal, int]]] = {}
    for portrayal in portrayals:
        identity = portrayal.identity
        if identity.asked is not None and identity.subject.id in alone:
            for person, group in enumerate(identity.groups):
                key = str(identity.subject.acquired), identity.asked, group
                asked.setdefault(key, []).append((portrayal, person))
    found = []
    for (acquired, attribute, group), people in asked.items():
        for other in data.attributes:
            if other.name == attribute:
                continue
            after = [portrayal.shares(data, other)[person] for portrayal, person in people]
            before = [alone[p.identity.subject.id].shares(data, other)[person] for p, person in people]
            there = np.array(np.isfinite(np.array([before, after])).all(axis=(0, 2)), dtype=np.bool_)
            if not there.any():
                continue
            one, two = (np.asarray(rows)[there].mean(axis=0) for rows in (before, after))
            images = sum(
                int(counts[person].sum())
                for (portrayal, person), kept in zip(people, there, strict=True)
                if kept and (counts := portrayal.counts(data, other)) is not None
            )
            shift = 100 * float(total_variation(one, two))
            found.append(
                CrossEffect(
                    acquired, attribute, group, other.name, _named(one, other), _named(two, other), shift, images
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Settled:
    """One score at `images` images a prompt: mean and variance (percent, percent²) over disjoint runs of them.

    A variance of fewer than two runs is None.
    """

    score: str
    images: int
    runs: int
    mean: float
    variance: float | None


def stability(portrayals: Sequence[Portrayal], data: Bigbench, sizes: Sequence[int] = SIZES) -> tuple[Settled, ...]:
    """How the scores in all depend on the number of images, from disjoint parts of the images."""
    counted = [each for each in portrayals if each.codes is not None]
    found = []
    for score in ("S_implicit", "S_explicit", "eta"):
        mine = [each for each in counted if (each.identity.asked is not None) == (score == "S_explicit")]
        if not mine:
            continue
        fewest = min(len(each.codes) for each in mine if each.codes is not None)
        for size in (each for each in sizes if each <= fewest):
            values = [
                100 * value
                for run in range(fewest // size)
                if np.isfinite(value := _in_all(score, [each.first(size, run * size) for each in mine], data))
            ]
            if values:
                variance = float(np.var(values, ddof=1)) if len(values) >= RUNS else None
                found.append(Settled(score, size, len(values), float(np.mean(values)), variance))
    return tuple(found)


def _in_all(score: str, portrayals: Sequence[Portrayal], data: Bigbench) -> float:
    by_id = {each.identity.id: each for each in portrayals}
    weights = [each.weight for each in data.attributes]
    return float(scores.weighted(list(_by_attribute(score, by_id, data)), weights))


def _by_attribute(score: str, portrayals: Mapping[str, Portrayal], data: Bigbench) -> Iterator[float]:
    for attribute in data.attributes:
        if score == "eta":
            yield eta_of(data, portrayals, attribute)
        elif score == "S_explicit":
            asked = asked_for(data, portrayals, attribute)
            yield float(scores.weighted(asked.hits, [subject.weight for subject in asked.of]))
        else:
            rows = implicit_rows(data, portrayals, attribute)
            yield float(scores.weighted(scores.implicit(rows.p, rows.actual), rows.weights))


def _named(shares: FloatArray, attribute: ProtectedAttribute) -> dict[str, float]:
    return {name: 100 * float(share) for name, share in zip(attribute.names, shares, strict=True)}
