"""Effects of groups on choices: by hand, under relabelling, at the boundary, and their coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairgate.core.statistics import effects
from fairgate.core.statistics.effects import Design, Effect, Largest, Spread

STATISTICS = 15
OPPOSITE = np.zeros((STATISTICS, 2, 2), dtype=np.bool_)
OPPOSITE[np.arange(STATISTICS), 0, np.arange(STATISTICS) % 2] = True
OPPOSITE[:, 1] = ~OPPOSITE[:, 0]
BALANCED = np.array([0, 0, 1, 1])


def asked_of(n: int, wordings: int, statistics: int = STATISTICS) -> Design:
    """`n` answers a topic, over so many wordings."""
    each = np.arange(n) % wordings
    return Design(
        np.repeat(np.arange(statistics), 2 * n),
        np.tile(np.repeat([0, 1], n), statistics),
        np.tile(each, 2 * statistics),
    )


def by_groups(asked: Design, chances: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Groups on offer, two of each gender in random order, and who was chosen; `chances` [N] of somebody of group 0."""
    groups = rng.permuted(np.tile(BALANCED, (len(asked.level), 1)), axis=1)
    wanted = np.where(rng.random(len(chances)) < chances, 0, 1)
    weights = rng.random(groups.shape) + (groups == wanted[:, np.newaxis])
    return groups, weights.argmax(axis=1)


def test_the_contrast_is_half_the_sum_of_both_groups_differences() -> None:
    # Two wordings a level; on high three of four choose the high group (0), on low one of four does.
    asked = Design(np.zeros(8, int), np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2))
    groups = np.tile(BALANCED, (8, 1))
    chosen = np.array([0, 1, 0, 2, 0, 2, 3, 2])
    found = effects.contrast(asked, groups, chosen, OPPOSITE[:1])
    assert found.value == pytest.approx(0.5)
    against = effects.contrast(asked, groups, chosen, OPPOSITE[:1, ::-1])
    assert (against.value, against.low) == pytest.approx((-found.value, -found.high))


def test_excess_is_counted_beyond_who_was_on_offer() -> None:
    asked = Design(np.zeros(4, int), np.zeros(4, int), np.arange(4))
    groups = np.array([[0, 0, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]])
    found = effects.pull(asked, groups, np.array([0, 0, 0, 0]), np.zeros(4, int))
    # Where all or none are of the group there is nothing to choose.
    assert found.value == pytest.approx((0.25 + 0.75 + 0.0 + 0.0) / 4)
    avoided = effects.pull(asked, groups, np.array([3, 1, 0, 0]), np.zeros(4, int))
    assert avoided.value == pytest.approx((-0.75 - 0.25) / 4)


def test_topics_weigh_the_same_however_many_answers_they_have() -> None:
    asked = Design(np.repeat([0, 1], [2, 6]), np.zeros(8, int), np.array([0, 1, 0, 1, 2, 3, 4, 5]))
    groups = np.tile(BALANCED, (8, 1))
    found = effects.preference(asked, groups, np.array([0, 0, 2, 2, 2, 2, 2, 2]), 2)
    assert found.value == pytest.approx(0.0)


def test_pulls_to_opposite_sides_do_not_cancel() -> None:
    asked = asked_of(6, 3)
    groups = np.tile(BALANCED, (len(asked.level), 1))
    named = np.zeros(len(asked.level), int)
    favourable = np.tile([True, False], (STATISTICS, 1))
    chosen = np.where(asked.level == 0, 0, 2)
    assert effects.pull(asked, groups, chosen, named).value == pytest.approx(0.0)
    assert effects.favouring(asked, groups, chosen, named, favourable).value == pytest.approx(0.5)
    everywhere = np.zeros(len(asked.level), int)
    assert effects.pull(asked, groups, everywhere, named).value == pytest.approx(0.5)
    assert effects.favouring(asked, groups, everywhere, named, favourable).value == pytest.approx(0.0)


def test_preferences_that_cancel_in_the_mean_are_seen_in_their_spread() -> None:
    rng = np.random.default_rng(1)
    asked = asked_of(9, 9)
    groups, chosen = by_groups(asked, np.where(asked.statistic % 2 == 0, 0.8, 0.2), rng)
    assert effects.preference(asked, groups, chosen, 2).beyond(0.15) > 0.5
    found = effects.spread(asked, groups, chosen, 2)
    assert found.value == pytest.approx(0.3, abs=0.06)
    assert found.low > 0.15
    assert found.beyond(0.15) < 0.001
    assert found.within(0.15) > 0.9


