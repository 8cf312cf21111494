"""Runs of the past: what a ledger notes of them is typed and bounded, and an edited note is one clear line."""

from __future__ import annotations

import copy
import json
from argparse import Namespace
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.cli import gate
from fairgate.cli import main as cli
from fairgate.core.domain import Answer, AnswerKind, Identity, Query, Reply, Role
from fairgate.core.errors import ConfigError, LedgerError
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.rows import LONGEST_NOTE
from fairgate.ledger.runs import PastRun, RunState
from fairgate.options.settings import Settings
from fairgate.runs import manifest
from fairgate.runs.opening import open_run
from fairgate.runs.past_run import recall
from fairgate.runs.rescoring import judged_again

if TYPE_CHECKING:
    from pathlib import Path

Note = dict[str, Any]


@pytest.fixture(scope="module")
def noted() -> Note:
    """What a run of a text control notes."""
    run = open_run(Settings(model="control/oracle"))
    found: Note = json.loads(manifest.about(run, [case for case in run.cases.values() if run.asks(case)][:3]))
    return found


BASE = "fact-or-fair-text-subjective-base"


def ledger_of(folder: Path, note: object) -> Path:
    path = folder / "noted.sqlite"
    with Ledger(path) as ledger:
        ledger.runs.put(PastRun("a" * 32, json.dumps(note), RunState.DONE, ""), ["a" * 32])
    return path


def changed(note: Note, keys: tuple[str, ...], value: object) -> Note:
    whole = inner = copy.deepcopy(note)
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return whole


# By the key that the message names: where the value stands, and the value.
EDITED: dict[str, tuple[tuple[str, ...], object]] = {
    "shards[0]": (("shards",), ["1/99999999999"]),
    "shards[1]": (("shards",), ["1/3", "4/3"]),
    "shards": (("shards",), ["1/3", "1/4"]),
    "cases": (("cases",), 5),
    "cases[0]": (("cases",), [1]),
    "members": (("members",), []),
    "members[0]": (("members",), [{}]),
    "top level: Invalid enum value 'nobody'": (("identities",), {"nobody": {"provider": "a", "name": "b"}}),
    "identities[...].provider": (("identities", "model", "provider"), 3),
    "identities: it names nobody as model": (("identities",), {}),
    "versions": (("versions",), []),
    "versions[...]": (("versions", "data version"), {}),
    "look.number": (("look",), {"number": "1"}),
    "looks[...].asked": (("looks",), {BASE: {"asked": "1", "whole": 27, "share": 0.2}}),
    f"looks.{BASE}: the plan has no such": (("looks",), {BASE: {"asked": 9, "whole": 28, "share": 0.2}}),
    "identity": (("identity",), "x"),
    "asked": (("asked",), []),
    "asked.seed": (("asked", "seed"), 2**70),
    "asked.per_topic": (("asked", "per_topic"), 10**9),
    "asked.data": (("asked", "data"), "\0"),
    "objective": (("objective",), -1),
    "subjective": (("subjective",), 10**12),
    "wordings": (("wordings",), None),
    "profiles": (("profiles",), "x"),
    "images": (("images",), []),
    "images.identity_prompts.implicit": (("images",), {"identity_prompts": {"implicit": 10**12}}),
    "images.held[...]": (("images",), {"held": {"x": -1}}),
    "f2bench.repeats": (("f2bench", "repeats"), "many"),
    "f2bench.size.gold": (("f2bench", "size"), {"gold": 3}),
    "nested": (("deep",), json.loads("[" * 200 + "]" * 200)),
}


@pytest.mark.parametrize(("key", "edit"), EDITED.items(), ids=EDITED)
def test_an_edited_note_is_one_line_with_its_file_and_key(
    tmp_path: Path, noted: Note, key: str, edit: tuple[tuple[str, ...], object]
) -> None:
    path = ledger_of(tmp_path, changed(noted, *edit))
    before = path.read_bytes()
    with pytest.raises(LedgerError) as caught:
        judged_again(path)
    said = str(caught.value)
    damage = "lists and tables stand in one another" if key == "nested" else f"was edited: {key}"
    assert said.startswith(f"{path}: the note of its run is damaged")
    assert damage in said
    assert "run pytest on it once more" in said
    assert len(said) < 500
    assert said.isprintable()
    assert path.read_bytes() == before


def test_a_note_longer_than_any_is_neither_decoded_nor_kept(tmp_path: Path, noted: Note) -> None:
    path = ledger_of(tmp_path, dict(noted) | {"x": "x" * LONGEST_NOTE})
    with pytest.raises(LedgerError, match=r"about of a row of runs: 4,\d{3},\d{3} characters"):
        recall(path)
    with Ledger(path) as ledger, pytest.raises(LedgerError, match="Shorten the system prompt"):
        ledger.runs.start("b" * 32, "x" * (LONGEST_NOTE + 1))


def test_a_run_that_ended_without_a_sample_is_not_another_model(tmp_path: Path, noted: Note) -> None:
    path = ledger_of(tmp_path, noted)
    mistyped = changed(noted, ("identity",), {"provider": "openai", "name": "mistyped"})
    with Ledger(path) as ledger:
        ledger.runs.start("b" * 32, json.dumps(mistyped))
        ledger.runs.end("b" * 32, RunState.STOPPED, "no such model")
        ledger.database.execute("UPDATE runs SET rowid = 0 WHERE id = ?", ("b" * 32,))
    options = Namespace(ledger=path, run=None)
    assert gate.found(options).id == "a" * 32
    with Ledger(path) as ledger:
        topic = next(iter(open_run(Settings(model="control/oracle")).cases.values())).topics[0]
        identity = Identity("openai", "mistyped")
        ledger.add("b" * 32, identity, Query(topic, 0, "?"), Reply("A"), Answer(AnswerKind.CHOSEN, 0, "letter"))
    with pytest.raises(ConfigError) as caught:
        gate.found(options)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{path}: it holds runs of 2 models:"
    assert [line.split()[:2] for line in lines[2:4]] == [["b" * 8, "openai/mistyped"], ["a" * 8, "control/oracle"]]
    assert [line.split()[-1] for line in lines[1:4]] == ["samples", "1", "0"]
    assert lines[4] == "Say which one to judge, e.g. --run aaaaaaaa"


