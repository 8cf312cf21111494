"""Runs of models on this machine, killed with kill -9: what was answered is kept, and the run goes on from there."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.running import bench, finished, started, stored, wait_until_stored
from tests.tiny_models import tiny_llama, tiny_pipeline

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
pytest.importorskip("torch", reason="the extra hf is not installed")
pytest.importorskip("diffusers", reason="the extra diffusers is not installed")


def replies(ledger: Path) -> dict[str, str]:
    with closing(sqlite3.connect(ledger)) as database:
        return dict(database.execute("SELECT query, reply FROM samples"))


@pytest.mark.parametrize("kind", ["text", "images"])
def test_a_killed_run_goes_on_and_ends_as_an_undisturbed_one(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    given: tuple[str, ...]
    if kind == "text":
        model = f"--model=hf/{tiny_llama(tmp_path / 'llama')}"
        given = (model, "--model-arg=max_new_tokens=1", "--max-in-flight=8", "-k", "crime", "-p", "no:xdist")
    else:
        model = f"--t2i-model=diffusers/{tiny_pipeline(tmp_path / 'pipeline')}"
        given = (model, "--t2i-arg=steps=3", "--detector=control/fairface", "--max-in-flight=2", "-k", "t2i and crime")
    given += ("--no-canary",)  # an untrained model says nothing that can be used
    ledger = tmp_path / "killed" / "ledger.sqlite"
    ledger.parent.mkdir()
    with started(tmp_path / "killed", *given) as process:
        wait_until_stored(ledger, 6, process)
        os.kill(process.pid, signal.SIGKILL)
        assert finished(process, tmp_path / "killed").code == -signal.SIGKILL
    kept = replies(ledger)
    resumed = bench(tmp_path / "killed", *given)
    (tmp_path / "whole").mkdir()
    whole = bench(tmp_path / "whole", *given)
    assert (resumed.code, resumed.summary["scores"]) == (whole.code, whole.summary["scores"])
    everything = replies(tmp_path / "whole" / "ledger.sqlite")
    assert 6 <= len(kept) < len(everything) == stored(ledger)
    assert replies(ledger) == everything, "seeds are the queries' own"
    assert kept.items() <= everything.items()
    assert f"{len(everything) - len(kept)} asked, {len(kept)} reused" in resumed.output.replace("\n  ", " ")
