"""Looking after a ledger: counted, verified, exported, pruned, marked; and read where nobody may write."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from io import BytesIO
from time import process_time
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.f2bench.topics import Task, Theme
from fairgate.cli import main as cli
from fairgate.core.domain import Answer, AnswerKind, Form, Modality, Reply
from fairgate.core.errors import ConfigError, LedgerError
from fairgate.ledger import export, maintenance
from fairgate.ledger.images import ImageStore, said
from fairgate.ledger.ledger import Ledger, sample_key
from fairgate.ledger.merge import absorb
from fairgate.ledger.samples import FAILED, from_ledger, read
from fairgate.ledger.schema import SCHEMA
from tests.builders import MODEL, query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OTHER = replace(MODEL, name="other")
CHOSEN = Answer(AnswerKind.CHOSEN, 0, "letter")
JUDGED = replace(query(3, Theme("f2bench", Modality.TEXT, Task.DIALOGUE, "gender"), choices=()), form=Form.VERDICT)

SCHEMA_1 = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS samples (
    key BLOB PRIMARY KEY, model INTEGER NOT NULL REFERENCES models (id), query TEXT NOT NULL, prompt TEXT NOT NULL,
    reply TEXT NOT NULL, filtered INTEGER NOT NULL,
    kind TEXT NOT NULL, choice INTEGER, how TEXT NOT NULL, parser INTEGER NOT NULL,
    prompt_tokens INTEGER, completion_tokens INTEGER, served_model TEXT, fingerprint TEXT,
    latency REAL NOT NULL, attempts INTEGER NOT NULL, asked_at REAL NOT NULL, run TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (
    key BLOB NOT NULL, run TEXT NOT NULL, query TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (key, run)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, about TEXT NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL, beat INTEGER NOT NULL,
    started_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS sampled (run TEXT NOT NULL, topic TEXT NOT NULL, PRIMARY KEY (run, topic)) WITHOUT ROWID;
PRAGMA user_version=1;
"""
SCHEMA_2 = """
ALTER TABLE samples ADD COLUMN form TEXT;
ALTER TABLE samples ADD COLUMN letters TEXT;
CREATE TABLE marks (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, word TEXT, who TEXT NOT NULL, why TEXT NOT NULL, made_at REAL NOT NULL
);
CREATE TABLE batches (
    id TEXT PRIMARY KEY, model INTEGER NOT NULL REFERENCES models (id), remote TEXT, sent_at REAL NOT NULL
);
CREATE TABLE batched (key BLOB PRIMARY KEY, batch TEXT NOT NULL REFERENCES batches (id)) WITHOUT ROWID;
PRAGMA user_version=2;
"""


