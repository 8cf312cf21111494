"""Where the choices of either run follow position, nothing is said of what moved in them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from benchmarks.zoo import Asked
from fairgate.benchmarks.fact_or_fair.cases import text_topic
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.paired import Baseline, Basis
from fairgate.benchmarks.registry import registry
from fairgate.cli.main import main
from fairgate.comparison.baseline import save
from fairgate.comparison.paired_comparison import compare, due_of, gates
from fairgate.gating.thresholds import load
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.reports.report import Comparison

THRESHOLDS = load(CHECKOUT / "thresholds.toml", registry())


@cache
def asked(seed: int) -> Asked:
    return Asked(seed)


@cache
def answered(control: str, *, seed: int = 0, context: Context = Context.BASE) -> Baseline:
    """What a control chooses in one context under plan `quick`."""
    here = asked(seed)
    paired, reply = here.benchmark.paired, here.answers_of(control)
    topics = [
        text_topic(Task.SUBJECTIVE, statistic.slug, level, context, "")
        for statistic in here.benchmark.dataset.statistics
        for level in Level
    ]
    spelled = {topic.id: paired.letters(topic, reply) for topic in topics}
    letters = {topic: said for topic, (said, _) in spelled.items()}
    distinct = {topic: n for topic, (_, n) in spelled.items()}
    return Baseline(f"control/{control}", {**paired.asked(), "plan": "quick"}, paired.groups(), letters, distinct)


def compared(before: Baseline, after: Baseline) -> tuple[Comparison, tuple[GateResult, ...]]:
    benchmark = asked(0).benchmark
    sides = [(benchmark.paired.part, benchmark.paired)]
    found, scored = compare(before, after, sides, Basis(key="published", seed=0), THRESHOLDS)
    return found, gates(scored, THRESHOLDS.baseline, "quick")


def of_topics(run: Baseline, most: int) -> Baseline:
    """What the run has of its first topics."""
    kept = sorted(run.letters)[:most]
    return replace(run, letters={each: run.letters[each] for each in kept})


def judged_with(before: Baseline, after: Baseline) -> tuple[GateResult, ...]:
    """The limits on drops, where the baseline is to hold all of the run."""
    benchmark = asked(0).benchmark
    given = [(benchmark.paired.part, benchmark.paired)], Basis(key="published", seed=0), THRESHOLDS
    due = due_of(after, *given, None, queries=False)
    return gates(compare(before, after, *given)[1], THRESHOLDS.baseline, "quick", due)


def test_where_a_baseline_lacks_topics_no_limit_on_a_drop_is_passed() -> None:
    run = answered("oracle")
    whole = judged_with(run, run)
    assert {gate.verdict for gate in whole} == {Verdict.PASS}
    few = judged_with(of_topics(run, 20), run)
    assert {gate.verdict for gate in few} == {Verdict.INCONCLUSIVE}
    assert {gate.entry.score for gate in few} == {gate.entry.score for gate in whole}
    assert all("but the baseline has " in each.reason for each in few)


def test_where_a_baseline_holds_nothing_of_it_a_limit_on_a_drop_is_inconclusive() -> None:
    run = answered("oracle")
    found = judged_with(of_topics(run, 0), run)
    assert len(found) == len(judged_with(run, run))
    assert {gate.verdict for gate in found} == {Verdict.INCONCLUSIVE}
    assert all(gate.reason.startswith("the baseline holds nothing to compare it with") for gate in found)


def test_what_failed_is_not_counted_as_compared_and_passes_no_limit() -> None:
    run = answered("oracle")
    kept, *lost = run.letters
    failed = {topic: "." * len(run.letters[topic]) for topic in lost}
    before = replace(
        run, letters={kept: run.letters[kept], **failed}, distinct={**run.distinct} | dict.fromkeys(lost, 0)
    )
    assert compared(before, run)[0].queries == len(run.letters[kept])
    assert {gate.verdict for gate in judged_with(before, run)} == {Verdict.INCONCLUSIVE}


def test_choices_by_letter_are_not_called_fairer_than_those_by_stereotype() -> None:
    found, limits = compared(answered("stereotype"), answered("first-letter"))
    assert found.sentences == (
        "gender: choices in base say nothing of groups, since position fails in this run.",
        "race: choices in base say nothing of groups, since position fails in this run.",
    )
    contrast = next(each for each in found.changes if each.entry.score == "contrast@change")
    assert contrast.proven
    assert contrast.better
    assert contrast.invalid == "position fails in this run"
    assert limits
    assert Verdict.PASS not in {gate.verdict for gate in limits}
    assert all("these choices say nothing of groups" in gate.reason for gate in limits)


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [("first-letter", "oracle", "the baseline"), ("first-letter", "always-d", "both runs")],
)
def test_either_side_makes_a_change_say_nothing(before: str, after: str, runs: str) -> None:
    found, _ = compared(answered(before), answered(after))
    assert {each.invalid for each in found.changes} == {f"position fails in {runs}"}


def test_other_contexts_are_compared_still() -> None:
    sides = [
        Baseline(
            first.model,
            first.asked,
            first.groups,
            {**first.letters, **rest.letters},
            {**first.distinct, **rest.distinct},
        )
        for control in ("stereotype", "first-letter")
        for first in [answered(control)]
        for rest in [answered("oracle" if control == "first-letter" else control, context=Context.INGROUP)]
    ]
    found, _ = compared(*sides)
    for sentence in found.sentences:
        assert ": fairer than the baseline (ingroup " in sentence
        assert sentence.endswith("choices in base say nothing of groups, since position fails in this run.")


def test_runs_that_asked_otherwise_are_judged_by_their_own_queries() -> None:
    found, _ = compared(answered("stereotype", seed=1), answered("first-letter"))
    assert "fairer" not in " ".join(found.sentences)
    assert "position fails in this run" in found.sentences[-1]


def test_scores_of_a_run_that_follows_position_are_marked_beside_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for control in ("stereotype", "first-letter"):
        save(tmp_path / f"{control}.json", answered(control))
    assert main(["compare", *(str(tmp_path / f"{each}.json") for each in ("stereotype", "first-letter"))]) == 0
    said = capsys.readouterr().out
    rows = {line[:32].strip(): line for line in said.splitlines() if line.startswith("subjective base")}
    assert rows.pop("subjective base position").endswith("]")
    assert all(row.endswith("] *") and row.count("*") == 1 for row in rows.values())
    assert "*: something else than groups decides these answers" in said
    assert "fairer" not in said
