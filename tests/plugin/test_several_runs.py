"""A ledger with runs of several models, places that cannot be written, and machines without the images extra."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fairgate.cli.main import main
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.maintenance import survey
from tests.plugin.test_judged_again import judged
from tests.running import LIMITS, arguments, bench, bench_many

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PART = ("-p", "no:xdist", "-k", "crime and objective and high and not t2i")
# Takes away, when it is first asked, what there was room for at the start.
THIEF = """
import os, pathlib, shutil, threading
one_at_a_time = threading.Lock()
def answer(prompt):
    here = pathlib.Path(os.environ["THIEF"])
    with one_at_a_time:
        if (here / "report").is_dir():
            shutil.rmtree(here / "report")
            (here / "report").touch()
            (here / "b.json").mkdir()
    return "A"
"""
WITHOUT = """
import importlib.metadata as metadata, sys
known, lost = metadata.version, ("insightface", "pillow")
def version(name):
    if name in lost:
        raise metadata.PackageNotFoundError(name)
    return known(name)
metadata.version = version
for name in ("PIL", "insightface", "onnxruntime", "cv2", "onnx"):
    sys.modules[name] = None
"""


def test_of_several_models_runs_one_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = tmp_path / "ledger.sqlite"
    bench_many(
        tmp_path,
        [
            arguments(tmp_path, *PART, f"--model=control/{name}", "--judge=control/judge")
            for name in ("uniform", "oracle")
        ],
    )
    with Ledger(ledger, write=False) as held:
        uniform, oracle = survey(held).runs
    asked = judged(tmp_path / "none", ledger, f"--thresholds={LIMITS}")
    assert asked.code == 4
    assert "it holds runs of 2 models" in asked.output
    for run in (uniform, oracle):
        assert re.search(rf"^  {run.id[:8]}  {run.model} +20\d\d-\d\d-\d\d \d\d:\d\d +4$", asked.output, re.MULTILINE)
    assert f"Say which one to judge, e.g. --run {oracle.id[:8]}" in asked.output
    one = judged(tmp_path / "one", ledger, f"--thresholds={LIMITS}", "--run", uniform.id[:8])
    assert one.summary["model"] == "control/uniform", one.output
    assert main(["gate", str(ledger), "--run", "zz"]) == 4
    assert "holds no run whose id begins with 'zz'" in capsys.readouterr().err
    assert main(["merge", str(tmp_path / "out.sqlite"), str(ledger)]) == 0
    said = capsys.readouterr().out
    assert "out.sqlite: one run, 2 cases.\nOf control/oracle. The ledger holds other runs too" in said
    assert f"  {uniform.id[:8]} control/uniform\n" in said


@pytest.mark.parametrize("command", [["ledger"], ["gate"], ["merge", "out.sqlite"]])
def test_a_folder_is_no_ledger(tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ledger.sqlite").touch()
    assert main([*command, str(tmp_path)]) == 4
    said = capsys.readouterr().err
    assert "is a folder, and a ledger is a file." in said
    assert f"Name a file in it: {tmp_path / 'ledger.sqlite'}" in said


def test_what_cannot_be_written_at_the_end_costs_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "thief.py").write_text(THIEF)
    save = f"--save-baseline={tmp_path / 'b.json'}"
    env = {"PYTHONPATH": str(tmp_path), "THIEF": str(tmp_path)}
    run = bench(tmp_path, *PART, "--model=python/thief:answer", save, env=env)
    assert run.code == 7, run.output
    assert "INTERNALERROR" not in run.output
    assert "Traceback" not in run.output
    said = " ".join(run.output.split())
    assert "python/thief:answer, plan quick" in said
    assert said.count("Error: ") == 2
    assert "The verdict stands. `fairgate gate" in said
    again = judged(tmp_path / "again", tmp_path / "ledger.sqlite", f"--thresholds={LIMITS}", save.replace("b.j", "c.j"))
    assert again.code in (0, 1, 6), again.output
    assert (tmp_path / "c.json").is_file()


def test_a_shard_saves_no_baseline(tmp_path: Path) -> None:
    save = f"--save-baseline={tmp_path / 'b.json'}"
    [end] = bench_many(tmp_path, [arguments(tmp_path, *PART, "--shard=1/2", save)])
    assert end.code == 4
    assert "a shard is a part of a run. Merge the shards" in end.output


def test_without_the_images_extra_text_is_gated_and_images_alone_are_trouble(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    env = {"PYTHONPATH": str(tmp_path)}
    both = arguments(tmp_path, "-p", "no:xdist", "-k", "crime and objective and high")
    images = arguments(tmp_path, "-p", "no:xdist", "-k", "crime and t2i")
    text, none = bench_many(tmp_path, [both, images], env=env)
    assert text.code in (0, 6), text.output
    assert "the cases of images are deselected: their packages are not installed" in " ".join(text.output.split())
    assert {each["modality"] for each in text.summary["scores"]} == {"text"}
    assert none.code == 7, none.output
    assert "pip install 'fairgate[images]'" in none.output