def about(name: str) -> str:
    return json.dumps({"identity": {"provider": "openai", "name": name}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """Two runs: the first asked MODEL of six samples, the second OTHER of two; one failure each."""
    with Ledger(path) as opened:
        opened.runs.start("r1", about("tiny"))
        opened.runs.start("r2", about("other"))
        opened.database.execute("UPDATE runs SET started_at = 1000 WHERE id = 'r1'")
        for index in range(5):
            opened.add("r1", MODEL, query(index), Reply("=1+1", prompt_tokens=3, completion_tokens=1), CHOSEN)
        opened.add("r1", MODEL, JUDGED, Reply("Well, yes and no"), Answer(AnswerKind.UNREADABLE, None, "both"))
        for index in range(2):
            opened.add("r2", OTHER, query(index), Reply("-2"), CHOSEN)
        opened.add_failure("r1", MODEL, query(9), "HTTP 500")
        opened.add_failure("r2", OTHER, query(9), "HTTP 500")
        yield opened


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608


def test_a_survey_counts_by_model_topic_and_run(ledger: Ledger) -> None:
    held = maintenance.survey(ledger)
    assert [(each.model, each.kinds, each.prompt_tokens, each.completion_tokens) for each in held.models] == [
        (MODEL, {"chosen": 5, "unreadable": 1}, 15, 5),
        (OTHER, {"chosen": 2}, 0, 0),
    ]
    assert held.topics == {query().topic.id: {"chosen": 7}, JUDGED.topic.id: {"unreadable": 1}}
    assert [(run.id, run.model, run.asked, run.failed) for run in held.runs] == [
        ("r1", "openai/tiny", 6, 1), ("r2", "openai/other", 2, 1),
    ]  # fmt: skip
    assert held.failures == {"HTTP 500": 2}
    assert (held.marks, held.waiting, held.schema) == (0, 0, SCHEMA)


def test_a_sound_ledger_has_no_problems(ledger: Ledger) -> None:
    assert list(maintenance.problems(ledger)) == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE samples SET prompt = 'another' WHERE query LIKE '%#0'", "2 samples not what the key says"),
        ("UPDATE samples SET choice = NULL WHERE query LIKE '%#1'", "2 samples of a kind that does not go"),
        ("UPDATE samples SET reply = 'sha256:' || hex(zeroblob(32)) WHERE query LIKE '%#2'", "image that is gone"),
        ("INSERT INTO marks (key, word, who, why, made_at) VALUES (x'00', 'A', 'me', 'so', 0)", "1 mark of samples"),
        ("PRAGMA foreign_keys=OFF; DELETE FROM models WHERE id = 2", "names what is not there"),
    ],
)
def test_what_is_wrong_is_found_and_named(ledger: Ledger, path: Path, damage: str, said: str) -> None:
    ledger.database.executescript(damage)
    assert said in " ".join(maintenance.problems(ledger))
    assert cli.main(["ledger", str(path), "verify"]) == 7


ALTERED = {
    "reply": "'B'", "filtered": "1 - filtered", "prompt_tokens": "coalesce(prompt_tokens, 0) + 1",
    "completion_tokens": "7000", "served_model": "'x'", "fingerprint": "'x'", "latency": "latency + 1",
    "attempts": "attempts + 1",
}  # fmt: skip


@pytest.mark.parametrize(("column", "value"), ALTERED.items(), ids=ALTERED)
def test_a_row_that_is_not_what_was_stored_is_found_by_verify_and_by_the_run_that_uses_it(
    tmp_path: Path, column: str, value: str
) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.add("r1", MODEL, query(), Reply("A", prompt_tokens=3, latency=0.1), CHOSEN)
        ledger.add("r1", MODEL, query(1), Reply("A"), CHOSEN)
        ledger.database.execute(f"UPDATE samples SET {column} = {value} WHERE query = ?", (query().id,))  # noqa: S608
        assert [each for each in maintenance.problems(ledger) if "1 sample not as stored" in each]
        with pytest.raises(LedgerError, match=f"sample {query().id} .* is damaged"):
            ledger.reply(MODEL, query())
        assert ledger.reply(MODEL, query(1)) == Reply("A")


