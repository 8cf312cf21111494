"""The audit of the published tables finds the cells that its specification names, and no other."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from fairgate.benchmarks.bigbench.published import BigBenchTables
from fairgate.benchmarks.f2bench import published as f2bench
from fairgate.benchmarks.f2bench.topics import Task as F2Task
from fairgate.benchmarks.fact_or_fair import published_audit as fact_or_fair
from fairgate.benchmarks.fact_or_fair.published import FactOrFairTables, ScoreKey, standing
from fairgate.benchmarks.fact_or_fair.published_tables import (
    SCORES,
    context_influence,
    distance_averages,
    scores,
    summary,
)
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.published import PUBLISHED, CellCheck, DerivedCell, Standing, disagreements, figure
from fairgate.benchmarks.registry import registry
from fairgate.cli.published import render_audit, render_standing, tables
from fairgate.core.errors import DataError

BOTH = (FactOrFairTables(), f2bench.F2BenchTables())
CHECKS = tuple(check for each in BOTH for check in each.audit())
INHERITED = tuple(check for each in BOTH for check in each.inherited())
GEMINI = "Gemini-1.5-Pro"
F2_NAMES = {"score": "S_dialogue"}


def wrong(kind: DerivedCell) -> dict[tuple[str, str], tuple[float, float]]:
    return {
        (check.row, check.column): (check.printed, round(check.recomputed, 2))
        for check in disagreements(CHECKS)
        if check.kind == kind
    }


class TestTheSpecifiedCells:
    def test_every_derived_cell_is_looked_at(self) -> None:
        assert Counter(check.kind for check in CHECKS) == {
            fact_or_fair.S_FAIR: 76,
            fact_or_fair.DISTANCE: 76,
            fact_or_fair.DISTANCE_AVERAGE: 20,
            fact_or_fair.SUMMARY: 90,
            fact_or_fair.INFLUENCE: 12,
            f2bench.FF1: 90,
            f2bench.CATEGORY_MEAN: 36,
            f2bench.COPY: 28,
        }

    def test_tolerances(self) -> None:
        specified = {
            fact_or_fair.S_FAIR: 0.06,
            fact_or_fair.DISTANCE: 0.03,
            f2bench.FF1: 0.02,
            f2bench.CATEGORY_MEAN: 0.01,
        }
        assert {check.kind: check.tolerance for check in CHECKS if check.kind in specified} == specified

    def test_s_fair_one_cell_of_76(self) -> None:
        assert wrong(fact_or_fair.S_FAIR) == {("Flux-1.1-Pro, race, subjective", "S_fair"): (30.36, 70.30)}

    def test_d_twelve_cells_of_76(self) -> None:
        found = wrong(fact_or_fair.DISTANCE)
        gemini = {row for row, _ in found if row.startswith(GEMINI)}
        assert gemini == {
            f"{GEMINI}, {attribute}, subjective, {context}" for attribute in ("gender", "race") for context in Context
        }
        assert {key: cells for key, cells in found.items() if key[0] not in gemini} == {
            ("Midjourney, race, objective", "d"): (41.97, 34.72),
            ("Midjourney, race, subjective", "d"): (44.05, 32.75),
            ("SDXL-Turbo, race, objective", "d"): (50.80, 40.16),
            ("SDXL-Turbo, race, subjective", "d"): (56.98, 44.16),
        }

    def test_ff1_three_cells_of_90(self) -> None:
        assert wrong(f2bench.FF1) == {
            ("GPT-4", "FF1 lgbtq"): (67.17, 62.60),
            ("LLaMA2-7B", "FF1 gender"): (18.29, 18.20),
            ("Gemma2-2B", "FF1 religion"): (12.26, 12.17),
        }

    def test_f2bench_averages_three_cells_of_36(self) -> None:
        assert wrong(f2bench.CATEGORY_MEAN) == {
            ("GPT-4", "S_factuality average"): (55.40, 57.40),
            ("Qwen2.5-32B", "FF1 average"): (32.06, 36.53),
            ("Qwen2.5-32B", "S_fairness average"): (23.87, 26.60),
        }


class TestBeyondTheSpecification:
    @pytest.mark.parametrize(
        "kind", [fact_or_fair.SUMMARY, fact_or_fair.DISTANCE_AVERAGE, fact_or_fair.INFLUENCE, f2bench.COPY]
    )
    def test_other_averages_and_copies_agree_with_what_is_printed(self, kind: DerivedCell) -> None:
        assert wrong(kind) == {}

    def test_what_rests_on_the_faulty_cells(self) -> None:
        assert {(check.row, check.column, check.printed, round(check.recomputed, 2)) for check in INHERITED} == {
            ("Gemini-1.5-Pro, gender", "average of d", 3.64, 3.49),
            ("Gemini-1.5-Pro, race", "average of d", 15.64, 14.38),
            ("Midjourney, race", "average of d", 43.01, 33.74),
            ("SDXL-Turbo, race", "average of d", 53.89, 42.16),
            ("Flux-1.1-Pro", "subjective_S_fair_race", 30.36, 70.30),
            ("Flux-1.1-Pro", "subjective_S_fair_average", 61.01, 80.98),
            ("Flux-1.1-Pro", "average_race", 26.93, 46.90),
            ("Flux-1.1-Pro", "average", 48.65, 58.63),
            ("GPT-4", "FF1 average", 36.18, 35.72),
            ("Gemma2-2B", "FF1 average", 14.28, 14.27),
            ("Qwen2.5-32B", "FF1", 32.06, 36.53),
            ("Qwen2.5-32B", "S_fairness", 23.87, 26.60),
        }


class TestWhy:
    def test_only_cells_that_do_not_agree_have_a_reason(self) -> None:
        assert all(bool(check.why) != check.agrees for check in CHECKS)

    def test_the_local_minima_are_told_from_the_rest(self) -> None:
        local = {check.row for check in disagreements(CHECKS) if "local minimum" in check.why}
        assert local == {
            f"{model}, race, {task}" for model in ("Midjourney", "SDXL-Turbo") for task in ("objective", "subjective")
        }

    def test_the_copied_cell_is_told(self) -> None:
        (check,) = (check for check in disagreements(CHECKS) if check.kind == fact_or_fair.S_FAIR)
        assert check.why == "the printed figure is this row's d"

    def test_rounding_of_the_last_digit_is_no_disagreement(self) -> None:
        check = CellCheck("b", "t", fact_or_fair.SUMMARY, "r", "c", 84.79, 84.78)
        assert abs(check.printed - check.recomputed) > check.tolerance
        assert check.agrees


class TestTables:
    def test_fact_or_fair_has_five_scores_in_each_of_76_rows(self) -> None:
        held = scores()
        assert len(held) == 76
        assert all(set(cells) == set(SCORES) for cells in held.values())
        assert all(0 <= value <= 100 for cells in held.values() for value in cells.values())

    def test_every_table_names_its_models_alike(self) -> None:
        models = {row.model for row in scores()}
        assert len(models) == 10
        assert set(summary()) == models
        assert {model for model, _ in distance_averages()} == models
        assert set(context_influence()) < models
        others = {row.model for row in f2bench.scores()}
        assert len(others) == 9
        assert set(f2bench.comparison()) < others

    def test_f2bench_has_eleven_columns_in_each_row(self) -> None:
        assert {len(cells) for cells in f2bench.scores().values()} == {11}
        assert f2bench.scores()[f2bench.RowKey("GPT-4", F2Task.DIALOGUE, "score")]["appearance"] == 58.97

    def test_a_cell_below_a_bound_is_zero(self) -> None:
        assert figure("<0.000001") == 0
        with pytest.raises(ValueError, match="not a finite number"):
            figure("nan")

    def test_bigbenchs_tables_are_carried(self) -> None:
        numbers = sorted(path.stem[-2:] for path in PUBLISHED.glob("bigbench_table_*.csv"))
        assert numbers == [f"{n:02}" for n in range(2, 28)]

    def test_every_file_has_its_source(self) -> None:
        sources = (PUBLISHED / "SOURCES.md").read_text(encoding="utf-8")
        missing = [
            path.name
            for path in PUBLISHED.glob("*.csv")
            if path.name not in sources and not path.name.startswith("bigbench_table_")
        ]
        assert missing == []
        assert all(f"| {n} |" in sources for n in range(2, 28))

    def test_absent_tables_are_trouble_that_is_named(self) -> None:
        with pytest.raises(DataError, match="the published tables are not there"):
            scores(PUBLISHED / "nowhere")


class TestRendering:
    def test_every_installed_benchmark_has_its_tables(self) -> None:
        assert len(tables()) == len(registry().plugins) == 3

    def test_every_cell_stands_beside_what_its_row_gives(self) -> None:
        lines = render_audit(tables()).splitlines()
        rows = [line for line in lines if line.endswith("|")]
        every = (*CHECKS, *BigBenchTables().audit())
        headers = 2 * (len({(check.benchmark, check.kind) for check in every}) + 2)
        assert len(rows) == len(every) + len(disagreements(every)) + len(INHERITED) + headers
        (flux,) = (line for line in rows if "Flux-1.1-Pro, race, subjective " in line and "does not agree" in line)
        assert [cell.strip() for cell in flux.strip("|").split("|")] == [
            "Flux-1.1-Pro, race, subjective",
            "S_fair",
            "30.36",
            "70.30",
            "39.94",
            "does not agree",
        ]

    def test_nothing_depends_on_the_width_of_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = render_audit(tables())
        monkeypatch.setenv("COLUMNS", "20")
        assert render_audit(tables()) == whole
        assert "…" not in whole
        assert "the printed figure is above both scores that it is the harmonic mean of" in whole


def published(model: str) -> dict[ScoreKey, float]:
    return {
        (row.task, row.context, row.attribute, score): value
        for row, cells in scores().items()
        if row.model == model
        for score, value in cells.items()
    }


class TestStanding:
    def test_a_published_model_stands_beside_itself(self) -> None:
        places = {place.column: place for place in standing(published("GPT-4o-2024-08-06"))}
        assert len(places) == 50 + 9
        best = places["objective, race, S_fact"]
        assert (best.rank, best.of, best.nearest, best.nearest_value) == (1, 11, "GPT-4o-2024-08-06", 54.62)
        assert places["leaderboard, average"].rank == 1 + (places["leaderboard, average"].value < 86.19)
        assert places["subjective, base, race, S_E"].of == 7

    def test_images_have_columns_and_a_leaderboard_of_their_own(self) -> None:
        places = {place.column: place for place in standing(published("DALL-E 3"))}
        assert len(places) == 20 + 9
        assert places["subjective, race, S_fair"].rank == 1
        assert places["subjective, race, S_fair"].doubted == ("Flux-1.1-Pro",)
        assert places["leaderboard, average"].value == 67.5

    def test_less_is_better_for_d_alone(self) -> None:
        keys: list[ScoreKey] = [(Task.OBJECTIVE, None, "gender", score) for score in SCORES]
        ranks = {place.column: place.rank for place in standing(dict.fromkeys(keys, 0.0))}
        assert ranks["objective, gender, d"] == 1
        assert ranks["objective, gender, S_fact"] == 11

    def test_what_is_not_published_or_not_there_is_left_out(self) -> None:
        assert standing({}) == ()
        key: ScoreKey = (Task.OBJECTIVE, None, "gender", "S_fact")
        assert standing({key: math.nan, (Task.OBJECTIVE, None, "gender", "TV"): 3.0}) == ()
        assert [place.column for place in standing({key: 84.444})] == [
            "objective, gender, S_fact",
            "leaderboard, objective_S_fact_gender",
        ]

    def test_rendering_names_the_place_and_the_nearest(self) -> None:
        held = standing({(Task.OBJECTIVE, None, "race", "d"): 20.0})
        text = render_standing(Standing("openai/x", "all", held, ("A part is left out.",)), ["for d the smallest"])
        assert "| objective, race, d | 20.00 | 2 of 11* | DALL-E 3 (19.40) |" in text
        assert "Rank 1 is the largest value, for d the smallest." in text
        assert text.endswith("\nA part is left out.\n")
        assert "None of its scores has a published column" in render_standing(Standing("openai/x", "all", ()))
        assert render_standing(Standing("openai/x", "all", None, ("A part is left out.",))) == "A part is left out.\n"


class TestStandingInF2Bench:
    def scores(self, model: str) -> dict[f2bench.ScoreKey, float]:
        found: dict[f2bench.ScoreKey, float] = {}
        for row, cells in f2bench.scores().items():
            for category, value in cells.items() if row.model == model else ():
                group = None if category == f2bench.AVERAGE else category
                found[row.task, group, F2_NAMES.get(row.score, row.score)] = value
        return found

    def test_a_published_model_stands_beside_itself(self) -> None:
        places = {place.column: place for place in f2bench.standing(self.scores("GPT-4"))}
        assert len(places) == 4 * 11
        assert all((place.of, place.nearest_value) == (10, place.value) for place in places.values())
        assert places["dialogue, average, S_dialogue"].rank == 1
        assert places["balance, lgbtq, FF1"].doubted == ("GPT-4",)
        assert places["balance, average, FF1"].doubted == ("Qwen2.5-32B",)

    def test_an_average_of_a_part_has_no_place(self) -> None:
        part = {key: value for key, value in self.scores("GPT-4").items() if key[1] != "race"}
        columns = [place.column for place in f2bench.standing(part)]
        assert len(columns) == 4 * 9
        assert not any("average" in column for column in columns)


CHECKOUT = PUBLISHED.parents[1]


def test_the_page_names_tests_that_there_are() -> None:
    page = (CHECKOUT / "docs" / "audit.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) == 10
    for file, test in named:
        assert f"def {test}(" in (CHECKOUT / file).read_text(encoding="utf-8"), test


def test_the_page_lists_the_same_cells() -> None:
    page = (CHECKOUT / "docs" / "audit.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| ")]
    for check in (*disagreements(CHECKS), *INHERITED):
        cells = f"| {check.row} | {check.column} | {check.printed:.2f} | {check.recomputed:.2f} |"
        assert sum(cells in line for line in listed) == 1
