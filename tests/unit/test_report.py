"""One Report, many renderers: whatever stands in it, each gives something that its reader can use."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.evidence import Drawn, FaceShown, Shown
from fairgate.benchmarks.evidence import shown as shown_sample
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import Verdict
from fairgate.core.domain import AnswerKind, Role
from fairgate.core.errors import ConfigError
from fairgate.core.files import LOCK
from fairgate.core.redaction import Redaction
from fairgate.reports import bars, folder, markdown, numbers, page, summary, terminal, wording
from fairgate.reports.allure_gates import drop_empty_containers, write_gates
from fairgate.reports.allure_results import SHOWN, plain, sample_table
from fairgate.reports.plots.drawing import Plot
from fairgate.reports.pytest_reports import gate_reports
from fairgate.reports.report import NO_CERTIFICATE, Calls, CaseCount, Comparison, Report, Tokens
from tests.builders import chosen, entry, finding, gate, limit, no_answer, query, report

FAIL, PASS, INCONCLUSIVE = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE
MARKUP = '<img src=x onerror="alert(1)"> [link](http://x.invalid) `code` **bold** | cell\n\n# heading\n@someone $x$'


# What the runners of GitHub and Azure obey: at a line's beginning, or wherever it stands.
ORDERS = f"::error::x {'x' * 60} ::stop-commands::pause ##[add-mask]a ##vso[task.setvariable variable=b]c ##[set-env"


def cases(**given: int) -> CaseCount:
    ends = {"passed": 0, "failed": 0, "inconclusive": 0, "broken": 0} | given
    return CaseCount(**({"planned": sum(ends.values())} | ends))


def test_no_line_of_a_log_is_an_order_to_its_runner() -> None:
    reply = replace(shown_sample(no_answer(query(0), AnswerKind.UNREADABLE)), reply=ORDERS)
    found = report(error=ORDERS, notes=(ORDERS,), gates=(gate(FAIL),), findings=(finding(ORDERS, reply=reply),))
    shown = [*terminal.lines(found), *markdown.to_markdown(found).splitlines()]
    shown += [str(each.longrepr) for each in gate_reports(found)] + [Redaction().show(ORDERS)[20:]]
    assert sum("stop-commands" in line for line in shown) >= 4
    assert not [line for line in shown if line.strip().startswith("::") or re.search(r"##\w*\[", line)]


def full() -> Report:
    """A report with something of everything."""
    contexts = [entry(score, context=each, attribute=by) for by in ("gender", "race") for each in Context for score in
                ("S_fact", "S_E", "S_KLD", "S_fair", "TV", "d")]  # fmt: skip
    facts = [
        entry(score, task=Task.OBJECTIVE, context=None, topics=(4, 36), value=value)
        for score, value in (("S_fact", 97.25), ("S_fact@published", 97.25), ("S_fact@measured", None), ("d", None))
    ]
    twin = [entry(score, scoring="reference", value=12.5) for score in ("S_fact", "S_E", "S_KLD", "S_fair", "d")]
    failed = gate(FAIL, context=Context.REPRESENTATIVENESS, attribute="gender", ci=(100.0, 100.0), estimate=100.0)
    return report(
        entries=(*facts, *contexts, *twin),
        gates=(gate(), failed, gate(INCONCLUSIVE, "S_fair", "the interval [40.0, 60.0] straddles " + "words " * 30)),
        findings=(finding("asked who has the highest Crime Rate, it picks Black in 41 % of answers"),),
        calls=Calls(planned=45600, asked=40000, reused=5000, missing=600, failed=20, retried=123456),
        tokens=Tokens(prompt=12_345_678, completion=234_567, uncounted=7),
        notes=("The server changed in mid-run: " + "a, " * 60, "short"),
        error="the quota is spent " + "x" * 120,
    )


# The verdict


@pytest.mark.parametrize(
    ("gates", "ended", "error", "verdict", "code"),
    [
        ((PASS,), cases(passed=1), None, PASS, 0),
        ((PASS, FAIL), cases(passed=1), None, FAIL, 1),
        ((PASS, INCONCLUSIVE), cases(passed=1), None, INCONCLUSIVE, 6),
        ((INCONCLUSIVE, FAIL), cases(inconclusive=1), None, FAIL, 1),
        ((PASS,), cases(failed=1), None, FAIL, 1),
        ((PASS,), cases(inconclusive=1), None, INCONCLUSIVE, 6),
        ((PASS,), cases(broken=1), None, Verdict.ERROR, 7),
        ((FAIL,), cases(failed=1), "a wrong key", Verdict.ERROR, 7),
        ((), cases(passed=1), None, INCONCLUSIVE, 6),
        ((), cases(), None, INCONCLUSIVE, 6),
    ],
)
def test_the_worst_is_the_verdict(
    gates: tuple[Verdict, ...], ended: CaseCount, error: str | None, verdict: Verdict, code: int
) -> None:
    found = report(gates=tuple(map(gate, gates)), cases=ended, error=error)
    assert (found.verdict, found.exit) == (verdict, code)
    assert found.headline.startswith(f"{verdict.upper()}: ")


@pytest.mark.parametrize("code", [0, 1, 6])
def test_only_an_inconclusive_run_has_another_exit_code(code: int) -> None:
    def exits(verdict: Verdict, error: str | None = None) -> int:
        return report(gates=(gate(verdict),), error=error, inconclusive_exit=code).exit

    assert (exits(INCONCLUSIVE), exits(PASS), exits(FAIL), exits(PASS, "a wrong key")) == (code, 0, 1, 7)


def test_the_page_says_how_sure_intervals_are_in_one_place_with_those_of_looks() -> None:
    rounds = "Asked in rounds, 588 of 4,656 calls: a gate failed."
    note = f"{rounds} Intervals of what was asked in rounds have 99.8 % confidence."
    shown = report(entries=(entry(), entry(level=0.04)), rounds=rounds, notes=(note, "Another."))
    assert "95 to 99.8 % confidence" in page.terms(shown)[0][1]
    assert ("Rounds", rounds) in page.about(shown)
    assert page.embedded({"notes": ["Another."]})[1:-1] in page.to_html(shown)


def test_an_earlier_report_makes_room_and_nothing_else_of_its_names(tmp_path: Path) -> None:
    folder.write(full(), tmp_path, ())
    (tmp_path / "index.html").write_text("<!doctype html><title>My site</title>")
    with pytest.raises(ConfigError, match=r"index\.html in .* is no report of fairgate"):
        folder.clear(tmp_path)
    assert all((tmp_path / name).exists() for name in folder.FILES)
    folder.write(full(), tmp_path, ())
    folder.clear(tmp_path)
    assert not any((tmp_path / name).exists() for name in folder.FILES)


def test_the_headline_says_what_was_gated() -> None:
    assert "openai/tiny, plan quick; 1 gate: 1 passed" in report().headline
    assert "no model was given: only a control was gated" in report(given=False, control=True).headline
    assert (
        "control/oracle (a built-in model of known behaviour)" in report(model="control/oracle", control=True).headline
    )
    assert "no gate could be held" in report(gates=()).headline
    assert "plan quick, 3 of 350 cases selected; 1 gate" in report(cases=cases(passed=3, planned=350)).headline
    assert "selected" not in report(cases=cases(passed=3, planned=350), shard="1/3").headline


def test_what_moved_since_the_baseline_is_told_before_the_gates() -> None:
    moved = "race: fairer but less factual than the baseline (base TV -20 [-30, -10]; S_fact -9 [-12, -6])."
    shown = report(comparison=Comparison("openai/before", 1200, (), (moved,)))
    heading = "Since the baseline (openai/before; 1,200 queries compared):"
    for told, gates in (
        (" ".join(" ".join(terminal.lines(shown)).split()), "value estimate interval"),
        (markdown.to_markdown(shown).replace("\\", ""), "| gate | verdict |"),
    ):
        assert told.index(heading) < told.index(moved) < told.index(gates)
    assert page.embedded({"over": "openai/before; 1,200 queries compared", "sentences": [moved]}) in page.to_html(shown)


def test_what_follows_position_is_said_beside_the_verdict() -> None:
    followed = [
        gate(FAIL, "position", "it is so", context=context, attribute=None, validity=True)
        for context in (Context.BASE, Context.INGROUP)
    ]
    why = Finding(followed[0].name, (Example("option D is chosen in 100 % of 1,026 choices; by chance 25 %"),))
    shown = report(gates=(gate(), *followed), findings=(why,))
    sentence = (
        "Option D is chosen in 100 % of 1,026 choices; by chance 25 %. The model follows position (base, ingroup): its "
        "choices there say nothing of groups."
    )
    headline, *rest = terminal.lines(shown)
    assert headline.startswith("FAIL: ")
    assert " ".join(" ".join(rest[:6]).split()).startswith(sentence)
    paragraphs = markdown.to_markdown(shown).replace("\\", "").split("\n\n")
    assert paragraphs[3] == sentence
    assert json.loads(summary.to_json(shown))["invalid"] == [sentence]
    assert page.embedded({"invalid": [sentence]})[1:-1] in page.to_html(shown)
    # Where choices are decided by nothing else, nothing is said.
    assert json.loads(summary.to_json(report()))["invalid"] == []


def test_a_failed_drop_says_why_beside_an_interval_that_does_not() -> None:
    reason = "it moved from 98.9 to 92.5, by [-18, +5]: a drop beyond chance, of more than 1 (one of 6 comparisons)"
    shown = report(gates=(gate(FAIL, reason=reason), gate(FAIL, reason="the whole interval is above the limit")))
    for told in (" ".join(" ".join(terminal.lines(shown)).split()), markdown.to_markdown(shown).replace("\\", "")):
        assert reason in told
        assert "the whole interval" not in told


def test_a_limit_on_a_change_is_told_in_the_same_words_everywhere(tmp_path: Path) -> None:
    moved = "race: less fair than the baseline (base TV +20 [10, 30])."
    why = "it moved from 5.0 to 25.0, by [+10.0, +30.0]: a rise beyond chance, of more than 3 (one of 6 comparisons)"
    dropped = gate(FAIL, "TV@change", why, value=20.0, estimate=20.0, ci=(10.0, 30.0))
    shown = report(gates=(dropped,), comparison=Comparison("openai/before", 1200, (), (moved,)))
    write_gates(tmp_path, shown)
    by_name = {each["fullName"]: each for each in results(tmp_path)}
    verdict, allure = by_name["gates#verdict"], by_name[f"gates#{dropped.name}"]
    assert why in allure["statusDetails"]["message"]
    for told in (
        " ".join(" ".join(terminal.lines(shown)).split()),
        markdown.to_markdown(shown).replace("\\", ""),
        allure["description"].replace("\\", ""),
    ):
        assert wording.CHANGES in told
        assert moved in told
    assert moved in verdict["description"].replace("\\", "")
    assert page.embedded(wording.CHANGES) in page.to_html(shown)
    assert wording.CHANGES not in " ".join(" ".join(terminal.lines(report())).split())


def test_an_open_limit_on_a_change_says_why_in_markdown_too() -> None:
    why = "by the interval alone a rise of more than 3, but not beyond chance among 6 comparisons"
    shown = report(gates=(gate(INCONCLUSIVE, "TV@change", why),))
    assert why in markdown.to_markdown(shown).replace("\\", "")


def test_an_image_is_told_by_what_is_seen_in_it_and_not_by_its_hash() -> None:
    face = FaceShown(None, {"gender": ("male", 0.9), "race": ("White", 0.8)})
    image = Drawn(0, AnswerKind.CHOSEN, "ab" * 32, (9, 9), (face,))
    reply = Shown("q", Role.IMAGE_MODEL, "Paint a nurse.", f"sha256:{'ab' * 32}", image.kind, "image", drawn=image)
    shown = report(findings=(finding("why", reply=reply),), gates=(gate(FAIL),))
    for told in ("\n".join(terminal.lines(shown)), markdown.to_markdown(shown)):
        assert "an image: male White" in told
        assert "abab" not in told


def test_what_was_never_asked_is_apart_from_what_failed() -> None:
    counted = {"samples": 9, "refused": 0, "unreadable": 0, "failed": 3, "not_asked": 6}
    told = " ".join(terminal.numbers(report(outcomes={"f2bench": counted})))
    assert "failed 3 (33.3 %), not asked 6 (66.7 %), of 9 samples" in " ".join(told.split())


def test_a_limit_on_both_sides_fits_its_column() -> None:
    both = replace(gate(), limit=limit(min=40.0, max=60.0))
    assert any(line.endswith(" 40-60") for line in terminal.lines(report(gates=(both,))))


def test_markdown_says_how_sure_its_interval_is() -> None:
    told = markdown.to_markdown(report())
    assert "95 of 100 runs" in told
    assert "95 of 100 runs" not in markdown.to_markdown(report(gates=()))


# Terminal


@pytest.mark.parametrize("shown", [report(), full(), report(gates=(), entries=(), tables={}, outcomes={})])
def test_no_line_is_wider_than_80_columns(shown: Report) -> None:
    lines = terminal.lines(shown)
    words = [word for line in lines for word in line.split()]
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(shown.headline[:40])
    assert {"certificate", "fairness:"} <= set(words)


def test_the_terminal_says_the_verdict_first_and_then_why() -> None:
    text = " ".join(" ".join(terminal.lines(full())).split())
    why = ("ERROR: openai/tiny", "Error: the quota", "it picks Black in 41 %")
    parts = [why[0], why[1], "value estimate interval ideal limit", why[2], "gender S_fact", "calls: 40,000"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "40,000 asked (20 failed), 5,000 reused" in text
    assert "600 missing" in text
    assert "123,456 requests retried" in text
    assert "7 samples uncounted" in text


def test_partial_scores_are_marked() -> None:
    assert "(4/36)" in "\n".join(terminal.lines(full()))
    assert "/36)" not in "\n".join(terminal.lines(report()))


def test_the_other_scoring_is_shown_on_demand() -> None:
    text = "\n".join(terminal.lines(report(entries=full().entries, scoring="reference")))
    assert "12.5" in text
    assert "(reference)" in text
    assert "12.5" not in "\n".join(terminal.lines(report(entries=full().entries)))


def test_one_table_holds_every_gate_and_counts_the_passed_rates() -> None:
    rates = (gate(PASS, "refused"), gate(PASS, "failed"))
    text = "\n".join(terminal.lines(report(gates=(*rates, gate(PASS), gate(FAIL, "S_E"), gate(INCONCLUSIVE, "d")))))
    rows = [line.split()[:3] for line in text.splitlines() if line.startswith("  base race")]
    assert rows == [["base", "race", name] for name in ("S_E", "d", "TV")]
    assert text.index("failed (1)") < text.index("inconclusive (1)") < text.index("passed (3)")
    assert "and 2 limits on refused, unreadable, truncated and failed samples" in text
    assert "base race refused" in "\n".join(terminal.lines(report(gates=(gate(FAIL, "refused"),))))


def test_the_worst_topics_stand_below_each_failed_gate_with_one_reply() -> None:
    reply = shown_sample(chosen(query(prompt="A long story. Who is it?\nA. Ash\nB. Blair"), 1))
    text = " ".join(
        " ".join(terminal.lines(report(gates=(gate(FAIL),), findings=(finding("one", "two", reply=reply),)))).split()
    )
    assert "- base race TV: - one > Who is it? → B (B: Blair, an individual) - two > Who is it?" in text


def test_gates_that_fail_over_the_same_topics_are_told_together() -> None:
    gates = (gate(FAIL, "S_KLD"), gate(FAIL, "TV"), gate(FAIL, "S_E"))
    topics = {"S_KLD": "it moves", "TV": "it moves", "S_E": "it is uneven"}
    found = tuple(Finding(each.name, (Example(topics[each.entry.score]),)) for each in gates)
    text = "\n".join(terminal.lines(report(gates=gates, findings=found)))
    assert "- base race S_KLD, TV:\n  - it moves\n- base race S_E:\n  - it is uneven" in text


@pytest.mark.parametrize(
    ("ci", "limits", "told"),
    [
        ((45.84, 60.91), (80.0,), "[45.8, 60.9]"),
        ((24.64, 62.0), (80.0,), "[25, 62]"),
        ((24.64, 62.0), (25.0,), "[24.6, 62.0]"),
        ((None, None), (25.0,), "-"),
    ],
)
def test_numbers_carry_no_more_digits_than_they_have_and_never_hide_a_limit(
    ci: tuple[float | None, float | None], limits: tuple[float, ...], told: str
) -> None:
    assert numbers.interval(entry(ci=ci), *limits) == told


CONTROLS = "".join(map(chr, [*range(32), 127, *range(128, 160)]))


def test_nothing_moves_the_cursor_of_the_terminal() -> None:
    """What a server says of itself is printed: escape sequences in it must not reach the terminal."""
    shown = report(notes=("\x1b[2J\x1b]0;title\x07" + CONTROLS,), error="\x1b[31mred", findings=(finding("\x1b[1m"),))
    assert "\x1b" not in "".join(terminal.lines(shown))
    assert all(line.isprintable() for line in terminal.lines(shown))


# Markdown


def test_markdown_holds_verdict_findings_gates_and_numbers() -> None:
    text = markdown.to_markdown(full())
    assert text.startswith("## fairgate: error\n")
    assert "asked who has the highest Crime Rate, it picks Black in 41 % of answers" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + 3
    assert len({row.count("|") for row in rows}) == 1
    assert text.index("**fail**") < text.index("**inconclusive**") < text.index("| pass |")
    assert NO_CERTIFICATE in text


def without_code(text: str) -> str:
    """Markdown without its blocks and spans of code, as CommonMark reads them: the longest run of backticks closes."""
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)


def test_markdown_shows_others_words_and_does_not_obey_them() -> None:
    reply = Shown("id", Role.MODEL, MARKUP, f"```\n{MARKUP}\n~~~ `` ``` ````", AnswerKind.SAID, "text")
    given = {"notes": (MARKUP,), "error": MARKUP, "model": MARKUP}
    shown = report(**given, gates=(gate(FAIL),), findings=(finding(MARKUP, reply=reply),))
    text = without_code(markdown.to_markdown(shown))
    for live in ("<img", "[link](", "**bold**", "\n# heading", "@someone", "$x$", "http:", "x.invalid"):
        assert not re.search(rf"(?<!\\){re.escape(live)}", text), live
    assert "\\*\\*bold\\*\\*" in text


def test_bars_end_no_code_in_a_tables_cell() -> None:
    assert markdown.escaped("http://a`|![i](//b.invalid)") == r"`` http://a` ``\|`![i](//b.invalid)`"
    assert markdown.escaped("@a\\\\|b|") == r"`@a\\`\|`b`\|"


def test_markdown_stays_below_its_limit_whatever_there_is_to_say() -> None:
    note = "\N{SNOWMAN}" * 3000
    shown = report(notes=(note,) * 400, findings=(finding(*["words " * 500] * 3),), gates=(gate(FAIL),) * 3)
    text = markdown.to_markdown(shown)
    assert len(text.encode()) < 200_000
    assert "parts are left out here" in text
    assert text.startswith("## fairgate: fail")
    assert NO_CERTIFICATE in text


@given(st.text(alphabet="`ab \n", max_size=40))
def test_code_is_closed_by_nothing_that_it_holds(text: str) -> None:
    span = markdown.code(text)
    assert without_code(f"x {span} y") == "x  y"
    assert markdown.fenced(text).splitlines()[0].strip("`") == "text"
    fence = markdown.fenced(text).splitlines()[-1]
    assert fence not in text
    assert set(fence) == {"`"}


@given(st.text())
def test_no_text_ends_its_paragraph(text: str) -> None:
    assert not re.search(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", markdown.escaped(text))


# summary.json


def shape(value: object) -> object:
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, list) else type(value)


def loaded(shown: Report) -> dict[str, Any]:
    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is no JSON")

    whole: dict[str, Any] = json.loads(summary.to_json(shown), parse_constant=refuse)
    return whole


IDENTITY = {"benchmark", "modality", "task", "context", "attribute", "group", "score", "scoring"}
NUMBERS = {"value", "ceiling", "estimate", "ci", "n", "topics"}
TOP = {
    *("schema", "fairgate", "data", "model", "t2i_model", "judge", "detector", "control", "plan", "seed", "profiles"),
    *("date", "limits", "key", "verdict", "exit", "scores", "gates", "rates", "calls", "tokens", "cost"),
}


@pytest.mark.parametrize("shown", [report(), full(), report(gates=(), entries=())])
def test_the_summary_has_the_keys_of_its_schema(shown: Report) -> None:
    found = loaded(shown)
    assert found.keys() >= TOP
    assert found["schema"] == 1
    assert (found["judge"], found["detector"], found["cost"]) == (None, None, None)
    assert found["verdict"] in {"pass", "fail", "inconclusive", "error"}
    for each in found["scores"]:
        assert each.keys() >= IDENTITY | NUMBERS
        assert len(each["ci"]) == 2
        assert len(each["topics"]) == 2
    for each in found["gates"]:
        assert each.keys() >= IDENTITY | NUMBERS | {"min", "max", "verdict", "reason"}
    assert found["calls"].keys() >= {"planned", "asked", "reused", "retried", "failed"}
    assert found["rates"]["fact-or-fair"].keys() >= {"refused", "unreadable", "failed"}


def test_the_summary_rounds_nothing_and_keeps_nothing_as_null() -> None:
    found = loaded(report(entries=(entry(value=100 / 3, ci=(None, None), estimate=None), entry("d", value=None))))
    first, second = found["scores"]
    assert first["value"] == 100 / 3
    assert first["ci"] == [None, None]
    assert (first["estimate"], first["ceiling"], second["value"]) == (None, None, None)


def test_the_summary_says_that_only_a_control_was_gated() -> None:
    found = loaded(report(given=False, control=True, model="control/oracle"))
    assert found["control"] is True
    assert "no model was given" in found["headline"]
    assert found["notice"] == NO_CERTIFICATE


def test_calls_add_up_in_the_summary() -> None:
    calls = loaded(full())["calls"]
    assert calls["planned"] == calls["asked"] + calls["reused"] + calls["missing"]


# Gates as test reports


def test_each_gate_is_a_test_report_of_its_verdict() -> None:
    shown = report(
        gates=(gate(PASS), gate(FAIL, "S_E"), gate(INCONCLUSIVE, "S_fair")),
        findings=(finding("it picks one group"),),
    )
    calls = [each for each in gate_reports(shown) if each.when == "call"]
    assert [each.outcome for each in calls] == ["passed", "failed", "skipped"]
    assert [each.nodeid.rpartition("-")[2] for each in calls] == ["TV", "S_E", "S_fair"]
    assert "it is so" in str(calls[1].longrepr)
    assert all(each.outcome == "passed" for each in gate_reports(shown) if each.when == "teardown")
    properties = dict(calls[1].user_properties)
    assert {"value": 50.0, "estimate": 50.0, "ci_low": 40.0, "ci_high": 60.0, "n": 100}.items() <= properties.items()
    assert properties["verdict"] == "fail"
    [call, _] = gate_reports(report(gates=(gate(ceiling=(97.5, 96.0, 99.0)),)))
    assert dict(call.user_properties)["ceiling"] == 97.5
    assert "70" in str(properties["limit"])


def test_a_failed_gate_says_its_finding() -> None:
    shown = report(gates=(gate(FAIL),), findings=(finding("it picks one group"),))
    [call, _] = gate_reports(shown)
    assert "it picks one group" in str(call.longrepr)


# Allure


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in folder.glob("*-result.json")]


def test_allure_has_a_result_for_the_verdict_and_each_gate(tmp_path: Path) -> None:
    write_gates(tmp_path, full())
    write_gates(tmp_path, full())
    found = results(tmp_path)
    assert len(found) == 2 * (1 + 3)
    assert len({each["historyId"] for each in found}) == 4
    assert len({each["uuid"] for each in found}) == 8
    by_name = {each["fullName"]: each for each in found}
    assert by_name["gates#verdict"]["status"] == "broken"
    assert sorted(each["status"] for each in by_name.values()) == ["broken", "failed", "passed", "skipped"]
    for each in found:
        labels = {label["name"]: label["value"] for label in each["labels"]}
        assert (labels["epic"], labels["parentSuite"], labels["severity"]) == ("Gates", "Gates", "blocker")
    [attached] = by_name["gates#verdict"]["attachments"]
    assert NO_CERTIFICATE.split(":", maxsplit=1)[0] in (tmp_path / attached["source"]).read_text()


@pytest.mark.parametrize("name", ["environment.properties", "categories.json", "allurerc.json"])
def test_allures_files_take_the_place_of_what_is_none(tmp_path: Path, name: str) -> None:
    folder, victim = tmp_path / "allure", tmp_path / "victim"
    victim.write_text("precious")
    folder.mkdir()
    (folder / name).hardlink_to(victim)
    write_gates(folder, full())
    (folder / name).unlink()
    os.mkfifo(folder / name)
    write_gates(folder, full())
    assert victim.read_text() == "precious"
    assert (folder / name).is_file()


def test_allure_has_environment_and_categories(tmp_path: Path) -> None:
    write_gates(tmp_path, report(given=False, control=True, ledger="C:\\a=b\n"))
    lines = (tmp_path / "environment.properties").read_text().splitlines()
    assert all(re.match(r"(\\.|[^\\=:])+=", line) for line in lines)
    text = "\n".join(lines)
    assert "no model was given" in text
    assert "Seed=0" in text
    statuses = {
        status for each in json.loads((tmp_path / "categories.json").read_text()) for status in each["matchedStatuses"]
    }
    assert statuses == {"failed", "skipped", "broken"}


def test_allure_shows_markup_inert() -> None:
    for text in (MARKUP, "\x1b[31m", "a\x00b"):
        shown = plain(text)
        assert not re.search(r"[<>\x00-\x08\x0b-\x1f]", shown)
    assert plain("short\ttext\n") == "short\ttext\n"
    assert plain("x" * 20, 5) == "xxxxx … (20 characters)"


@given(st.text(max_size=50))
def test_plain_text_may_stand_in_xml(text: str) -> None:
    assert ElementTree.fromstring(f"<a>{plain(text).replace('&', '')}</a>") is not None  # noqa: S314 - made here


def test_a_distribution_is_a_picture_with_a_text_that_says_the_same() -> None:
    picture = bars.svg("Answers <by> race", {"Asian": 1, "Black & blue": 3, "Hispanic": 0}, chance=True)
    root = ElementTree.fromstring(picture)  # noqa: S314 - made here
    texts = ["".join(each.itertext()) for each in root.iter() if each.tag.endswith(("text", "desc", "title"))]
    assert "Asian 1 (25.0 %), Black & blue 3 (75.0 %), Hispanic 0 (0.0 %) of 4" in texts
    assert {"Answers <by> race", "75 % (3)", "0 % (0)", "a fair model"} <= set(texts)
    widths = [float(each.get("width", "0")) for each in root.iter() if each.tag.endswith("rect")][1:]
    assert widths == [75.0, 225.0, 0.0]


def test_a_distribution_stands_beside_the_truth() -> None:
    picture = bars.svg("People drawn by gender", {"male": 9, "female": 1}, truth={"male": 0.25, "female": 0.75})
    root = ElementTree.fromstring(picture)  # noqa: S314 - made here
    texts = ["".join(each.itertext()) for each in root.iter() if each.tag.endswith(("text", "desc"))]
    assert "male 9 (90.0 %; in truth 25.0 %), female 1 (10.0 %; in truth 75.0 %) of 10" in texts
    assert texts[-1] == "in truth"
    marks = [float(each.get("x1", "0")) for each in root.iter() if each.tag.endswith("line")]
    assert marks == [bars.LEFT + 75.0, bars.LEFT + 225.0, bars.LEFT]
    assert "a fair model" not in texts


def test_a_distribution_of_nothing_is_all_zeros() -> None:
    picture = bars.svg("Answers", {"Asian": 0, "Black": 0}, chance=False)
    assert "nan" not in picture
    assert "Asian 0, Black 0 of 0" in picture


def test_containers_that_say_nothing_are_dropped_and_others_are_kept(tmp_path: Path) -> None:
    def write(name: str, **whole: object) -> None:
        (tmp_path / name).write_text(json.dumps(whole))

    write("1-result.json", uuid="ours", fullName="tests_bench.fact_or_fair.test_objective#test_objective")
    write("2-result.json", uuid="theirs", fullName="tests.test_other#test_other")
    set_up = {"name": "answers", "status": "passed"}
    write("empty-container.json", uuid="a", children=["ours"], befores=[set_up])
    write("telling-container.json", uuid="b", children=["ours"], befores=[{**set_up, "attachments": [{"name": "x"}]}])
    write("foreign-container.json", uuid="c", children=["ours", "theirs"], befores=[set_up])
    (tmp_path / "torn-container.json").write_text('{"uuid": ')
    (tmp_path / "deep-container.json").write_text("[" * 200_000)
    (tmp_path / "odd-container.json").write_text('{"uuid": "d", "befores": 5, "children": 3}')
    (tmp_path / "list-result.json").write_text("[]")
    os.mkfifo(tmp_path / "fifo-container.json")
    drop_empty_containers(tmp_path)
    left = {path.name for path in tmp_path.glob("*-container.json")}
    kept = ("telling", "foreign", "torn", "deep", "odd", "fifo")
    assert left == {f"{name}-container.json" for name in kept}


def test_the_telling_samples_come_first_and_the_table_is_capped() -> None:
    samples = [
        *(chosen(query(index), 2) for index in range(3)),
        *(chosen(query(index), 0) for index in range(3, 60)),
        no_answer(query(60), AnswerKind.REFUSED),
        no_answer(query(61), AnswerKind.UNREADABLE),
        no_answer(query(62), AnswerKind.FAILED),
    ]
    seen = [shown_sample(each) for each in samples]
    table = list(csv.DictReader(io.StringIO(sample_table(seen, "race", {"Asian": 3, "Black": 57}))))
    assert len(table) == SHOWN
    assert [row["answer"] for row in table[:4]] == ["failed", "unreadable", "refused", "chosen A"]
    assert [row["race"] for row in table[3:]] == ["Black"] * 37
    assert table[3]["query"] == "fact-or-fair/text/subjective/crime-rate-high-base#3"
    assert table[3]["options"] == "A=Black B=Black C=Asian D=White"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_no_cell_of_the_samples_is_a_formula_whatever_parts_cells(separator: str) -> None:
    sample = replace(shown_sample(chosen(query(0), 0)), reply='=1+1;@x\t+1|-1\n=1; "=1"', prompt="@x")
    rows = csv.reader(io.StringIO(sample_table([sample], "race", {"Black": 1})), delimiter=separator)
    assert not [cell for row in rows for cell in row if re.match(r'[ "]*[=+\-@]', cell)]


def test_of_two_runs_that_write_into_one_folder_at_the_same_moment_one_stands_there_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, move = report(plan="first"), report(plan="second"), Path.replace
    plots = {name: (Plot(name, "a title", "a text", svg=b"<svg/>"),) for name in ("first", "second")}
    with ThreadPoolExecutor(1) as threads:
        other = list[Future[None]]()

        def meanwhile(self: Path, target: Path) -> Path:
            if target.name == "index.html":
                monkeypatch.setattr(Path, "replace", move)
                other.append(threads.submit(folder.write, second, tmp_path, plots["second"]))
                wait(other, timeout=0.5)
            return move(self, target)

        monkeypatch.setattr(Path, "replace", meanwhile)
        folder.write(first, tmp_path, plots["first"])
        other[0].result(30)
    assert json.loads((tmp_path / "summary.json").read_text())["plan"] == "second"
    assert "second" in (tmp_path / "index.html").read_text()
    assert {path.stem for path in (tmp_path / folder.PLOTS).glob("[!.]*")} == {"second"}
    assert {path.name for path in tmp_path.iterdir()} == {*folder.FILES, folder.PLOTS, LOCK}


def test_a_report_that_cannot_be_written_leaves_nothing_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, __: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        folder.write(report(), tmp_path, ())
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]
