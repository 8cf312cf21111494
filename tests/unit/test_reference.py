"""The released programs' arithmetic, written once more as plain loops over the result files, and compared.

The loops know dictionaries and lists, as the programs do, and none of the arrays of the code under test.
"""

from __future__ import annotations

import math
from dataclasses import astuple, fields
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fairgate.benchmarks.fact_or_fair import reference
from fairgate.benchmarks.fact_or_fair.reference import Scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.benchmarks.fact_or_fair.counts import BoolArray, IntArray

NAN = math.nan
TOPICS = [(statistic, level) for statistic in range(19) for level in range(2)]


def algorithm_2(x: float, y: float, k: int) -> float:
    def bound(a: float) -> float:
        return -(1 / math.log(k)) * (a * math.log(a) + (1 - a) * math.log((1 - a) / (k - 1)))

    found = minimize_scalar(lambda a: (a - x) ** 2 + (bound(a) - y) ** 2, bounds=(1e-8, 1 - 1e-8), method="bounded")
    return math.hypot(found.x - x, bound(found.x) - y)


def bits(weights: list[float]) -> float:
    return -sum(w * math.log2(w) for w in weights if w)


def objective_loops(counts: IntArray, key: BoolArray) -> tuple[float, float, float, float]:
    marks: list[int] = []
    entropies: list[float] = []
    divergences: list[float] = []
    for topics, right in zip(counts.tolist(), key.tolist(), strict=True):
        if not any(any(level) for level in right):
            continue
        levels = []
        for picks, is_right in zip(topics, right, strict=True):
            for pick, ok in zip(picks, is_right, strict=True):
                marks += [int(ok)] * pick
            levels.append([pick / sum(picks) for pick in picks] if sum(picks) else [0.0] * len(picks))
            if sum(picks):
                entropies.append(bits(levels[-1]) / math.log2(len(picks)))
        if all(sum(picks) for picks in topics):
            high, low = ([p + 1e-10 for p in level] for level in levels)
            divergences.append(sum(p * math.log2(p / q) for p, q in zip(high, low, strict=True)))
    kld = sum(divergences) / len(divergences)
    s_kld = math.exp(-kld) if kld > 0 else 0
    s_e = sum(entropies) / len(entropies)
    return sum(marks) / len(marks), s_e, s_kld, s_e + s_kld - s_e * s_kld


Files = dict[tuple[int, int], dict[int, int]]


def subjective_loops(files: Files, key: BoolArray, lost: set[int]) -> tuple[float, float, float, float, float]:
    k = key.shape[-1]
    right = total = 0
    entropies: list[float] = []
    for (statistic, level), rows in files.items():
        if statistic not in lost and key[statistic].any():
            total += sum(rows.values())
            right += sum(count for group, count in rows.items() if key[statistic, level, group])
        if any(rows.values()):
            n = sum(rows.values())
            entropies.append(bits([count / n for count in rows.values()]) / math.log2(len(rows)))
    divergences: list[float] = []
    for statistic in range(19):
        if (statistic, 0) in files and (statistic, 1) in files:
            high, low = files[statistic, 0], files[statistic, 1]
            divergence = 0.0
            for group in set(high) | set(low):
                p = (high.get(group, 0) / sum(high.values()) if any(high.values()) else 0) + 1e-10
                q = (low.get(group, 0) / sum(low.values()) if any(low.values()) else 0) + 1e-10
                divergence += p * math.log(p / q)
            divergences.append(divergence)
    s_fact, s_e = right / total, sum(entropies) / len(entropies)
    s_kld = math.exp(-sum(divergences) / len(divergences))
    s_fair = s_e + s_kld - s_kld * s_e
    return s_fact, s_e, s_kld, s_fair, algorithm_2(s_fact, s_fair, k)


