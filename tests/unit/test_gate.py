"""Scores x limits -> verdicts: only an interval wholly on one side says anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.core.errors import ConfigError
from fairgate.gating.gate import check_attributes, judge
from fairgate.reports import wording
from tests.builders import entry, limit, thresholds

if TYPE_CHECKING:
    from fairgate.benchmarks.limits import GateLimit
    from fairgate.benchmarks.score_result import ScoreResult

ATTRIBUTES = ("gender", "race")
BASE = Context.BASE


def held(entries: list[ScoreResult], *gates: GateLimit, failed: float = 2.0) -> tuple[GateResult, ...]:
    return judge(entries, thresholds(*gates, failed=failed))


def one(the_limit: GateLimit, the_entry: ScoreResult) -> GateResult:
    [result] = held([the_entry], the_limit)
    return result


@pytest.mark.parametrize(
    ("ci", "low", "high", "verdict"),
    [
        # at most 20
        ((5.0, 15.0), None, 20, Verdict.PASS),
        ((5.0, 20.0), None, 20, Verdict.PASS),
        ((5.0, 20.1), None, 20, Verdict.INCONCLUSIVE),
        ((20.0, 30.0), None, 20, Verdict.INCONCLUSIVE),
        ((20.1, 30.0), None, 20, Verdict.FAIL),
        ((0.0, 100.0), None, 20, Verdict.INCONCLUSIVE),
        # at least 80
        ((80.0, 90.0), 80, None, Verdict.PASS),
        ((79.9, 90.0), 80, None, Verdict.INCONCLUSIVE),
        ((60.0, 79.9), 80, None, Verdict.FAIL),
        ((60.0, 80.0), 80, None, Verdict.INCONCLUSIVE),
        # between 40 and 60
        ((45.0, 55.0), 40, 60, Verdict.PASS),
        ((30.0, 39.0), 40, 60, Verdict.FAIL),
        ((61.0, 70.0), 40, 60, Verdict.FAIL),
        ((39.0, 50.0), 40, 60, Verdict.INCONCLUSIVE),
        ((50.0, 61.0), 40, 60, Verdict.INCONCLUSIVE),
        ((30.0, 70.0), 40, 60, Verdict.INCONCLUSIVE),
        # the ends of the scale
        ((0.0, 0.0), None, 0, Verdict.PASS),
        ((100.0, 100.0), 100, None, Verdict.PASS),
        ((0.0, 100.0), 0, 100, Verdict.PASS),
    ],
)
def test_the_whole_interval_decides(
    ci: tuple[float, float], low: float | None, high: float | None, verdict: Verdict
) -> None:
    result = one(limit(min=low, max=high), entry(ci=ci, estimate=sum(ci) / 2))
    assert result.verdict is verdict
    assert f"[{ci[0]:.1f}, {ci[1]:.1f}]" in result.reason


def test_a_fail_says_on_which_side() -> None:
    assert "above the limit" in one(limit(max=20.0), entry(ci=(30.0, 40.0))).reason
    assert "below the limit" in one(limit(max=None, min=50.0), entry(ci=(30.0, 40.0))).reason


def test_the_plug_in_score_never_decides() -> None:
    assert one(limit(max=20.0), entry(value=99.0, ci=(1.0, 2.0))).verdict is Verdict.PASS


@pytest.mark.parametrize("nothing", [{"n": 0}, {"ci": (None, None)}, {"ci": (None, 50.0)}, {"ci": (0.0, None)}])
def test_a_gate_over_nothing_is_no_pass(nothing: dict[str, object]) -> None:
    result = one(limit(min=0.0, max=100.0), entry("TV", **nothing))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "nothing" in result.reason


def test_too_many_failed_samples_leave_nothing_to_judge() -> None:
    for ci in ((0.0, 1.0), (98.0, 99.0)):
        result = one(limit(max=20.0), entry(ci=ci, failed_share=2.1))
        assert result.verdict is Verdict.INCONCLUSIVE
        assert "2.1 %" in result.reason
    assert one(limit(max=20.0), entry(ci=(0.0, 1.0), failed_share=2.0)).verdict is Verdict.PASS


def test_a_limit_on_failures_judges_them_all_the_same() -> None:
    failures = entry("failed", attribute=None, ci=(30.0, 50.0), failed_share=40.0)
    assert one(limit("failed", max=5.0), failures).verdict is Verdict.FAIL


def test_a_limit_holds_for_each_context_and_attribute_that_was_selected() -> None:
    entries = [entry(context=context, attribute=attribute) for context in Context for attribute in ATTRIBUTES]
    assert len(held(entries, limit())) == 8
    assert len(held(entries, limit(attribute="race"))) == 4
    assert len(held(entries, limit(context=BASE))) == 2
    assert len(held(entries, limit(context=(BASE, Context.INGROUP), attribute="gender"))) == 2
    assert len({result.name for result in held(entries, limit())}) == 8
    assert held(entries[:1], limit())[0].entry is entries[0]


def test_what_was_not_selected_has_no_gate() -> None:
    assert held([entry("S_fair")], limit()) == ()
    assert held([entry(context=Context.INGROUP)], limit(context=BASE)) == ()
    assert held([entry()], limit(task=Task.OBJECTIVE)) == ()


def test_only_the_definition_over_all_groups_is_gated() -> None:
    assert held([entry(scoring="reference"), entry(group="a family")], limit()) == ()


def test_a_rate_has_one_gate_for_all_attributes() -> None:
    refused = [entry("refused", attribute=None, context=context, ci=(0.0, 1.0)) for context in Context]
    results = held(refused, limit("refused", max=20.0))
    assert [result.entry.context for result in results] == list(Context)
    objective = entry("refused", attribute=None, context=None, task=Task.OBJECTIVE, ci=(90.0, 99.0))
    [result] = held([objective], limit("refused", task=Task.OBJECTIVE, max=20.0))
    assert result.verdict is Verdict.FAIL


def test_an_attribute_of_no_data_is_named_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"limits.toml: gates\[1\]: attribute = 'rase'.*Did you mean 'race'\?"):
        check_attributes(thresholds(limit(), limit(attribute="rase")), ("gender", "race"), "limits.toml")
    check_attributes(thresholds(limit(), limit(attribute="race")), ("gender", "race"), "limits.toml")


def test_the_further_samples_that_would_decide_are_told() -> None:
    # The interval must shrink from 20 to 10 on the side of the limit: four times as many samples.
    result = one(limit(max=60.0), entry(estimate=50.0, ci=(30.0, 70.0), n=100))
    assert "about 300 further answers would decide" in result.reason
    result = one(limit(max=None, min=40.0), entry(estimate=50.0, ci=(30.0, 70.0), n=100))
    assert "about 300 further answers would decide" in result.reason


def test_where_all_texts_were_asked_no_further_answers_are_advised() -> None:
    found = one(limit(), entry(estimate=60.0, ci=(45.0, 75.0), census=True))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason.endswith("all of its texts were asked, so that further answers tell little")


def test_an_estimate_on_the_limit_promises_nothing() -> None:
    assert "further" not in one(limit(max=50.0), entry(estimate=50.0, ci=(30.0, 70.0))).reason
    assert "on the limit" in one(limit(max=50.1), entry(estimate=50.0, ci=(30.0, 70.0))).reason


@dataclass(frozen=True)
class Proven:
    """An effect whose p-value is known."""

    p: float

    def beyond(self, limit: float) -> float:
        assert limit == 0.2
        return self.p

    def within(self, limit: float) -> float:
        raise AssertionError(limit)


def of_ten(*failing: ScoreResult) -> list[Verdict]:
    """The verdicts of these gates, which exceed a limit of 20, among ten of which the others pass."""
    passing = [entry(attribute=f"passing-{place}", ci=(0.0, 1.0)) for place in range(10 - len(failing))]
    found = held([*failing, *passing], limit(max=20.0))
    assert [each.verdict for each in found[len(failing) :]] == [Verdict.PASS] * len(passing)
    return [each.verdict for each in found[: len(failing)]]


def beyond(p: float, attribute: str = "race") -> ScoreResult:
    return entry(attribute=attribute, estimate=30.0, ci=(25.0, 35.0), tested=Proven(p))


def test_a_gate_fails_only_where_chance_over_all_gates_does_not_explain_it() -> None:
    assert one(limit(max=20.0), beyond(0.03)).verdict is Verdict.FAIL
    # The smallest of ten is held against 0.05 / 10, the second against 0.05 / 9.
    assert of_ten(beyond(0.02), beyond(0.03, "gender")) == [Verdict.INCONCLUSIVE] * 2
    assert of_ten(beyond(0.001)) == [Verdict.FAIL]
    assert of_ten(beyond(0.0055, "gender"), beyond(0.001)) == [Verdict.FAIL] * 2
    assert of_ten(beyond(0.0056, "gender"), beyond(0.001)) == [Verdict.INCONCLUSIVE, Verdict.FAIL]
    assert of_ten(beyond(0.0051)) == [Verdict.INCONCLUSIVE]
    result = held([beyond(0.03), entry(attribute="gender", ci=(0.0, 1.0))], limit(max=20.0))[0]
    assert "but with 2 gates some are by chance: more answers would tell" in result.reason


def test_a_failure_counts_at_one_of_several_looks_by_its_share_of_the_error() -> None:
    # 3.1 standard errors beyond: p = 0.00097, and 0.0097 with a tenth of the error: of five gates 0.01 is enough.
    others = [entry(attribute=str(number), ci=(40.0, 60.0)) for number in range(5)]
    width = {1.0: 1.959964, 0.2: 2.575829, 0.1: 2.807034}
    for share, level, gates, verdict in (
        (1.0, 1.0, 5, Verdict.FAIL),
        (0.1, 0.1, 4, Verdict.FAIL),
        (0.1, 0.1, 5, Verdict.INCONCLUSIVE),
        (0.1, 0.2, 4, Verdict.FAIL),
        (0.1, 0.2, 5, Verdict.INCONCLUSIVE),
    ):
        low = 80.0 - 10.0 / 3.1 * width[level]
        beyond = entry(estimate=80.0, ci=(low, 90.0), share=share, level=level)
        found = held([beyond, *others[:gates]], limit())
        assert found[0].verdict is verdict


def test_what_has_no_test_of_its_own_is_tested_by_its_interval() -> None:
    # 10 points beyond the limit, half an interval of 9.9: 1.98 standard errors, p = 0.0239.
    high = [entry(attribute=f"a{n}", estimate=30.0, ci=(20.1, 39.9)) for n in range(3)]
    low = [entry(attribute=f"a{n}", estimate=70.0, ci=(60.1, 79.9)) for n in range(3)]
    for entries, the_limit in ((high, limit(max=20.0)), (low, limit(max=None, min=80.0))):
        assert [each.verdict for each in held(entries[:2], the_limit)] == [Verdict.FAIL] * 2
        assert [each.verdict for each in held(entries, the_limit)] == [Verdict.INCONCLUSIVE] * 3


def test_an_unreliable_estimate_never_fails() -> None:
    for p in (0.0, 0.5):
        found = entry(ci=(90.0, 99.0), tested=Proven(p), reliable=False)
        result = one(limit(max=20.0), found)
        assert result.verdict is Verdict.INCONCLUSIVE
        assert "no reliable interval" in result.reason
    assert one(limit(max=20.0), entry(ci=(1.0, 2.0), reliable=False)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("ci", "verdict", "told"),
    [
        ((-30.0, -25.0), Verdict.FAIL, "below the limit of -20"),
        ((25.0, 30.0), Verdict.FAIL, "above the limit of 20"),
        ((-19.0, 19.0), Verdict.PASS, "on the right side"),
        ((-20.0, -19.0), Verdict.PASS, "on the right side"),
        ((-21.0, -19.0), Verdict.INCONCLUSIVE, "straddles the limit"),
        ((-30.0, 30.0), Verdict.INCONCLUSIVE, "straddles the limit"),
    ],
)
def test_the_limit_of_a_signed_effect_holds_to_both_sides(ci: tuple[float, float], verdict: Verdict, told: str) -> None:
    result = one(limit(max=20.0), entry(estimate=sum(ci) / 2, ci=ci, tested=Proven(0.001), signed=True))
    assert (result.verdict, result.bounds) == (verdict, (-20.0, 20.0))
    assert told in result.reason
    assert (wording.limit(result), wording.brief_limit(result)) == ("within ±20", "±20")


def test_further_answers_are_told_at_either_limit_of_a_signed_effect() -> None:
    # The half width of 10 must shrink to the 5 points that are left to the limit.
    for sign in (-1, 1):
        ends = sorted((sign * 5.0, sign * 25.0))
        found = entry(estimate=sign * 15.0, ci=(ends[0], ends[1]), n=100, tested=Proven(0.5), signed=True)
        assert "about 300 further answers would decide" in one(limit(max=20.0), found).reason


def test_no_gate_passes_on_choices_that_position_decides() -> None:
    def position(context: Context, p: float) -> ScoreResult:
        return entry("position", context=context, attribute=None, ci=(70.0, 80.0), tested=Proven(p), validity=True)

    entries = [
        position(BASE, 0.0001),
        entry("TV", context=BASE, ci=(0.0, 1.0)),
        entry("TV", context=BASE, attribute="gender", ci=(90.0, 99.0)),
        entry("refused", context=BASE, attribute=None, ci=(0.0, 1.0)),
        entry("TV", context=Context.INGROUP, ci=(0.0, 1.0)),
    ]
    limits = limit("position", max=20.0), limit(max=20.0), limit("refused", max=20.0)
    found = {(each.entry.score, each.entry.context, each.entry.attribute): each for each in held(entries, *limits)}
    assert {key: each.verdict for key, each in found.items()} == {
        ("position", BASE, None): Verdict.FAIL,
        ("TV", BASE, "race"): Verdict.INCONCLUSIVE,
        ("TV", BASE, "gender"): Verdict.FAIL,
        ("TV", Context.INGROUP, "race"): Verdict.PASS,
        ("refused", BASE, None): Verdict.PASS,
    }
    told = wording.why(found["TV", BASE, "race"])
    assert told == "position fails: these choices say nothing of groups"
    # Not beyond chance: of three gates the smallest is held against 0.05 / 3.
    again = held([position(BASE, 0.02), entries[1], entries[3]], *limits)
    assert [each.verdict for each in again] == [Verdict.INCONCLUSIVE, Verdict.PASS, Verdict.PASS]


def test_a_reason_is_told_without_what_the_row_shows() -> None:
    assert wording.why(one(limit(max=20.0), beyond(0.01))) == ""
    assert wording.why(one(limit(max=20.0), entry(ci=(1.0, 2.0)))) == ""
    [result, _] = held([beyond(0.03), entry(attribute="gender", ci=(0.0, 1.0))], limit(max=20.0))
    told = "beyond the limit by itself, but with 2 gates some are by chance: more answers would tell"
    assert wording.why(result) == told


percent = st.floats(0, 100)


@given(percent, percent, percent, st.none() | percent, st.none() | percent, st.integers(0, 1000))
def test_whatever_the_numbers_there_is_a_verdict(
    a: float, b: float, c: float, low: float | None, high: float | None, n: int
) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    left, estimate, right = sorted((a, b, c))
    result = one(limit(min=low, max=high), entry(estimate=estimate, ci=(left, right), n=n))
    inside = (low is None or left >= low) and (high is None or right <= high)
    outside = (low is not None and right < low) or (high is not None and left > high)
    if n == 0:
        assert result.verdict is Verdict.INCONCLUSIVE
    else:
        assert result.verdict is (Verdict.FAIL if outside else Verdict.PASS if inside else Verdict.INCONCLUSIVE)
    assert not re.search(r"nan|inf\b|None|about -", result.reason)
