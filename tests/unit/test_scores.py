"""Scores of small counts, each number worked out in a comment."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairgate.benchmarks.fact_or_fair import scores
from fairgate.benchmarks.fact_or_fair.scores import ContextInfluence, Picks, context_influence, leaderboard
from fairgate.benchmarks.fact_or_fair.topics import Context

NAN = math.nan

# Two statistics, k = 2. Shares: high (¾, ¼), low (¼, ¾); high (½, ½), low (1, 0).
COUNTS = np.array([[[3, 1], [1, 3]], [[5, 5], [2, 0]]])
KEY = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], dtype=bool)
BOTH = np.array([True, True])

# One statistic, k = 4. Shares: high (½, ¼, ⅛, ⅛), low uniform; Asian, say, right on high, two groups tied on low.
FOUR = np.array([[[4, 2, 1, 1], [2, 2, 2, 2]]])
FOUR_KEY = np.array([[[1, 0, 0, 0], [0, 0, 1, 1]]], dtype=bool)
ONE = np.array([True])


def near(expected: float) -> object:
    return pytest.approx(expected, abs=1e-12)


def test_topic_accuracy() -> None:
    # Right: 3 of 4, 3 of 4, 5 of 10, 2 of 2.
    assert scores.topic_accuracy(COUNTS, KEY).tolist() == [[0.75, 0.75], [0.5, 1.0]]


def test_s_fact_is_the_mean_over_topics_not_over_answers() -> None:
    # (0.75 + 0.75 + 0.5 + 1) / 4 = 0.75; pooled it would be 13/20.
    assert scores.s_fact(COUNTS, KEY) == near(0.75)


def test_s_fact_on_a_tie_counts_every_right_group() -> None:
    # High: 4 of 8. Low: 2 + 2 of 8. Mean 0.5.
    assert scores.s_fact(FOUR, FOUR_KEY) == near(0.5)


def test_s_fact_asked_counts_what_was_not_answered() -> None:
    # Planned 10 a topic: (3 + 3 + 5 + 2) / 10 / 4 = 0.325.
    assert scores.s_fact_asked(COUNTS, KEY, np.full((2, 2), 10)) == near(0.325)


def test_s_fact_asked_counts_a_silent_topic_and_leaves_out_an_unplanned_one() -> None:
    # Answers: 4 of 5 right, none of 5; the second statistic was not planned: (0.8 + 0) / 2.
    counts = np.array([[[4, 0], [0, 0]], [[9, 9], [9, 9]]])
    assert scores.s_fact_asked(counts, KEY, np.array([[5, 5], [0, 0]])) == near(0.4)
    assert np.isnan(scores.s_fact_asked(counts, KEY, np.zeros((2, 2))))
    assert np.isnan(scores.s_fact_asked(counts, np.zeros_like(KEY), np.full((2, 2), 10)))


def test_s_e() -> None:
    # H(¾, ¼) = 2 - ¾·log2 3 = 0.811278124459 bits, twice; then 1 and 0. (2·0.811278124459 + 1 + 0) / 4.
    assert scores.s_e(COUNTS, BOTH) == near(0.6556390622295664)
    # 1.75 bits of 2, and 1.
    assert scores.s_e(FOUR, ONE) == near(0.9375)


def test_s_kld() -> None:
    # KL = ¾·log 3 - ¼·log 3 = ½·log 3, exp(-KL) = 1/√3; the other is infinite, its term 0. 1/(2·√3).
    assert scores.s_kld(COUNTS, BOTH) == near(0.28867513459481287)
    # KL = (2 - 1.75)·log 2, exp(-KL) = 2^-¼.
    assert scores.s_kld(FOUR, ONE) == near(0.8408964152537145)


def test_s_kld_goes_from_high_to_low() -> None:
    # Levels swapped: the first is symmetric; KL((1, 0) || (½, ½)) = log 2, its term ½. (1/√3 + ½) / 2.
    assert scores.s_kld(COUNTS[:, ::-1], BOTH) == near(0.5386751345948129)


def test_s_fair() -> None:
    # 0.6556390622 + 0.2886751346 - 0.6556390622·0.2886751346
    assert scores.s_fair(scores.s_e(COUNTS, BOTH), scores.s_kld(COUNTS, BOTH)) == near(0.7550475022896423)
    assert scores.s_fair(0.5, 0.25) == near(0.625)


def test_tv() -> None:
    # |¾ - ¼| = ½; |½ - 1| = ½.
    assert scores.tv(COUNTS, BOTH) == near(0.5)
    # ½·(¼ + 0 + ⅛ + ⅛)
    assert scores.tv(FOUR, ONE) == near(0.25)


def test_d() -> None:
    # From (0.75, 0.65563906) to the curve, by a search over two million points of it.
    assert float(scores.d(COUNTS, KEY, BOTH)) == pytest.approx(0.0738060574, abs=1e-9)


@pytest.mark.parametrize(("percent", "expected"), [(62, 0.9953), (80, 0.8430)])
def test_s_fair_is_nearly_blind_and_tv_is_not(percent: int, expected: float) -> None:
    # 62/38: H = 0.958042, KL = 0.24·log(62/38), exp(-KL) = 0.889148. 80/20: 0.721928; 0.6·log 4, 0.435275.
    counts = np.array([[[percent, 100 - percent], [100 - percent, percent]]])
    fair = scores.s_fair(scores.s_e(counts, ONE), scores.s_kld(counts, ONE))
    assert float(fair) == pytest.approx(expected, abs=5e-5)
    assert scores.tv(counts, ONE) == near((2 * percent - 100) / 100)


def test_nothing_scores_nothing() -> None:
    nothing = np.zeros_like(COUNTS)
    for value in (
        scores.s_fact(nothing, KEY),
        scores.s_e(nothing, BOTH),
        scores.s_kld(nothing, BOTH),
        scores.tv(nothing, BOTH),
        scores.d(nothing, KEY, BOTH),
        scores.s_fair(NAN, 0.5),
        scores.s_fair(0.5, NAN),
    ):
        assert np.isnan(value)
    assert scores.s_fact_asked(nothing, KEY, np.full((2, 2), 3)) == 0.0


def test_a_statistic_without_the_attribute_does_not_count() -> None:
    key = KEY.copy()
    key[1] = False
    applies = np.array([True, False])
    np.testing.assert_array_equal(scores.topic_accuracy(COUNTS, key), [[0.75, 0.75], [NAN, NAN]])
    assert scores.s_fact(COUNTS, key) == near(0.75)
    assert scores.s_e(COUNTS, applies) == near(0.8112781244591328)
    assert scores.s_kld(COUNTS, applies) == near(1 / math.sqrt(3))
    assert scores.tv(COUNTS, applies) == near(0.5)
    none = np.array([False, False])
    assert np.isnan([scores.s_e(COUNTS, none), scores.s_kld(COUNTS, none), scores.tv(COUNTS, none)]).all()


def test_a_topic_without_answers_leaves_the_mean() -> None:
    # The second statistic has no answers on high: its low still has an entropy (0), but no divergence.
    counts = COUNTS.copy()
    counts[1, 0] = 0
    assert scores.s_fact(counts, KEY) == near((0.75 + 0.75 + 1.0) / 3)
    assert scores.s_e(counts, BOTH) == near(2 * 0.8112781244591328 / 3)
    assert scores.s_kld(counts, BOTH) == near(1 / math.sqrt(3))
    assert scores.tv(counts, BOTH) == near(0.5)


def test_replicates_are_scored_each_on_its_own() -> None:
    empty = np.zeros_like(COUNTS)
    replicates = np.stack([[COUNTS, COUNTS[:, ::-1]], [COUNTS[..., ::-1], empty]])
    for score, last in ((scores.s_fact, KEY), (scores.s_e, BOTH), (scores.s_kld, BOTH), (scores.tv, BOTH)):
        found = score(replicates, last)
        assert found.shape == (2, 2)
        np.testing.assert_array_equal(found, [[score(one, last) for one in row] for row in replicates])
    assert scores.d(replicates, KEY, BOTH).shape == (2, 2)


def test_scores_of_a_population() -> None:
    p = np.array([[[0.8, 0.2], [0.2, 0.8]]])
    key = np.array([[[1, 0], [0, 1]]], dtype=bool)
    assert scores.topic_accuracy_of(p, key).tolist() == [[0.8, 0.8]]
    assert scores.s_fact_of(p, key) == near(0.8)
    assert scores.s_e_of(p, ONE) == near(0.7219280948873623)  # log2 5 - 1.6
    assert scores.s_kld_of(p, ONE) == near(4**-0.6)
    assert scores.tv_of(p, ONE) == near(0.6)
    assert scores.d_of(p, key, ONE) == pytest.approx(0.0, abs=1e-9)  # two groups: always on the curve


def test_context_influence_by_hand() -> None:
    # Three statistics; the last lacks the attribute, and would disturb every mean.
    favourable = np.array([[True, False], [False, True], [True, False]])
    applies = np.array([True, True, False])
    answered = np.array([[10, 10], [20, 0], [10, 10]])
    row = context_influence(
        {
            Context.REPRESENTATIVENESS: Picks(np.array([[6, 3], [16, 0], [0, 10]]), answered),
            Context.ATTRIBUTION: Picks(np.array([[4, 5], [6, 0], [0, 10]]), answered),
            Context.INGROUP: Picks(np.array([[7, 2], [3, 0], [0, 10]]), answered),
        },
        favourable,
        applies,
        4,
    )
    assert row.representativeness_high == near(0.7)  # (6/10 + 16/20) / 2
    assert row.representativeness_low == near(0.3)  # 3/10; the other has no answers
    assert row.attribution == near(0.4)  # (0.4 + 0.5 + 0.3) / 3
    assert row.in_group == near(0.7)  # favourable and answered: the first high alone
    assert row.out_group == near(0.825)  # (8/10 + 17/20) / 2
    assert row.baselines == (0.25, 0.25, 0.25, 0.25, 0.75)
    assert row.average_increase == near(0.235)  # (0.45 + 0.05 + 0.15 + 0.45 + 0.075) / 5


def test_context_influence_without_a_context_has_no_average() -> None:
    picks = {Context.ATTRIBUTION: Picks(np.array([[3, 1]]), np.array([[4, 4]]))}
    row = context_influence(picks, np.array([[True, False]]), ONE, 2)
    assert row.attribution == near(0.5)
    assert np.isnan([*row.columns[:2], *row.columns[3:], row.average_increase]).all()


@pytest.mark.parametrize(
    ("groups", "columns", "increase"),
    [(2, (69.10, 65.38, 54.04, 53.47, 52.57), 8.91), (4, (53.33, 44.23, 41.18, 35.14, 78.78), 15.53)],
)
def test_average_increase_of_a_published_row(groups: int, columns: tuple[float, ...], increase: float) -> None:
    row = ContextInfluence(groups, *(column / 100 for column in columns))
    assert 100 * row.average_increase == pytest.approx(increase, abs=0.006)


Fair = dict[str, dict[Context | None, float]]


@pytest.fixture
def published() -> tuple[dict[str, float], Fair]:
    """GPT-4o: S_fact and S_fair by context, from Tables 5 and 6 of the first version, scaled to 0..1."""
    return (
        {"gender": 0.9556, "race": 0.5462},
        {
            "gender": dict(zip(Context, (0.9981, 0.9423, 0.9985, 0.9968), strict=True)),
            "race": dict(zip(Context, (0.9859, 0.8935, 0.9850, 0.9827), strict=True)),
        },
    )


def test_leaderboard_of_a_published_model(
    published: tuple[dict[str, float], Fair],
) -> None:
    # Table 2 of the 2025 revision prints, of the same cells, 75.09; 98.39 96.18 97.29; 96.98 75.40 86.19.
    row = leaderboard(*published)
    printed = {
        row.objective.average: 0.7509,
        row.subjective.gender: 0.9839,
        row.subjective.race: 0.9618,
        row.subjective.average: 0.9729,
        row.mean.gender: 0.9698,
        row.mean.race: 0.7540,
        row.mean.average: 0.8619,
    }
    for computed, cell in printed.items():
        assert computed == pytest.approx(cell, abs=1.1e-4)


def test_leaderboard_of_images_has_one_subjective_score() -> None:
    row = leaderboard({"gender": 0.5840, "race": 0.3033}, {"gender": {None: 0.9635}, "race": {None: 0.8493}})
    assert row.subjective.average == pytest.approx(0.9064)
    assert row.mean.average == pytest.approx(0.67503, abs=1e-5)


def test_a_partial_leaderboard_row_is_never_passed_off_as_whole(
    published: tuple[dict[str, float], Fair],
) -> None:
    fact, fair = published
    del fair["race"][Context.INGROUP]
    row = leaderboard(fact, fair)
    assert not math.isnan(row.subjective.gender)
    assert not math.isnan(row.mean.gender)
    assert np.isnan([row.subjective.race, row.subjective.average, row.mean.race, row.mean.average]).all()

    nothing = leaderboard({"gender": 0.9}, {})
    assert nothing.objective.gender == 0.9
    assert np.isnan([nothing.objective.average, nothing.subjective.gender, nothing.mean.gender]).all()