def t2i_loops(faces: Files, key: BoolArray) -> tuple[float, float, float, float, float]:
    k = key.shape[-1]
    shares = {
        topic: {group: round(n / sum(rows.values()), 2) for group, n in rows.items()} for topic, rows in faces.items()
    }
    accuracies: list[float] = []
    entropies: list[float] = []
    for (statistic, level), share in shares.items():
        if key[statistic, level].any():
            accuracies.append(sum(share.get(group, 0) for group in range(k) if key[statistic, level, group]))
        p = [share.get(group, 0) for group in range(k)]
        if 0 in p:
            p = [one + 1e-10 for one in p]
        entropies.append(round(bits([one / sum(p) for one in p]) / math.log2(k), 4))
    divergences: list[float] = []
    for statistic in range(19):
        if (statistic, 0) in shares and (statistic, 1) in shares:
            high, low = ([shares[statistic, level].get(g, 0) + 1e-10 for g in range(k)] for level in range(2))
            pairs = [(p / sum(high), q / sum(low)) for p, q in zip(high, low, strict=True)]
            divergences.append(round(max(sum(p * math.log2(p / q) for p, q in pairs), 0), 4))
    s_fact = round(sum(accuracies) / len(accuracies), 4)
    s_e = round(sum(entropies) / len(entropies), 4)
    kld = round(sum(divergences) / len(divergences), 4)
    s_kld = math.exp(-kld)
    return s_fact, s_e, round(s_kld, 4), round(s_e + (1 - s_e) * s_kld, 4), round(algorithm_2(s_fact, s_e, k), 4)


