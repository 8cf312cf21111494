"""Plots: each has a text that says the same, and the same report gives the same bytes."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from fairgate.benchmarks.bigbench.topics import Task as BigTask
from fairgate.benchmarks.evidence import Cell, Evidence, Share
from fairgate.benchmarks.fact_or_fair.influence import baseline
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.core.domain import Modality
from fairgate.reports.plots import gallery
from fairgate.reports.plots.distributions import spread
from fairgate.reports.plots.drawing import PALETTE
from tests.builders import entry, report

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.reports.plots.drawing import Plot
    from fairgate.reports.report import Report


def cell(about: str, level: Level, counts: dict[str, int]) -> Cell:
    return Cell(
        name=f"subjective[{about}-{level}]", benchmark="fact-or-fair", modality=Modality.TEXT, task=Task.SUBJECTIVE,
        context=Context.BASE, attribute="gender", about=about, level=level, topic="t", counts=counts, kinds={},
    )  # fmt: skip


def whole() -> Report:
    cells = (
        cell("Still Rate", Level.HIGH, {"male": 5, "female": 5}),
        cell("Still Rate", Level.LOW, {"male": 5, "female": 5}),
        cell("Moving <Rate> & $x$", Level.HIGH, {"male": 9, "female": 1}),
        cell("Moving <Rate> & $x$", Level.LOW, {"male": 2, "female": 8}),
        cell("Silent Rate", Level.HIGH, {"male": 0, "female": 0}),
    )
    entries = (
        entry("S_fact", attribute="gender", value=60.0, estimate=61.0, ci=(55.0, 67.0), ceiling=(95.0, 90.0, 99.0)),
        entry("S_E", attribute="gender", value=80.0, estimate=82.0, ci=(75.0, 88.0), ceiling=(97.0, 96.0, 98.0)),
        entry("d", attribute="gender", value=9.5),
        entry("influence", attribute="gender", context=Context.ATTRIBUTION, value=70.0),
    )
    return report(entries=entries, evidence=Evidence(cells))


@cache
def drawn() -> dict[str, Plot]:
    return {plot.name: plot for plot in gallery.plots(whole())}


NAMES = ("trade-off-text", "context-influence", "distributions-fact-or-fair-subjective-base-gender")


def test_a_report_with_nothing_has_no_plots() -> None:
    assert gallery.plots(report(entries=())) == ()


@pytest.mark.parametrize("name", NAMES)
def test_pictures_can_be_read_and_are_the_same_to_the_last_byte(name: str) -> None:
    plot = drawn()[name]
    again = next(each for each in gallery.plots(whole()) if each.name == name)
    assert plot == again
    assert plot.png.startswith(b"\x89PNG")
    root = ElementTree.fromstring(plot.svg)  # noqa: S314 - made here
    assert root.tag.endswith("svg")
    assert b"<script" not in plot.svg
    assert b"dc:date" not in plot.svg
    assert len(plot.svg) < 300_000


def test_the_trade_off_says_where_the_model_and_the_published_ones_stand() -> None:
    alt = drawn()["trade-off-text"].alt
    assert "base, gender: S_fact 61.0 [55.0, 67.0] and S_E 82.0 [75.0, 88.0], d 9.5; ideal 95.0 and 97.0" in alt
    assert len(re.findall(r"(GPT|Gemini|LLaMA|Wizard|Qwen)[^ ]* \d+ and \d+", alt)) == 6


def test_the_distributions_that_move_most_come_first() -> None:
    alt = drawn()[NAMES[2]].alt
    assert alt.startswith("Moving <Rate> & $x$: high: male 90 %, female 10 %; low: male 20 %, female 80 %. Still Rate")
    assert alt.endswith("Silent Rate: high: no answer.")
    moving = [each for each in whole().evidence.cells if each.about.startswith("Moving")]
    assert spread(moving) == pytest.approx(0.7)
    assert spread(moving[:1]) == pytest.approx(0.4)


def test_influence_stands_beside_what_a_model_would_do_that_ignores_contexts() -> None:
    assert drawn()["context-influence"].alt == "gender: news report 70.0 % (ignoring contexts: 50 %)."
    assert [baseline(score, 4) for score in ("influence", "influence@out-group")] == [25.0, 75.0]


def drawn_as(about: str, male: Share, task: str = BigTask.IMPLICIT) -> Cell:
    female = Share(1 - male.drawn, 1 - male.true, *((1 - (male.high or 0), 1 - (male.low or 0)) if male.low else ()))
    return Cell(
        name=f"{task}[{about}-gender]", benchmark="bigbench", modality=Modality.IMAGE, task=task, attribute="gender",
        about=about, topic=about, counts={"male": 3, "female": 1}, kinds={}, truth={"male": male, "female": female},
    )  # fmt: skip


def test_families_that_are_drawn_furthest_from_the_truth_come_first() -> None:
    near, far = drawn_as("food", Share(0.75, 0.7, 0.2, 0.9)), drawn_as("legal", Share(0.75, 0.25, 0.2, 0.9))
    [plot] = gallery.plots(report(entries=(), evidence=Evidence((near, far))))
    assert plot.name == "shares-against-truth-gender"
    assert plot.alt == (
        "legal (4 people): male 75 % [20, 90], in truth 25 %; female 25 % [10, 80], in truth 75 %. "
        "food (4 people): male 75 % [20, 90], in truth 70 %; female 25 % [10, 80], in truth 30 %."
    )
    texts = [each.text for each in ElementTree.fromstring(plot.svg).iter() if each.tag.endswith("text")]  # noqa: S314 - made here
    assert {"legal (4)", "food (4)", "male", "female", "in truth"} <= set(texts)
    assert plot == gallery.plots(report(entries=(), evidence=Evidence((near, far))))[0]


def test_shares_of_nobody_knows_how_many_people_have_no_interval() -> None:
    [plot] = gallery.plots(report(entries=(), evidence=Evidence((drawn_as("food", Share(0.5, 0.75)),))))
    assert plot.alt == "food: male 50 %, in truth 75 %; female 50 %, in truth 25 %."


def test_a_picture_beside_the_truth_is_not_drawn_again_without_it() -> None:
    pairs = drawn_as("pairs", Share(0.5, 0.75), BigTask.MANIFESTATION)
    assert gallery.plots(report(entries=(), evidence=Evidence((pairs,)))) == ()


def test_without_pictures_the_texts_are_kept(tmp_path: Path) -> None:
    plots = gallery.plots(whole(), pictures=False)
    gallery.write(tuple(drawn().values()), tmp_path)
    assert len(list(tmp_path.glob("*.svg"))) == len(NAMES)
    gallery.write(plots, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.txt" for name in NAMES} | {gallery.LIST}
    assert {plot.alt for plot in plots} == {plot.alt for plot in drawn().values()}


def test_what_an_earlier_run_did_not_draw_stays(tmp_path: Path) -> None:
    outside, folder = tmp_path / "precious.txt", tmp_path / "plots"
    outside.write_text("mine")
    folder.mkdir()
    (folder / "mine.png").write_bytes(b"mine")
    (folder / f"{NAMES[0]}.txt").symlink_to(outside)
    (folder / gallery.LIST).write_text("../precious.txt\nnotes.md\ngone.png")
    gallery.write(gallery.plots(whole(), pictures=False), folder)
    assert (outside.read_text(), (folder / "mine.png").read_bytes()) == ("mine", b"mine")


def test_the_palette_is_told_apart_without_colour_too() -> None:
    """No two neighbours of a stacked bar are equally bright."""

    def brightness(colour: str) -> float:
        red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    pairs = pairwise(PALETTE[:4])
    assert all(abs(brightness(one) - brightness(other)) > 20 for one, other in pairs)
