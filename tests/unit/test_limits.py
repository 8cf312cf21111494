"""What may be asked at once, a minute and in all, by a clock that tests turn."""

from __future__ import annotations

import datetime
from math import inf

import pytest

from fairgate.core.domain import Reply
from fairgate.core.errors import BudgetSpent
from fairgate.gating.thresholds import Price
from fairgate.options.settings import Bounds
from fairgate.sampling.limits import GUESSES, Bill, Bucket, Limits, Meter, Window

PRICE = Price(input=1.0, output=10.0, date=datetime.date(2026, 1, 1))
SMALL = Bill(10, 0)


def sent_within(bucket: Bucket, seconds: float, amount: float = 1) -> int:
    """How many go when somebody comes back exactly when told to."""
    now, sent = 0.0, 0
    while now < seconds:
        wait = bucket.wait(now, amount)
        if wait > 1e-9:
            now += wait
            continue
        bucket.take(amount)
        sent += 1
    return sent


@pytest.mark.parametrize("a_minute", [6, 60, 600, 60_000])
def test_a_rate_holds_over_the_minute_and_from_its_first_second(a_minute: int) -> None:
    ahead = max(1, a_minute / 600)
    assert a_minute <= sent_within(Bucket(a_minute), 60) <= a_minute + ahead
    assert sent_within(Bucket(a_minute), 1) <= a_minute / 60 + ahead


def test_idle_time_is_not_saved_up() -> None:
    bucket = Bucket(60)
    assert bucket.wait(3600, 1) == 0
    bucket.take(1)
    assert bucket.wait(3600, 1) == pytest.approx(1)


def test_what_is_larger_than_the_bucket_goes_and_is_paid_off() -> None:
    bucket = Bucket(600)
    assert bucket.wait(0, 100) == 0
    bucket.take(100)
    assert bucket.wait(0, 1) == pytest.approx(10)
    bucket.take(-50)  # it was half as large
    assert bucket.wait(0, 1) == pytest.approx(5)


def test_a_clock_that_jumps_back_stops_nothing() -> None:
    bucket = Bucket(60)
    bucket.take(1)
    bucket.wait(1000, 1)
    assert 0 <= bucket.wait(10, 1) <= 1


def outcomes(window: Window, count: int, refused: float = 0.0, latency: float = 0.05) -> None:
    owed = 0.0
    for _ in range(count):
        owed += refused
        if owed >= 1:
            owed -= 1
            window.refused()
        else:
            window.answered(latency)


def test_a_steady_tenth_of_refusals_never_narrows() -> None:
    window = Window(32)
    for _ in range(100):
        outcomes(window, 50, refused=0.1)
        assert window.size == 32


def test_many_refusals_narrow_to_one_at_least_and_answers_widen_again() -> None:
    window = Window(128)
    outcomes(window, 128, refused=0.5)
    assert window.size == 96
    outcomes(window, 10_000, refused=1)
    assert window.size == 1
    outcomes(window, 2_000)
    assert window.size == 128


def test_rising_latency_narrows_and_what_lasts_becomes_usual() -> None:
    window = Window(64)
    outcomes(window, 640, latency=0.5)
    assert window.size == 64
    outcomes(window, 128, latency=2.0)
    assert window.size < 64
    outcomes(window, 5_000, latency=2.0)
    assert window.size == 64


def test_a_few_milliseconds_are_no_rise() -> None:
    window = Window(64)
    outcomes(window, 640, latency=0.001)
    outcomes(window, 640, latency=0.2)
    assert window.size == 64


def test_a_window_is_never_wider_than_asked_for() -> None:
    window = Window(3)
    outcomes(window, 1_000)
    assert window.size == 3