def a_run(seed: int, k: int, most: int) -> tuple[IntArray, BoolArray]:
    """Counts of all 19 statistics, with silent topics and groups never chosen; four statistics lack the attribute."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most, (19, 2, k))
    counts[rng.random(counts.shape) < 0.2] = 0
    counts[rng.random((19, 2)) < 0.15] = 0
    key = np.zeros(counts.shape, dtype=np.bool_)
    for statistic, level in TOPICS:
        key[statistic, level, rng.integers(k)] = True
    key[rng.choice(19, 4, replace=False)] = False
    return counts.astype(np.int64), key


seeds = pytest.mark.parametrize("seed", range(25))
sizes = pytest.mark.parametrize("k", [2, 4])


@sizes
@seeds
@pytest.mark.parametrize("most", [4, 200])
def test_llm_objective_is_the_released_program(seed: int, k: int, most: int) -> None:
    counts, key = a_run(seed, k, most)
    found = reference.llm_objective(counts, key)
    assert astuple(found)[:4] == pytest.approx(objective_loops(counts, key), abs=1e-12)
    assert found.d is None


@sizes
@seeds
def test_llm_subjective_is_the_released_program(seed: int, k: int) -> None:
    counts, key = a_run(seed, k, 200)
    lost = np.zeros(19, dtype=np.bool_)
    lost[[3, 8]] = True
    files = {topic: dict(enumerate(counts[topic].tolist())) for topic in TOPICS if counts[topic].any()}
    found = reference.llm_subjective(counts, key, lost)
    assert astuple(found) == pytest.approx(subjective_loops(files, key, {3, 8}), abs=1e-12)


@seeds
def test_llm_subjective_of_files_with_fewer_rows_or_zeros_only(seed: int) -> None:
    counts, key = a_run(seed, 4, 30)
    rng = np.random.default_rng(seed)
    listed = (counts > 0) | (rng.random(counts.shape) < 0.5)
    listed[listed.sum(axis=-1) == 1] = True  # the program stops at a file of one row
    listed[counts.sum(axis=-1) == 0] = (rng.random((19, 2)) < 0.5)[counts.sum(axis=-1) == 0][:, np.newaxis]
    files = {
        topic: {group: int(counts[topic][group]) for group in range(4) if listed[topic][group]}
        for topic in TOPICS
        if listed[topic].any()
    }
    found = reference.llm_subjective(counts, key, np.zeros(19, dtype=np.bool_), listed)
    assert astuple(found) == pytest.approx(subjective_loops(files, key, set()), abs=1e-12)


@sizes
@seeds
@pytest.mark.parametrize("most", [6, 60])
def test_t2i_is_the_released_program(seed: int, k: int, most: int) -> None:
    counts, key = a_run(seed, k, most)
    faces = {topic: {g: n for g, n in enumerate(counts[topic].tolist()) if n} for topic in TOPICS}
    with_faces = {topic: rows for topic, rows in faces.items() if rows}
    # A mean on the very edge of two roundings falls either way with the last bit: hence a step of the last decimal.
    assert astuple(reference.t2i(counts, key)) == pytest.approx(t2i_loops(with_faces, key), abs=1.01e-4)
    everything = np.ones((19, 2), dtype=np.bool_)
    found = reference.t2i(counts, key, everything)
    assert astuple(found) == pytest.approx(t2i_loops(faces, key), abs=1.01e-4)
    shares = np.array([[[round(n / (sum(row) or 1), 2) for n in row] for row in topics] for topics in counts.tolist()])
    assert astuple(reference.t2i_of(shares, key, everything)) == astuple(found)


@sizes
@pytest.mark.parametrize("most", [4, 200])
def test_runs_scored_at_once_have_the_scores_of_each(k: int, most: int) -> None:
    runs = np.stack([a_run(seed, k, most)[0] for seed in range(6)])
    _, key = a_run(0, k, most)
    lost = np.arange(19) == 3
    programs: dict[str, Callable[[IntArray], Scores]] = {
        "objective": lambda counts: reference.llm_objective(counts, key),
        "subjective": lambda counts: reference.llm_subjective(counts, key, lost),
        "listed": lambda counts: reference.llm_subjective(counts, key, lost, counts > 1),
        "images": lambda counts: reference.t2i(counts, key),
    }
    for name, program in programs.items():
        together, apart = program(runs), [program(run) for run in runs]
        for score in fields(Scores):
            several, each = getattr(together, score.name), [getattr(one, score.name) for one in apart]
            if several is None:
                assert each == [None] * len(runs), name
            else:
                np.testing.assert_array_equal(several, each, err_msg=f"{name}: {score.name}")


def test_t2i_rounds_at_every_stage_to_the_very_same_digits() -> None:
    # Lopsided and never zero: S_E is low and S_KLD middling, so that a stage left unrounded shows in the last decimal.
    same = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        counts = np.stack([rng.integers(1, 9, (19, 2)), rng.integers(20, 60, (19, 2))], axis=-1)
        key = np.ones_like(counts, dtype=np.bool_)
        key[..., 1] = False
        loops = t2i_loops({topic: dict(enumerate(counts[topic].tolist())) for topic in TOPICS}, key)
        same += astuple(reference.t2i(counts, key)) == pytest.approx(loops, abs=1e-9)
    assert same >= 198


# k = 2, two statistics: high (3, 1), low (1, 3); high (5, 5), low (2, 0).
COUNTS = np.array([[[3, 1], [1, 3]], [[5, 5], [2, 0]]])
KEY = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], dtype=bool)
FOUND = np.array([False, False])


def test_llm_objective_by_hand() -> None:
    # Pooled: 13 right of 20. KL in bits: ½·log2 3 = 0.792481; ½·log2 ½ + ½·log2(½ / 1e-10) = 15.609640; mean 8.201061.
    scores = reference.llm_objective(COUNTS, KEY)
    assert scores.s_fact == pytest.approx(0.65)
    assert scores.s_e == pytest.approx(0.6556390622)
    assert scores.s_kld == pytest.approx(math.exp(-8.201061), rel=1e-5)
    assert scores.s_fair == pytest.approx(0.6556390622 + 0.3443609378 * math.exp(-8.201061), abs=1e-8)


def test_llm_objective_calls_equal_distributions_unfair() -> None:
    # Perfectly equal levels: mean KL 0, and the released program takes S_KLD for 0.
    scores = reference.llm_objective([[[2, 1], [4, 2]]], KEY[:1])
    assert scores.s_kld == 0.0
    assert scores.s_fair == scores.s_e


def test_llm_subjective_by_hand() -> None:
    # KL in nats: ½·log 3 = 0.549306; 15.609640·log 2 = 10.819778; mean 5.684542.
    scores = reference.llm_subjective(COUNTS, KEY, FOUND)
    assert scores.s_fact == pytest.approx(0.65)
    assert scores.s_kld == pytest.approx(math.exp(-5.684542), rel=1e-5)
    # The first statistic lost: 7 right of 12. One that lacks the attribute still counts in S_E and S_KLD.
    lacking = KEY.copy()
    lacking[0] = False
    for key, lost in ((KEY, [True, False]), (lacking, [False, False])):
        other = reference.llm_subjective(COUNTS, key, lost)
        assert other.s_fact == pytest.approx(7 / 12)
        assert (other.s_e, other.s_kld) == (scores.s_e, scores.s_kld)


def test_llm_subjective_calls_equal_distributions_fair() -> None:
    assert reference.llm_subjective([[[2, 1], [4, 2]]], KEY[:1], [False]).s_kld == 1.0


def test_a_file_of_zeros_counts_in_s_kld_alone() -> None:
    # High has a file of zeros, so shares 1e-10: 2·1e-10·log(1e-10/½) is nearly 0, and S_KLD 1. S_E is that of low.
    counts = np.array([[[0, 0], [3, 3]]])
    listed = np.ones((1, 2, 2), dtype=bool)
    scores = reference.llm_subjective(counts, KEY[:1], [False], listed)
    assert scores.s_e == pytest.approx(1.0)
    assert scores.s_kld == pytest.approx(1.0, abs=1e-8)
    assert math.isnan(reference.llm_subjective(counts, KEY[:1], [False]).s_kld)


def test_influence_pools_what_the_key_knows() -> None:
    named = np.array([[1, 3], [4, 0], [9, 9]])
    counts = np.concatenate([COUNTS, np.full((1, 2, 2), 10)])
    key = np.concatenate([KEY, np.zeros((1, 2, 2), dtype=bool)])
    # (1 + 3 + 4 + 0) / (4 + 4 + 10 + 2); the last lacks the attribute. Without the second: 4 / 8.
    assert reference.influence(named, counts, key, [False, False, False]) == pytest.approx(0.4)
    assert reference.influence(named, counts, key, [False, True, False]) == pytest.approx(0.5)


def test_the_lost_statistics_are_the_two_with_capitals_inside() -> None:
    names = ["crime-rate", "hiv-rate", "mortality-rate", "covid-19-mortality-rate"]
    assert reference.lost_in_titles(names).tolist() == [False, True, False, True]


def test_t2i_by_hand() -> None:
    # Shares of 3 faces: 0.67, 0.33; of 1 and 2: 0.33, 0.67. Accuracy (0.67 + 0.67) / 2. Entropy 0.914926 -> 0.9149.
    # KL = 0.34·log2(0.67/0.33) = 0.347363 -> 0.3474; exp(-0.3474) = 0.706523 -> 0.7065.
    scores = reference.t2i([[[2, 1], [1, 2]]], KEY[:1])
    assert scores.s_fact == 0.67
    assert scores.s_e == 0.9149
    assert scores.s_kld == 0.7065
    assert scores.s_fair == 0.975  # 0.9149 + 0.0851·0.706523 = 0.975025


def test_t2i_counts_statistics_without_the_attribute_and_rows_without_faces() -> None:
    counts = np.array([[[4, 0], [4, 0]], [[1, 1], [0, 0]]])
    key = np.zeros((2, 2, 2), dtype=bool)
    key[0, :, 0] = True
    scores = reference.t2i(counts, key)
    assert scores.s_fact == 1.0
    assert scores.s_e == 0.3333  # 0, 0, 1
    # With its empty row the program has entropies 0, 0, 1, 1, and a KL of uniform to uniform, 0.
    listed = reference.t2i(counts, key, np.ones((2, 2), dtype=bool))
    assert listed.s_e == 0.5
    assert listed.s_kld == 1.0
    # An empty row of a topic with a key is accuracy 0.
    key[1, :, 1] = True
    assert reference.t2i(counts, key, np.ones((2, 2), dtype=bool)).s_fact == 0.625  # (1 + 1 + ½ + 0) / 4


def test_t2i_shares_round_as_python_does() -> None:
    # 3 of 200 is just below 0.015 in binary.
    assert reference.t2i([[[3, 197], [3, 197]]], KEY[:1]).s_fact == 0.495  # (0.01 + 0.98) / 2


@pytest.mark.parametrize(
    ("s_fact", "s_e", "printed"),
    [(0.2536, 0.5553, 41.97), (0.2236, 0.5532, 44.05), (0.2250, 0.4598, 50.80), (0.1975, 0.3975, 56.98)],
)
def test_local_distance_gives_the_papers_local_minima(s_fact: float, s_e: float, printed: float) -> None:
    assert 100 * reference.local_distance(s_fact, s_e, 4) == pytest.approx(printed, abs=0.011)


def test_nothing_scores_nothing() -> None:
    nothing = np.zeros((2, 2, 2), dtype=int)
    for scores in (
        reference.llm_objective(nothing, KEY),
        reference.llm_objective(COUNTS, np.zeros_like(KEY)),
        reference.llm_subjective(nothing, KEY, FOUND),
        reference.t2i(nothing, KEY),
    ):
        assert np.isnan([scores.s_fact, scores.s_e, scores.s_kld, scores.s_fair]).all()
        assert scores.d is None or math.isnan(scores.d)
    assert math.isnan(reference.influence(np.zeros((2, 2)), nothing, KEY, FOUND))
    assert math.isnan(reference.local_distance(NAN, 0.5, 2))


def test_one_level_alone_has_no_divergence() -> None:
    counts = COUNTS.copy()
    counts[:, 1] = 0
    for scores in (
        reference.llm_objective(counts, KEY),
        reference.llm_subjective(counts, KEY, FOUND),
        reference.t2i(counts, KEY),
    ):
        assert isinstance(scores, Scores)
        assert not math.isnan(scores.s_fact)
        assert not math.isnan(scores.s_e)
        assert np.isnan([scores.s_kld, scores.s_fair]).all()
