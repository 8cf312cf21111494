"""The selected cases of a run: what is asked for them, and what each benchmark counts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.domain import Modality, Task
from fairgate.runs import options
from fairgate.runs.run import Run
from fairgate.runs.selection import Selection
from tests.unit.test_settings import Config

if TYPE_CHECKING:
    from pathlib import Path


def test_a_score_of_text_needs_a_case_of_text(tmp_path: Path) -> None:
    """Image cases of the same task and attribute are another model's."""
    run = Run(options.read(Config(tmp_path)))  # type: ignore[arg-type] # all that it looks at
    names = (("subjective", "crime-rate-high-base-race"), ("t2i_objective", "crime-rate-high-race"))
    selected = Selection(run, [run.cases[name] for name in names])
    text = run.text.tally(selected.of(Modality.TEXT), lambda _: None)
    assert text is not None
    assert text.counts(Task.OBJECTIVE, None, "race", "published") is None
    assert [topic.modality for topic in selected.topics] == [Modality.TEXT, Modality.IMAGE]


def test_themes_bring_the_gold_set_that_their_judge_is_judged_on(tmp_path: Path) -> None:
    run = Run(options.read(Config(tmp_path)))  # type: ignore[arg-type] # all that it looks at
    selected = Selection(run, [run.cases["dialogue_induction", "gender"]])
    assert [topic.id for topic in selected.asked] == ["f2bench/text/dialogue/gold", "f2bench/text/dialogue/gender"]
