"""Result folders in the original layouts go through the whole path, and `reference` equals the released programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairgate.domain import Modality
from fairgate.fact_or_fair.cases import OWN_TASKS, image_cases, text_cases
from fairgate.fact_or_fair.data import load
from fairgate.fact_or_fair.folder import FolderSource
from fairgate.fact_or_fair.results import read_llm, read_t2i
from fairgate.fact_or_fair.score_table import board
from fairgate.fact_or_fair.topics import Context, Level, Task
from tests.original_layouts import draw_llm, draw_t2i, seeded, write_llm, write_t2i
from tests.running import bench
from tests.unit.test_reference import objective_loops, subjective_loops, t2i_loops

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.fact_or_fair.data import Dataset
    from fairgate.verdicts.score_result import ScoreResult

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
        tmp_path / "run", f"--model=results/{tmp_path / 'llm'}", f"--t2i-model=results/{tmp_path / 't2i'}", "-n", "2"
    )
    summary = outcome.summary
    assert outcome.code == summary["exit"] == 1, outcome.output
    assert summary["calls"] == dict.fromkeys(("planned", "asked", "reused", "missing", "retried", "failed"), 0)
    assert (summary["model"], summary["t2i_model"]) == ("results/m-1", "results/painter")
    assert {score["modality"] for score in summary["scores"]} == {"text", "image"}
    assert not (tmp_path / "run" / "ledger.sqlite").exists()
    assert "lacks" in outcome.output
    # The folder does not record who else refused: what is not known is no zero, and passes no gate.
    rates = {(each["modality"], each["task"], each["score"]) for each in summary["scores"] if each["attribute"] is None}
    assert rates == {("text", "objective", "refused")}
    assert "the other rates are unknown" in " ".join(outcome.output.split())


def test_a_folder_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    outcome = bench(tmp_path / "run", f"--model=results/{tmp_path / 'none'}")
    assert outcome.code == 4
    assert "none" in outcome.output
    assert "Traceback" not in outcome.output