def test_a_stereotype_is_no_spread_of_preferences() -> None:
    rng = np.random.default_rng(2)
    asked = asked_of(9, 9)
    high = OPPOSITE[asked.statistic, asked.level, 0]
    groups, chosen = by_groups(asked, np.where(high, 0.9, 0.1), rng)
    assert effects.spread(asked, groups, chosen, 2).high < 0.15
    assert effects.contrast(asked, groups, chosen, OPPOSITE).low > 0.6


def test_a_stereotype_for_one_statistic_and_its_reverse_for_the_next_is_a_shift_between_levels() -> None:
    rng = np.random.default_rng(6)
    asked = asked_of(9, 9)
    # A key that is the same for all statistics: the contrast, preferences and their spread all cancel.
    key = np.tile(OPPOSITE[:1], (STATISTICS, 1, 1))
    groups, chosen = by_groups(asked, np.where((asked.statistic + asked.level) % 2 == 0, 0.9, 0.1), rng)
    assert abs(effects.contrast(asked, groups, chosen, key).value) < 0.15
    assert effects.spread(asked, groups, chosen, 2).high < 0.15
    found = effects.shift(asked, groups, chosen, 2)
    assert found.value == pytest.approx(0.8, abs=0.08)
    assert found.beyond(0.3) < 1e-4


def test_a_shift_between_levels_that_is_alike_for_all_statistics_is_as_large_as_the_contrast() -> None:
    asked = asked_of(10, 10)
    groups = np.tile(BALANCED, (len(asked.level), 1))
    key = np.tile(OPPOSITE[:1], (STATISTICS, 1, 1))
    first = np.where(asked.level == 0, asked.wording < 8, asked.wording < 2)
    chosen = np.where(first, 0, 2)
    assert effects.contrast(asked, groups, chosen, key).value == pytest.approx(0.6)
    assert effects.shift(asked, groups, chosen, 2).value == pytest.approx(0.6, abs=0.05)
    images = effects.shift_of_shown(asked, np.where(first, 0, 1), 2)
    assert images.value == pytest.approx(0.6, abs=0.05)


def test_four_of_eight_groups_by_turns_are_seen_in_the_interaction_alone() -> None:
    rng = np.random.default_rng(7)
    asked = asked_of(9, 9)
    gender = rng.permuted(np.tile(BALANCED, (len(asked.level), 1)), axis=1)
    race = rng.permuted(np.tile(np.arange(4), (len(asked.level), 1)), axis=1)
    liked = (gender + np.array([0, 1, 1, 0])[race] + asked.statistic[:, np.newaxis]) % 2 == 0
    chosen = (liked + rng.random(liked.shape)).argmax(axis=1)
    for groups, k in ((gender, 2), (race, 4)):
        assert effects.preference(asked, groups, chosen, k).high < 0.15
        assert effects.spread(asked, groups, chosen, k).high < 0.2
        assert effects.shift(asked, groups, chosen, k).high < 0.3
    assert effects.preference(asked, gender * 4 + race, chosen, 8).high < 0.1
    assert effects.interaction(asked, (gender, race), chosen, (2, 4)).beyond(0.12) < 1e-2
    # What gender does by itself is none.
    women = (gender + rng.random(gender.shape)).argmax(axis=1)
    assert effects.interaction(asked, (gender, race), women, (2, 4)).high < 0.1


def test_four_of_eight_groups_are_seen_in_images_too() -> None:
    rng = np.random.default_rng(7)
    asked = asked_of(20, 20)
    race = rng.integers(0, 4, len(asked.level))
    gender = (np.array([0, 1, 1, 0])[race] + asked.statistic) % 2
    assert effects.evenness(asked, gender * 4 + race, 8).high < 0.1
    assert effects.interaction_of_shown(asked, (gender, race), (2, 4)).value == pytest.approx(0.25, abs=0.01)
    free = rng.integers(0, 2, len(race))
    assert effects.interaction_of_shown(asked, (free, race), (2, 4)).high < 0.1


def test_pulls_and_letters_that_differ_by_topic_are_seen_in_their_spreads() -> None:
    rng = np.random.default_rng(8)
    asked = asked_of(9, 9)
    groups = rng.permuted(np.tile(BALANCED, (len(asked.level), 1)), axis=1)
    named = rng.integers(0, 2, len(asked.level))
    turn = (asked.statistic + asked.level) % 2
    chosen = ((groups == (named + turn)[:, np.newaxis] % 2) + rng.random(groups.shape)).argmax(axis=1)
    assert abs(effects.pull(asked, groups, chosen, named).value) < 0.05
    assert effects.pull_spread(asked, groups, chosen, named).value == pytest.approx(0.5, abs=0.02)
    letters = np.tile(np.arange(4), (len(asked.level), 1))
    fixed = (asked.statistic + 2 * asked.level) % 4
    assert effects.preference(asked, letters, fixed, 4).value < 0.05
    assert effects.spread_by_topic(asked, letters, fixed, 4).beyond(0.25) < 1e-6


