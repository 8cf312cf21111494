"""Rounds: which topics are asked on, in which order, and when it is enough."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from fairgate.benchmarks.base import Circumstances, InterimAnalysis
from fairgate.benchmarks.fact_or_fair.text import FactOrFairText
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.core.domain import Modality, Reply
from fairgate.options.settings import Settings
from fairgate.runs.benchmarks import Benchmarks
from fairgate.runs.interim_analysis import InterimVerdicts, Looks, Rounds, Verdicts, needed
from fairgate.runs.opening import open_run
from tests.builders import entry, limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.core.domain import Query

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
    found, looks = asked([both, *[one] * 5], [1e9] * 6)
    assert found == [{BASE: 3, NEWS: 3}, {BASE: 6, NEWS: 6}, *({BASE: n} for n in (2, 2, 3, 4, 7))]
    assert (looks[BASE].asked, looks[NEWS].asked) == (27, 9)
    assert (looks[NEWS].whole, looks[NEWS].share) == (27, 0.3)
    assert looks[NEWS].level > 0.3


def test_a_failure_ends_all_rounds() -> None:
    found, looks = asked([Verdicts({BASE: FAR, NEWS: []}, failed=True)], [1e9])
    assert found == [{BASE: 3, NEWS: 3}]
    assert {look.asked for look in looks.values()} == {3}


def test_a_budget_goes_to_what_it_takes_least_to_decide() -> None:
    both, one = Verdicts({BASE: FAR, NEWS: NEARLY}, failed=False), Verdicts({NEWS: NEARLY}, failed=False)
    # Six calls more for each of both, and there are eleven; then two for one of them, and there is one.
    found, looks = asked([both, one], [11.0, 1.0])
    assert found == [{BASE: 3, NEWS: 3}, {NEWS: 6}]
    assert (looks[BASE].asked, looks[NEWS].asked) == (3, 9)


def by_chance(query: Query) -> Reply:
    return Reply(query.choices[crc32(query.id.encode()) % len(query.choices)].letter)


def always_first(query: Query) -> Reply:
    return Reply(query.choices[0].letter)


def judged(entry: ScoreResult) -> ScoreResult:
    """What a gate judges of an entry."""
    return replace(entry, ceiling=None, topics=(0, 0))


def test_the_entries_for_gates_are_those_of_the_scores() -> None:
    [benchmark] = benchmarks().at({BASE: InterimAnalysis(9, 27, 0.2, 0.21)}).all
    here = [case for case in benchmark.cases if benchmark.stratum(case.topic) in (BASE, "fact-or-fair-text-objective")]
    held, now = benchmark.tally(here, by_chance), Circumstances(by_chance, "published", 0)
    known = {
        (each.task, each.context, each.attribute, each.score): judged(each)
        for each in benchmark.score(here, held, now).entries
        if each.scoring == "definition"
    }
    for scores in ({"S_fact", "contrast", "refused"}, {"S_fair"}):
        found = {
            (each.task, each.context, each.attribute, each.score): judged(each)
            for each in benchmark.gated(here, held, now, scores)
            if each.scoring == "definition"
        }
        assert scores <= {score for *_, score in found}
        assert found == {key: known[key] for key in found}


@pytest.mark.parametrize(("reply", "scored"), [(by_chance, False), (always_first, True)])
def test_images_are_scored_at_a_look_only_where_a_gate_on_text_fails(
    reply: Callable[[Query], Reply], scored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(Settings(model="control/oracle"))
    of_images = {type(each) for each in run.whole.all if each.modality is Modality.IMAGE}
    looked = list[str]()

    def gated(self: AnyBenchmark, *_: object) -> tuple[()]:
        looked.append(self.name)
        return ()

    for kind in of_images:
        monkeypatch.setattr(kind, "tally", lambda *_: True)
        monkeypatch.setattr(kind, "gated", gated)
    cases = [
        case
        for each in run.whole.all
        if isinstance(each, FactOrFairText) or each.modality is Modality.IMAGE
        for case in each.cases
        if case.topic.modality is Modality.IMAGE or case.topic.task is Task.SUBJECTIVE
    ]
    looks = {stratum: run.whole.looks(stratum)[1] for case in cases if (stratum := run.whole.stratum(case.topic))}
    verdicts = InterimVerdicts(run.whole, cases, run.thresholds, date(2026, 1, 1))
    assert verdicts.at(looks, run.circumstances(reply)).failed is scored
    assert bool(looked) is scored
