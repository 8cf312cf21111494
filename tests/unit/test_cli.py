"""The commands: wrong usage is exit 4 in each of them; `fairgate published`, and where a model stands."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.benchmarks.registry import registry
from fairgate.cli.main import COMMANDS, OPTION, main
from tests.running import bench, environment

if TYPE_CHECKING:
    from pathlib import Path


def entry(modality: str, value: float, topics: tuple[int, int] = (30, 30), score: str = "S_fact") -> dict[str, Any]:
    keys = {
        "benchmark": "fact-or-fair",
        "group": None,
        "modality": modality,
        "task": "objective",
        "context": None,
        "attribute": "gender",
        "score": score,
    }
    return {**keys, "scoring": "reference", "topics": topics, "value": value}


def summary(path: Path, *scores: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"model": "openai/words", "t2i_model": "results/painter", "scores": scores}))
    return path


NAMES = sorted(each.__name__.rpartition(".")[2] for each in COMMANDS)
# What is complete but for an option that nobody knows.
COMPLETE = {
    "calibrate": ["faces"],
    "compare": ["a", "b"],
    "evidence": ["l.sqlite"],
    "export": ["report", "--to=mlflow"],
    "faces": ["l.sqlite"],
    "gate": ["l.sqlite"],
    "ledger": ["l.sqlite"],
    "merge": ["out.sqlite", "l.sqlite"],
    "weights": ["show"],
}


def exit_of(given: list[str]) -> int:
    try:
        return main(given)
    except SystemExit as end:
        return int(str(end.code))


@pytest.mark.parametrize("command", NAMES)
def test_wrong_usage_is_exit_4_in_every_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_of([command, *COMPLETE.get(command, []), "--no-such-option"]) == 4
    said = capsys.readouterr().err
    assert "--no-such-option" in said
    assert len(said.strip().splitlines()) <= 2
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], ""),
        (["gat"], "no command 'gat'. Did you mean gate?"),
        (["--modle=x"], "unrecognized argument --modle=x."),
        (["gate"], "the following arguments are required: LEDGER"),
        (["gate", "l.sqlite", "--treshold=t"], "unrecognized argument --treshold=t. Did you mean --thresholds?"),
        (["gate", "l.sqlite", "--thresh=t"], "unrecognized argument --thresh=t."),
        (["gate", "l.sqlite", "--answer-key=truth"], "argument --answer-key: invalid choice: 'truth'"),
        (["gate", "none.sqlite"], "none.sqlite: no such file."),
        (["gate", "none.sqlite", "--key=measured", "--inconclusive=trouble"], "none.sqlite: no such file."),
        (["compare", "a"], "only one run is given."),
        (["published", "none"], "none: cannot be read: No such file or directory."),
        (["export", "none", "--to=hf"], "needs --dataset and --task."),
        (["init", "none"], "none: no such folder."),
        (["faces", "none"], "none: no such ledger or folder."),
        (["run", "--seed=x"], "fairgate run: argument --seed: invalid int value: 'x'. See `fairgate run --help`."),
    ],
)
def test_wrong_usage_is_named_in_a_line(
    given: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if given[:1] == ["run"]:
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "fairgate", *given], capture_output=True, text=True, check=False
        )
        code, found = done.returncode, done.stderr
    else:
        code, found = exit_of(given), capsys.readouterr().err
    assert (code, said in found) == (4, True), found
    assert "usage:" not in found


def test_gate_takes_the_options_by_which_a_past_run_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("gate", "evidence"):
        assert exit_of([command, "--help"]) == 0
        shown = set(OPTION.findall(capsys.readouterr().out))
        assert {each.flag for each in registry().options if each.about.again} <= shown
        outputs = {each.flag for each in registry().options if each.about.output}
        assert outputs <= shown if command == "gate" else not outputs & shown
        assert not {"--model", "--seed", "--key"} & shown


def test_the_audit_is_printed_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published"]) == 0
    said = capsys.readouterr().out
    assert "75 of 76    Fact-or-Fair, S_fair from S_E and S_KLD" in said
    assert "`fairgate published LEDGER`" in said
    assert len(said.splitlines()) < 25
    assert main(["published", "--audit"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("# The published tables, recomputed from their own cells")
    assert "The cells that do not agree: 53 of 633" in said


def test_text_and_images_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = summary(tmp_path / "summary.json", entry("text", 91.25), entry("image", 51.5))
    assert main(["published", str(path)]) == 0
    words, image_model = capsys.readouterr().out.split("# Where results/painter stands")
    assert "# Where openai/words stands" in words
    assert "91.25" in words
    assert "51.50" not in words
    assert "51.50" in image_model


def test_no_command_prints_what_a_terminal_or_a_runner_obeys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = summary(tmp_path / "summary.json", entry("text", 91.25))
    said = path.read_text(encoding="utf-8")
    hostile = "\n::error::x\n##vso[task.setvariable variable=PATH]y\x1b[2J"
    path.write_text(json.dumps(json.loads(said) | {"model": hostile}), encoding="utf-8")
    for command in (["published", str(path)], ["compare", str(path), str(path)]):
        assert exit_of(command) == 0
        printed = capsys.readouterr().out
        assert not any(
            line.lstrip().startswith("::") or "##vso[" in line or "\x1b" in line for line in printed.splitlines()
        )


def test_partial_scores_are_left_out_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = summary(tmp_path / "summary.json", entry("text", 91.25, (2, 30)))
    assert main(["published", str(path)]) == 0
    said = capsys.readouterr().out
    assert "1 of its scores cover a part of the topics only" in said
    assert "91.25" not in said


@pytest.mark.slow
def test_a_ledgers_model_stands_where_its_summarys_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = bench(tmp_path, "--model=control/stereotype", "-n", "0")
    assert outcome.code in (0, 1)
    tables = []
    for path in (tmp_path / "ledger.sqlite", tmp_path / "report" / "summary.json"):
        assert main(["published", str(path)]) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    assert "# Where control/stereotype stands" in tables[0]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"scores": [{}]}', "no json"])
def test_what_is_neither_is_wrong_usage_and_named(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "something"
    path.write_text(content)
    assert main(["published", str(path)]) == 4
    assert f"{path}: is neither a ledger nor a summary.json" in capsys.readouterr().err
    assert main(["published", str(tmp_path / "none")]) == 4


@pytest.mark.parametrize("where", ["/dev/full", "/dev/null"])
def test_what_cannot_be_printed_is_an_error_and_no_traceback(where: str) -> None:
    """Nor what the output's encoding does not know."""
    command = [sys.executable, "-m", "fairgate", "published", "--audit"]
    told = environment({"PYTHONIOENCODING": "ascii"})
    with open(where, "w") as out:  # noqa: PTH123 - a device
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, env=told, check=False)  # noqa: S603
    assert done.returncode == (7 if where == "/dev/full" else 0)
    assert "Traceback" not in done.stderr
    assert ("No space left" in done.stderr) == (where == "/dev/full")


def test_what_nobody_foresaw_is_an_error_and_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fairgate.cli.main._parsed", lambda _: 1 / 0)
    assert main(["doctor"]) == 7
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "an error of its own" in said