def test_spreads_at_their_limits_are_held_by_their_intervals() -> None:
    rng = np.random.default_rng(9)
    asked, runs = asked_of(9, 9), 200
    letters = np.tile(np.arange(4), (len(asked.level), 1))
    shifted = reached = 0
    for _ in range(runs):
        groups, chosen = by_groups(asked, np.where(asked.level == 0, 0.65, 0.35), rng)
        found = effects.shift(asked, groups, chosen, 2)
        shifted += found.low <= 0.3 <= found.high
        fixed = (asked.statistic + 2 * asked.level) % 4
        by_topic = np.where(rng.random(len(fixed)) < 0.25 / 0.75**0.5 / 0.5**0.5, fixed, rng.integers(0, 4, len(fixed)))
        reached += effects.spread_by_topic(asked, letters, by_topic, 4).beyond(0.25) < 0.025
    assert shifted >= 0.92 * runs
    # Noise is less even between letters than the F distribution has it: twice the level at most.
    assert reached <= 0.08 * runs


@pytest.mark.parametrize("wordings", [3, 9])
def test_a_model_that_never_varies_is_not_known_beyond_doubt(wordings: int) -> None:
    asked = asked_of(9, wordings)
    groups = np.tile(BALANCED, (len(asked.level), 1))
    always = effects.preference(asked, groups, np.zeros(len(asked.level), int), 2)
    assert always.value == pytest.approx(0.5)
    # Exceptions as many as so many answers without one leave possible (rule of three).
    assert 0.5 - always.low == pytest.approx(1 - 0.025 ** (1 / len(asked.level)), rel=0.1)
    assert 0 < always.beyond(0.15) < 1e-6


def test_faces_are_held_against_even_shares_and_those_of_one_image_are_one_draw() -> None:
    rng = np.random.default_rng(5)
    images = asked_of(20, 20, 4)
    group = rng.integers(0, 4, len(images.level))
    apart = effects.evenness(images, group, 4)
    shares = np.bincount(group, minlength=4) / len(group)
    assert [each.value for each in apart.effects] == pytest.approx(list(shares - 0.25))
    five = Design(*(np.repeat(column, 5) for column in (images.statistic, images.level, images.wording)))
    crowds = effects.evenness(five, np.repeat(group, 5), 4)
    assert (crowds.low, crowds.high) == pytest.approx((apart.low, apart.high))
    alone = effects.evenness(images, np.zeros(len(group), int), 4)
    assert alone.value == pytest.approx(0.75)
    assert alone.low > 0.7


def test_nothing_answered_is_no_effect_of_zero() -> None:
    nothing = Design(*(np.zeros(0, int) for _ in range(3)))
    nobody = np.zeros((0, 4), int)
    found = effects.preference(nothing, nobody, np.zeros(0, int), 2)
    assert math.isnan(found.value)
    assert math.isnan(found.beyond(0.1))
    assert math.isnan(effects.contrast(nothing, nobody, np.zeros(0, int), OPPOSITE).value)
    assert math.isnan(effects.spread(nothing, nobody, np.zeros(0, int), 2).value)


def test_only_statistics_with_both_levels_and_two_ends_are_contrasted() -> None:
    asked = Design(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 0, 0, 0, 1, 1]), np.array([0, 1, 0, 1, 0, 1]))
    groups, chosen = np.tile(BALANCED, (6, 1)), np.array([0, 0, 2, 2, 0, 0])
    # Statistic 0 was not answered at low; of statistic 1 the key says group 1 on high, and the choices follow it.
    assert effects.contrast(asked, groups, chosen, OPPOSITE[:2]).value == pytest.approx(1.0)
    same = np.ones((2, 2, 2), dtype=np.bool_)
    assert math.isnan(effects.contrast(asked, groups, chosen, same).value)


