"""All of the default run, text and images and judgements together, with workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.running import bench

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_workers_miss_nothing_of_what_one_process_finds_in_their_ledger(tmp_path: Path) -> None:
    spread = bench(tmp_path / "spread", "--per-topic=1", "-n", "2")
    calls = spread.summary["calls"]
    assert calls["asked"] == calls["planned"], spread.output
    ledger = f"--ledger={tmp_path / 'spread' / 'ledger.sqlite'}"
    alone = bench(tmp_path / "alone", "--per-topic=1", "-n", "0", ledger)
    assert alone.summary["calls"]["reused"] == calls["planned"], alone.output
    assert alone.code == spread.code
    bill = {"calls": calls, "tokens": spread.summary["tokens"]}
    assert alone.summary | bill == spread.summary
