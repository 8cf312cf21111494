"""The store of samples: nothing is lost, nothing is taken for something else, every error names the file."""

from __future__ import annotations

import os
import re
import sqlite3
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fairgate.core.domain import Answer, AnswerKind, LetterProbabilities, Message, ProbabilityState, Reply
from fairgate.core.errors import LedgerError
from fairgate.ledger.export import rows
from fairgate.ledger.ledger import Ledger, sample_key
from fairgate.ledger.maintenance import problems
from fairgate.ledger.runs import RunState
from fairgate.ledger.schema import SCHEMA, STEPS
from tests.builders import MODEL, query
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER = Answer(AnswerKind.CHOSEN, 0, "letter")
REPLY = Reply(
    "A", prompt_tokens=7, completion_tokens=1, served_model="tiny-2", fingerprint="fp", latency=0.5, attempts=3
)

WRITER = """
import sys
from pathlib import Path
from fairgate.core.domain import Answer, AnswerKind, Reply
from fairgate.ledger.ledger import Ledger
from tests.builders import MODEL, query

path, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
with Ledger(path) as ledger:
    for index in range(first, last):
        ledger.add("r", MODEL, query(index), Reply(f"said {index}"), Answer(AnswerKind.CHOSEN, 0, "letter"))
        print(index, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger(path) as opened:
        yield opened


def writer(path: Path, first: int, last: int) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", WRITER, str(path), str(first), str(last)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
    )


def test_what_was_answered_is_held_and_comes_back_whole(ledger: Ledger) -> None:
    assert not ledger.holds(MODEL, query())
    assert ledger.reply(MODEL, query()) is None
    ledger.add("r", MODEL, query(), REPLY, ANSWER)
    assert ledger.holds(MODEL, query())
    assert ledger.reply(MODEL, query()) == REPLY


@given(said=st.text(), tokens=st.none() | st.integers(0, 2**60), attempts=st.integers(1, 10**6), ended=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(said="A", tokens=2**41, attempts=1, ended=False)
def test_whatever_reply_is_stored_can_be_read_again(
    ledger: Ledger, said: str, tokens: int | None, attempts: int, ended: bool
) -> None:
    ledger.database.execute("DELETE FROM samples")
    reply = Reply(said, ended, tokens, tokens, said, said, 1.0, attempts, truncated=ended)
    ledger.add("r", MODEL, query(), reply, ANSWER)
    kept = None if tokens is None else min(tokens, 2**40)
    assert ledger.reply(MODEL, query()) == replace(reply, prompt_tokens=kept, completion_tokens=kept)


@pytest.mark.parametrize(
    "found",
    [
        LetterProbabilities(ProbabilityState.KNOWN, 1, (0.25, 0.5, None, 0.125), 0.125, 0.1),
        LetterProbabilities(ProbabilityState.NOT_GIVEN, 2),
        LetterProbabilities(ProbabilityState.NO_CHOICE),
    ],
)
def test_probabilities_come_back_with_the_reply(ledger: Ledger, found: LetterProbabilities) -> None:
    reply = replace(REPLY, probabilities=found)
    ledger.add("r", MODEL, query(), reply, ANSWER)
    assert ledger.reply(MODEL, query()) == reply
    [row] = rows(ledger)
    assert str(found.state) in str(row["probabilities"])


@pytest.mark.parametrize(
    "written",
    [
        "B",
        '{"state":"sure"}',
        '{"state":"known","chosen":1,"letters":[0.9,0.9]}',
        '{"state":"known","chosen":1,"letters":[0.9,null],"outside":0.1}',
        '{"state":"known","chosen":1,"letters":[0.1,1e9]}',
        '{"state":"known","letters":[0.1,0.9]}',
        7,
    ],
)
def test_probabilities_that_nobody_wrote_are_damage(ledger: Ledger, written: object) -> None:
    ledger.add("r", MODEL, query(), REPLY, ANSWER)
    ledger.database.execute("UPDATE samples SET checked = NULL, probabilities = ?", (written,))
    with pytest.raises(LedgerError, match="probabilities of a row of samples"):
        ledger.reply(MODEL, query())


def test_a_ledger_of_the_fourth_schema_is_read_as_it_lies_and_written_on(path: Path) -> None:
    """Its rows have sums over what there was: they still hold."""
    path.parent.mkdir()
    held = ("A", 0, 7, 1, "tiny-2", "fp", 0.5, 3)
    key = sample_key(MODEL, query())
    checked = blake2b(key + repr((held[0], False, *held[2:])).encode(), digest_size=8).digest()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(";".join(STEPS[:4]))
        database.execute("PRAGMA user_version=4")
        database.execute("INSERT INTO models VALUES (1, ?)", (MODEL.canonical,))
        asked = (key, 1, query().id, query().text, held[0], 0, "chosen", 0, "letter", 2)
        values = (*asked, *held[2:], 1.0, "r", "choice", "ABCD", checked)
        database.execute(f"INSERT INTO samples VALUES ({','.join('?' * len(values))})", values)  # noqa: S608
    path.chmod(0o600)
    for write in (False, True, False):
        with Ledger(path, write=write) as ledger:
            assert ledger.reply(MODEL, query()) == REPLY
            assert None in [row["probabilities"] for row in rows(ledger)]
            if write:
                ledger.add(
                    "r",
                    MODEL,
                    query(1),
                    replace(REPLY, probabilities=LetterProbabilities(ProbabilityState.NO_CHOICE)),
                    ANSWER,
                )
            assert list(problems(ledger)) == []


def test_other_probabilities_than_were_stored_are_damage(ledger: Ledger) -> None:
    found = LetterProbabilities(ProbabilityState.KNOWN, 0, (0.75, 0.25))
    ledger.add("r", MODEL, query(), replace(REPLY, probabilities=found), ANSWER)
    ledger.database.execute("UPDATE samples SET probabilities = replace(probabilities, '0.75', '0.25')")
    with pytest.raises(LedgerError, match=r"is damaged: it is not what was stored"):
        ledger.reply(MODEL, query())


def test_it_comes_back_after_the_file_was_closed(path: Path) -> None:
    for reply in (REPLY, Reply("", filtered=True), Reply("cut", truncated=True)):
        with Ledger(path) as first:
            first.add("r", MODEL, query(prompt=reply.text), reply, ANSWER)
        with Ledger(path) as second:
            assert second.reply(MODEL, query(prompt=reply.text)) == reply


def test_a_second_answer_to_the_same_sample_changes_nothing(ledger: Ledger) -> None:
    ledger.add("r", MODEL, query(), REPLY, ANSWER)
    ledger.add("r2", MODEL, query(), Reply("B"), ANSWER)
    assert ledger.reply(MODEL, query()) == REPLY


def test_equal_text_at_another_index_is_another_sample(ledger: Ledger) -> None:
    ledger.add("r", MODEL, query(0), Reply("first"), ANSWER)
    assert not ledger.holds(MODEL, query(1))
    ledger.add("r", MODEL, query(1), Reply("second"), ANSWER)
    assert [reply.text for i in (0, 1) if (reply := ledger.reply(MODEL, query(i)))] == ["first", "second"]


def test_another_prompt_model_address_or_field_is_another_sample(ledger: Ledger) -> None:
    ledger.add("r", MODEL, query(), REPLY, ANSWER)
    assert not ledger.holds(MODEL, query(prompt="Who is it"))
    for other in (
        replace(MODEL, provider="python"),
        replace(MODEL, name="tiny2"),
        replace(MODEL, address="http://127.0.0.1:2/v1"),
        replace(MODEL, parameters={"temperature": 1}),
        replace(MODEL, parameters={}),
    ):
        assert not ledger.holds(other, query())


def test_the_order_of_body_fields_makes_no_other_model(ledger: Ledger) -> None:
    ledger.add("r", replace(MODEL, parameters={"a": 1, "b": 2}), query(), REPLY, ANSWER)
    assert ledger.holds(replace(MODEL, parameters={"b": 2, "a": 1}), query())


def test_the_key_does_not_run_its_parts_together() -> None:
    assert len({sample_key(MODEL, query(1, prompt="1")), sample_key(MODEL, query(11, prompt=""))}) == 2
    assert sample_key(MODEL, query()) == sample_key(replace(MODEL), query())


def test_only_the_owner_may_read_it(ledger: Ledger, path: Path) -> None:
    ledger.add("r", MODEL, query(), REPLY, ANSWER)
    modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    assert modes
    assert set(modes.values()) == {0o600}


def test_half_characters_are_stored(ledger: Ledger) -> None:
    half = query(prompt="\ud83d?")
    ledger.add("r", MODEL, half, Reply("yes \udc00"), ANSWER)
    ledger.runs.start("r")
    ledger.add_failure("r", MODEL, query(1), "broke at \ud83d")
    ledger.runs.end("r", RunState.STOPPED, "stopped at \ud83d")
    assert ledger.holds(MODEL, half)
    assert ledger.reply(MODEL, half) == Reply("yes ?")
    assert ledger.failure("r", MODEL, query(1)) == "broke at ?"


def test_a_failure_belongs_to_its_run_and_is_no_answer(ledger: Ledger) -> None:
    ledger.add_failure("r", MODEL, query(), "HTTP 500")
    assert ledger.failure("r", MODEL, query()) == "HTTP 500"
    assert ledger.failure("r2", MODEL, query()) is None
    assert not ledger.holds(MODEL, query())
    ledger.add_failure("r", MODEL, query(), "HTTP 503")
    assert ledger.failure("r", MODEL, query()) == "HTTP 503"
    ledger.add("r2", MODEL, query(), REPLY, ANSWER)
    assert ledger.reply(MODEL, query()) == REPLY


def test_a_run_tells_how_far_it_is(ledger: Ledger) -> None:
    assert ledger.runs.status("r") is None
    ledger.runs.start("r")
    first = ledger.runs.status("r")
    ledger.runs.beat("r")
    second = ledger.runs.status("r")
    assert first is not None
    assert second is not None
    assert (first.state, second.state) == (RunState.SAMPLING, RunState.SAMPLING)
    assert second.beat > first.beat
    assert not ledger.runs.is_sampled("r", "a topic")
    ledger.runs.mark_sampled("r", "a topic")
    ledger.runs.mark_sampled("r", "a topic")
    assert ledger.runs.is_sampled("r", "a topic")
    assert not ledger.runs.is_sampled("r2", "a topic")
    ledger.runs.end("r", RunState.STOPPED, "the key is wrong")
    last = ledger.runs.status("r")
    assert last is not None
    assert (last.state, last.message) == (RunState.STOPPED, "the key is wrong")


def test_a_newer_ledger_is_left_alone(path: Path) -> None:
    Ledger(path).close()
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA user_version={SCHEMA + 1}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=f"newer fairgate.*schema {SCHEMA + 1}.*another ledger") as caught:
        Ledger(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("my shopping list\n" * 100)
    with pytest.raises(LedgerError, match="not a database") as caught:
        Ledger(path)
    assert str(path) in str(caught.value)
    assert path.read_text() == "my shopping list\n" * 100


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file" / "ledger.sqlite"):
        with pytest.raises(LedgerError) as caught:
            Ledger(place)
        assert str(place) in str(caught.value)
        assert "another ledger" in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(path: Path) -> None:
    Ledger(path).close()
    path.chmod(0)
    with pytest.raises(LedgerError, match="PermissionError") as caught:
        Ledger(path)
    assert str(path) in str(caught.value)


def test_what_is_spoilt_later_is_trouble_too(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.add("r", MODEL, query(), REPLY, ANSWER)
        with closing(sqlite3.connect(path)) as other:
            other.execute("DROP TABLE samples")
        with pytest.raises(LedgerError, match="no such table"):
            ledger.holds(MODEL, query())


FOREIGN: dict[str, tuple[str, str]] = {
    "another-programs": ("DROP TABLE samples", "it lacks 'samples'"),
    "a-view-that-never-ends": (
        (
            "DROP TABLE sampled; CREATE VIEW sampled AS"
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT i AS run FROM n"
        ),
        "its table 'sampled' is not what it should be",
    ),
    "a-trigger": (
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM samples; END",
        "it holds 't', which no ledger has",
    ),
    "a-trigger-by-a-name-of-sqlites": (
        (
            "PRAGMA writable_schema=ON; INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_t', 'samples', 0,"
            " 'CREATE TRIGGER sqlite_t AFTER INSERT ON samples BEGIN UPDATE samples SET reply = ''B''; END')"
        ),
        "it holds 'sqlite_t', which no ledger has",
    ),
    "an-index-by-a-name-of-sqlites": (
        (
            "CREATE UNIQUE INDEX held ON samples (run); PRAGMA writable_schema=ON;"
            " UPDATE sqlite_master SET name = 'sqlite_autoindex_samples_2',"
            " sql = 'CREATE UNIQUE INDEX sqlite_autoindex_samples_2 ON samples (run)' WHERE name = 'held'"
        ),
        "it holds 'sqlite_autoindex_samples_2', which no ledger has",
    ),
    "a-trigger-by-the-name-of-its-table": (
        (
            "CREATE TRIGGER sampled AFTER INSERT ON samples BEGIN DELETE FROM marks; END; PRAGMA writable_schema=ON;"
            " CREATE TABLE last AS SELECT * FROM sqlite_master WHERE type = 'table' AND name = 'sampled';"
            " DELETE FROM sqlite_master WHERE type = 'table' AND name = 'sampled';"
            " INSERT INTO sqlite_master SELECT * FROM last; DELETE FROM sqlite_master WHERE name = 'last'"
        ),
        "its table 'sampled' is not what it should be",
    ),
    "a-type-that-swallows-a-constraint": (
        (
            "PRAGMA writable_schema=ON; UPDATE sqlite_master SET"
            " sql = replace(sql, 'id INTEGER PRIMARY KEY', 'id INTEGERPRIMARYKEY') WHERE name = 'models'"
        ),
        "its table 'models' is not what it should be",
    ),
    "a-type-of-blanks-that-are-none-for-sqlite": (
        (
            "PRAGMA writable_schema=ON; UPDATE sqlite_master SET"
            " sql = replace(sql, 'id INTEGER PRIMARY KEY', 'id INTEGER\xa0PRIMARY\xa0KEY') WHERE name = 'models'"
        ),
        "its table 'models' is not what it should be",
    ),
    "keys-that-need-not-be-unique": (
        "ALTER TABLE samples RENAME TO s; CREATE TABLE samples AS SELECT * FROM s; DROP TABLE s",
        "it lacks 'sqlite_autoindex_samples_1'",
    ),
    "a-generated-column": (
        "ALTER TABLE runs ADD COLUMN g AS (hex(zeroblob(1000000000)))",
        "its table 'runs' is not what it should be",
    ),
}


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize(("statements", "said"), FOREIGN.values(), ids=FOREIGN)
def test_tables_of_another_shape_are_refused_unread_and_left_as_they_are(
    path: Path, statements: str, said: str, write: bool
) -> None:
    Ledger(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.executescript(f"PRAGMA journal_mode=DELETE; {statements}")
    path.chmod(0o644)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=re.escape(said)):
        Ledger(path, write=write)
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o644


def journal_that_removes(ledger: Path, victim: Path) -> bytes:
    """A rollback journal of a ledger that has SQLite remove a file: it names it as what several journals rest on."""
    content, name, mark = ledger.read_bytes(), os.fsencode(victim), bytes.fromhex("d9d505f920a163d7")
    size = struct.unpack(">H", content[16:18])[0]
    head = (mark + struct.pack(">IIIII", 0, 1234, len(content) // size, 512, size)).ljust(512, b"\0")
    total = sum(each - 256 if each > 127 else each for each in name) & 0xFFFFFFFF
    return head + struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), total) + mark


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["fifo", "link", "second-name"])
def test_what_lies_in_the_place_of_a_log_and_is_none_is_neither_written_nor_waited_for(
    path: Path, kind: str, end: str, write: bool
) -> None:
    Ledger(path).close()
    kept, beside = path.with_name("kept.txt"), path.with_name(f"{path.name}{end}")
    kept.write_text("kept")
    if kind == "fifo":
        os.mkfifo(beside)
    elif kind == "link":
        beside.symlink_to(kept)
    else:
        os.link(kept, beside)
    with pytest.raises(LedgerError, match=re.escape(f"has {beside.name} beside it")):
        Ledger(path, write=write)
    assert kept.read_text() == "kept"


def test_a_folder_whose_name_is_no_text_holds_a_ledger(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    with Ledger(folder / "l.sqlite") as ledger:
        ledger.add("r", MODEL, query(0), REPLY, ANSWER)
    with Ledger(folder / "l.sqlite", write=False) as ledger:
        assert ledger.holds(MODEL, query(0))


@pytest.mark.parametrize("write", [True, False])
def test_a_rollback_journal_beside_a_ledger_is_not_obeyed(
    path: Path, monkeypatch: pytest.MonkeyPatch, write: bool
) -> None:
    monkeypatch.setattr("fairgate.ledger.database._MAKING", 0)
    Ledger(path).close()
    kept = path.with_name("kept.txt")
    kept.write_text("kept")
    journal = path.with_name(f"{path.name}-journal")
    journal.write_bytes(journal_that_removes(path, kept))
    with pytest.raises(LedgerError, match=re.escape(f"rollback journal beside it ({journal.name})")):
        Ledger(path, write=write)
    assert kept.read_text() == "kept"


@pytest.mark.parametrize("content", [b"not a ledger\n" * 100, b"SQLite format 3\0" + bytes(4096)])
def test_a_file_that_is_no_ledger_keeps_its_mode(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    file.chmod(0o644)
    with pytest.raises(LedgerError, match=r"notes\.txt"):
        Ledger(file)
    assert file.stat().st_mode & 0o777 == 0o644
    assert file.read_bytes() == content


def test_a_ledger_that_others_may_read_is_taken_from_them(path: Path) -> None:
    Ledger(path).close()
    path.chmod(0o644)
    Ledger(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("write", [True, False])
def test_a_fifo_is_refused_unopened_and_left_as_it_is(tmp_path: Path, write: bool) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o644)
    before = fifo.stat().st_mode
    with pytest.raises(LedgerError, match="no regular file"):
        Ledger(fifo, write=write)
    assert fifo.stat().st_mode == before


def test_pages_that_stand_in_many_places_are_refused_before_a_row_is_read(path: Path) -> None:
    """Three pages, each of which refers hundreds of times to the next, are more rows than are ever read."""
    with Ledger(path) as ledger:
        [(root,)] = ledger.database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'samples'").fetchall()
        [(size,)] = ledger.database.execute("PRAGMA page_size").fetchall()
    content = bytearray(path.read_bytes())
    places = [root, *(len(content) // size + number for number in (1, 2, 3))]
    leaf = content[(root - 1) * size : root * size]
    content += bytes(3 * size)
    for place, below in pairwise(places):
        cells = struct.pack(">IB", below, 1) * ((size - 12) // 7)
        head = struct.pack(">BHHHBI", 5, 0, len(cells) // 5, size - len(cells), 0, below)
        starts = b"".join(struct.pack(">H", size - len(cells) + at) for at in range(0, len(cells), 5))
        content[(place - 1) * size : place * size] = (head + starts).ljust(size - len(cells), b"\0") + cells
    content[(places[-1] - 1) * size :] = leaf
    content[28:32] = struct.pack(">I", len(content) // size)
    path.write_bytes(content)
    for write in (True, False):
        with pytest.raises(LedgerError, match=r"is damaged: .*2nd reference to page"):
            Ledger(path, write=write)


def test_nothing_in_the_file_may_call_functions(ledger: Ledger) -> None:
    assert ledger.database.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_a_reply_that_cannot_be_stored_is_an_error(ledger: Ledger) -> None:
    ledger.database.execute("CREATE UNIQUE INDEX one_of_a_run ON samples (run)")
    ledger.add("r", MODEL, query(0), REPLY, ANSWER)
    ledger.add("r", MODEL, query(0), REPLY, ANSWER)
    with pytest.raises(LedgerError, match="UNIQUE"):
        ledger.add("r", MODEL, query(1), REPLY, ANSWER)


def test_a_ledger_of_two_names_is_read_and_not_written(path: Path) -> None:
    Ledger(path).close()
    os.link(path, path.with_name("second.sqlite"))
    with pytest.raises(LedgerError, match="has 2 names"):
        Ledger(path)
    Ledger(path, write=False).close()


def test_who_does_not_make_it_makes_no_ledger_anew(path: Path) -> None:
    with pytest.raises(LedgerError, match="no such file"):
        Ledger(path, make=False)
    assert not path.exists()


@pytest.mark.parametrize("readers", [0, 1])
def test_what_was_answered_is_in_the_file_that_was_moved_away(path: Path, readers: int) -> None:
    moved = path.with_name("moved.sqlite")
    with ExitStack() as opened, Ledger(path) as ledger:
        for index in range(5):
            ledger.add("r", MODEL, query(index), REPLY, ANSWER)
        for _ in range(readers):
            assert opened.enter_context(Ledger(path, make=False)).holds(MODEL, query(0))
        path.rename(moved)
        ledger.add("r", MODEL, query(5), REPLY, ANSWER)
    with Ledger(moved, write=False) as ledger:
        assert [ledger.holds(MODEL, query(index)) for index in range(6)] == [True] * 6


def test_many_may_open_a_new_ledger_at_once(path: Path) -> None:
    def use(index: int) -> bool:
        with Ledger(path) as ledger:
            ledger.add("r", MODEL, query(index), Reply(str(index)), ANSWER)
            return ledger.holds(MODEL, query(index))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(32)))
    with Ledger(path) as ledger:
        assert all(ledger.holds(MODEL, query(index)) for index in range(32))


def test_a_new_ledger_is_waited_for_while_another_process_makes_it(path: Path) -> None:
    path.parent.mkdir()
    with ThreadPoolExecutor(1) as threads, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        opened = threads.submit(lambda: Ledger(path).close())
        assert not wait([opened], timeout=0.5).done
        other.execute("COMMIT")
        opened.result(30)


def test_a_second_opening_takes_no_lock_from_the_first(path: Path) -> None:
    with Ledger(path) as asking:
        Ledger(path).close()
        Ledger(path, write=False).close()
        # Who believes to be the last one to close it removes the log.
        with writer(path, 0, 1) as other:
            other.communicate(timeout=60)
        asking.add("r", MODEL, query(1), REPLY, ANSWER)
        with writer(path, 2, 3) as other:
            other.communicate(timeout=60)
    with Ledger(path) as ledger:
        assert [ledger.holds(MODEL, query(index)) for index in range(3)] == [True, True, True]


def test_what_breaks_in_the_middle_is_undone_and_keeps_nobody_from_writing(path: Path) -> None:
    with Ledger(path) as ledger, Ledger(path) as other:
        ledger.batches.plan("one", MODEL, [b"a"])
        with pytest.raises(LedgerError, match="UNIQUE"):
            ledger.batches.plan("one", MODEL, [b"b"])
        other.database.execute("PRAGMA busy_timeout=0")
        other.add("r", MODEL, query(1), REPLY, ANSWER)
        assert ledger.batches.of(MODEL) == [("one", None, frozenset([b"a"]))]
        ledger.batches.settle()


def test_a_link_may_lead_to_where_no_ledger_is_yet(tmp_path: Path) -> None:
    link, real = tmp_path / "link.sqlite", tmp_path / "real.sqlite"
    link.symlink_to(real)
    with Ledger(link) as ledger:
        ledger.add("r", MODEL, query(1), REPLY, ANSWER)
    assert real.stat().st_mode & 0o777 == 0o600
    with Ledger(real) as ledger:
        assert ledger.holds(MODEL, query(1))


def test_the_heart_stops_where_the_file_is_no_longer_there(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.runs.beat("r")
        path.rename(path.with_name("moved.sqlite"))
        with pytest.raises(LedgerError, match="moved"):
            ledger.runs.beat("r")
        path.touch()
        with pytest.raises(LedgerError, match="replaced"):
            ledger.runs.beat("r")


def test_who_only_reads_leaves_no_file_behind_and_changes_nothing(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.add("r", MODEL, query(), REPLY, ANSWER)
    there, before = sorted(path.parent.iterdir()), path.read_bytes()
    with Ledger(path, write=False) as ledger:
        assert ledger.holds(MODEL, query())
        with pytest.raises(LedgerError, match="readonly"):
            ledger.add("r", MODEL, query(1), REPLY, ANSWER)
    assert sorted(path.parent.iterdir()) == there
    assert path.read_bytes() == before


def test_two_processes_write_at_once(path: Path) -> None:
    with writer(path, 0, 150) as one, writer(path, 100, 250) as two:
        for each in (one, two):
            each.communicate(timeout=60)
        assert (one.returncode, two.returncode) == (0, 0)
    with Ledger(path) as ledger:
        assert all(ledger.holds(MODEL, query(index)) for index in range(250))
        assert not ledger.holds(MODEL, query(250))


def test_kill_9_loses_nothing_that_was_stored(path: Path) -> None:
    with writer(path, 0, 1_000_000) as process:
        assert process.stdout is not None
        stored = [int(process.stdout.readline()) for _ in range(50)]
        process.kill()
        stored += [int(line) for line in process.stdout if line.endswith("\n")]
        process.wait(30)
    with Ledger(path) as ledger:
        replies = [ledger.reply(MODEL, query(index)) for index in stored]
        assert [reply.text if reply else None for reply in replies] == [f"said {index}" for index in stored]
        ledger.add("r", MODEL, query(2_000_000), REPLY, ANSWER)


def test_the_key_of_a_single_prompt_is_as_ever_and_a_conversation_has_another() -> None:
    asked = query(3, prompt="Who?")
    parts = "\0".join((MODEL.canonical, asked.id, "Who?"))
    assert sample_key(MODEL, asked) == blake2b(parts.encode(), digest_size=16).digest()
    told = replace(asked, before=(Message("user", "Hello"), Message("assistant", "Hi")))
    other = replace(asked, before=(Message("user", "Hello"), Message("assistant", "Hey")))
    assert len({sample_key(MODEL, each) for each in (asked, told, other, replace(asked, step="turn-1"))}) == 4


def test_how_long_a_call_takes_is_known_of_the_same_model_alone(tmp_path: Path) -> None:
    slower = replace(MODEL, parameters={"temperature": 1})
    elsewhere = replace(MODEL, address="http://127.0.0.1:2/v1")
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.add("r", MODEL, query(0), Reply("A", latency=1.0), ANSWER)
        ledger.add("r", slower, query(1), Reply("A", latency=3.0), ANSWER)
        ledger.add("r", replace(MODEL, name="other"), query(2), Reply("A", latency=100.0), ANSWER)
        assert ledger.mean_latency(MODEL) == pytest.approx(2.0)
        assert ledger.mean_latency(elsewhere) is None


def test_a_mark_that_is_no_text_is_named(ledger: Ledger) -> None:
    ledger.database.execute("INSERT INTO marks (key, word, who, why, made_at) VALUES (x'00', x'ff', '', '', 'x')")
    with pytest.raises(LedgerError, match="word of a row of marks: Expected `str`"):
        ledger.marks.of(b"\0")
