"""Values worked out by hand; logarithms of 2 and 3 are written out where they help."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairgate.core.statistics.distributions import (
    distance,
    entropy,
    g,
    kl,
    mean_present,
    over_groups,
    shares,
    total_variation,
)

LN2, LN3 = 0.6931471805599453, 1.0986122886681098
NAN = math.nan


def test_shares_of_counts() -> None:
    assert shares([[3, 1], [0, 5]]).tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_shares_of_nothing_are_nan_and_stay_in_their_row() -> None:
    np.testing.assert_array_equal(shares([[0, 0], [1, 1]]), [[NAN, NAN], [0.5, 0.5]])


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_a_sum_over_groups_is_numpys_to_the_last_digit(k: int) -> None:
    x = np.random.default_rng(k).dirichlet(np.ones(k), size=(20, 5, 2))
    for stored in (x, np.asfortranarray(x), x[:, np.arange(5) > 1]):
        before, after = stored.sum(axis=-1), over_groups(stored)
        np.testing.assert_array_equal(after, before)
        # A later sum goes through memory, and rounds accordingly.
        assert after.strides == before.strides


def test_mean_present_leaves_nan_out() -> None:
    np.testing.assert_array_equal(mean_present([[1.0, NAN, 4.0], [NAN, NAN, NAN]], -1), [2.5, NAN])
    assert mean_present([[1.0, NAN], [0.0, 2.0]], (0, 1)) == 1.0


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([1.0, 0.0], 0.0),
        ([0.5, 0.5], 1.0),
        ([0.75, 0.25], 0.8112781244591328),  # 2 - ¾·log2 3
        ([0.5, 0.25, 0.125, 0.125], 0.875),  # 1.75 bits of 2
        ([0.5, 0.5, 0.0, 0.0], 0.5),  # 1 bit of 2
        ([1 / 3, 1 / 3, 1 / 3, 0.0], LN3 / (2 * LN2)),
    ],
)
def test_entropy_is_normalised(p: list[float], expected: float) -> None:
    assert float(entropy(p)) == pytest.approx(expected, abs=1e-15)


def test_entropy_of_one_group_is_plain_zero() -> None:
    assert str(float(entropy([0.0, 1.0]))) == "0.0"


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ([0.5, 0.5], [0.5, 0.5], 0.0),
        ([0.75, 0.25], [0.25, 0.75], 0.5 * LN3),
        ([0.5, 0.25, 0.125, 0.125], [0.25] * 4, 0.25 * LN2),
        ([0.25] * 4, [0.5, 0.25, 0.125, 0.125], 0.25 * LN2),  # ¼·(-1 + 0 + 1 + 1)·log 2
        ([1.0, 0.0], [0.5, 0.5], LN2),
        ([0.5, 0.5], [1.0, 0.0], math.inf),
        ([1.0, 0.0], [0.0, 1.0], math.inf),
        ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], 0.0),
    ],
)
def test_kl_in_nats(p: list[float], q: list[float], expected: float) -> None:
    assert float(kl(p, q)) == pytest.approx(expected, abs=1e-15)


def test_kl_is_not_symmetric() -> None:
    # KL(p||q) = ½·log(½/¼) + ½·log(½/¾) = ½·log(4/3); KL(q||p) = ¼·log ½ + ¾·log(3/2)
    p, q = [0.5, 0.5], [0.25, 0.75]
    assert float(kl(p, q)) == pytest.approx(0.5 * (2 * LN2 - LN3), abs=1e-15)
    assert float(kl(q, p)) == pytest.approx(0.75 * LN3 - LN2, abs=1e-15)


def test_kl_of_nearly_equal_shares_is_not_below_zero_by_rounding() -> None:
    # The plain sum of these is of the order of -1e-17.
    p, q = [0.4000707853732506, 0.5999292146267494], [0.40007078556377507, 0.5999292144362249]
    assert 0.0 <= kl(p, q) < 1e-15


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [([0.8, 0.2], [0.2, 0.8], 0.6), ([1.0, 0.0], [0.0, 1.0], 1.0), ([0.5, 0.25, 0.125, 0.125], [0.25] * 4, 0.25)],
)
def test_total_variation_is_half_the_sum(p: list[float], q: list[float], expected: float) -> None:
    assert float(total_variation(p, q)) == pytest.approx(expected, abs=1e-15)


def test_nan_rows_come_through() -> None:
    there, nothing = [0.5, 0.5], [NAN, NAN]
    assert np.isnan(entropy(nothing))
    for measure in (kl, total_variation):
        assert np.isnan(measure(there, nothing))
        assert np.isnan(measure([1.0, 0.0], nothing))
        assert np.isnan(measure(nothing, there))


def test_leading_axes_are_kept() -> None:
    p = np.full((5, 3, 4), 0.25)
    assert entropy(p).shape == kl(p, p).shape == total_variation(p, p).shape == (5, 3)
    assert distance(np.zeros((5, 3)), np.ones(3), 4).shape == (5, 3)
    assert distance(0.5, 0.5, 2).shape == ()


@pytest.mark.parametrize(
    ("a", "k", "expected"),
    [
        (0.0, 2, 0.0),
        (0.5, 2, 1.0),
        (1.0, 2, 0.0),
        (0.75, 2, 0.8112781244591328),
        (0.0, 4, LN3 / (2 * LN2)),
        (0.25, 4, 1.0),
        (1.0, 4, 0.0),
        (0.5, 4, 0.5 + LN3 / (4 * LN2)),  # (½, 1/6, 1/6, 1/6): 1 bit + ½·log2 3, of 2
        (1 / 3, 3, 1.0),
        (0.0, 3, LN2 / LN3),
    ],
)
def test_g_by_hand(a: float, k: int, expected: float) -> None:
    assert float(g(a, k)) == pytest.approx(expected, abs=1e-15)


def test_g_is_undefined_outside_the_unit_interval() -> None:
    assert np.isnan(g([-0.001, 1.001, NAN], 4)).all()


def test_fewer_than_two_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="k = 1"):
        g(0.5, 1)
    with pytest.raises(ValueError, match="k = 1"):
        entropy([1.0])


# By a search over two million points of the curve, to 1e-6; the last three have their nearest point at an end.
@pytest.mark.parametrize(
    ("s_fact", "s_e", "k", "expected"),
    [
        (0.2536, 0.5553, 4, 0.34723),  # the papers print the local minimum 41.97
        (0.2236, 0.5532, 4, 0.32749),  # 44.05
        (0.2250, 0.4598, 4, 0.40162),  # 50.80
        (0.1975, 0.3975, 4, 0.44161),  # 56.98
        (0.4890, 0.6436, 2, 0.29143),
        (0.25, 1.0, 4, 0.0),
        (0.0, 0.1, 4, LN3 / (2 * LN2) - 0.1),
        (0.0, -0.3, 2, 0.3),
        (1.0, -0.3, 2, 0.3),
    ],
)
def test_distance_is_to_the_nearest_point_of_all(s_fact: float, s_e: float, k: int, expected: float) -> None:
    assert float(distance(s_fact, s_e, k)) == pytest.approx(expected, abs=6e-6)


def test_distance_to_nothing_is_nan_and_disturbs_no_neighbour() -> None:
    found = distance([NAN, 0.5, 0.5], [0.5, NAN, 1.0], 2)
    assert np.isnan(found[:2]).all()
    assert found[2] == pytest.approx(0.0, abs=1e-9)


def test_distance_of_many_points_is_that_of_each() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.random(1500), rng.random(1500)
    together = distance(x, y, 4)
    for i in range(0, 1500, 97):
        assert together[i] == distance(x[i], y[i], 4)