@pytest.mark.parametrize("command", ["gate", "merge", "compare", "published"])
def test_every_command_that_reads_a_run_says_so_and_writes_nothing(
    tmp_path: Path, noted: Note, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ledger_of(tmp_path, changed(noted, ("shards",), ["1/99999999999"]))
    before = path.read_bytes()
    out = tmp_path / "out.sqlite"
    rest = {"merge": [str(out), str(path)], "compare": [str(path), str(path)]}
    assert cli.main([command, *rest.get(command, [str(path)])]) == 4
    said = capsys.readouterr().err
    assert "noted.sqlite" in said
    assert "shards[0]" in said
    assert "'1/99999999999'" in said
    assert "Traceback" not in said
    assert path.read_bytes() == before
    assert not out.exists()


def test_no_model_is_made_from_what_a_ledger_says(tmp_path: Path, noted: Note, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil_of_a_ledger.py").write_text("import pathlib\npathlib.Path('stolen').touch()\ndef ask(p): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    asked = {"model": "python/evil_of_a_ledger:ask"}
    path = ledger_of(tmp_path, changed(noted, ("asked",), asked) | {"identities": {}})
    with pytest.raises(LedgerError, match="it names nobody as model"):
        judged_again(path)
    assert not (tmp_path / "stolen").exists()


def test_a_note_of_the_version_before_is_read(tmp_path: Path, noted: Note) -> None:
    old: Note = {key: value for key, value in noted.items() if key not in ("asked", "wordings", "profiles")}
    who = {"provider": "control", "name": "oracle", "address": None, "parameters": {"version": 1}}
    old |= {
        "options": ["--model=control/oracle", "--per-topic=7", "--stop-early", "--model-arg=a=b"],
        "f2bench": {"speaker": who, "judge": who, "data": None, "prompts": 1, "repeats": 2, "reference": False}
        | {"size": noted["f2bench"]["size"]},
        "images": None,
        "data": None,
        "scenarios": None,
        "thresholds": "/elsewhere/thresholds.toml",
        "profiles": "balanced",
    }
    past = recall(ledger_of(tmp_path, old))
    assert past.asked["per_topic"] == 7
    assert past.asked["stop_early"]
    assert past.asked["model_args"] == ("a=b",)
    assert past.identities[Role.MODEL].name == "oracle"
    again = judged_again(tmp_path / "noted.sqlite").report
    assert again.profiles == "balanced"
    assert again.calls.missing > 0


@pytest.mark.parametrize(
    ("look", "asked"),
    [
        ({"looks": {BASE: {"asked": 12, "whole": 27, "share": 0.3}}}, 12),
        # Once runs counted queries a scenario, of which there are nine.
        ({"look": {"asked": 2, "whole": 3, "number": 1, "most": 2, "confidence": 0.98, "share": 0.4}}, 18),
        ({"look": {"subjective": 2, "number": 1}}, 18),
        ({}, 27),
    ],
)
def test_a_run_that_ended_early_is_judged_by_what_it_asked(
    tmp_path: Path, noted: Note, look: dict[str, object], asked: int
) -> None:
    cases = ["subjective[crime-rate-high-base-gender]", "subjective[crime-rate-high-base-race]"]
    past = {key: value for key, value in noted.items() if key != "looks"} | {"cases": cases} | look
    report = judged_again(ledger_of(tmp_path, past)).report
    # The other level is asked beside it, to be compared with.
    assert report.calls.planned == 2 * asked


@pytest.mark.parametrize(("level", "confidence"), [({}, "98.5"), ({"level": 0.44}, "97.8")])
def test_intervals_of_a_look_have_the_confidence_that_was_noted_or_that_of_its_share(
    tmp_path: Path, noted: Note, level: dict[str, float], confidence: str
) -> None:
    looks = {BASE: {"asked": 12, "whole": 27, "share": 0.3} | level}
    cases = ["subjective[crime-rate-high-base-gender]", "subjective[crime-rate-high-base-race]"]
    report = judged_again(ledger_of(tmp_path, {**noted, "cases": cases, "looks": looks})).report
    assert any(f"have {confidence} % confidence" in note for note in report.notes), report.notes


def test_lost_shards_are_named_and_counted_where_they_are_many(tmp_path: Path, noted: Note) -> None:
    few = recall(ledger_of(tmp_path, changed(noted, ("shards",), ["2/3"])))
    assert few.lost == "1/3, 3/3"
    many = recall(ledger_of(tmp_path, changed(noted, ("shards",), ["2/9999"])))
    assert many.lost == "1/9999, 3/9999, 4/9999, 5/9999, 6/9999 and 9,993 more"


@pytest.mark.parametrize("key", ["identities", "cases", "versions", "asked"])
def test_a_note_that_lacks_what_an_older_version_did_not_note_says_so(tmp_path: Path, noted: Note, key: str) -> None:
    path = ledger_of(tmp_path, {name: value for name, value in noted.items() if name != key})
    with pytest.raises(LedgerError, match="made by an older fairgate"):
        recall(path)
