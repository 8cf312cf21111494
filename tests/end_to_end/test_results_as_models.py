"""Result folders in the original layouts go through the whole path, and `reference` equals the released programs."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS, image_cases, text_cases
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.folder import FolderSource
from fairgate.benchmarks.fact_or_fair.published import FactOrFairTables
from fairgate.benchmarks.fact_or_fair.results import read_llm, read_t2i
from fairgate.benchmarks.fact_or_fair.score_table import board
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.cli.published import render_standing
from fairgate.core.domain import Modality
from tests.original_layouts import draw_llm, draw_t2i, seeded, write_llm, write_t2i
from tests.running import bench
from tests.unit.test_reference import objective_loops, subjective_loops, t2i_loops

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.score_result import ScoreResult

pytestmark = pytest.mark.slow

SCORES = ("S_fact", "S_E", "S_KLD", "S_fair", "d")
LEVELS = list(Level)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


def key_of(dataset: Dataset, attribute: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    names = dataset.attribute(attribute).names
    key = np.zeros((19, 2, len(names)), np.bool_)
    for s, statistic in enumerate(dataset.statistics):
        for j, level in enumerate(LEVELS):
            entry = statistic.published.get((attribute, level))
            key[s, j] = [entry is not None and name in entry.groups for name in names]
    return key


def entries_of(source: FolderSource, dataset: Dataset) -> dict[tuple[str, str | None, str | None, str], ScoreResult]:
    entries = board(source, dataset, key="published", seed=0).entries
    return {(e.task, e.context, e.attribute, e.score): e for e in entries if e.scoring == "reference"}


@pytest.mark.parametrize("seed", range(6))
def test_reference_from_an_llm_folder_is_the_released_programs(seed: int, tmp_path: Path, dataset: Dataset) -> None:
    chance = seeded(seed)
    drawn = draw_llm(dataset, chance)
    write_llm(tmp_path, dataset, drawn, chance)
    cases = frozenset(case for task in OWN_TASKS for case in text_cases(dataset, task))
    found = entries_of(FolderSource(read_llm(tmp_path, dataset), Modality.TEXT, dataset, cases), dataset)

    for attribute in ("gender", "race"):
        names, key = dataset.attribute(attribute).names, key_of(dataset, attribute)
        counts = np.zeros(key.shape, np.int64)
        for (of, (slug, level)), answers in drawn.objective.items():
            if of == attribute:
                s = [statistic.slug for statistic in dataset.statistics].index(slug)
                counts[s, LEVELS.index(Level(level))] = [answers[name] for name in names]
        expected = objective_loops(counts, key)
        for score, value in zip(SCORES, expected, strict=False):
            entry = found[Task.OBJECTIVE, None, attribute, score]
            assert entry.value == pytest.approx(100 * value, abs=1e-9)

        for context, folder in zip(
            Context, ("baseline", "representativeness_bias", "attribution_error", "group_bias"), strict=True
        ):
            files = {}
            for (of_context, of_attribute, (slug, level)), picks in drawn.subjective.items():
                if (of_context, of_attribute) in ((folder, attribute), (context, attribute)):
                    s = [statistic.slug for statistic in dataset.statistics].index(slug)
                    rows = {names.index(name): n for name, n in picks.selected.items()}
                    files[s, LEVELS.index(Level(level))] = rows
            assert files
            lost = {
                s
                for s, statistic in enumerate(dataset.statistics)
                if statistic.slug in ("hiv-rate", "covid-19-mortality-rate")
            }
            for score, value in zip(SCORES, subjective_loops(files, key, lost), strict=True):
                entry = found[Task.SUBJECTIVE, context, attribute, score]
                assert entry.value == pytest.approx(100 * value, abs=1e-9), (context, attribute, score)


def all_of(root: Path, dataset: Dataset) -> tuple[FolderSource, Mapping[tuple[object, ...], ScoreResult]]:
    cases = frozenset(case for task in OWN_TASKS for case in text_cases(dataset, task))
    source = FolderSource(read_llm(root, dataset), Modality.TEXT, dataset, cases)
    entries = board(source, dataset, key="published", seed=0).entries
    return source, {(e.task, e.context, e.attribute, e.score, e.scoring): e for e in entries}


@pytest.mark.parametrize("seed", range(4))
def test_the_column_background_is_the_released_programs(seed: int, tmp_path: Path, dataset: Dataset) -> None:
    chance = seeded(seed)
    drawn = draw_llm(dataset, chance)
    write_llm(tmp_path, dataset, drawn, chance)
    _, found = all_of(tmp_path, dataset)
    for context, attribute in itertools.product(Context, ("gender", "race")):
        known = {
            statistic.slug
            for statistic in dataset.statistics
            if attribute in statistic.attributes and statistic.slug not in ("hiv-rate", "covid-19-mortality-rate")
        }
        rows = [
            picks
            for (of, by, (slug, _)), picks in drawn.subjective.items()
            if (of, by) == (context, attribute) and slug in known
        ]
        background = sum(sum(each.named.values()) for each in rows) / sum(sum(each.selected.values()) for each in rows)
        entry = found[Task.SUBJECTIVE, context, attribute, "influence", "reference"]
        assert entry.value == pytest.approx(100 * background, abs=1e-9)


def test_after_statistics_the_named_group_is_the_keys_whatever_the_folder_counted(
    tmp_path: Path, dataset: Dataset
) -> None:
    chance = seeded(5)
    drawn = draw_llm(dataset, chance, absent=0, empty=0)
    for (context, attribute, (slug, level)), picks in drawn.subjective.items():
        answer = next(each for each in dataset.statistics if each.slug == slug).published.get((attribute, Level(level)))
        if context == "representativeness" and answer is not None:
            picks.selected = {name: 100 if name in answer.groups else 0 for name in picks.selected}
            # The program counts a group drawn by chance, which its prompt does not name.
            picks.named = {name: n // len(picks.selected) for name, n in picks.selected.items()}
            picks.shown = dict.fromkeys(picks.selected, 300)
    write_llm(tmp_path, dataset, drawn, chance)
    _, found = all_of(tmp_path, dataset)
    for attribute, chance_share in (("gender", 50), ("race", 25)):
        of = Task.SUBJECTIVE, Context.REPRESENTATIVENESS, attribute
        for score in ("influence@high", "influence@low"):
            assert found[*of, score, "definition"].value == pytest.approx(100)
        assert found[*of, "influence", "reference"].value == pytest.approx(chance_share)


def test_a_topic_that_is_wholly_refused_leaves_the_row_over_the_others_and_is_marked(
    tmp_path: Path, dataset: Dataset
) -> None:
    chance = seeded(6)
    drawn = draw_llm(dataset, chance, absent=0, empty=0)
    refused = ("crime-rate", "high")
    drawn.objective["race", refused] = dict.fromkeys(drawn.objective["race", refused], 0)
    drawn.refused["race", refused] = 3
    for context in ("base", "attribution"):
        for attribute in ("gender", "race"):
            del drawn.subjective[context, attribute, refused]
    write_llm(tmp_path, dataset, drawn, chance)
    source, found = all_of(tmp_path, dataset)
    row = board(source, dataset, key="published", seed=0).leaderboard
    assert {name: (row[name]["unanswered"], None in row[name].values()) for name in row} == {
        "objective S_fact": (1, False),
        "subjective S_fair": (4, False),
        "mean": (5, False),
    }
    assert found[Task.OBJECTIVE, None, "race", "S_fact", "reference"].topics == (35, 36)

    (standing,) = FactOrFairTables().standings({"text": "x"}, [asdict(each) for each in found.values()])
    assert standing.places is not None
    assert standing.remarks == ()
    covered = {place.column: place.topics for place in standing.places}
    # Two tasks of both attributes, subjective by four contexts, five scores each but d of objective ones; nine columns.
    assert len(covered) == 2 * 5 * 5 + 9
    assert covered["objective, race, S_fact"] == covered["leaderboard, objective_S_fact_race"] == (35, 36)
    assert covered["subjective, base, gender, d"] == (37, 38)
    assert covered["subjective, ingroup, gender, S_fair"] is covered["leaderboard, objective_S_fact_gender"] is None
    assert covered["leaderboard, subjective_S_fair_gender"] == (150, 152)
    assert covered["leaderboard, average"] == (30 + 35 + 4 * 76 - 4, 30 + 36 + 4 * 76)
    assert "leaderboard, average (365/370)" in render_standing(standing)


def test_a_topic_that_was_not_selected_leaves_no_row(tmp_path: Path, dataset: Dataset) -> None:
    chance = seeded(7)
    write_llm(tmp_path, dataset, draw_llm(dataset, chance, absent=0, empty=0), chance)
    every = [case for task in OWN_TASKS for case in text_cases(dataset, task)]
    source = FolderSource(read_llm(tmp_path, dataset), Modality.TEXT, dataset, frozenset(every[2:]))
    row = board(source, dataset, key="published", seed=0).leaderboard
    assert row["mean"] == {"gender": None, "race": None, "average": None}


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_reference_from_an_image_folder_is_the_released_program(
    seed: int, counts: bool, tmp_path: Path, dataset: Dataset
) -> None:
    drawn = {task: draw_t2i(dataset, seeded(10 * seed + n), empty=0.0) for n, task in enumerate(OWN_TASKS)}
    for task, faces in drawn.items():
        write_t2i(tmp_path, dataset, faces, task=str(task), counts=counts)
    cases = frozenset(case for task in OWN_TASKS for case in image_cases(dataset, task))
    found = entries_of(FolderSource(read_t2i(tmp_path, dataset), Modality.IMAGE, dataset, cases), dataset)

    slugs = [statistic.slug for statistic in dataset.statistics]
    for task, faces in drawn.items():
        for attribute in ("gender", "race"):
            names = dataset.attribute(attribute).names
            files = {
                (slugs.index(slug), LEVELS.index(Level(level))): {names.index(name): n for name, n in rows.items() if n}
                for (of, (slug, level)), rows in faces.items()
                if of == attribute
            }
            expected = t2i_loops(dict(sorted(files.items())), key_of(dataset, attribute))
            for score, value in zip(SCORES, expected, strict=True):
                entry = found[task, None, attribute, score]
                assert entry.value == pytest.approx(100 * value, abs=0.02), (task, attribute, score)


def test_folders_of_both_kinds_pass_through_pytest_without_a_call(tmp_path: Path, dataset: Dataset) -> None:
    chance = seeded(3)
    write_llm(tmp_path / "llm", dataset, draw_llm(dataset, chance), chance)
    for task in OWN_TASKS:
        write_t2i(tmp_path / "t2i", dataset, draw_t2i(dataset, chance), task=str(task))
    outcome = bench(
        tmp_path / "run",
        f"--model=results/{tmp_path / 'llm'}",
        f"--t2i-model=results/{tmp_path / 't2i'}",
        "-n",
        "2",
        "-v",
    )
    summary = outcome.summary
    assert outcome.code == summary["exit"] == 1, outcome.output
    assert summary["calls"] == dict.fromkeys(("planned", "asked", "reused", "missing", "retried", "failed"), 0)
    assert (summary["model"], summary["t2i_model"]) == ("results/m-1", "results/painter")
    assert {score["modality"] for score in summary["scores"]} == {"text", "image"}
    assert not (tmp_path / "run" / "ledger.sqlite").exists()
    assert any(" lacks " in note for note in summary["notes"])
    # The folder does not record who else refused: what is not known is no zero, and passes no gate.
    rates = {(each["modality"], each["task"], each["score"]) for each in summary["scores"] if each["attribute"] is None}
    assert rates == {("text", "objective", "refused")}
    assert any("the other rates are unknown" in note for note in summary["notes"])


def test_a_folder_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    outcome = bench(tmp_path / "run", f"--model=results/{tmp_path / 'none'}")
    assert outcome.code == 4
    assert "none" in outcome.output
    assert "Traceback" not in outcome.output