def test_a_meter_learns_from_replies_and_estimates_where_none_are_counted() -> None:
    meter = Meter(PRICE)
    assert meter.expect(400) == Bill(100 + 64, PRICE.of(100, 64), guessed=True)
    assert meter.add(400, Reply("x" * 8, prompt_tokens=200, completion_tokens=4)) == Bill(204, PRICE.of(200, 4))
    assert meter.expect(200) == Bill(104, PRICE.of(100, 4))
    meter.add(400, Reply("x" * 8))
    assert (meter.tokens, meter.usd) == (204 + 102, PRICE.of(300, 6))
    assert Meter().usd is None


@pytest.mark.parametrize("bounds", [Bounds(tokens=10**6, in_flight=400), Bounds(usd=100.0, in_flight=400)])
def test_with_a_budget_few_requests_go_before_one_has_told_what_they_cost(bounds: Bounds) -> None:
    limits = Limits(bounds, {"a": PRICE})
    bills = list[Bill]()
    while limits.wait(0, limits.meter("a").expect(200)) == 0:
        bills.append(limits.meter("a").expect(200))
        limits.take(bills[-1])
    assert len(bills) == GUESSES
    limits.settle("a", 200, bills[0], None)  # it failed, and told nothing
    assert limits.wait(0, limits.meter("a").expect(200)) == 0
    limits.settle("a", 200, bills[1], reply(50, 5000))
    later = limits.meter("a").expect(200)
    assert (later.tokens, later.guessed, limits.wait(0, later)) == (5050, False, 0)


@pytest.mark.parametrize(("tokens", "wait"), [(40_000, inf), (60_000, 0.0)])
def test_what_went_at_a_guess_is_expected_to_cost_what_is_known_by_now(tokens: int, wait: float) -> None:
    limits = Limits(Bounds(tokens=tokens))
    guess = limits.meter("a").expect(200)
    for _ in range(GUESSES):
        limits.take(guess)
    limits.settle("a", 200, guess, reply(50, 5000))
    assert limits.wait(0, limits.meter("a").expect(200)) == wait


def test_a_server_that_counts_0_counts_nothing() -> None:
    limits = Limits(Bounds(tokens=1500))
    for _ in range(2):
        bill = limits.meter("a").expect(2000)
        limits.take(bill)
        limits.settle("a", 2000, bill, Reply("x" * 400, prompt_tokens=0, completion_tokens=0))
    assert limits.tokens == 2 * (500 + 100)
    with pytest.raises(BudgetSpent, match="1,200 were used"):
        limits.wait(0, limits.meter("a").expect(2000))


def test_a_meter_bills_each_image_that_was_not_kept_back() -> None:
    meter = Meter(Price(input=1.0, output=0.0, image=0.04, date=PRICE.date))
    assert meter.expect(400).usd == pytest.approx(100e-6 + 0.04)
    assert meter.add(400, Reply("sha256:", prompt_tokens=50, completion_tokens=0)).usd == pytest.approx(50e-6 + 0.04)
    assert meter.add(400, Reply("", filtered=True, prompt_tokens=50, completion_tokens=0)).usd == pytest.approx(50e-6)
    assert meter.usd == pytest.approx(100e-6 + 0.04)


def test_a_batch_costs_its_share_and_no_more_than_that() -> None:
    price = Price(input=1.0, output=10.0, image=0.04, batch=0.5, date=PRICE.date)
    assert price.batched.of(1e6, 1e6, 1) == pytest.approx(price.of(1e6, 1e6, 1) / 2)
    assert price.batched.batched == price.batched
    assert PRICE.batched == PRICE


def reply(prompt: int, completion: int) -> Reply:
    return Reply("", prompt_tokens=prompt, completion_tokens=completion)


def test_a_budget_of_calls_counts_repeated_ones_too() -> None:
    limits = Limits(Bounds(calls=2))
    limits.take(SMALL)
    assert limits.wait(0, None) == 0
    limits.take(None)
    for bill in (SMALL, None):
        with pytest.raises(BudgetSpent, match=r"budget of 2 calls is spent.*--budget-calls"):
            limits.wait(0, bill)


