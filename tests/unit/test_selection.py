"""The selected cases of a run: what is asked for them, and what each benchmark counts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.text import FactOrFairText
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.core.domain import Modality, Role
from fairgate.core.errors import LedgerError
from fairgate.ledger.ledger import Ledger
from fairgate.runs import sampling
from fairgate.runs.opening import open_run
from fairgate.runs.selection import Selection
from fairgate.sampling.ledger_lock import LedgerLock, is_taken
from tests.settings import settings_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_score_of_text_needs_a_case_of_text(tmp_path: Path) -> None:
    """Image cases of the same task and attribute are another model's."""
    run = open_run(settings_of(tmp_path))
    names = (("subjective", "crime-rate-high-base-race"), ("t2i_objective", "crime-rate-high-race"))
    selected = Selection.of(run, [run.cases[name] for name in names])
    text = next(each for each in run.benchmarks.all if isinstance(each, FactOrFairText))
    held = text.tally(selected.cases_of(text), lambda _: None)  # type: ignore[arg-type] # its own cases
    assert held is not None
    assert held.counts(Task.OBJECTIVE, None, "race", "published") is None
    assert [topic.modality for topic in selected.asked] == [Modality.TEXT, Modality.TEXT, Modality.IMAGE]


def test_themes_bring_the_gold_set_that_their_judge_is_judged_on(tmp_path: Path) -> None:
    run = open_run(settings_of(tmp_path))
    selected = Selection.of(run, [run.cases["dialogue_induction", "gender"]])
    assert [topic.id for topic in selected.asked] == ["f2bench/text/dialogue/gold", "f2bench/text/dialogue/gender"]


def test_a_batch_that_another_run_sent_while_this_one_waited_for_its_turn_is_not_paid_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("--model=openai/tiny", "--base-url=http://h/v1", f"--ledger={tmp_path / 'l.sqlite'}")
    run = open_run(settings_of(tmp_path, *given))

    class Waited(LedgerLock):
        def __init__(self, ledger: Path, who: str, wait: float = 0.0) -> None:
            super().__init__(ledger, who, wait)
            with Ledger(ledger) as other:
                other.batches.plan("sent", run.participants.identity_of(Role.MODEL), [b"key"])

    monkeypatch.setattr(sampling, "LedgerLock", Waited)
    with pytest.raises(LedgerError, match="1 sample of openai/tiny is in a batch"):
        sampling.Sampling(run, [run.cases["subjective", "crime-rate-high-base-race"]])
    assert not is_taken(run.settings.ledger)
