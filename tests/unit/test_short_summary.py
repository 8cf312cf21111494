"""The summary on one screen: what stands first, what is folded, and that nothing is said twice."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.evidence import Shown
from fairgate.benchmarks.fact_or_fair.topics import Context
from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.benchmarks.limits import Waiver
from fairgate.core.domain import AnswerKind, Role
from fairgate.reports import short_summary
from tests.builders import entry, gate, limit, report
from tests.unit.test_report import CONTROLS, MARKUP, ORDERS, cases

if TYPE_CHECKING:
    from fairgate.reports.report import Report

FAIL, PASS, INCONCLUSIVE = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE
PAGE = "Report: report/index.html"
MANY = [(context, attribute) for context in Context for attribute in ("gender", "race", "age", "income")]
SCORES = ("TV", "S_E", "S_KLD", "S_fair", "contrast", "preference", "pull", "position", "d", "S_fact")


def lines(shown: Report, width: int = 80) -> list[str]:
    return short_summary.lines(shown, width, PAGE)


def every(*verdicts: Verdict) -> tuple[GateResult, ...]:
    """Many gates of many scores, in turn of these verdicts."""
    found = [(score, context, attribute) for score in SCORES for context, attribute in MANY]
    return tuple(
        gate(verdicts[at % len(verdicts)], score, "the interval straddles the limit; " + "why " * 40, context=context,
             attribute=attribute)
        for at, (score, context, attribute) in enumerate(found)
    )  # fmt: skip


def findings(gates: tuple[GateResult, ...]) -> tuple[Finding, ...]:
    reply = Shown("q", Role.MODEL, "Who is it? " * 50, "reply " * 500, AnswerKind.SAID, "text")
    failed = [each for each in gates if each.verdict is FAIL]
    return tuple(Finding(each.name, (Example(f"{each.name} " + "words " * 20, None, reply),) * 3) for each in failed)


def test_the_verdict_why_what_to_do_and_the_place_of_the_report_come_first() -> None:
    gates = (gate(FAIL), gate(PASS, "S_E"))
    told = lines(report(gates=gates, cases=cases(passed=3, failed=1), limits="mine.toml"))
    assert told[: told.index("")] == [
        "FAIL: openai/tiny, plan quick; 2 gates: 1 failed, 1 passed",
        "Base race TV: 50 points (40 to 60) where at most 70 is allowed (by how many",
        "  points do its choices move between the highest and the lowest?).",
        "1 of 4 tests fails by itself.",
        "Next: read the replies behind the failure, in the report. To accept a gate until",
        "  a date, add [[waivers]] with gate =",
        f'  "{gates[0].name}" to your limits file (`fairgate',
        "  init` writes one).",
        PAGE,
    ]


def test_gates_that_passed_are_a_line_for_each_score_with_the_one_closest_to_its_limit() -> None:
    close = gate(PASS, "TV", attribute="gender", estimate=65.0, ci=(61.0, 69.0))
    rate = GateResult(limit("refused", max=5.0), entry("refused", value=0.0), PASS, "")
    told = lines(report(gates=(gate(PASS), close, gate(PASS, "S_E"), rate)))
    table = told[told.index("") + 1 :]
    assert [line.split() for line in table[1:3]] == [
        ["TV", "2", "base", "gender", "65.0", "[61.0,", "69.0]", "<=", "70"],
        ["S_E", "1", "base", "race", "50", "[40,", "60]", "<=", "70"],
    ]
    assert table[3] == "passed: 1 limit on samples that could not be used"


def test_failures_stand_before_what_is_open_and_passes_are_counted() -> None:
    told = lines(report(gates=(gate(PASS, "d"), gate(INCONCLUSIVE, "S_E"), gate(FAIL))))
    assert [line.split("  ")[0] for line in told if line.startswith(("failed (", "inconclusive (", "passed:"))] == [
        "failed (1)", "inconclusive (1)", "passed: 1 of scores, 0 limits on samples that could not be used",
    ]  # fmt: skip


def test_an_expired_waiver_of_a_failed_gate_is_named() -> None:
    failed = gate(Verdict.FAIL)
    waiver = Waiver(gate=failed.name, reason="is being fixed", owner="Mira Obi", expires=datetime.date(2026, 3, 1))
    told = " ".join(short_summary.lines(report(gates=(replace(failed, waiver=waiver),)), 200, ""))
    assert f"The waiver of {failed.name} by Mira Obi expired on 2026-03-01." in told
    waived = replace(failed, verdict=Verdict.WAIVED, waiver=waiver)
    assert "expired" not in " ".join(short_summary.lines(report(gates=(waived,)), 200, ""))


def test_a_reason_that_gates_share_is_said_once() -> None:
    gates = tuple(gate(INCONCLUSIVE, attribute=each, reason="too few answers") for each in ("gender", "race"))
    assert sum("too few answers" in line for line in lines(report(gates=gates))) == 1


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("verdicts", "most"), [((PASS,), 30), ((FAIL,), 70), ((FAIL, INCONCLUSIVE, PASS), 70), ((INCONCLUSIVE,), 30)]
)
def test_however_many_gates_there_are_it_stays_on_a_screen(
    verdicts: tuple[Verdict, ...], most: int, width: int
) -> None:
    gates = every(*verdicts)
    shown = report(gates=gates, findings=findings(gates), notes=("a note",) * 50)
    told = lines(shown, width)
    assert len(told) <= most
    assert max(map(len, told)) <= width


def test_one_cause_is_said_once_where_nothing_was_answered() -> None:
    gates = tuple(replace(each, reason="too many samples are missing") for each in every(INCONCLUSIVE))
    told = lines(report(gates=gates, error="the endpoint cannot be reached", cases=cases(inconclusive=300)))
    text = " ".join(" ".join(told).split())
    assert text.count("cannot be reached") == 1
    assert "missing" not in text
    assert f"inconclusive ({len(gates)}): TV 16, S_E 16," in text
    assert len(told) < 20


def test_nothing_moves_the_cursor_and_no_line_is_an_order() -> None:
    reply = Shown("q", Role.MODEL, MARKUP, f"\x1b[2J{CONTROLS}{ORDERS}", AnswerKind.SAID, "text")
    why = Finding(gate().name, (Example(ORDERS, None, reply),))
    shown = report(gates=(gate(FAIL),), findings=(why,), error=f"\x1b[31m{ORDERS}", model=f"\x1b]0;x\x07{ORDERS}")
    told = lines(shown)
    assert all(line.isprintable() for line in told)
    assert not [line for line in told if line.strip().startswith("::")]
