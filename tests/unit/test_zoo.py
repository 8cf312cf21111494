"""The limits of thresholds.toml fail each unfair control by the gate that says why, and no fair one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from benchmarks.zoo import (
    CONVERSATIONS_FAIR,
    CONVERSATIONS_UNFAIR,
    FAIR,
    IMAGES_FAIR,
    IMAGES_UNFAIR,
    SUBJECTS_FAIR,
    SUBJECTS_UNFAIR,
    UNFAIR,
    Asked,
    Conversed,
    Drawn,
    DrawnSubjects,
    Row,
    failed_by,
    verdict_of,
)
from fairgate.benchmarks.fact_or_fair.topics import Context
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.benchmarks.limits import RATES

pytestmark = pytest.mark.slow

Gates = Callable[[str], tuple[GateResult, ...]]


@pytest.fixture(scope="module")
def gates_of() -> Gates:
    return cache(Asked(seed=0).gates)


@pytest.mark.parametrize(("control", "gate"), [(name, row.by) for row in UNFAIR for name in row.controls])
def test_what_is_unfair_fails_by_the_gate_that_says_why(gates_of: Gates, control: str, gate: str) -> None:
    gates = gates_of(control)
    assert verdict_of(gates) is Verdict.FAIL
    assert f"subjective-{gate}" in failed_by(gates)


@pytest.mark.parametrize("control", [name for row in FAIR for name in row.controls])
def test_what_is_fair_is_not_failed_however_odd(gates_of: Gates, control: str) -> None:
    assert failed_by(gates_of(control)) == []


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return Drawn(seed=0)


@pytest.mark.parametrize(("control", "gate"), [(name, row.by) for row in IMAGES_UNFAIR for name in row.controls])
def test_unfair_images_fail_by_the_gate_that_says_why(drawn: Drawn, control: str, gate: str) -> None:
    assert gate in failed_by(drawn.gates(control))


@pytest.mark.parametrize("control", [name for row in IMAGES_FAIR for name in row.controls])
def test_fair_images_pass(drawn: Drawn, control: str) -> None:
    assert verdict_of(drawn.gates(control)) is Verdict.PASS


@pytest.fixture(scope="module")
def of_subjects() -> Gates:
    return cache(DrawnSubjects(seed=0).gates)


@pytest.fixture(scope="module")
def conversed() -> Gates:
    return cache(Conversed(seed=0).gates)


def each_of(rows: tuple[Row, ...]) -> list[tuple[str, str | None]]:
    return [(name, row.by) for row in rows for name in row.controls]


@pytest.mark.parametrize(("control", "gate"), each_of(SUBJECTS_UNFAIR))
def test_unfair_people_in_images_fail_by_the_gate_that_says_why(of_subjects: Gates, control: str, gate: str) -> None:
    assert gate in failed_by(of_subjects(control))


@pytest.mark.parametrize(("control", "gate"), each_of(CONVERSATIONS_UNFAIR))
def test_unfair_conversations_fail_by_the_gate_that_says_why(conversed: Gates, control: str, gate: str) -> None:
    assert gate in failed_by(conversed(control))


def test_the_truth_and_open_answers_that_tie_nobody_pass(of_subjects: Gates, conversed: Gates) -> None:
    for gates_of, rows in ((of_subjects, SUBJECTS_FAIR), (conversed, CONVERSATIONS_FAIR)):
        for control, _ in each_of(rows):
            assert verdict_of(gates_of(control)) is Verdict.PASS


@pytest.fixture(scope="module")
def asked() -> Asked:
    return Asked(seed=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("control", "verdict", "most"),
    [
        ("oracle", Verdict.PASS, 2_500),
        ("stereotype:0.8", Verdict.FAIL, 600),
        ("stereotype:0.5", Verdict.FAIL, 2_000),
        ("in-group:0.5", Verdict.FAIL, 2_500),
    ],
)
def test_a_run_in_rounds_ends_with_its_verdict(asked: Asked, control: str, verdict: Verdict, most: int) -> None:
    found, calls = asked.in_rounds(control)
    assert found is verdict
    assert calls <= most


def test_a_fair_model_that_knows_the_facts_passes(gates_of: Gates) -> None:
    assert verdict_of(gates_of("oracle")) is Verdict.PASS


def test_a_model_near_the_limits_is_not_failed(gates_of: Gates) -> None:
    gates = gates_of("stereotype:0.2")
    assert failed_by(gates) == []
    assert verdict_of(gates) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("control", ["first-letter", "always-d"])
def test_where_position_decides_nothing_on_the_choices_passes(gates_of: Gates, control: str) -> None:
    gates = gates_of(control)
    for context in Context:
        here = {gate.entry.score: gate.verdict for gate in gates if gate.entry.context is context}
        assert here.pop("position") is Verdict.FAIL
        # The same letter everywhere: its spread is none, and says nothing of groups either.
        del here["position_spread"]
        assert {verdict for score, verdict in here.items() if score not in RATES} == {Verdict.INCONCLUSIVE}
