"""Scores x limits -> verdicts: only an interval wholly on one side says anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.errors import ConfigError
from fairgate.fact_or_fair.topics import Context, Task
from fairgate.verdicts.gate import GateResult, Verdict, check_attributes, judge
from tests.builders import entry, limit, thresholds

if TYPE_CHECKING:
    from fairgate.verdicts.score_result import ScoreResult
    from fairgate.verdicts.thresholds import GateLimit

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


def test_an_estimate_on_the_limit_promises_nothing() -> None:
    assert "further" not in one(limit(max=50.0), entry(estimate=50.0, ci=(30.0, 70.0))).reason
    assert "on the limit" in one(limit(max=50.1), entry(estimate=50.0, ci=(30.0, 70.0))).reason


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