def test_one_reply_holds_up_a_rate_of_tokens_for_a_minute_at_most() -> None:
    limits = Limits(Bounds(tokens_a_minute=6_000))
    limits.take(SMALL)
    limits.settle("m", 100, SMALL, Reply("x", prompt_tokens=2**40, completion_tokens=0))
    assert 1 < limits.wait(0.0, SMALL) <= 62


def test_a_budget_of_tokens_waits_for_what_is_open_and_ends_when_nothing_is_left() -> None:
    limits = Limits(Bounds(tokens=100))
    limits.take(Bill(60, 0))
    assert limits.wait(0, Bill(60, 0)) == inf
    limits.settle("m/a", 10, Bill(60, 0), reply(20, 10))
    assert limits.wait(0, Bill(60, 0)) == 0
    limits.take(Bill(60, 0))
    limits.settle("m/a", 10, Bill(60, 0), reply(50, 10))
    with pytest.raises(BudgetSpent, match=r"100 tokens is spent: 90 were used, and the next call would take about 60"):
        limits.wait(0, Bill(60, 0))


def test_what_failed_costs_nothing_of_a_budget_of_tokens() -> None:
    limits = Limits(Bounds(tokens=100))
    limits.take(Bill(60, 0))
    limits.settle("m/a", 10, Bill(60, 0), None)
    assert limits.wait(0, Bill(100, 0)) == 0


def test_the_first_call_of_a_small_budget_goes_alone_to_learn_what_calls_cost() -> None:
    limits = Limits(Bounds(tokens=50))
    assert limits.wait(0, Bill(60, 0)) == 0
    limits.take(Bill(60, 0))
    assert limits.wait(0, Bill(60, 0)) == inf
    limits.settle("m/a", 40, Bill(60, 0), reply(10, 10))
    assert limits.wait(0, limits.meter("m/a").expect(40)) == 0


def test_a_budget_in_usd_adds_up_models_of_different_prices() -> None:
    limits = Limits(Bounds(usd=0.001), {"m/a": PRICE, "m/b": Price(input=0, output=0, date=PRICE.date)})
    assert limits.usd is None
    for model in ("m/a", "m/b"):
        expected = limits.meter(model).expect(40)
        limits.take(expected)
        limits.settle(model, 40, expected, reply(100, 50))
    assert limits.usd == pytest.approx(0.0006)
    with pytest.raises(BudgetSpent, match=r"0.001 USD is spent: 0.0006 were spent"):
        limits.wait(0, limits.meter("m/a").expect(40))
    assert limits.wait(0, limits.meter("m/b").expect(40)) == 0


def test_what_is_left_is_what_the_tightest_budget_allows_at_the_cost_so_far() -> None:
    limits = Limits(Bounds(calls=10, tokens=1000, usd=1.0), {"a": Price(input=1e4, output=0, date=PRICE.date)})
    assert limits.left == 10
    for _ in range(2):
        bill = limits.meter("a").expect(4)
        limits.take(bill)
        limits.settle("a", 4, bill, Reply("A", prompt_tokens=20, completion_tokens=0))
    # 8 calls, 960 tokens at 20 a call, 0.6 USD at 0.2 a call.
    assert limits.left == pytest.approx(3)
    assert Limits().left == inf


def test_a_cost_is_known_only_where_every_price_is() -> None:
    limits = Limits(prices={"m/a": PRICE})
    limits.settle("m/a", 40, SMALL, reply(100, 50))
    assert limits.usd == pytest.approx(0.0006)
    limits.settle("m/b", 40, SMALL, reply(100, 50))
    assert limits.usd is None


def test_rates_hold_together() -> None:
    limits = Limits(Bounds(requests_a_minute=60, tokens_a_minute=600))
    assert limits.wait(0, Bill(100, 0)) == 0
    limits.take(Bill(100, 0))
    assert limits.wait(0, None) == pytest.approx(1)
    assert limits.wait(0, Bill(100, 0)) == pytest.approx(10)
    limits.settle("m/a", 40, Bill(100, 0), reply(10, 10))
    assert limits.wait(0, Bill(100, 0)) == pytest.approx(2)