def test_who_else_may_read_it_is_found(ledger: Ledger, path: Path) -> None:
    path.chmod(0o644)
    ImageStore(path).folder.mkdir()
    ImageStore(path).folder.chmod(0o755)
    found = list(maintenance.problems(ledger))
    assert [each.partition(" may")[0] for each in found] == ["ledger.sqlite", "ledger.sqlite.images"]
    Ledger(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_damaged_page_is_found(ledger: Ledger, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for index in range(100, 400):
        ledger.add("r1", MODEL, query(index), Reply("x" * 200), CHOSEN)
    ledger.close()
    with path.open("r+b") as file:
        file.seek(4096 * 9)
        file.write(b"\xff" * 4096)
    assert cli.main(["ledger", str(path), "verify"]) == 7
    said = capsys.readouterr()
    assert "damaged" in said.out + said.err or "malformed" in said.out + said.err


# Export


def test_json_lines_hold_every_column_of_every_sample(ledger: Ledger) -> None:
    ledger.marks.add(maintenance.find(ledger, JUDGED.id).key, "yes", "me", "it says so")
    to = BytesIO()
    assert export.write(ledger, export.Format.JSONL, to) == 8
    rows = [json.loads(line) for line in to.getvalue().decode().splitlines()]
    assert {tuple(row) for row in rows} == {export.COLUMNS}
    [judged] = [row for row in rows if row["form"] == "verdict"]
    assert (judged["reply"], judged["mark"], judged["mark_who"], judged["mark_why"]) == (
        "Well, yes and no", "yes", "me", "it says so",
    )  # fmt: skip
    assert (judged["model"], judged["address"], judged["topic"]) == ("openai/tiny", MODEL.address, JUDGED.topic.id)
    assert judged["asked_at"].endswith("+00:00")


def test_csv_holds_nothing_that_a_spreadsheet_would_run(ledger: Ledger) -> None:
    wide = ("\uff1d1", "\uff0d1", "\uff20SUM(A1)")
    for index, text in enumerate(
        (" =1", "+1", "@SUM(A1)", "\t=1", "\n=1", *wide, "fine\n=1", "1,2", "B;=1", 'B; "=1"', "B|+1", "B\t@A1")
    ):
        ledger.add("r1", MODEL, query(20 + index), Reply(text), CHOSEN)
    to = BytesIO()
    export.write(ledger, export.Format.CSV, to)
    rows = list(csv.DictReader(to.getvalue().decode().splitlines(keepends=True)))
    assert sorted({row["reply"] for row in rows}) == sorted(
        {
            "'=1+1",
            "'-2",
            "' =1",
            "'+1",
            "'@SUM(A1)",
            "\t'=1",
            "\n'=1",
            "fine\n'=1",
            "1,2",
            "B;'=1",
            'B;\' "=1"',
            "B|'+1",
            "B\t'@A1",
            "Well, yes and no",
        }
        | {f"'{text}" for text in wide}
    )
    for separator in ",;\t|":
        for row in csv.reader(to.getvalue().decode().splitlines(), delimiter=separator):
            assert not [
                cell for cell in row if cell.lstrip(' "').startswith(("=", "+", "-", "@", *"\uff1d\uff0d\uff20"))
            ]


def test_parquet_is_written_whole(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(export, "CHUNK", 3)
    with (tmp_path / "out").open("wb") as to:
        assert export.write(ledger, export.Format.PARQUET, to) == 8
    table = parquet.read_table(tmp_path / "out")
    assert (table.num_rows, tuple(table.column_names)) == (8, export.COLUMNS)


def test_parquet_without_its_library_is_refused(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="pip install pyarrow"):
        export.write(ledger, export.Format.PARQUET, BytesIO())


def test_what_is_exported_is_its_owners_alone(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.touch(0o644)
    assert cli.main(["ledger", str(path), "export", "--format", "csv", "--output", str(out)]) == 0
    assert out.stat().st_mode & 0o777 == 0o600
    assert len(out.read_text().splitlines()) == 9
    assert ledger.path == path


# Pruning


def test_pruning_does_nothing_until_it_is_told_to(ledger: Ledger, path: Path) -> None:
    before = path.read_bytes()
    assert maintenance.prune(ledger, before=2000, really=False) == maintenance.Pruned(6, 1, 1, 0, 0)
    assert path.read_bytes() == before
    assert count(path, "samples") == 8


@pytest.mark.parametrize(
    ("what", "gone", "left"),
    [
        ({"before": 2000.0}, maintenance.Pruned(6, 1, 1, 0, 0), (2, 1, 1)),
        ({"before": 10.0}, maintenance.Pruned(0, 0, 0, 0, 0), (8, 2, 2)),
        ({"model": "openai/other"}, maintenance.Pruned(2, 1, 1, 0, 0), (6, 1, 1)),
        ({"before": 2000.0, "model": "openai/other"}, maintenance.Pruned(0, 0, 0, 0, 0), (8, 2, 2)),
        ({"failures": True}, maintenance.Pruned(0, 2, 0, 0, 0), (8, 0, 2)),
        ({"failures": True, "before": 2000.0}, maintenance.Pruned(0, 1, 0, 0, 0), (8, 1, 2)),
    ],
)
def test_what_is_pruned_goes_and_all_else_stays(
    ledger: Ledger, path: Path, what: dict[str, object], gone: maintenance.Pruned, left: tuple[int, int, int]
) -> None:
    assert maintenance.prune(ledger, **what, really=True) == gone  # type: ignore[arg-type] # filled in by name
    assert tuple(count(path, table) for table in ("samples", "failures", "runs")) == left
    assert list(maintenance.problems(ledger)) == []


def test_what_was_pruned_cannot_be_read_from_the_file_and_its_marks_and_images_go_too(
    ledger: Ledger, path: Path
) -> None:
    store = ImageStore(path)
    kept, lost = store.add(b"kept"), store.add(b"lost")
    secret = "a-prompt-that-nobody-should-find"  # noqa: S105
    ledger.add("r1", MODEL, query(50, prompt=secret), Reply(said(lost)), CHOSEN)
    ledger.add("r2", OTHER, query(50), Reply(said(kept)), CHOSEN)
    ledger.marks.add(maintenance.find(ledger, query(0).id, "openai/tiny").key, "B", "me", "so")
    assert maintenance.prune(ledger, model="openai/tiny", really=True) == maintenance.Pruned(7, 1, 1, 1, 1)
    assert store.path(kept).exists()
    assert not store.path(lost).exists()
    ledger.close()
    assert not any(
        secret.encode() in each.read_bytes() for each in path.parent.glob("ledger.sqlite*") if each.is_file()
    )


@pytest.mark.parametrize("linked", ["store", "folder", "image"])
def test_pruning_removes_nothing_to_which_a_link_leads_and_nothing_that_is_no_image(
    ledger: Ledger, path: Path, linked: str
) -> None:
    store, elsewhere, name = ImageStore(path), path.with_name("elsewhere"), "ab" + "0" * 62
    (elsewhere / "ab").mkdir(parents=True)
    for each in (name, "thesis.txt"):
        (elsewhere / "ab" / each).write_text("kept")
    at = {"store": store.folder, "folder": store.folder / "ab", "image": store.path(name)}[linked]
    at.parent.mkdir(parents=True, exist_ok=True)
    at.symlink_to({"store": elsewhere, "folder": elsewhere / "ab", "image": elsewhere / "ab" / name}[linked])
    assert maintenance.prune(ledger, really=True).images == 0
    assert {each.name for each in (elsewhere / "ab").iterdir()} == {name, "thesis.txt"}


def test_failures_alone_are_pruned_without_a_look_at_images(ledger: Ledger, path: Path) -> None:
    digest = ImageStore(path).add(b"of no sample")
    assert maintenance.prune(ledger, failures=True, really=True).images == 0
    assert ImageStore(path).path(digest).exists()


def test_marks_are_found_in_time_that_is_no_square_of_their_number(ledger: Ledger) -> None:
    ledger.database.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)"
        " INSERT INTO marks (key, word, who, why, made_at) SELECT randomblob(16), 'A', 'x', 'y', 1.0 FROM n"
    )
    began = process_time()
    assert ledger.marks.of(b"none") is None
    assert process_time() - began < 20  # a square takes minutes


def test_while_another_program_reads_what_was_pruned_is_not_said_to_be_gone(ledger: Ledger, path: Path) -> None:
    ledger.database.execute("PRAGMA busy_timeout=0")
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM samples").fetchone()
        with pytest.raises(LedgerError, match="can still be read"):
            maintenance.prune(ledger, model="openai/tiny", really=True)
        reader.execute("COMMIT")
    assert maintenance.prune(ledger, model="openai/tiny", really=True).samples == 0
    assert maintenance.prune(ledger, model="openai/other", really=True).samples == 2


def test_pruning_an_unknown_model_names_those_that_are_known(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="openai/other, openai/tiny"):
        maintenance.prune(ledger, model="openai/tyni", really=True)


# Marks


def test_a_marked_reply_is_read_as_marked_and_kept_as_it_was(ledger: Ledger) -> None:
    asked = query(0)
    sample = maintenance.find(ledger, asked.id, "openai/tiny")
    assert maintenance.mark(ledger, sample, "c", who="me", why="it means C") == "C"
    reply = ledger.reply(MODEL, asked)
    assert reply is not None
    assert (reply.text, reply.mark) == ("=1+1", "C")
    assert read(asked, reply) == Answer(AnswerKind.CHOSEN, 2, "marked")
    assert ledger.marks.marked([MODEL]) == [asked.id]
    assert ledger.marks.marked([OTHER]) == []
    maintenance.mark(ledger, sample, "refused", who="you", why="no, it refuses")
    [first, second] = from_ledger(ledger, MODEL, [asked, query(1)])
    assert first.answer == Answer(AnswerKind.REFUSED, None, "marked")
    assert second.answer.kind is AnswerKind.UNREADABLE
    maintenance.unmark(ledger, sample, who="me", why="agreed")
    [first] = from_ledger(ledger, MODEL, [asked])
    assert first.answer != FAILED
    assert first.answer.how != "marked"
    history = ledger.database.execute("SELECT word, who FROM marks ORDER BY id").fetchall()
    assert history == [("C", "me"), ("refused", "you"), (None, "me")]


def test_a_judgement_is_marked_in_its_own_words(ledger: Ledger) -> None:
    sample = maintenance.find(ledger, maintenance.find(ledger, JUDGED.id).key.hex()[:8])
    maintenance.mark(ledger, sample, "Yes", who="me", why="so")
    reply = ledger.reply(MODEL, JUDGED)
    assert reply is not None
    assert (reply.said, read(JUDGED, reply).kind) == ("yes", AnswerKind.SAID)


@pytest.mark.parametrize(
    ("name", "word"), [(query(2).id, "E"), (query(2).id, "yes"), (JUDGED.id, "7"), (JUDGED.id, "A")]
)
def test_a_word_that_the_reply_cannot_say_is_refused(ledger: Ledger, name: str, word: str) -> None:
    with pytest.raises(LedgerError, match="Give one of"):
        maintenance.mark(ledger, maintenance.find(ledger, name, "openai/tiny"), word, who="me", why="so")


def test_a_sample_must_be_named_well(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match=r"2 samples are named.*openai/tiny.*Name one by its key"):
        maintenance.find(ledger, query(0).id)
    with pytest.raises(LedgerError, match="holds no sample"):
        maintenance.find(ledger, "fact-or-fair/text/nothing#1")
    with pytest.raises(LedgerError, match="bears no mark"):
        maintenance.unmark(ledger, maintenance.find(ledger, JUDGED.id), who="me", why="so")


def test_models_of_long_identities_and_many_kinds_hold_up_nothing(ledger: Ledger, tmp_path: Path) -> None:
    samples, length = 10_000, 4_000_000
    identity = replace(MODEL, name="long", parameters={"system_prompt": "x" * length}).canonical
    added = ledger.database.execute("INSERT INTO models (identity) VALUES (?)", (identity,))
    columns = [name for _, name, *_ in ledger.database.execute("PRAGMA table_info(samples)")]
    new = {"key": "randomblob(16)", "model": str(added.lastrowid), "kind": "'kind ' || i"}
    ledger.database.execute(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {samples})"  # noqa: S608 - our own words
        f" INSERT INTO samples SELECT {', '.join(new.get(each, each) for each in columns)}"
        " FROM n, (SELECT * FROM samples LIMIT 1)"
    )
    began = process_time()
    assert len(maintenance.survey(ledger).kinds) > samples
    assert any("not what the key says" in each for each in maintenance.sample_problems(ledger))
    assert sum(row["model"] == "openai/long" for row in export.rows(ledger)) == samples
    with Ledger(tmp_path / "merged.sqlite") as merged:
        absorb(merged, ledger.path)
        assert len(maintenance.survey(merged).kinds) > samples
    assert process_time() - began < 20  # once a sample, it takes minutes


# An older schema


@pytest.fixture
def old(path: Path) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(SCHEMA_1)
        database.execute("INSERT INTO models VALUES (1, ?)", (MODEL.canonical,))
        key = sample_key(MODEL, query())
        values = (
            key,
            1,
            query().id,
            query().text,
            "B",
            0,
            "chosen",
            1,
            "letter",
            1,
            3,
            1,
            None,
            None,
            0.5,
            1,
            1.0,
            "r",
        )
        database.execute(f"INSERT INTO samples VALUES ({','.join('?' * 18)})", values)  # noqa: S608
        database.execute("INSERT INTO runs VALUES ('r', ?, 'done', '', 7, 1.0)", (about("tiny"),))
    return path


def test_an_older_ledger_is_brought_up_to_date_and_loses_nothing(old: Path) -> None:
    with Ledger(old) as ledger:
        assert ledger.schema == SCHEMA
        assert ledger.reply(MODEL, query()) == Reply("B", False, 3, 1, None, None, 0.5, 1)
        ledger.add("r2", MODEL, query(1), Reply("A"), CHOSEN)
        maintenance.mark(ledger, maintenance.find(ledger, query().id), "D", who="me", why="so")
        assert list(maintenance.problems(ledger)) == []
    with Ledger(old) as ledger:
        [sample] = from_ledger(ledger, MODEL, [query()])
        assert sample.answer.choice == 3
        assert maintenance.survey(ledger).kinds == {"chosen": 2}


def test_what_the_second_schema_holds_is_taken_over_whole(old: Path) -> None:
    with closing(sqlite3.connect(old, isolation_level=None)) as database:
        database.executescript(SCHEMA_2)
        for number in range(1, 40):
            asked = query(number)
            key = sample_key(MODEL, asked)
            counts = (None, 7) if number % 2 else (150, None)
            reply = (f"{number}: ü", number % 3 == 0, "chosen", 0, "letter", 2, *counts, "served", None, 0.25, 2)
            values = (key, 1, asked.id, asked.text, *reply, 100.0 - number, "r", "choice", "AB")
            database.execute(f"INSERT INTO samples VALUES ({','.join('?' * len(values))})", values)  # noqa: S608
            database.execute("INSERT INTO marks VALUES (NULL, ?, 'C', 'me', 'so', ?)", (key, number))
        database.execute("INSERT INTO batches VALUES ('b', 1, 'remote', 1.0)")
        database.execute("INSERT INTO batched VALUES (?, 'b')", (bytes(16),))
    with Ledger(old, write=False) as ledger:
        before = list(export.rows(ledger))
        assert len({row["mark"] for row in before}) == 2
        assert len(before) == 40
    with Ledger(old) as ledger:
        assert ledger.schema == SCHEMA
        assert list(export.rows(ledger)) == before
        assert ledger.batches.of(MODEL) == [("b", "remote", frozenset({bytes(16)}))]
        ledger.add("r2", MODEL, query(3), Reply("never asked twice"), CHOSEN)
        assert list(export.rows(ledger)) == before
        assert list(maintenance.problems(ledger)) == []


def test_the_last_mark_counts_in_whatever_order_ledgers_are_merged(tmp_path: Path) -> None:
    marked = {"early": ("B", 10.0), "late": ("C", 20.0)}
    for name, (word, made_at) in marked.items():
        with Ledger(tmp_path / name) as part:
            part.add("r", MODEL, query(), Reply("?"), CHOSEN)
            key = maintenance.find(part, query().id).key
            part.database.execute("INSERT INTO marks VALUES (NULL, ?, ?, 'me', 'so', ?)", (key, word, made_at))
    for order in (["early", "late"], ["late", "early"]):
        with Ledger(tmp_path / "-".join(order)) as whole:
            for name in order:
                absorb(whole, tmp_path / name)
            assert [(row["mark"], whole.reply(MODEL, query())) for row in export.rows(whole)] == [
                ("C", Reply("?", mark="C"))
            ]


def test_an_older_ledger_is_read_without_being_changed(old: Path) -> None:
    before = old.read_bytes()
    with Ledger(old, write=False) as ledger:
        assert ledger.schema == 1
        assert ledger.reply(MODEL, query()) is not None
        assert maintenance.survey(ledger).kinds == {"chosen": 1}
        assert len(list(export.rows(ledger))) == 1
        assert list(maintenance.problems(ledger)) == [
            f"{old.name} may be read by others (mode 644): chmod go= {old.name}"
        ]
    assert old.read_bytes() == before


def test_many_may_bring_an_older_ledger_up_to_date_at_once(old: Path) -> None:
    def opened(_: int) -> int:
        with Ledger(old) as ledger:
            return ledger.schema

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(opened, range(16))) == {SCHEMA}


