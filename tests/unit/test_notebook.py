"""A report as a program and a notebook have it: its scores by name, and the table that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fairgate
from fairgate.benchmarks.gate_result import Verdict
from fairgate.core.errors import ConfigError
from tests.builders import entry, finding, gate, report

if TYPE_CHECKING:
    from pathlib import Path


def test_a_notebook_shows_the_verdict_why_and_the_failed_gates_first() -> None:
    passed, failed = gate(Verdict.PASS, "S_E"), gate(Verdict.FAIL, "TV")
    html = report(gates=(passed, failed), findings=(finding("it picks <one> in 63 %"),))._repr_html_()
    assert html.index("FAIL") < html.index("it picks &lt;one&gt; in 63 %")
    assert html.index("<td>fail</td>") < html.index("<td>pass</td>")


def test_a_report_is_one_line_in_a_shell() -> None:
    shown = report(gates=(gate(Verdict.FAIL, "TV"),), entries=tuple(entry(f"S{n}") for n in range(100)))
    assert repr(shown) == f"<Report {shown.headline}; {shown.cases.total} cases>"


@pytest.mark.parametrize("name", ["select", "marks"])
def test_an_expression_that_is_no_string_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"^fairgate\.run\({name}=…\): 3 is not a string"):
        fairgate.run("control/oracle", **{name: 3})  # type: ignore[arg-type] # what a user may write


def test_a_function_with_a_ledger_needs_the_state_of_its_code(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r'^fairgate\.run\(ledger=…\): .* Name the state of its code, e\.g\. revision="1"'
    ):
        fairgate.run(lambda _prompt: "A", ledger=tmp_path / "ledger.sqlite")


def test_a_function_in_this_process_takes_no_time_limit() -> None:
    with pytest.raises(ConfigError, match=r"request_timeout=…\): a function in this process cannot be ended"):
        fairgate.run(lambda _prompt: "A", request_timeout=3)


def test_what_others_named_is_text_in_a_notebook() -> None:
    html = report(model="openai/<script>alert(1)</script>", error="<b>no</b>")._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;no&lt;/b&gt;" in html


def test_a_score_is_found_by_its_name_and_what_tells_it_apart() -> None:
    race, gender = entry("TV", attribute="race"), entry("TV", attribute="gender")
    shown = report(entries=(race, gender, entry("TV", attribute="race", scoring="reference")))
    assert shown.score("TV", attribute="race") == race
    assert shown.score(gender.name) == gender
    assert shown.score("TV", attribute="race", scoring="reference").scoring == "reference"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("TVV", {}, r"Report\.score\('TVV'\): no such score\. Did you mean 'TV'"),
        ("TV", {}, r"2 scores are of this description\. There are: .*gender-TV, .*race-TV"),
        ("TV", {"attribute": "age"}, r"attribute='age'\): 0 scores are of this description\. There are: "),
    ],
)
def test_a_score_that_is_none_or_several_is_refused(name: str, given: dict[str, str], message: str) -> None:
    shown = report(entries=(entry("TV", attribute="gender"), entry("TV", attribute="race")))
    with pytest.raises(ConfigError, match=message):
        shown.score(name, **given)
