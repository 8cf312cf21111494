"""Scores as Hugging Face's Hub reads them in a model's repository: `.eval_results/*.yaml`.

The Hub shows a result only of a dataset that is registered as a benchmark, under a task that the dataset's eval.yaml
names: https://huggingface.co/docs/hub/eval-results
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import check_inside, check_unlinked
from fairgate.core.errors import ConfigError, did_you_mean
from fairgate.core.files import whole
from fairgate.exporters.figures import name_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.comparison.saved_summary import SavedScore
    from fairgate.exporters.figures import Figures

PLACE = Path(".eval_results") / "fairgate.yaml"


def export(figures: Figures, folder: Path, dataset: str, tasks: Sequence[str], source: str | None) -> Path:
    """Write the file below `folder`, and return its path.

    `dataset` is ORG/NAME, `source` an address that shows the run. `tasks` are TASK=SCORE, the score by its full name.
    Raises ConfigError for a score that is not in the report, or that has no number.
    """
    known = {name_of(score): score for score in figures.report.scores}
    path = folder / PLACE
    entries = "".join(_entry(figures, dataset, *_task(each, known), source) for each in tasks)
    check_inside(Path(), folder, "--output")
    check_unlinked(folder, PLACE.parent, "--output", "Remove it, or name another folder.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path, follow=False) as file:
        file.write(entries.encode())
    return path


def _task(said: str, known: Mapping[str, SavedScore]) -> tuple[str, SavedScore, float]:
    task, _, name = said.partition("=")
    where = f"--task {said}"
    if not task or not name:
        raise ConfigError("is not TASK=SCORE.", where=where, hint=f"Scores are named as {next(iter(known), 'none')}.")
    score = known.get(name)
    if score is None:
        raise ConfigError("the report has no such score.", where=where, hint=did_you_mean(name, known))
    value = score.value if score.estimate is None else score.estimate
    if value is None:
        raise ConfigError("the score has no value in this run.", where=where, hint="Leave it out.")
    return task, score, value


def _entry(figures: Figures, dataset: str, task: str, score: SavedScore, value: float, source: str | None) -> str:
    """One result. A text of JSON is one of YAML too, whatever it holds."""
    report = figures.report
    low, high = score.ci
    interval = "" if low is None or high is None else f", interval {low:.1f} to {high:.1f}"
    notes = f"fairgate {report.fairgate}, plan {report.plan}, {name_of(score)}{interval}"
    lines = [
        "- dataset:",
        f"    id: {json.dumps(dataset)}",
        f"    task_id: {json.dumps(task)}",
        f"  value: {json.dumps(value)}",
        f"  date: {json.dumps(report.date)}",
        *((f"  source:\n    url: {json.dumps(source)}",) if source else ()),
        f"  notes: {json.dumps(notes)}",
    ]
    return "\n".join(lines) + "\n"