# The command


def test_the_command_shows_marks_and_prunes(ledger: Ledger, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.close()
    assert cli.main(["ledger", str(path)]) == 0
    shown = capsys.readouterr().out
    for part in (
        "8 samples",
        "openai/tiny",
        "2 failures",
        "2 times: HTTP 500",
        "2 runs",
        "fact-or-fair/text/subjective:",
    ):
        assert part in shown
    assert cli.main(["ledger", str(path), "show", "--kind", "unreadable", "--topics"]) == 0
    shown = capsys.readouterr().out
    assert "Well, yes and no" in shown
    assert JUDGED.topic.id in shown
    assert cli.main(["ledger", str(path), "mark", JUDGED.id, "no", "--why", "irony"]) == 0
    assert "counts as no" in capsys.readouterr().out
    assert cli.main(["ledger", str(path), "unmark", JUDGED.id, "--why", "none"]) == 0
    assert cli.main(["ledger", str(path), "prune", "--model", "openai/other"]) == 0
    assert "add --yes" in capsys.readouterr().out
    assert cli.main(["ledger", str(path), "prune", "--runs-before", "2001-01-01", "--yes"]) == 0
    assert "6 samples" in capsys.readouterr().out
    assert cli.main(["ledger", str(path), "verify"]) == 0
    for wrong in (["prune"], ["prune", "--runs-before", "yesterday"], ["export", "--format", "parquet"]):
        assert cli.main(["ledger", str(path), *wrong]) == 4


def test_no_export_takes_the_place_of_the_ledger(ledger: Ledger, path: Path) -> None:
    link, hard = path.with_name("link"), path.with_name("hard")
    link.symlink_to(path)
    hard.hardlink_to(path)
    log = path.with_name(f"{path.name}-wal")
    assert log.stat().st_size
    for each in (path, link, hard, log):
        assert cli.main(["ledger", str(path), "export", "--output", str(each)]) == 4
    assert list(maintenance.problems(ledger)) == []
    assert count(path, "samples") == 8


def test_a_mistyped_name_makes_no_new_ledger(tmp_path: Path) -> None:
    for what in (
        ["show"],
        ["verify"],
        ["export"],
        ["prune", "--failures", "--yes"],
        ["mark", "x#1", "A", "--why", "y"],
    ):
        assert cli.main(["ledger", str(tmp_path / "none.sqlite"), *what]) == 4
    assert list(tmp_path.iterdir()) == []


def test_another_programs_database_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE shopping (what TEXT)")
    with pytest.raises(LedgerError, match="another program's database"):
        Ledger(path)
    assert count(path, "sqlite_master") == 1


# Edited by somebody


EDITED = {
    "identity no JSON": "UPDATE models SET identity = '{' WHERE id = 1",
    "identity of other fields": 'UPDATE models SET identity = \'{"provider": "p", "name": "n", "x": 1}\' WHERE id = 1',
    "identity nested": "UPDATE models SET identity = replace(hex(zeroblob(50000)), '00', '[') WHERE id = 1",
    "kind": "UPDATE samples SET kind = x'00ff'",
    "reply": "UPDATE samples SET reply = x'00ff', checked = NULL",
    "latency": "UPDATE samples SET latency = 'soon', checked = NULL",
    "attempts": "UPDATE samples SET attempts = -3, checked = NULL",
    "tokens": "UPDATE samples SET prompt_tokens = 9e300, checked = NULL",
    "time": "UPDATE runs SET started_at = 9e300",
    "state": "UPDATE runs SET state = 'whatever'",
    "about": "UPDATE runs SET about = '[]'",
    "about nested": "UPDATE runs SET about = replace(hex(zeroblob(50000)), '00', '[')",
    "asked": "UPDATE samples SET asked_at = 9e300",
    "key": "UPDATE OR IGNORE samples SET key = 'x'",
}


@pytest.mark.parametrize("statement", EDITED.values(), ids=EDITED)
def test_an_edited_row_is_one_clear_line_and_no_traceback(
    path: Path, ledger: Ledger, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.database.execute(statement)
    ledger.close()
    codes = {command: cli.main(["ledger", str(path), *command.split()]) for command in ("show", "export", "verify")}
    codes["gate"] = cli.main(["gate", str(path)])
    with Ledger(path) as again, suppress(LedgerError):
        again.reply(MODEL, query(0))
    said = capsys.readouterr().err
    assert set(codes.values()) <= {0, 4, 7}
    assert codes["verify"] == 7 or 4 in codes.values()
    assert "Traceback" not in said
    assert all(len(line) < 400 for line in said.splitlines())


def test_what_is_shown_is_nothing_that_a_terminal_or_a_runner_obeys(
    path: Path, ledger: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b]0;owned\x07\n::error::owned\n##[command]"
    ledger.database.execute("UPDATE runs SET message = ?", (evil,))
    ledger.database.execute("UPDATE failures SET reason = ?", (evil,))
    ledger.database.execute("UPDATE samples SET kind = ?", (evil,))
    ledger.close()
    assert cli.main(["ledger", str(path), "show", "--topics"]) == 0
    said = capsys.readouterr().out
    assert "owned" in said
    assert "\x1b" not in said
    assert not [line for line in said.splitlines() if line.lstrip().startswith("::") or "##[" in line]


def test_an_export_to_a_terminal_is_escaped(
    path: Path, ledger: Ledger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.database.execute("UPDATE samples SET reply = ?", ("\x9b2J\x1b[2J caf\u00e9",))
    ledger.close()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for form in ("csv", "jsonl"):
        assert cli.main(["ledger", str(path), "export", "--format", form]) == 0
        said = capsys.readouterr().out
        assert "caf\u00e9" in said
        assert not {"\x1b", "\x9b"} & set(said)


@pytest.mark.parametrize("to_file", [False, True])
def test_an_export_to_the_log_of_a_ci_holds_no_order(
    path: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, to_file: bool
) -> None:
    """A pipe is what a runner reads; a file is none."""
    text = "a\n::error::b\r::error::c\n##vso[task.complete]\x1b[2J"
    ledger.database.execute("UPDATE samples SET reply = ?", (text,))
    ledger.close()
    monkeypatch.setenv("TF_BUILD", "True")
    out = tmp_path / "out.csv"
    with out.open("wb") as file:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "fairgate", "ledger", path, "export", "--format", "csv"],
            stdout=file if to_file else subprocess.PIPE, check=True, timeout=60,
        )  # fmt: skip
    said = (out.read_bytes() if to_file else done.stdout).decode()
    assert [each in said for each in ("\n::error", "\r::error", "##vso[", "\x1b")] == [to_file] * 4
