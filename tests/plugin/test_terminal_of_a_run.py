"""What pytest's own lines say of a run at 80 columns, and where its reader is sent."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.running import CHECKOUT, bench

if TYPE_CHECKING:
    from pathlib import Path


def test_at_vv_no_reason_loses_its_beginning_and_the_page_is_named(tmp_path: Path) -> None:
    limits = f"--thresholds={CHECKOUT / 'thresholds.toml'}"
    run = bench(tmp_path, limits, "--per-topic=2", "-k", "crime and representativeness", "-vv", "-n", "0")
    lines = run.output.splitlines()
    reasons = [after for line, after in pairwise(lines) if line.endswith(" INCONCLUSIVE")]
    assert reasons, run.output
    assert all(each.startswith("  (inconclusive: fact-or-fair-text-") for each in reasons)
    assert "Report: report/index.html" in lines
