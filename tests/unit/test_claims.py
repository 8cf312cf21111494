"""Why a gate failed in one sentence, with its numbers and its limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.reports import claims, reasons
from tests.builders import entry, gate, limit, report
from tests.plugins import REGISTRY

FAIL = Verdict.FAIL


def failed(score: str = "pull", **given: object) -> GateResult:
    least, most = given.pop("min", None), given.pop("max", None)
    usual: dict[str, object] = {"estimate": 36.2, "ci": (21.6, 49.8)}
    return GateResult(limit(score, min=least, max=most), entry(score, **(usual | given)), FAIL, "it is so")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (failed(max=12.0, signed=True), "+36 points (22 to 50) where ±12 is allowed"),
        (failed(max=9.0, signed=True, estimate=-36.2, ci=(-50, -22)), "-36 points (-50 to -22) where ±9 is allowed"),
        (failed(max=15.0), "36 points (22 to 50) where at most 15 is allowed"),
        (failed(min=70.0), "36 points (22 to 50) where at least 70 is required"),
        # An end that would round onto the limit keeps its decimal, as everywhere.
        (failed(max=21.5), "36.2 points (21.6 to 49.8) where at most 21.5 is allowed"),
        # A rate is of the replies at hand.
        (failed("refused", max=5.0, value=45.45), "45.5 % (21.6 to 49.8) where at most 5 % is allowed"),
        (failed(max=15.0, estimate=None, ci=(None, None), value=51.0), "51.0 points where at most 15 is allowed"),
    ],
)  # fmt: skip
def test_the_numbers_stand_beside_what_is_allowed(found: GateResult, told: str) -> None:
    assert claims.against_limit(found) == told


def test_a_score_without_words_of_its_benchmark_is_told_by_its_question() -> None:
    assert claims.claim(failed("TV", max=12.0), REGISTRY) == (
        "base race TV: 36 points (22 to 50) where at most 12 is allowed (by how many points do its choices move "
        "between the highest and the lowest?)"
    )
    assert claims.claim(failed("TV", max=12.0), REGISTRY, "it moves").startswith("it moves: 36 points")
    moved = replace(failed("TV@change", max=3.0), reason="it moved from 5.0 to 25.0")
    assert claims.claim(moved, REGISTRY) == "base race TV@change: it moved from 5.0 to 25.0"


def test_each_failed_gate_has_a_claim_in_the_order_of_the_gates() -> None:
    first, second = failed("TV", max=12.0), failed("S_E", min=70.0)
    passed = gate(Verdict.PASS, "S_KLD")
    told = Finding(second.name, (Example("a topic"),), "its choices are uneven")
    found = list(claims.claimed((first, passed, second), (told,), REGISTRY))
    assert [each.gate for each in found] == [first.name, second.name]
    assert found[1].sentence == "its choices are uneven: 36 points (22 to 50) where at least 70 is required"
    assert (found[0].topics, found[1].topics) == ((), told.topics)


def test_of_each_score_the_first_two_gates_are_told_and_all_are_counted() -> None:
    by_gender = failed("TV", max=12.0, attribute="gender", estimate=41.0, ci=(24.0, 58.0))
    gates = (failed("TV", max=12.0), by_gender, gate(Verdict.PASS, "S_E"))
    [told] = reasons.reasons(report(gates=gates))
    assert told.startswith("Base race TV: 36 points (22 to 50)")
    assert told.endswith("; gender too: 41 (24 to 58). Of 2 gates on TV 2 failed.")
    open_too = tuple(gate(Verdict.INCONCLUSIVE, attribute=f"a{n}") for n in range(6))
    [told] = reasons.reasons(report(gates=(*gates[:2], *open_too)))
    assert told.endswith(" Of 8 gates on TV 2 failed and 6 are undecided.")
    # Another limit is said with its numbers; another context is named.
    elsewhere = failed("TV", max=30.0, context="ingroup", ci=(31.4, 55.0))
    [told] = reasons.reasons(report(gates=(gates[0], elsewhere)))
    assert "; ingroup too: 36 points (31 to 55) where at most 30 is allowed. Of 2 gates" in told


def test_an_inconclusive_run_says_with_one_number_what_would_decide_it() -> None:
    """Of gates on the same answers the one that needs most counts; one that sits on its limit counts nowhere."""
    near = gate(Verdict.INCONCLUSIVE, "S_E", estimate=60.0, ci=(45.0, 75.0))
    nearer = gate(Verdict.INCONCLUSIVE, "TV", estimate=50.0, ci=(25.0, 75.0))
    on_it = gate(Verdict.INCONCLUSIVE, "S_KLD", estimate=70.0, ci=(45.0, 95.0))
    elsewhere = gate(Verdict.INCONCLUSIVE, "TV", context="ingroup", estimate=50.0, ci=(25.0, 75.0))

    def answers(*gates: GateResult) -> int:
        told = reasons.further(report(gates=gates))
        return int(told.split()[1].replace(",", "")) if told else 0

    assert answers(near, nearer) == max(answers(near), answers(nearer)) > 0
    assert answers(near, elsewhere) == answers(near) + answers(elsewhere)
    assert answers(on_it) == 0
    shown = report(gates=(near, nearer, on_it))
    assert f"about {answers(near):,} further answers would decide 2 of 3 undecided gates" in reasons.next_step(shown)


def test_gates_on_rates_are_counted_apart() -> None:
    rates = tuple(
        GateResult(limit(each, max=5.0), entry(each, value=0.0), Verdict.PASS, "") for each in ("refused", "failed")
    )
    shown = report(gates=(gate(FAIL), gate(Verdict.PASS, "S_E"), *rates))
    assert shown.tally == "2 gates on scores: 1 failed, 1 passed; 2 on rates: all passed"
    told = report(gates=(gate(), replace(rates[0], verdict=FAIL), rates[1])).tally
    assert told == "1 gate on scores: all passed; 2 on rates: 1 failed, 1 passed"
