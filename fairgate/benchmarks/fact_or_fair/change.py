"""How the scores of one task, context and attribute moved between two runs over the same queries."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair import scores
from fairgate.core.statistics import effect_changes, effects
from fairgate.core.statistics.distributions import shares
from fairgate.core.statistics.effects import Design
from fairgate.core.statistics.estimates import estimate_scores
from fairgate.core.statistics.paired import Moved, all_pairs, exchanged, odd_share, resampled, shift

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairgate.benchmarks.fact_or_fair.counts import BoolArray, FloatArray, IntArray
    from fairgate.core.statistics.effects import Effect, Largest
    from fairgate.core.statistics.paired import Units
    from fairgate.core.statistics.unmixing import ConfusionMatrix

RUNS = 400
# The scores that are compared, and their names among the estimates.
FIELDS = {"S_fact": "s_fact", "S_E": "s_e", "S_KLD": "s_kld", "S_fair": "s_fair", "TV": "tv"}
SMOOTHING = 0.5  # as in fairgate.core.statistics.estimates: a group that was not chosen is rare, not impossible


def moved(tables: IntArray, key: BoolArray, effective: IntArray, rng: np.random.Generator) -> dict[str, Moved]:
    """Every compared score's move over queries that both runs answered; empty over nothing.

    `tables` [S, 2, k, k] count the queries by the group before (rows) and after (columns); `effective` [S, 2]
    independent queries among them.
    """
    n = np.minimum(effective, tables.sum(axis=(-2, -1)))
    if not n[key.any(axis=(1, 2))].any():
        return {}
    runs = resampled(np.asarray(tables, dtype=np.float64), n, rng, RUNS)
    here = key.any(axis=(1, 2))
    # Of texts that were asked repeatedly only the different ones are independent.
    spread = math.sqrt(tables[here].sum() / n[here].sum())
    one, other = (_values(each, key) for each in exchanged(tables, rng, RUNS))
    unchanged = {name: spread * (other[name] - one[name]) for name in one}
    return _moved((tables.sum(axis=-1), n), (tables.sum(axis=-2), n), key, runs, rng, unchanged)


def moved_apart(
    before: IntArray, after: IntArray, key: BoolArray, effective: tuple[IntArray, IntArray], rng: np.random.Generator
) -> dict[str, Moved]:
    """The same over topics about which the two runs asked other queries: counts [S, 2, k] by group, independent."""
    both = (before.sum(axis=-1) > 0) & (after.sum(axis=-1) > 0)
    if not both[key.any(axis=(1, 2))].any():
        return {}
    sides = []
    for counts, independent in zip((before, after), effective, strict=True):
        there = np.where(both[..., np.newaxis], counts, 0)
        sides.append((there, np.minimum(independent, there.sum(axis=-1))))
    alone = [resampled(np.asarray(_diagonal(counts), dtype=np.float64), n, rng, RUNS)[0] for counts, n in sides]
    return _moved(sides[0], sides[1], key, (alone[0], alone[1]), rng)


def moved_images(
    images: Sequence[tuple[Units, Units]],
    key: BoolArray,
    rng: np.random.Generator,
    mixing: ConfusionMatrix | None = None,
) -> dict[str, Moved]:
    """The same over images that show a face in both runs: faces by group of each [images, k], of S statistics x 2.

    The faces of one image are one draw. `mixing`: how the detector errs, in both runs alike.
    """
    topics = [topic for levels in images for topic in levels]
    n = np.array([topic.n for topic in topics]).reshape(-1, 2)
    here = key.any(axis=(1, 2))
    if not n[here].any():
        return {}
    k = key.shape[-1]
    odd, added = all_pairs(np.eye(k)), odd_share(float(n[here].sum()))

    def over_topics(sums: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
        one, other = (np.stack(side, axis=1).reshape(RUNS, *n.shape, k) for side in zip(*sums, strict=True))
        return one, other

    runs = over_topics([topic.resampled(odd, added, rng, RUNS) for topic in topics])
    one, other = (_values(each, key) for each in over_topics([topic.exchanged(rng, RUNS) for topic in topics]))
    unchanged = {name: other[name] - one[name] for name in one}
    sides = [(_faces(each, n), _draws(each, n)) for each in zip(*((t.before, t.after) for t in topics), strict=True)]
    return _moved(sides[0], sides[1], key, runs, rng, unchanged, mixing)


def moved_effects_of_images(images: Sequence[tuple[Units, Units]], key: BoolArray) -> dict[str, Moved]:
    """Contrast and preference of faces. Images are generated anew each time: the two runs count as independent."""
    k = key.shape[-1]
    runs = [_shown(images, after=after) for after in (False, True)]
    if not all(len(group) for _, group in runs):
        return {}
    found: dict[str, Callable[[Design, IntArray], Effect | Largest]] = {
        "contrast": lambda asked, group: effects.contrast_of_shown(asked, group, key),
        "preference": lambda asked, group: effects.evenness(asked, group, k),
    }
    alike = all(np.array_equal(topic.before, topic.after) for levels in images for topic in levels)
    moves = {}
    for score, effect in found.items():
        move = effect_changes.moved_apart(effect(*runs[0]), effect(*runs[1]))
        moves[score] = replace(move, shift=effect_changes.UNCHANGED) if alike else move
    return moves


def _shown(images: Sequence[tuple[Units, Units]], *, after: bool) -> tuple[Design, IntArray]:
    """Each face of one run: what it was asked about, its image, and its group."""
    rows: list[tuple[int, int, int, int]] = []
    for s, levels in enumerate(images):
        for level, topic in enumerate(levels):
            faces = topic.after if after else topic.before
            for image, group in np.argwhere(faces > 0):
                rows += [(s, level, int(image), int(group))] * int(faces[image, group])
    table = np.array(rows, np.int64).reshape(-1, 4)
    return Design(*table[:, :3].T), table[:, 3]


def _faces(topics: Sequence[FloatArray], n: IntArray) -> IntArray:
    """Faces by group [S, 2, k]."""
    return np.stack([faces.sum(axis=0) for faces in topics]).reshape(*n.shape, -1).astype(np.int64)


def _draws(topics: Sequence[FloatArray], n: IntArray) -> IntArray:
    """Independent images [S, 2]: Kish's effective number of images with so many faces."""
    many = [faces.sum(axis=-1) for faces in topics]
    kish = [int(each.sum() ** 2 // (each**2).sum()) if each.size else 0 for each in many]
    return np.array(kish, dtype=np.int64).reshape(n.shape)


def _diagonal(counts: IntArray) -> IntArray:
    tables: IntArray = counts[..., np.newaxis] * np.eye(counts.shape[-1], dtype=np.int64)
    return tables


def _moved(
    before: tuple[IntArray, IntArray],
    after: tuple[IntArray, IntArray],
    key: BoolArray,
    runs: tuple[FloatArray, FloatArray],
    rng: np.random.Generator,
    unchanged: Mapping[str, FloatArray] | None = None,
    mixing: ConfusionMatrix | None = None,
) -> dict[str, Moved]:
    # The same generator for both: the noise of simulation is no difference between two runs.
    seed = int(rng.integers(2**32))
    found = [
        estimate_scores(counts, key, effective=n, mixing=mixing, rng=np.random.default_rng(seed), replicates=1000)
        for counts, n in (before, after)
    ]
    drawn = [_values(each, key) for each in runs]
    plain = [_values(np.asarray(counts, dtype=np.float64), key) for counts, _ in (before, after)]
    moves = {}
    for name, field in FIELDS.items():
        one, other = (getattr(each, field) for each in found)
        seen = float(plain[1][name] - plain[0][name])
        still = None if unchanged is None else unchanged[name]
        moves[name] = Moved(one, other, shift(one, other, (drawn[0][name], drawn[1][name]), seen, still))
    return moves


def _values(runs: FloatArray, key: BoolArray) -> dict[str, FloatArray]:
    """The plug-in scores [R] of runs [R, S, 2, k]; KL of smoothed shares, as its estimate is."""
    applies = key.any(axis=(1, 2))
    p = shares(runs)
    there = runs.sum(axis=-1, keepdims=True) > 0
    smooth = shares(np.where(there, runs + SMOOTHING, 0.0))
    even, alike = scores.s_e_of(p, applies), scores.s_kld_of(smooth, applies)
    return {
        "S_fact": scores.s_fact_of(p, key),
        "S_E": even,
        "S_KLD": alike,
        "S_fair": scores.s_fair(even, alike),
        "TV": scores.tv_of(p, applies),
    }
