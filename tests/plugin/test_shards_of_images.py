"""Shards with open answers, portraits and BIGbench's identity prompts, merged, and a baseline saved from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.registry import registry
from fairgate.comparison.baseline import load
from fairgate.core.errors import LedgerError
from fairgate.ledger.images import ImageStore
from fairgate.runs.merging import merge
from fairgate.runs.past_run import recall
from tests.plugin.test_judged_again import judged
from tests.running import LIMITS, arguments, bench_many

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SHARDS = 5
PART = (
    *("-p", "no:xdist", "--per-topic=1"),
    *("-k", "(t2i and crime) or (balance and gender) or (sports and gender) or manifestation or (crime and base)"),
)


def test_merged_they_are_one_machine_to_the_last_byte(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    kept = f"--save-baseline={tmp_path / 'whole.json'}"
    runs = [arguments(whole, *PART, kept)]
    runs += [arguments(tmp_path / str(number), *PART, f"--shard={number}/{SHARDS}") for number in range(1, SHARDS + 1)]
    ended = bench_many(tmp_path, runs)
    assert {end.code for end in ended[1:]} <= {0, 6}, [end.output for end in ended]
    first, *others = [tmp_path / str(number) / "ledger.sqlite" for number in range(1, SHARDS + 1)]
    merge(tmp_path / "out.sqlite", [first])
    before = recall(tmp_path / "out.sqlite")
    bad = next(each for path in others for each in sorted(ImageStore(path).kept()))
    content = bad.read_bytes()
    bad.write_bytes(b"bad")
    with pytest.raises(LedgerError, match="is not what it was"):
        merge(tmp_path / "out.sqlite", others)
    assert recall(tmp_path / "out.sqlite") == before
    bad.write_bytes(content)
    merge(tmp_path / "out.sqlite", others)
    kept_too = f"--save-baseline={tmp_path / 'merged.json'}"
    again = judged(tmp_path / "again", tmp_path / "out.sqlite", f"--thresholds={LIMITS}", kept_too)
    one = (whole / "report" / "summary.json").read_bytes()
    assert again.code == ended[0].code, again.output
    assert again.summary_bytes == one
    assert {each["benchmark"] for each in again.summary["scores"]} == {"fact-or-fair", "f2bench", "bigbench"}
    # What each held is what a baseline of it holds.
    assert (tmp_path / "merged.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    parts = [part for plugin in registry().plugins for part in plugin.parts]
    assert {"f2bench", "images", "bigbench"} <= load(tmp_path / "merged.json", parts).asked.keys()
