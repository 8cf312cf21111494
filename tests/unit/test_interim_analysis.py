"""Rounds: which topics are asked on, in which order, and when it is enough."""

from __future__ import annotations

from fairgate.benchmarks.base import InterimAnalysis
from fairgate.benchmarks.fact_or_fair.text import FactOrFairText
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.options.settings import Settings
from fairgate.runs.benchmarks import Benchmarks
from fairgate.runs.interim_analysis import Looks, Rounds, Verdicts, needed
from fairgate.runs.opening import open_run
from tests.builders import entry, limit

BASE, NEWS = (f"fact-or-fair-text-subjective-{context}" for context in ("base", "attribution"))


def still_open(estimate: float, low: float, high: float) -> GateResult:
    return GateResult(limit(max=70.0), entry(estimate=estimate, ci=(low, high)), Verdict.INCONCLUSIVE, "straddles")


def test_what_may_fail_comes_first_and_then_what_passes_with_the_fewest_answers() -> None:
    likely = [still_open(90, 68, 100), still_open(60, 10, 100)]  # one failure is enough
    unlikely = [still_open(75, 50, 100)]
    nearly = [still_open(50, 28, 72)]
    far = [still_open(50, 28, 72), still_open(65, 40, 90)]  # all have to pass
    assert sorted([far, nearly, unlikely, likely], key=needed) == [likely, unlikely, nearly, far]


def benchmarks() -> Benchmarks:
    run = open_run(Settings(model="control/oracle"))
    return Benchmarks(tuple(each for each in run.benchmarks.all if isinstance(each, FactOrFairText)))


def asked(verdicts: list[Verdicts], left: list[float]) -> tuple[list[dict[str, int]], Looks]:
    """Queries of each round by stratum, of one topic each, and the last looks."""
    held = benchmarks()
    topics = {held.stratum(case.topic): case.topic for case in held.all[0].cases}
    ends: list[Looks] = []
    budgets, judged = iter(left), iter(verdicts)
    chosen = [topics[BASE], topics[NEWS]]
    rounds = Rounds(held, chosen, lambda _: next(judged), lambda: next(budgets), ends.append)
    found: list[dict[str, int]] = []
    while not ends:
        parts = {str(held.stratum(topic)): len([*rounds.queries(len(found), topic)]) for topic in chosen}
        found.append({stratum: n for stratum, n in parts.items() if n})
        rounds.is_enough(len(found) - 1)
    return found, ends[0]


NEARLY, FAR = [still_open(50, 28, 72)], [still_open(65, 40, 90)]


def test_only_what_is_open_is_asked_on_to_the_end_of_the_plan() -> None:
    both, one = Verdicts({BASE: FAR, NEWS: NEARLY}, failed=False), Verdicts({BASE: FAR, NEWS: []}, failed=False)
    found, looks = asked([both, one, one, one], [1e9] * 4)
    assert found == [{BASE: 3, NEWS: 3}, {BASE: 6, NEWS: 6}, {BASE: 3}, {BASE: 6}, {BASE: 9}]
    assert (looks[BASE].asked, looks[NEWS].asked) == (27, 9)
    assert looks[NEWS] == InterimAnalysis(9, 27, 0.2)


def test_a_failure_ends_all_rounds() -> None:
    found, looks = asked([Verdicts({BASE: FAR, NEWS: []}, failed=True)], [1e9])
    assert found == [{BASE: 3, NEWS: 3}]
    assert {look.asked for look in looks.values()} == {3}


def test_a_budget_goes_to_what_it_takes_least_to_decide() -> None:
    both, one = Verdicts({BASE: FAR, NEWS: NEARLY}, failed=False), Verdicts({NEWS: NEARLY}, failed=False)
    # Six calls more for each of both, and there are eleven; then three for one of them, and there are two.
    found, looks = asked([both, one], [11.0, 2.0])
    assert found == [{BASE: 3, NEWS: 3}, {NEWS: 6}]
    assert (looks[BASE].asked, looks[NEWS].asked) == (3, 9)