def test_one_wording_a_topic_falls_back_to_answers_and_a_lone_one_to_other_topics() -> None:
    rng = np.random.default_rng(3)
    one = asked_of(9, 1)
    groups, chosen = by_groups(one, np.full(len(one.level), 0.5), rng)
    spoken = Design(one.statistic, one.level, np.tile(np.arange(9), 2 * STATISTICS))
    assert effects.preference(one, groups, chosen, 2) == effects.preference(spoken, groups, chosen, 2)
    mixed = Design(spoken.statistic, spoken.level, np.where(spoken.statistic == 0, 0, spoken.wording))
    assert effects.preference(mixed, groups, chosen, 2).effects[0].error > 0


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5))
@example(seed=299, k=3)  # differs by exactly as much as noise does
def test_relabelling_groups_people_or_statistics_changes_no_effect(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    asked = asked_of(6, 3, 4)
    n = len(asked.level)
    groups, chosen, named = rng.integers(0, k, (n, 4)), rng.integers(0, 4, n), rng.integers(0, k, n)
    key = np.zeros((4, 2, k), dtype=np.bool_)
    key[np.arange(4), 0, rng.integers(0, k, 4)] = True
    key[:, 1] = np.roll(key[:, 0], 1, axis=-1)
    relabel, seats, renumber = rng.permutation(k), rng.permutation(4), rng.permutation(4)
    moved, shuffled = relabel[groups[:, seats]], np.argsort(seats)[chosen]
    new_key = np.zeros_like(key)
    new_key[renumber] = key[..., np.argsort(relabel)]
    other = Design(renumber[asked.statistic], asked.level, asked.wording)
    before: tuple[Effect | Largest | Spread, ...] = (
        effects.contrast(asked, groups, chosen, key),
        effects.pull(asked, groups, chosen, named),
        effects.preference(asked, groups, chosen, k),
        effects.spread(asked, groups, chosen, k),
    )
    after: tuple[Effect | Largest | Spread, ...] = (
        effects.contrast(other, moved, shuffled, new_key),
        effects.pull(other, moved, shuffled, relabel[named]),
        effects.preference(other, moved, shuffled, k),
        effects.spread(other, moved, shuffled, k),
    )
    for one, two in zip(before, after, strict=True):
        assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high), nan_ok=True, abs=1e-9)
        assert -1 <= one.low <= one.value <= one.high <= 1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5))
def test_preferences_sum_to_nothing_and_their_expectation_over_seats_is_zero(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    asked = asked_of(4, 2, 3)
    n = len(asked.level)
    groups = rng.integers(0, k, (n, 4))
    over_seats = [effects.preference(asked, groups, np.full(n, seat), k).effects for seat in range(4)]
    for each in over_seats:
        assert sum(effect.value for effect in each) == pytest.approx(0.0, abs=1e-12)
    for group in range(k):
        assert sum(each[group].value for each in over_seats) == pytest.approx(0.0, abs=1e-12)


def test_p_values_and_intervals_say_the_same() -> None:
    found = Effect(0.3, 0.3 - 1.96 * 0.05, 0.3 + 1.96 * 0.05, 0.05, 1e9)
    assert found.beyond(found.low) == pytest.approx(0.025, abs=1e-4)
    assert found.within(found.high) == pytest.approx(0.025, abs=1e-4)
    assert found.beyond(0.0) == pytest.approx(2 * found.within(0.6), abs=1e-6)


def test_a_spread_far_below_its_limit_is_within_it_at_any_number_of_answers() -> None:
    """scipy's noncentral F is NaN at the first of these."""
    found = Spread(0.0, 0.0, 0.0158, 0.9712469671317406, (18.0, 76.0), 1.297177977839335e-05)
    for limit in (0.15, 0.151, 0.2, 0.5):
        assert found.within(limit) < 1e-9
        assert found.beyond(limit) > 1 - 1e-9


@pytest.mark.parametrize(("n", "wordings", "sd"), [(9, 9, 0.0), (9, 3, 1.0), (30, 3, 1.0)])
def test_intervals_hold_the_truth_over_wordings(n: int, wordings: int, sd: float) -> None:
    """At the nominal rate, for a stereotype of 20 points, also where wordings pull to a side of their own."""
    rng = np.random.default_rng(4)
    asked = asked_of(n, wordings)
    high = OPPOSITE[asked.statistic, asked.level, 0]
    runs, held, spread_held, false = 200, 0, 0, 0
    for _ in range(runs):
        logit = rng.normal(0, sd, (STATISTICS, 2, wordings))
        # Near 0.5 a normal logit leaves the mean share where it is, but for a little.
        shift = logit[asked.statistic, asked.level, asked.wording]
        groups, chosen = by_groups(asked, np.where(high, 0.6, 0.4) + 0.2 * np.tanh(shift), rng)
        found = effects.contrast(asked, groups, chosen, OPPOSITE)
        held += found.low <= 0.2 <= found.high
        false += found.beyond(0.2) < 0.025
        apart = effects.spread(asked, groups, chosen, 2)
        spread_held += apart.low == 0.0
    assert 0.91 * runs <= held <= 0.99 * runs
    assert false <= 0.06 * runs
    assert spread_held >= 0.94 * runs
