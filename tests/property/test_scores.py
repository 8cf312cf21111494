"""What holds of every score, whatever the answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, target
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair import scores
from fairgate.core.statistics.distributions import FloatArray, distance, entropy, g, kl, shares, total_variation
from tests.strategies import THOROUGH, Case, cases, distributions, groups, topic_counts, unit

# Distinct shares of at most MOST answers differ by at least 1/(k·MOST)², so their scores by far more than rounding.
ROUNDING = 1e-12


def all_scores(case: Case) -> dict[str, FloatArray]:
    counts, key, applies = case.counts, case.key, case.applies
    e, d = scores.s_e(counts, applies), scores.s_kld(counts, applies)
    return {
        "S_fact": scores.s_fact(counts, key),
        "S_fact@asked": scores.s_fact_asked(counts, key, counts.sum(axis=-1) + 1),
        "S_E": e,
        "S_KLD": d,
        "S_fair": scores.s_fair(e, d),
        "TV": scores.tv(counts, applies),
        "d": scores.d(counts, key, applies),
    }


@THOROUGH
@given(cases())
def test_every_score_is_within_its_bounds_and_nan_only_where_nothing_is(case: Case) -> None:
    found = all_scores(case)
    any_answer, any_pair = case.answered.any(), case.answered.all(axis=-1).any()
    for name, value in found.items():
        there = {"S_fact@asked": case.applies.any(), "S_KLD": any_pair, "S_fair": any_pair, "TV": any_pair}
        assert bool(np.isnan(value)) == (not there.get(name, any_answer)), name
        assert np.isnan(value) or 0.0 <= value <= (math.sqrt(2) if name == "d" else 1.0), name


@THOROUGH
@given(cases(), st.data())
def test_renaming_the_groups_changes_no_score(case: Case, data: st.DataObject) -> None:
    renamed = data.draw(st.permutations(range(case.k)))
    # The key moves with the names, so that S_fact and d do not change either.
    other = all_scores(Case(case.counts[..., renamed], case.key[..., renamed]))
    for name, value in all_scores(case).items():
        assert other[name] == pytest.approx(float(value), abs=1e-9, nan_ok=True), name


@THOROUGH
@given(cases(complete=True))
def test_s_kld_is_1_exactly_where_both_distributions_are_equal(case: Case) -> None:
    high, low = case.counts[:, 0], case.counts[:, 1]
    # Compared in whole numbers: a/b = c/d where a·d = c·b.
    equal = np.array_equal(high * low.sum(-1, keepdims=True), low * high.sum(-1, keepdims=True))
    assert (scores.s_kld(case.counts, case.applies) == 1.0) == equal
    assert (scores.tv(case.counts, case.applies) == 0.0) == equal


@THOROUGH
@given(groups.flatmap(lambda k: topic_counts(k, answered=True)), st.integers(1, 9), st.integers(1, 9))
def test_s_kld_of_multiples_of_one_distribution_is_1(topic: list[int], high: int, low: int) -> None:
    counts = np.array([[topic, topic]]) * np.array([[[high], [low]]])
    assert scores.s_kld(counts, [True]) == 1.0
    assert scores.tv(counts, [True]) == 0.0


@THOROUGH
@given(cases(complete=True))
def test_s_e_is_1_exactly_at_uniform(case: Case) -> None:
    uniform = bool((case.counts == case.counts[..., :1]).all())
    assert (scores.s_e(case.counts, case.applies) > 1.0 - ROUNDING) == uniform


@given(groups, st.integers(1, 10**9))
def test_s_e_at_uniform_is_1_for_any_number_of_answers(k: int, n: int) -> None:
    assert scores.s_e(np.full((1, 2, k), n), [True]) == pytest.approx(1.0, abs=4e-16)


@THOROUGH
@given(unit, unit, unit)
def test_s_fair_has_the_four_properties_of_the_paper(e: float, d: float, more: float) -> None:
    fair = float(scores.s_fair(e, d))
    assert 0.0 <= fair <= 1.0
    lower, higher = sorted((e, more))
    assert scores.s_fair(lower, d) <= scores.s_fair(higher, d) + ROUNDING
    assert scores.s_fair(d, lower) <= scores.s_fair(d, higher) + ROUNDING
    assert scores.s_fair(1.0, d) == scores.s_fair(e, 1.0) == 1.0
    assert scores.s_fair(0.0, d) == d
    assert scores.s_fair(d, 0.0) == d


@THOROUGH
@given(st.floats(0.0, 0.9), st.floats(1e-6, 0.1), st.floats(0.0, 0.999))
def test_s_fair_grows_strictly_below_1(lower: float, step: float, other: float) -> None:
    assert scores.s_fair(lower, other) < scores.s_fair(lower + step, other)
    assert scores.s_fair(other, lower) < scores.s_fair(other, lower + step)


@given(st.integers(2, 12))
def test_g_at_its_three_points(k: int) -> None:
    assert float(g(1 / k, k)) == pytest.approx(1.0, abs=1e-15)
    assert float(g(0.0, k)) == pytest.approx(math.log(k - 1) / math.log(k), abs=1e-15)
    assert g(1.0, k) == 0.0


@THOROUGH
@given(st.integers(2, 12), unit, unit, unit)
def test_g_is_concave(k: int, a: float, b: float, weight: float) -> None:
    between = weight * a + (1.0 - weight) * b
    assert g(between, k) >= weight * g(a, k) + (1.0 - weight) * g(b, k) - 1e-14


@THOROUGH
@given(st.integers(2, 12), unit)
def test_g_has_its_maximum_at_1_over_k_alone(k: int, a: float) -> None:
    assert g(a, k) <= g(1 / k, k)
    if abs(a - 1 / k) > 1e-6:
        assert g(a, k) < g(1 / k, k)


@THOROUGH
@given(st.data())
def test_no_distribution_of_accuracy_a_has_more_entropy_than_g(data: st.DataObject) -> None:
    k = data.draw(groups)
    p = data.draw(distributions(k))
    right = data.draw(st.integers(0, k - 1))
    excess = float(entropy(p) - g(p[right], k))
    target(excess)
    assert excess <= ROUNDING


@THOROUGH
@given(groups, unit)
def test_the_bound_g_is_reached(k: int, a: float) -> None:
    p = [a, *[(1.0 - a) / (k - 1)] * (k - 1)]
    assert float(entropy(p)) == pytest.approx(float(g(a, k)), abs=1e-12)


@THOROUGH
@given(cases(tied=False, complete=True))
def test_no_model_is_above_the_curve(case: Case) -> None:
    s_fact, s_e = scores.s_fact(case.counts, case.key), scores.s_e(case.counts, case.applies)
    excess = float(s_e - g(s_fact, case.k))
    target(excess)
    assert excess <= ROUNDING


@THOROUGH
@given(st.integers(2, 6), st.one_of(unit, st.floats(0.0, 1e-6), st.floats(0.0, 1e-6).map(lambda x: 1.0 - x)))
def test_d_is_0_on_the_curve(k: int, a: float) -> None:
    assert float(distance(a, g(a, k), k)) == pytest.approx(0.0, abs=1e-9)


def curve(a: float, k: int) -> float:
    """g once more, in plain floats."""
    return -sum(w * math.log(w / share) for w, share in ((1.0 - a, k - 1), (a, 1)) if w) / math.log(k)


# Under the top of the curve, at 1/k, lie the points with two nearest ones.
anywhere = st.tuples(st.floats(-0.2, 1.2), st.floats(-0.3, 1.3))
under_the_top = st.tuples(st.floats(-0.02, 0.02), st.floats(0.5, 1.0))
places = st.integers(2, 6).flatmap(
    lambda k: st.tuples(st.just(k), st.one_of(anywhere, under_the_top.map(lambda p: (1 / k + p[0], p[1]))))
)


@THOROUGH
@given(places, st.lists(unit, min_size=1, max_size=30))
def test_d_is_never_more_than_the_distance_to_a_point_of_the_curve(
    place: tuple[int, tuple[float, float]], sampled: list[float]
) -> None:
    k, point = place
    d = float(distance(*point, k))
    for a in sampled:
        assert d <= math.hypot(a - point[0], curve(a, k) - point[1]) + 1e-9


DENSE = np.sin(np.linspace(0.0, math.pi / 2, 20_001)) ** 2
CURVES = {k: np.array([curve(float(a), k) for a in DENSE]) for k in range(2, 7)}


@THOROUGH
@given(places)
def test_d_is_the_global_minimum_by_a_dense_search(place: tuple[int, tuple[float, float]]) -> None:
    k, (x, y) = place
    searched = float(np.hypot(DENSE - x, CURVES[k] - y).min())
    # The nearest of the searched points is some steps of 1e-4 off the curve's nearest at most.
    assert searched - 1e-3 <= float(distance(x, y, k)) <= searched + 1e-9


def test_d_is_the_global_minimum_on_a_whole_raster() -> None:
    raster = np.linspace(0.0, 1.0, 41)
    x, y = (axis.ravel() for axis in np.meshgrid(raster, raster))
    for k, bound in CURVES.items():
        searched = np.array([np.hypot(DENSE - one, bound - other).min() for one, other in zip(x, y, strict=True)])
        found = distance(x, y, k)
        assert (found <= searched + 1e-9).all()
        assert (found >= searched - 1e-3).all()


@THOROUGH
@given(cases(complete=True))
def test_mean_of_exp_is_at_least_exp_of_mean(case: Case) -> None:
    p = shares(case.counts)
    divergences = kl(p[:, 0], p[:, 1])
    mean_first = math.exp(-float(divergences.mean()))
    found = float(scores.s_kld(case.counts, case.applies))
    assert found >= mean_first - ROUNDING
    assert found == pytest.approx(float(np.exp(-divergences).mean()))


@THOROUGH
@given(st.data())
def test_divergences_are_what_they_should_be(data: st.DataObject) -> None:
    k = data.draw(groups)
    p, q = data.draw(distributions(k)), data.draw(distributions(k))
    divergence, variation = float(kl(p, q)), float(total_variation(p, q))
    assert 0.0 <= variation <= 1.0
    assert float(total_variation(q, p)) == variation
    # Pinsker's inequality, which ties the two measures together.
    assert divergence >= 2.0 * variation**2 - ROUNDING


@THOROUGH
@given(cases(), st.data())
def test_more_samples_of_a_topic_change_no_other_topic(case: Case, data: st.DataObject) -> None:
    statistic = data.draw(st.integers(0, len(case.counts) - 1))
    level = data.draw(st.integers(0, 1))
    more = data.draw(topic_counts(case.k))
    counts = case.counts.copy()
    counts[statistic, level] += np.array(more)

    others = np.ones(counts.shape[:2], dtype=np.bool_)
    others[statistic, level] = False
    accuracy = scores.topic_accuracy
    np.testing.assert_array_equal(accuracy(counts, case.key)[others], accuracy(case.counts, case.key)[others])
    np.testing.assert_array_equal(entropy(shares(counts))[others], entropy(shares(case.counts))[others])

    elsewhere = case.applies & (np.arange(len(counts)) != statistic)
    for score in (scores.s_e, scores.s_kld, scores.tv):
        np.testing.assert_array_equal(score(counts, elsewhere), score(case.counts, elsewhere))
    # The mean moves by the change of the one topic alone, shared among all.
    n = int(case.answered.sum())
    if case.answered[statistic, level]:
        moved = entropy(shares(counts))[statistic, level] - entropy(shares(case.counts))[statistic, level]
        after, before = scores.s_e(counts, case.applies), scores.s_e(case.counts, case.applies)
        assert float(after - before) == pytest.approx(float(moved) / n, abs=ROUNDING)


@THOROUGH
@given(cases(), st.data())
def test_scores_do_not_depend_on_the_order_of_statistics(case: Case, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(case.counts))))
    shuffled = all_scores(Case(case.counts[order], case.key[order]))
    for name, value in all_scores(case).items():
        assert shuffled[name] == pytest.approx(float(value), abs=1e-9, nan_ok=True), name


@THOROUGH
@given(cases(), st.integers(2, 7))
def test_counts_and_their_shares_score_the_same(case: Case, factor: int) -> None:
    p = shares(case.counts * factor)
    pairs = [
        (scores.s_fact(case.counts, case.key), scores.s_fact_of(p, case.key)),
        (scores.s_e(case.counts, case.applies), scores.s_e_of(p, case.applies)),
        (scores.s_kld(case.counts, case.applies), scores.s_kld_of(p, case.applies)),
        (scores.tv(case.counts, case.applies), scores.tv_of(p, case.applies)),
        (scores.d(case.counts, case.key, case.applies), scores.d_of(p, case.key, case.applies)),
    ]
    for of_counts, of_shares in pairs:
        assert float(of_shares) == pytest.approx(float(of_counts), abs=1e-9, nan_ok=True)


@THOROUGH
@given(cases(), st.integers(1, 4))
def test_replicates_score_as_each_alone(case: Case, replicates: int) -> None:
    stack = np.stack([case.counts * np.arange(extra, extra + case.k) for extra in range(replicates)])
    together = scores.s_e(stack, case.applies), scores.s_kld(stack, case.applies), scores.s_fact(stack, case.key)
    for i, counts in enumerate(stack):
        alone = scores.s_e(counts, case.applies), scores.s_kld(counts, case.applies), scores.s_fact(counts, case.key)
        for many, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(many[i], one, atol=ROUNDING)
