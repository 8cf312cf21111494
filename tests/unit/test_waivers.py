"""A failed gate that somebody answers for: shown as waived, until the day it expires."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import msgspec
import pytest

from fairgate.benchmarks.bigbench.data import BENCHMARK as BIGBENCH
from fairgate.benchmarks.bigbench.topics import Task
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.benchmarks.limits import RATES, Waiver
from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError
from fairgate.gating.gate import check_waivers, judge, names, waive
from fairgate.gating.thresholds import Thresholds, load
from fairgate.reports.markdown import to_markdown
from fairgate.reports.pytest_reports import gate_reports
from fairgate.reports.summary import to_json
from fairgate.reports.terminal import lines
from tests.builders import WHY, entry, limit, report, thresholds
from tests.plugins import REGISTRY

CHECKOUT = Path(__file__).resolve().parents[2]
DRAWN = (Task.IMPLICIT, Task.EXPLICIT, Task.MANIFESTATION)
NAME = "fact-or-fair-text-subjective-base-race-TV"
LAST = datetime.date(2026, 11, 30)
DAY = datetime.timedelta(days=1)


def waiver(gate: str = NAME) -> Waiver:
    return Waiver(gate=gate, reason="the data behind it are being mended", owner="Mira Obi", expires=LAST)


def limits(*waivers: Waiver) -> Thresholds:
    return msgspec.structs.replace(thresholds(limit(max=20)), waivers=waivers)


def held(today: datetime.date, ci: tuple[float, float] = (40.0, 60.0), by: Waiver | None = None) -> GateResult:
    whole = limits(by or waiver())
    [gate] = waive(judge([entry(ci=ci)], whole), whole, today)
    return gate


@pytest.mark.parametrize(
    ("today", "verdict", "code"),
    [(LAST - DAY, Verdict.WAIVED, 0), (LAST, Verdict.WAIVED, 0), (LAST + DAY, Verdict.FAIL, 1)],
)
def test_a_waiver_holds_to_the_end_of_its_last_day(today: datetime.date, verdict: Verdict, code: int) -> None:
    gate = held(today)
    assert gate.verdict is verdict
    assert report(gates=(gate,)).exit == code


def test_an_expired_waiver_is_named() -> None:
    assert "the waiver of Mira Obi expired on 2026-11-30" in held(LAST + DAY).reason


@pytest.mark.parametrize(("ci", "verdict"), [((5.0, 10.0), Verdict.PASS), ((10.0, 30.0), Verdict.INCONCLUSIVE)])
def test_only_a_failure_is_waived(ci: tuple[float, float], verdict: Verdict) -> None:
    assert held(LAST, ci).verdict is verdict


def test_another_gates_failure_stays_one() -> None:
    whole = limits(waiver())
    gates = waive(judge([entry(), entry(attribute="gender")], whole), whole, LAST)
    assert [gate.verdict for gate in gates] == [Verdict.WAIVED, Verdict.FAIL]
    assert report(gates=gates).exit == 1


def test_it_is_shown_as_waived_everywhere() -> None:
    shown = report(gates=(held(LAST),))
    assert "1 waived" in shown.headline
    assert "waived by Mira Obi until 2026-11-30" in " ".join(" ".join(lines(shown)).split())
    assert "**waived**" in to_markdown(shown)
    [gate] = json.loads(to_json(shown))["gates"]
    assert (gate["verdict"], gate["waiver"]["owner"], gate["waiver"]["expires"]) == ("waived", "Mira Obi", "2026-11-30")
    call, _ = gate_reports(shown)
    assert (call.outcome, str(call.fairgate_verdict)) == ("skipped", "waived")
    assert isinstance(call.longrepr, tuple)
    assert call.longrepr[2].startswith(f"waived: {NAME}: ")


def test_an_unknown_gate_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=rf"(?s)waivers\[0\].*is no gate.*Did you mean '{NAME}'"):
        check_waivers(limits(waiver(NAME.replace("race", "rase"))), REGISTRY, ("gender", "race"), "limits.toml")


@pytest.mark.parametrize("name", ["race", "nothing of the kind"])
def test_an_unknown_gate_that_is_near_none_lists_a_few(name: str) -> None:
    whole = msgspec.structs.replace(load(CHECKOUT / "thresholds.toml", REGISTRY), waivers=(waiver(name),))
    with pytest.raises(ConfigError) as caught:
        check_waivers(whole, REGISTRY, ("gender", "race"), "limits.toml")
    said = str(caught.value)
    assert re.search(r", and [\d,]+ more\.$", said)
    assert said.count("-text-") + said.count("-image-") == 20
    assert len(said) < 1700
    assert ("With it: " in said) == (name == "race")


@pytest.mark.parametrize(
    "name",
    [
        "fact-or-fair-image-subjective-race-preference",
        "fact-or-fair-image-subjective-no_face",
        "bigbench-image-implicit-age-TV",
        "bigbench-image-implicit-TV",
        "bigbench-image-explicit-S_explicit",
        "bigbench-image-manifestation-race-eta",
        "f2bench-text-dialogue-S_dialogue",
    ],
)
def test_gates_of_every_benchmark_and_of_images_can_be_waived(name: str) -> None:
    whole = msgspec.structs.replace(load(CHECKOUT / "thresholds.toml", REGISTRY), waivers=(waiver(name),))
    check_waivers(whole, REGISTRY, ("gender", "race", "age"), "thresholds.toml")


def test_the_gates_of_bigbench_have_the_names_that_waivers_know() -> None:
    whole = load(CHECKOUT / "thresholds.toml", REGISTRY)
    scores = {each.score for each in whole.gates if each.task in DRAWN} - {*RATES}
    entries = [
        entry(score, benchmark=BIGBENCH, modality=Modality.IMAGE, task=task, context=None, attribute=attribute)
        for score in scores
        for task in DRAWN
        for attribute in (None, "gender", "race", "age")
        if attribute is None or _is_by_attribute(score, task)
    ]
    held = {gate.name for gate in judge(entries, whole)}
    assert len(held) >= len(scores)
    assert held <= names(whole, REGISTRY, ("gender", "race", "age"))


def _is_by_attribute(score: str, task: str) -> bool:
    found = REGISTRY.score(score, Modality.IMAGE, task)
    return found is None or found.by_attribute


def test_a_gate_is_waived_once() -> None:
    with pytest.raises(ConfigError, match=r"waivers\[1\].*waived already"):
        check_waivers(limits(waiver(), waiver()), REGISTRY, ("gender", "race"), "limits.toml")


@pytest.mark.parametrize("missing", ["gate", "reason", "owner", "expires"])
def test_a_waiver_says_what_why_who_and_until_when(missing: str) -> None:
    whole = {"gate": NAME, "reason": WHY, "owner": "Mira Obi", "expires": LAST}
    with pytest.raises(msgspec.ValidationError, match=missing):
        msgspec.convert({key: value for key, value in whole.items() if key != missing}, Waiver)
