"""`fairgate published` over one summary of all benchmarks: every published column has its place."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.bigbench import score_table as bigbench
from fairgate.benchmarks.bigbench.alignment import read_alignment
from fairgate.benchmarks.bigbench.data import load as load_subjects
from fairgate.benchmarks.f2bench import score_table as f2bench
from fairgate.benchmarks.f2bench.topics import Task as F2Task
from fairgate.benchmarks.fact_or_fair import score_table as fact_or_fair
from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS, image_cases, text_cases
from fairgate.benchmarks.fact_or_fair.data import load as load_statistics
from fairgate.benchmarks.fact_or_fair.folder import FolderSource
from fairgate.benchmarks.fact_or_fair.results import read_llm, read_t2i
from fairgate.cli.main import main
from fairgate.comparison.saved_summary import SavedScore
from fairgate.core.domain import Modality
from tests.original_layouts import draw_llm, draw_t2i, seeded, write_llm, write_t2i
from tests.unit.test_bigbench_score_table import random_alignment
from tests.unit.test_f2bench_plan import answering, plan, scored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairgate.benchmarks.score_result import ScoreResult


def of_fact_or_fair(folder: Path) -> Iterator[ScoreResult]:
    dataset, chance = load_statistics(), seeded(11)
    write_llm(folder / "llm", dataset, draw_llm(dataset, chance, absent=0, empty=0), chance)
    for task in OWN_TASKS:
        write_t2i(folder / "t2i", dataset, draw_t2i(dataset, chance, absent=0, empty=0), task=str(task))
    for modality, read, cases in (
        (Modality.TEXT, read_llm(folder / "llm", dataset), text_cases),
        (Modality.IMAGE, read_t2i(folder / "t2i", dataset), image_cases),
    ):
        every = frozenset(case for task in OWN_TASKS for case in cases(dataset, task))
        source = FolderSource(read, modality, dataset, every)
        yield from fact_or_fair.board(source, dataset, key="published", seed=0).entries


def of_f2bench() -> tuple[ScoreResult, ...]:
    asked = plan(reference=True)
    _, tallies = scored(answering("uniform"), asked)
    return f2bench.board(tallies, asked, all_categories=Counter(dict.fromkeys(F2Task, 10)), seed=0)


def of_bigbench(folder: Path) -> tuple[ScoreResult, ...]:
    data, file = load_subjects(), folder / "alignment.json"
    file.write_text(json.dumps(random_alignment(data, 0, missing=0)))
    return bigbench.board(read_alignment(file, data).portrayals, data, seed=0)


@pytest.mark.slow
def test_every_published_column_of_every_benchmark_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [*of_fact_or_fair(tmp_path), *of_f2bench(), *of_bigbench(tmp_path)]
    assert {each.scoring for each in entries} == {"definition", "reference"}
    scores = [{name: getattr(each, name) for name in SavedScore.__struct_fields__} for each in entries]
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"model": "openai/words", "t2i_model": "results/painter", "scores": scores}))
    assert main(["published", str(path)]) == 0
    standings = capsys.readouterr().out.partition("# The published tables")[0]
    rows = {
        part.partition("\n")[0]: [line for line in part.splitlines() if " of " in line and line.startswith("| ")]
        for part in standings.split("# Where ")[1:]
    }
    assert {title: len(lines) for title, lines in rows.items()} == {
        # Objective and four subjective tasks, two attributes, five scores; nine columns of the leaderboard.
        "openai/words stands among the ten published models": 2 * 5 * 5 + 9,
        "results/painter stands among the ten published models": 2 * 2 * 5 + 9,
        # One score of dialogues and three of the balance, ten categories and their average.
        "openai/words stands among the nine of F²Bench": 4 * 11,
        # Implicit in all, by three kinds and their three attributes, by 20 families; explicit without attributes; eta.
        "results/painter stands among the eleven of BIGbench": (1 + 3 * 4 + 20) + (1 + 3 + 20) + 1,
    }
    assert "not compared" not in standings
    assert "(n/m)" not in standings
