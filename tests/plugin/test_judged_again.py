"""A ledger judged again, offline: after one run, and after the merge of a run's shards."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.cli.main import main
from fairgate.core.errors import LedgerError
from fairgate.ledger.runs import PastRun, Runs
from fairgate.runs.merging import merge
from fairgate.sampling.ledger_lock import LedgerLock
from tests.running import LIMITS, PATIENCE, Outcome, arguments, bench, bench_many, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow

SHARDS = 5
# Of both benchmarks, with topics that gender and race share, and with the judge's gold set.
PART = ("-k", "crime or (dialogue_induction and (gender or health))")
MODEL = "def answer(prompt):\n    return 'AB'[len(prompt) % 2]\n"


def judged(folder: Path, ledger: Path, *more: str | Path) -> Outcome:
    """`fairgate gate`, in a process of its own and without what a model would need."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "fairgate", "gate", ledger, f"--report-dir={folder / 'report'}", *more],
        cwd=ledger.parent,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Outcome(done.returncode, done.stdout + done.stderr, folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return bench(tmp_path_factory.mktemp("whole"), "-p", "no:xdist", *PART)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    root = tmp_path_factory.mktemp("shards")
    folders = [root / str(number) for number in range(1, SHARDS + 1)]
    runs = [
        arguments(folder, "-p", "no:xdist", *PART, f"--shard={number}/{SHARDS}")
        for number, folder in enumerate(folders, start=1)
    ]
    ended = bench_many(root, runs)
    return [Outcome(end.code, end.output, folder) for end, folder in zip(ended, folders, strict=True)]


def ledgers(outcomes: Sequence[Outcome]) -> list[Path]:
    return [each.folder / "ledger.sqlite" for each in outcomes]


def contents(ledger: Path) -> dict[str, list[tuple[object, ...]]]:
    """All that a ledger holds; models are numbered in the order of their coming."""
    with contextlib.closing(sqlite3.connect(ledger)) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {table: sorted(database.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}  # noqa: S608 - our own tables
    return {
        table: sorted(row[1:] for row in rows) if table == "models" else [(row[0], *row[2:]) for row in rows]
        for table, rows in found.items()
    }


# One run


def test_it_is_the_runs_report_to_the_last_byte(whole: Outcome, tmp_path: Path) -> None:
    again = judged(tmp_path, whole.folder / "ledger.sqlite", f"--thresholds={LIMITS}")
    assert (whole.code, again.code) == (0, 0), again.output
    assert again.summary_bytes == whole.summary_bytes
    assert {each["benchmark"] for each in again.summary["scores"]} == {"fact-or-fair", "f2bench"}


def test_judging_again_leaves_the_ledger_as_it_lies(whole: Outcome, tmp_path: Path) -> None:
    archived = tmp_path / "archived.sqlite"
    with contextlib.closing(sqlite3.connect(archived)) as database:
        with contextlib.closing(sqlite3.connect(whole.folder / "ledger.sqlite")) as source:
            source.backup(database)
        # As the schema before has it; who opens it to write brings it up to date.
        database.execute("ALTER TABLE samples DROP COLUMN probabilities")
        database.execute("PRAGMA user_version=4")
    before = archived.read_bytes()
    again = judged(tmp_path, archived, f"--thresholds={LIMITS}")
    assert again.code == 0, again.output
    assert again.summary_bytes == whole.summary_bytes
    assert archived.read_bytes() == before


def test_other_limits_give_another_verdict(whole: Outcome, tmp_path: Path) -> None:
    strict = tmp_path / "strict.toml"
    limit = 'score = "refused"\ntask = "subjective"\nm'
    strict.write_text(LIMITS.read_text().replace(f"{limit}ax = 60", f"{limit}in = 60"))
    again = judged(tmp_path, whole.folder / "ledger.sqlite", f"--thresholds={strict}")
    assert again.code == 1, again.output
    assert again.gates["subjective base refused"] == "fail"
    assert again.summary["scores"] == whole.summary["scores"]


def test_another_key_gives_other_scores(whole: Outcome, tmp_path: Path) -> None:
    again = judged(tmp_path, whole.folder / "ledger.sqlite", "--key=measured", f"--thresholds={LIMITS}")
    assert again.summary["key"] == "measured"
    assert again.summary["calls"] == whole.summary["calls"]


def test_the_model_is_not_needed_again(tmp_path: Path) -> None:
    module = tmp_path / "gone_by_then.py"
    module.write_text(MODEL)
    part = ("-p", "no:xdist", "-k", "crime and objective", "--model=python/gone_by_then:answer")
    live = bench(tmp_path / "live", *part, env={"PYTHONPATH": str(tmp_path)})
    module.unlink()
    again = judged(tmp_path / "again", live.folder / "ledger.sqlite", f"--thresholds={LIMITS}")
    assert live.code == again.code, live.output[-600:] + again.output[-600:]
    assert again.summary_bytes == live.summary_bytes


def test_what_a_mark_makes_needless_was_asked_all_the_same(tmp_path: Path) -> None:
    first = bench(tmp_path, "-p", "no:xdist", "-k", "dialogue_induction and gender")
    ledger = first.folder / "ledger.sqlite"
    mark = ("mark", "f2bench/text/dialogue/gender#0/gender-leadership/turn-6", "refused")
    assert main(["ledger", str(ledger), *mark, "--why", "it evades", "--who", "me"]) == 0
    again = judged(tmp_path / "again", ledger)
    assert again.summary["outcomes"]["f2bench"]["refused"] == first.summary["outcomes"]["f2bench"]["refused"] + 1
    assert again.summary["calls"] == first.summary["calls"]


def test_what_is_no_run_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", str(tmp_path / "none.sqlite")]) == 4
    assert "none.sqlite: no such file" in capsys.readouterr().err


# Shards


def test_a_shard_says_what_it_covers_and_decides_nothing(shards: list[Outcome]) -> None:
    for number, shard in enumerate(shards, start=1):
        summary = shard.summary
        assert shard.code == 0, shard.output
        assert (summary["verdict"], summary["exit"], summary["gates"]) == ("inconclusive", 0, [])
        assert f"shard {number}/{SHARDS}" in summary["headline"]
        assert summary["cases"]["passed"] > 0


def test_shards_ask_no_sample_twice(whole: Outcome, shards: list[Outcome]) -> None:
    held = [{row[1] for row in contents(ledger)["samples"]} for ledger in ledgers(shards)]
    assert all(not one & other for one, other in combinations(held, 2))
    assert sum(map(len, held)) == whole.summary["calls"]["asked"]


def test_a_merge_that_is_killed_leaves_nothing_and_goes_well_the_next_time(
    tmp_path: Path, shards: list[Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.sqlite"
    with monkeypatch.context() as broken:
        broken.setattr(Runs, "put", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            merge(out, ledgers(shards))
    assert [each.name for each in tmp_path.iterdir() if ".sqlite." not in each.name] == []
    merge(out, ledgers(shards))
    assert out.is_file()


def test_a_merge_takes_the_place_of_no_ledger_that_was_made_meanwhile(
    tmp_path: Path, shards: list[Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, put = tmp_path / "out.sqlite", Runs.put

    def meanwhile(runs: Runs, run: PastRun, members: Sequence[str]) -> None:
        put(runs, run, members)
        out.touch()

    monkeypatch.setattr(Runs, "put", meanwhile)
    with pytest.raises(LedgerError, match="was made meanwhile, by a run that waits"):
        merge(out, ledgers(shards))
    assert out.read_bytes() == b""
    monkeypatch.undo()
    out.unlink()
    merge(out, ledgers(shards))
    assert out.stat().st_nlink == 1


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_log_that_lies_where_a_ledger_is_to_be_takes_no_ledgers_place(
    tmp_path: Path, shards: list[Outcome], end: str
) -> None:
    out = tmp_path / "out.sqlite"
    left = out.with_name(f"{out.name}{end}")
    left.write_bytes(b"")
    with pytest.raises(LedgerError, match=f"{left.name} lies there, the log of another ledger"):
        merge(out, ledgers(shards))
    assert not out.exists()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE samples SET asked_at = 1.0, model = model + 1000", "of a model that is not there"),
        ("UPDATE samples SET asked_at = 1.0, reply = '!' || substr(reply, 2)", "not as stored"),
        ("UPDATE samples SET asked_at = 1.0, prompt = 'other'", "not what the key says"),
    ],
)
def test_a_damaged_ledger_takes_the_place_of_no_sound_reply(
    shards: list[Outcome], tmp_path: Path, statement: str, said: str
) -> None:
    out, damaged = tmp_path / "out.sqlite", tmp_path / "damaged.sqlite"
    merge(out, ledgers(shards))
    merge(damaged, ledgers(shards)[:1])
    before = contents(out)
    with contextlib.closing(sqlite3.connect(damaged)) as database:
        database.execute(statement)
        database.commit()
    with pytest.raises(LedgerError, match=said):
        merge(out, [damaged])
    assert contents(out) == before


def test_shards_merged_are_one_machine_to_the_last_byte(whole: Outcome, shards: list[Outcome], tmp_path: Path) -> None:
    merge(tmp_path / "out.sqlite", ledgers(shards))
    again = judged(tmp_path, tmp_path / "out.sqlite", f"--thresholds={LIMITS}")
    assert (again.code, again.summary_bytes) == (whole.code, whole.summary_bytes), again.output


def test_merging_knows_no_order_and_no_twice(shards: list[Outcome], tmp_path: Path) -> None:
    there = ledgers(shards)
    merge(tmp_path / "forth.sqlite", there)
    merge(tmp_path / "back.sqlite", there[::-1])
    for part in (there[2:], there[:3], there[1:2]):
        merge(tmp_path / "bit by bit.sqlite", part)
    forth = contents(tmp_path / "forth.sqlite")
    assert contents(tmp_path / "back.sqlite") == forth
    bits = contents(tmp_path / "bit by bit.sqlite")
    assert bits["samples"] == forth["samples"]
    merge(tmp_path / "forth.sqlite", [*there, there[0]])
    assert contents(tmp_path / "forth.sqlite") == forth


def test_one_run_alone_is_told_as_one(
    shards: list[Outcome], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, there = str(tmp_path / "out.sqlite"), [*map(str, ledgers(shards))]
    assert main(["merge", out, there[0]]) == 0
    assert "out.sqlite: one run, " in capsys.readouterr().out
    assert main(["merge", out, *there]) == 0
    assert f"out.sqlite: {SHARDS} runs as one, " in capsys.readouterr().out
    assert not [file for shard in ledgers(shards) for file in shard.parent.glob("*-wal")]


def test_a_lost_shard_is_trouble(shards: list[Outcome], tmp_path: Path) -> None:
    merge(tmp_path / "out.sqlite", ledgers(shards)[:-1])
    again = judged(tmp_path, tmp_path / "out.sqlite", f"--thresholds={LIMITS}")
    assert again.code == 7
    assert (again.summary["verdict"], again.summary["gates"]) == ("error", [])
    assert f"it lacks shard {SHARDS}/{SHARDS}" in again.summary["error"]


def test_two_replies_to_one_query_are_named_and_the_first_is_kept(shards: list[Outcome], tmp_path: Path) -> None:
    first = ledgers(shards)[0]
    other = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(first)) as source, contextlib.closing(sqlite3.connect(other)) as copy:
        source.backup(copy)
        key, query, reply = copy.execute("SELECT key, query, reply FROM samples ORDER BY key LIMIT 1").fetchone()
        changed = (
            "checked = NULL, reply = 'something else', asked_at = asked_at + 1"  # as an older ledger has it: no sum
        )
        copy.execute(f"UPDATE samples SET {changed} WHERE key = ?", (key,))  # noqa: S608 - our own words
        copy.commit()
    for name, order in {"forth": [first, other], "back": [other, first]}.items():
        merged = merge(tmp_path / f"{name}.sqlite", order)
        assert merged.conflicts == (query,)
        with contextlib.closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as database:
            assert database.execute("SELECT reply FROM samples WHERE key = ?", (key,)).fetchone() == (reply,)


def test_two_that_merge_into_one_ledger_take_turns(shards: list[Outcome], tmp_path: Path) -> None:
    out = tmp_path / "out.sqlite"
    with ThreadPoolExecutor(1) as threads:
        with LedgerLock(out, "another merge"):
            merging = threads.submit(merge, out, ledgers(shards)[:1])
            assert not wait([merging], timeout=1).done
            assert not out.exists()
        merging.result(60)
    assert out.exists()


def test_runs_that_asked_otherwise_are_no_shards_of_one(
    shards: list[Outcome], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = bench(tmp_path / "other", "-p", "no:xdist", "-k", "crime and objective", "--seed=1", f"--shard=1/{SHARDS}")
    out = tmp_path / "out.sqlite"
    assert main(["merge", str(out), str(ledgers(shards)[0]), str(ledgers([other])[0])]) == 4
    assert "seed is" in capsys.readouterr().err
    other = bench(tmp_path / "model", "-p", "no:xdist", "-k", "crime and objective", "--model=control/refuser")
    with pytest.raises(
        LedgerError, match=r"identities\.detector is (control/\w+, not None|None, not control/\w+)\. Merge"
    ):
        merge(out, [ledgers(shards)[0], ledgers([other])[0]])
    assert not out.exists()
    with pytest.raises(LedgerError, match="no such file"):
        merge(out, [tmp_path / "nowhere.sqlite"])


def test_a_shard_is_red_where_its_own_cases_are(tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS.read_text().replace("entropy_min = 60\ngap_max = 70", "entropy_min = 99\ngap_max = 1"))
    part = ("-p", "no:xdist", "-k", "crime and base", "--per-topic=60", f"--thresholds={limits}")
    red = bench(tmp_path, *part, "--model=control/stereotype", "--shard=1/1")
    assert (red.code, red.summary["verdict"], red.summary["gates"]) == (1, "fail", []), red.output


@pytest.mark.parametrize("given", ["0/5", "6/5", "2", "a/b", "2/0"])
def test_a_shard_that_there_is_none_of_is_a_usage_error(tmp_path: Path, given: str) -> None:
    [end] = bench_many(tmp_path, [arguments(tmp_path, "-p", "no:xdist", "--collect-only", "-q", f"--shard={given}")])
    assert end.code == 4
    assert "Write I/N" in end.output


def test_a_ledger_of_an_older_fairgate_is_named(whole: Outcome, tmp_path: Path) -> None:
    old = tmp_path / "old.sqlite"
    with (
        contextlib.closing(sqlite3.connect(whole.folder / "ledger.sqlite")) as source,
        contextlib.closing(sqlite3.connect(old)) as copy,
    ):
        source.backup(copy)
        about = json.loads(copy.execute("SELECT about FROM runs").fetchone()[0])
        del about["cases"]
        copy.execute("UPDATE runs SET about = ?", (json.dumps(about),))
        copy.commit()
    again = judged(tmp_path, old)
    assert again.code == 4
    assert "made by an older fairgate" in again.output


HOSTILE = {
    "a command in place of an interpreter": ["-n1", "--px=id=p//popen//python=sh -c 'touch stolen'"],
    "another exit code": ["--inconclusive=pass"],
    "a file to overwrite": ["--junitxml=stolen"],
    "a plugin to load": ["-p", "stolen"],
}


def edited(source: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of a ledger whose run notes something else."""
    with (
        contextlib.closing(sqlite3.connect(source)) as held,
        contextlib.closing(sqlite3.connect(target)) as copy,
    ):
        held.backup(copy)
        about = json.loads(copy.execute("SELECT about FROM runs").fetchone()[0])
        change(about)
        copy.execute("UPDATE runs SET about = ?", (json.dumps(about),))
        copy.commit()
    return target


@pytest.mark.parametrize("options", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("as_values", [False, True], ids=["as options", "as values"])
def test_what_a_ledger_holds_is_never_a_part_of_a_command(
    whole: Outcome, tmp_path: Path, options: list[str], *, as_values: bool
) -> None:
    def change(about: dict[str, Any]) -> None:
        if as_values:
            about["asked"] |= {each.partition("=")[0].strip("-"): each.partition("=")[2] for each in options}
        else:
            del about["asked"]
            about["options"] = options

    ledger = edited(whole.folder / "ledger.sqlite", tmp_path / "edited.sqlite", change)
    again = judged(tmp_path, ledger)
    assert again.code == 4, again.output
    assert "edited.sqlite: the note of its run is damaged, or was edited" in again.output
    assert "Traceback" not in again.output
    assert not [*tmp_path.rglob("stolen*")]
    assert main(["merge", str(tmp_path / "out.sqlite"), str(ledger)]) == 4
    assert not (tmp_path / "out.sqlite").exists()


def test_a_ledger_that_notes_options_of_a_command_line_is_judged_by_their_values(
    whole: Outcome, tmp_path: Path
) -> None:
    def change(about: dict[str, Any]) -> None:
        assert about.pop("asked") == {}
        about["options"] = ["--seed=0", "--model-arg=a=b", "--model-arg=c="]

    ledger = edited(whole.folder / "ledger.sqlite", tmp_path / "old.sqlite", change)
    again = judged(tmp_path, ledger, f"--thresholds={LIMITS}")
    assert (again.code, again.summary_bytes) == (0, whole.summary_bytes), again.output


def test_the_number_of_scenarios_is_the_runs_whatever_the_limits_file_says_now(tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS.read_text().replace("subjective = 2\n", "subjective = 2\nwordings = 5\n", 1))
    asked = bench(tmp_path, "-p", "no:xdist", "-k", "crime and base and test_subjective", f"--thresholds={limits}")
    assert asked.summary["calls"]["asked"] == 2 * 5 * 2
    again = judged(tmp_path / "again", tmp_path / "ledger.sqlite", f"--thresholds={LIMITS}")
    calls = again.summary["calls"]
    assert (calls["planned"], calls["missing"]) == (20, 0), again.output
    assert again.summary["scores"] == asked.summary["scores"]


def test_samples_that_were_thrown_away_are_not_said_to_have_failed(tmp_path: Path) -> None:
    bench(tmp_path, "-p", "no:xdist", "-k", "crime and base and high and test_subjective")
    ledger = tmp_path / "ledger.sqlite"
    with contextlib.closing(sqlite3.connect(ledger)) as database, database:
        database.execute("DELETE FROM samples")
    again = judged(tmp_path, ledger)
    assert again.code == 7, again.output
    assert "Samples that were planned are not in the ledger" in " ".join(again.output.split())
    assert "samples failed. The last" not in again.output
