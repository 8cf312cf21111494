"""The store of samples: one SQLite file that outlives every process that writes to it.

A sample is committed as soon as it is answered (write-ahead log, synchronous=NORMAL: kill -9 loses nothing, a power
cut may lose the last second). Its key is the model's identity, the query's id (topic and repeat index) and the prompt,
so that a second run asks nothing that is here, and repeats of one prompt stay separate samples. In a conversation the
turns before the prompt count as part of it. Prompts and replies
are private: the file is readable by its owner alone.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import sqlite3
import stat
import threading
import time
from collections import Counter
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fairgate.domain import Reply
from fairgate.errors import LedgerError
from fairgate.replies.choices import PARSER_VERSION
from fairgate.store.rows import Scored, Started, about_of, decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from fairgate.domain import Answer, Identity, Query

SCHEMA = 4
COMPANIONS = ("", "-wal", "-shm", ".lock")  # what a ledger's files are called, after its name

# Seconds for which another process may keep the file to itself: fewer than those after which waiting cases believe that
# nobody asks any more.
_PATIENCE = 50

# What SQLite calls SQLITE_DBCONFIG_DEFENSIVE.
_DEFENSIVE = 1010

# Bytes of one text: more than any reply has (16 MiB of an answer, each byte written as a character).
_LONGEST = 2**26

# In what the making of a table may be written otherwise by another SQLite.
_SPELLING = re.compile(r"[\s\"`\[\]]+|ifnotexists", re.IGNORECASE)

# Held while a file is made: nobody in this process uses it before it is closed.
_MAKING = threading.Lock()

_OF_SCHEMA_2 = """
CREATE TABLE marks (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, word TEXT, who TEXT NOT NULL, why TEXT NOT NULL, made_at REAL NOT NULL
);
CREATE TABLE batches (
    id TEXT PRIMARY KEY, model INTEGER NOT NULL REFERENCES models (id), remote TEXT, sent_at REAL NOT NULL
);
CREATE TABLE batched (key BLOB PRIMARY KEY, batch TEXT NOT NULL REFERENCES batches (id)) WITHOUT ROWID;
"""

# What scoring reads of a sample.
SCORED = "reply, filtered, prompt_tokens, completion_tokens, served_model, fingerprint, latency, attempts"

# Of each sample's marks the last one, where it was not taken back.
MARKS = """
SELECT key, word, who, why FROM marks AS one WHERE word IS NOT NULL AND id =
    (SELECT id FROM marks WHERE key = one.key ORDER BY made_at DESC, id DESC LIMIT 1)
"""

# Step n makes a ledger of schema n out of one of schema n - 1; a new file takes them all. A step that was released is
# never changed.
_STEPS = (
    """
CREATE TABLE models (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);
CREATE TABLE samples (
    key BLOB PRIMARY KEY, model INTEGER NOT NULL REFERENCES models (id), query TEXT NOT NULL, prompt TEXT NOT NULL,
    reply TEXT NOT NULL, filtered INTEGER NOT NULL,
    kind TEXT NOT NULL, choice INTEGER, how TEXT NOT NULL, parser INTEGER NOT NULL,
    prompt_tokens INTEGER, completion_tokens INTEGER, served_model TEXT, fingerprint TEXT,
    latency REAL NOT NULL, attempts INTEGER NOT NULL, asked_at REAL NOT NULL, run TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE failures (
    key BLOB NOT NULL, run TEXT NOT NULL, query TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (key, run)
) WITHOUT ROWID;
CREATE TABLE runs (
    id TEXT PRIMARY KEY, about TEXT NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL, beat INTEGER NOT NULL,
    started_at REAL NOT NULL
);
CREATE TABLE sampled (run TEXT NOT NULL, topic TEXT NOT NULL, PRIMARY KEY (run, topic)) WITHOUT ROWID;
""",
    # What a reply may be (its query's form, and the letters on offer): null in rows that are older.
    """
ALTER TABLE samples ADD COLUMN form TEXT;
ALTER TABLE samples ADD COLUMN letters TEXT;
"""
    + _OF_SCHEMA_2,
    # Samples in the order in which they came, with an index of their keys: a table that is itself in the order of keys
    # puts each sample, prompt and all, in the middle of the others, at three times the time and the room.
    """
CREATE TABLE arrived (
    key BLOB NOT NULL UNIQUE, model INTEGER NOT NULL REFERENCES models (id), query TEXT NOT NULL, prompt TEXT NOT NULL,
    reply TEXT NOT NULL, filtered INTEGER NOT NULL,
    kind TEXT NOT NULL, choice INTEGER, how TEXT NOT NULL, parser INTEGER NOT NULL,
    prompt_tokens INTEGER, completion_tokens INTEGER, served_model TEXT, fingerprint TEXT,
    latency REAL NOT NULL, attempts INTEGER NOT NULL, asked_at REAL NOT NULL, run TEXT NOT NULL,
    form TEXT, letters TEXT
);
INSERT INTO arrived SELECT * FROM samples ORDER BY asked_at, key;
DROP TABLE samples;
ALTER TABLE arrived RENAME TO samples;
""",
    # A sum over all that scoring reads of a row: null in rows that are older.
    """
ALTER TABLE samples ADD COLUMN checked BLOB;
""",
)


class RunState(StrEnum):
    """How far the sampler of a run is."""

    SAMPLING = "sampling"
    DONE = "done"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run as it stands in the ledger: `about` is JSON that says what it asked."""

    id: str
    about: str
    state: RunState
    message: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What some runs asked for: samples that were answered, and that failed for good, and what that took.

    `retried` counts the requests beyond the first of each answered sample; `uncounted` samples came without a count of
    their tokens.
    """

    answered: int
    failed: int
    retried: int
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    last_failure: str


@dataclass(frozen=True, slots=True)
class RunStatus:
    """What a waiting case needs to know: `message` says why a run stopped, `beat` grows while its sampler lives."""

    state: RunState
    message: str
    beat: int


class Ledger:
    """An open ledger, for one thread. Raises LedgerError, naming the file, for whatever SQLite cannot do.

    With `write=False` nothing is written, not even a newer schema: the file must be there, and may be where nobody may
    write. With `make=False` the file must be there too: what was moved away in mid-run is not made anew. A file that is
    no ledger is left as it is, its mode too.
    """

    def __init__(self, path: Path, *, write: bool = True, make: bool = True) -> None:
        self.path = path
        self._models: dict[str, int] = {}
        self._marked: dict[bytes, str] | None = None
        if path.is_dir():
            inside = sorted(path.glob("*.sqlite"))
            hint = f"Name a file in it: {inside[0]}" if inside else "Name a file, as --ledger or in its place."
            raise LedgerError("is a folder, and a ledger is a file.", where=str(path), hint=hint)
        if not (write and make) and not path.exists():
            raise LedgerError("no such file.", where=str(path), hint="Put it back, or name another with --ledger.")
        with self.translated():
            made = False
            if write and make:
                path.parent.mkdir(parents=True, exist_ok=True)
                made = _make_private(path)
            self._opened = path.stat()
            if not stat.S_ISREG(self._opened.st_mode):
                # To open a FIFO would wait for ever; a device is no file at all.
                raise LedgerError(
                    "is no regular file, and a ledger is one.",
                    where=str(path),
                    hint="Name another file with --ledger.",
                )
            if write and not os.access(path, os.R_OK | os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            self._db = sqlite3.connect(_uri(path, write), uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            with self.translated():
                _distrust(self._db)
                self._prepare(write, made=made)
        except LedgerError:
            self._db.close()
            raise

    def _prepare(self, write: bool, *, made: bool) -> None:
        # Both looked at in one transaction: another process may be making its tables at this moment.
        self._db.execute("BEGIN")
        version = self.schema
        tables = _shapes(self._db)
        self._db.execute("COMMIT")
        if version > SCHEMA:
            raise LedgerError(
                f"was written by a newer fairgate (schema {version}, this one reads {SCHEMA}).",
                where=str(self.path),
                hint="Upgrade fairgate, or name another file with --ledger.",
            )
        if version <= 0 and (tables or version < 0):
            raise LedgerError(
                "is another program's database.", where=str(self.path), hint="Name another file with --ledger."
            )
        if (amiss := _misshapen(tables, version)) is not None:
            raise LedgerError(
                f"is no ledger of ours: {amiss}.", where=str(self.path), hint="Name another file with --ledger."
            )
        if not write:
            self._pretend(version)
            self._db.execute("PRAGMA query_only=ON")
            return
        if not made:
            _keep_private(self.path, self._opened)
        self._write_ahead()
        self._db.execute("PRAGMA synchronous=NORMAL")
        if version < SCHEMA:
            # One statement at a time inside a transaction: two processes may open a new ledger at the same moment.
            with self.whole():
                for step in _STEPS[self.schema :]:
                    self._do(step)
                self._db.execute(f"PRAGMA user_version={SCHEMA}")

    def _write_ahead(self) -> None:
        """Give the file a write-ahead log, which it keeps."""
        # SQLite's own timeout does not hold here: where two processes open a new ledger at the same moment, the second
        # is refused at once.
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.01 * random.random())  # noqa: S311 - who waits, not what is secret
            else:
                return

    def _pretend(self, version: int) -> None:
        """Give an older ledger the tables that it lacks, in memory."""
        if version == 0:
            raise LedgerError("holds no run.", where=str(self.path), hint="Gate a model with it first.")
        if version < 2:
            self._do(
                "CREATE TEMP VIEW samples AS SELECT *, NULL AS form, NULL AS letters, NULL AS checked FROM main.samples"
            )
            self._do(_OF_SCHEMA_2.replace("CREATE TABLE", "CREATE TEMP TABLE"))
        elif version < 4:
            self._do("CREATE TEMP VIEW samples AS SELECT *, NULL AS checked FROM main.samples")

    def _do(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self._db.execute(statement)

    @property
    def schema(self) -> int:
        """The version of the tables in the file."""
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn what SQLite and the file system say into LedgerError, with the mend."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(f"{type(error).__name__}: {error}.", where=str(self.path), hint=_mend(error)) from error

    @contextmanager
    def whole(self) -> Iterator[None]:
        """All that is written within, or nothing of it; nobody else writes meanwhile."""
        with self.translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                # Left open it would keep out all others, this very process among them. SQLite ends some by itself.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    @property
    def database(self) -> sqlite3.Connection:
        """The open database, for who looks after the file (`fairgate.store.maintenance`, `fairgate.store.export`)."""
        return self._db

    def close(self) -> None:
        """Give the file back."""
        if not self._is_in_place():
            # Its log stays behind under the old name, and SQLite brings nothing home to a file that was moved.
            with suppress(sqlite3.Error):
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._db.close()

    def check_place(self) -> None:
        """Raise LedgerError where the file is no longer where it was opened."""
        if not self._is_in_place():
            raise LedgerError(
                "was removed, moved or replaced while it was in use.",
                where=str(self.path),
                hint="What was answered is in the moved file: put it back, and run again.",
            )

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(self.path.stat(), self._opened)
        except OSError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Samples

    def add(self, run: str, identity: Identity, query: Query, reply: Reply, answer: Answer) -> None:
        """Store an answered sample, durably against the death of any process."""
        row = (
            sample_key(identity, query),
            self._model(identity),
            query.id,
            _storable(query.text),
            _storable(reply.text),
            reply.filtered,
            answer.kind,
            answer.choice,
            answer.how,
            PARSER_VERSION,
            reply.prompt_tokens,
            reply.completion_tokens,
            reply.served_model,
            reply.fingerprint,
            float(reply.latency),
            reply.attempts,
            time.time(),
            run,
            query.form,
            "".join(choice.letter for choice in query.choices),
        )
        # Of what is stored, in the order in which it is read.
        checked = row_sum(row[0], (row[4], row[5], *row[10:16]))
        with self.translated():
            self._db.execute(f"INSERT OR IGNORE INTO samples VALUES (?,{','.join('?' * len(row))})", (*row, checked))  # noqa: S608 - only question marks are put in

    def add_failure(self, run: str, identity: Identity, query: Query, reason: str) -> None:
        """Store that this run could not have this sample, and why; the next run asks for it again."""
        key = sample_key(identity, query)
        with self.translated():
            self._db.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", (key, run, query.id, _storable(reason))
            )

    def holds(self, identity: Identity, query: Query) -> bool:
        """Whether this sample was answered, in whatever run."""
        key = sample_key(identity, query)
        with self.translated():
            return self._db.execute("SELECT 1 FROM samples WHERE key = ?", (key,)).fetchone() is not None

    def reply(self, identity: Identity, query: Query) -> Reply | None:
        """The stored reply to this query, or None where it was never answered."""
        key = sample_key(identity, query)
        with self.translated():
            row = self._db.execute(
                f"SELECT {SCORED}, checked FROM samples WHERE key = ?",  # noqa: S608 - our own words
                (key,),
            ).fetchone()
        if row is None:
            return None
        *held, checked = row
        if checked is not None and checked != row_sum(key, held):
            raise LedgerError(
                f"sample {query.id} (key {key.hex()[:12]}) is damaged: it is not what was stored.",
                where=str(self.path),
                hint="Use a copy of the file from before, or name another with --ledger.",
            )
        found = decoded(Scored, held, "samples", str(self.path))
        reply = Reply(
            found.reply,
            bool(found.filtered),
            prompt_tokens=found.prompt_tokens,
            completion_tokens=found.completion_tokens,
            served_model=found.served_model,
            fingerprint=found.fingerprint,
            latency=found.latency,
            attempts=found.attempts,
        )
        word = self._mark_of(key)
        return reply if word is None else replace(reply, mark=word)

    def failure(self, run: str, identity: Identity, query: Query) -> str | None:
        """Why this run could not have this sample, or None where it did not try or succeeded."""
        key = sample_key(identity, query)
        with self.translated():
            row = self._db.execute("SELECT reason FROM failures WHERE key = ? AND run = ?", (key, run)).fetchone()
        return None if row is None else str(row[0])

    def failed(self, run: str) -> Counter[str]:
        """How many samples this run asked for in vain, by topic; what it never asked is not among them."""
        with self.translated():
            rows = self._db.execute("SELECT query FROM failures WHERE run = ?", (run,)).fetchall()
        return Counter(str(query).partition("#")[0] for (query,) in rows)

    def _model(self, identity: Identity) -> int:
        text = identity.canonical
        if text not in self._models:
            with self.translated():
                self._db.execute("INSERT OR IGNORE INTO models (identity) VALUES (?)", (text,))
                row = self._db.execute("SELECT id FROM models WHERE identity = ?", (text,)).fetchone()
            self._models[text] = row[0]
        return self._models[text]

    # Marks

    def mark(self, key: bytes, word: str | None, who: str, why: str) -> None:
        """Keep what a reviewer says that a reply says, or with None that it says what the parser reads.

        Nothing is overwritten, an earlier mark neither: the last one counts.
        """
        with self.translated():
            # The last one counts, whatever became of the clock in between.
            self._db.execute(
                "INSERT INTO marks (key, word, who, why, made_at)"
                " SELECT ?, ?, ?, ?, max(?, coalesce(max(made_at), 0)) FROM marks",
                (key, word, _storable(who), _storable(why), time.time()),
            )
        self._marked = None

    def marked(self, models: Iterable[Identity]) -> list[str]:
        """The ids of these models' queries whose replies bear a reviewer's mark."""
        of = {each.canonical for each in models}
        with self.translated():
            rows = self._db.execute(
                f"SELECT query, identity FROM samples JOIN ({MARKS}) USING (key) JOIN models ON model = models.id"  # noqa: S608 - our own words
                " ORDER BY samples.key"
            )
            return [query for query, identity in rows if identity in of]

    def _mark_of(self, key: bytes) -> str | None:
        # Marks are few and replies many: looked up once, for whoever opened the ledger.
        if self._marked is None:
            with self.translated():
                self._marked = {key: word for key, word, *_ in self._db.execute(MARKS)}
        return self._marked.get(key)

    # Batches: what was sent to be answered in a day's time, and was not fetched yet

    def plan_batch(self, batch: str, identity: Identity, keys: Iterable[bytes]) -> None:
        """Say that these samples are about to be sent as one batch."""
        model = self._model(identity)
        with self.whole():
            self._db.execute("INSERT INTO batches VALUES (?, ?, NULL, ?)", (batch, model, time.time()))
            rows = ((key, batch) for key in keys)
            self._db.executemany("INSERT OR REPLACE INTO batched VALUES (?, ?)", rows)

    def name_batch(self, batch: str, remote: str) -> None:
        """Say what the provider calls a batch."""
        with self.translated():
            self._db.execute("UPDATE batches SET remote = ? WHERE id = ?", (remote, batch))

    def batches(self, identity: Identity) -> list[tuple[str, str | None, frozenset[bytes]]]:
        """The batches of a model that were not fetched yet: our name, the provider's, the samples in it."""
        model = self._model(identity)
        with self.translated():
            found = self._db.execute("SELECT id, remote FROM batches WHERE model = ? ORDER BY sent_at, id", (model,))
            return [
                (batch, remote, frozenset(key for (key,) in self._keys_in(batch))) for batch, remote in found.fetchall()
            ]

    def _keys_in(self, batch: str) -> list[tuple[bytes]]:
        return self._db.execute("SELECT key FROM batched WHERE batch = ?", (batch,)).fetchall()

    def drop_batched(self, keys: Iterable[bytes]) -> None:
        """Say that no reply to these samples will come from their batch."""
        with self.whole():
            self._db.executemany("DELETE FROM batched WHERE key = ?", ((key,) for key in keys))

    def settle_batches(self) -> None:
        """Forget what was answered since, and batches of which nothing is left."""
        with self.translated():
            if self._db.execute("SELECT 1 FROM batches LIMIT 1").fetchone() is None:
                return
        with self.whole():
            self._db.execute("DELETE FROM batched WHERE key IN (SELECT key FROM samples)")
            self._db.execute("DELETE FROM batches WHERE id NOT IN (SELECT batch FROM batched)")

    # Runs

    def start_run(self, run: str, about: str = "{}") -> None:
        """Say that a sampler begins; `about` is JSON that says what it asks, for who reads the ledger later."""
        with self.translated():
            row = (run, about, RunState.SAMPLING, time.time())
            self._db.execute("INSERT INTO runs VALUES (?, ?, ?, '', 0, ?)", row)

    def note_run(self, run: str, about: str) -> None:
        """Say anew what a run asks: less than it set out to, where it stops early."""
        with self.translated():
            self._db.execute("UPDATE runs SET about = ? WHERE id = ?", (about, run))

    def about_run(self, run: str) -> str:
        """What a run asks, as JSON; `{}` of one that is not known."""
        with self.translated():
            row = self._db.execute("SELECT about FROM runs WHERE id = ?", (run,)).fetchone()
        return row[0] if row else "{}"

    def last_run(self) -> PastRun:
        """The run that began last. Raises LedgerError where there is none."""
        with self.translated():
            row = self._db.execute(
                "SELECT id, about, state, message, started_at FROM runs ORDER BY rowid DESC LIMIT 1"
            ).fetchone()
        if row is None:
            raise LedgerError("holds no run.", where=str(self.path), hint="Gate a model with it first.")
        return self._past(row)

    def run_of(self, start: str) -> PastRun:
        """The run whose id begins so. Raises LedgerError where there is none, or more than one."""
        with self.translated():
            found = self._db.execute(
                "SELECT id, about, state, message, started_at FROM runs WHERE substr(id, 1, ?) = ?", (len(start), start)
            ).fetchall()
        if len(found) != 1:
            count = "no run" if not found else f"{len(found)} runs"
            hint = "`python -m fairgate ledger LEDGER` lists them."
            raise LedgerError(f"holds {count} whose id begins with {start!r}.", where=str(self.path), hint=hint)
        [row] = found
        return self._past(row)

    def _past(self, row: Sequence[object]) -> PastRun:
        found = decoded(Started, row, "runs", str(self.path))
        about_of(found.about, str(self.path))
        return PastRun(found.id, found.about, RunState(found.state), found.message)

    def mean_latency(self) -> float | None:
        """Seconds that a call took so far, whoever answered; None where nobody has."""
        with self.translated():
            row = self._db.execute("SELECT avg(latency) FROM samples WHERE latency > 0").fetchone()
        return None if row[0] is None else float(row[0])

    def put_run(self, past: PastRun, members: Iterable[str]) -> None:
        """Make several runs known as one, and as the last: what they sampled and failed to get is its own too."""
        ids = json.dumps(sorted({*members} - {past.id}))
        with self.whole():
            beat, began = self._db.execute(
                "SELECT max(beat), max(started_at) FROM runs WHERE id IN (SELECT value FROM json_each(?)) OR id = ?",
                (ids, past.id),
            ).fetchone()
            row = (past.id, past.about, past.state, past.message, beat or 0, began or 0.0)
            self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
            self._db.execute(
                "INSERT OR IGNORE INTO sampled SELECT ?, topic FROM sampled"
                " WHERE run IN (SELECT value FROM json_each(?))",
                (past.id, ids),
            )
            self._db.execute(
                "INSERT OR IGNORE INTO failures SELECT key, ?, query, reason FROM failures"
                " WHERE run IN (SELECT value FROM json_each(?)) AND key NOT IN (SELECT key FROM samples)",
                (past.id, ids),
            )

    def absorb(self, other: Path) -> list[str]:
        """Take over all that another ledger of this schema holds, and name the queries that it answers otherwise.

        Of two replies to one query the one asked first is kept, so that the order of merging plays no part.
        """
        with self.translated():
            self._db.execute("ATTACH ? AS other", (str(other),))
            try:
                with self.whole():
                    return self._take_over()
            finally:
                self._db.execute("DETACH other")

    def _take_over(self) -> list[str]:
        run = self._db.execute
        run("INSERT OR IGNORE INTO models (identity) SELECT identity FROM other.models")
        both = "FROM other.samples o JOIN main.samples s USING (key)"
        differing = f"SELECT s.query {both} WHERE o.reply <> s.reply OR o.filtered <> s.filtered ORDER BY s.query"
        conflicts = [row[0] for row in run(differing)]
        run(
            f"DELETE FROM main.samples WHERE key IN (SELECT key {both}"  # noqa: S608 - no word of it is a user's
            " WHERE (o.asked_at, o.reply, o.run) < (s.asked_at, s.reply, s.run))"
        )
        columns = [row[1] for row in run("PRAGMA main.table_info(samples)")]
        # Models are numbered by each ledger for itself.
        mapped = ", ".join("here.id" if column == "model" else f"o.{column}" for column in columns)
        run(
            f"INSERT OR IGNORE INTO main.samples SELECT {mapped} FROM other.samples o"  # noqa: S608 - as above
            " JOIN other.models there ON there.id = o.model JOIN main.models here ON here.identity = there.identity"
        )
        known = {row[0] for row in run("SELECT name FROM other.sqlite_master WHERE type = 'table'")}
        for (table,) in run("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            if table in known - {"models", "samples", "marks", "batches", "batched"}:
                run(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM other.{table}")  # noqa: S608 - our own tables
        if "marks" in known:
            marked = "key, word, who, why, made_at"
            run(
                f"INSERT INTO main.marks ({marked}) SELECT {marked} FROM other.marks WHERE (key, who, made_at)"  # noqa: S608 - as above
                " NOT IN (SELECT key, who, made_at FROM main.marks) ORDER BY id"
            )
        return conflicts

    def spent(self, runs: Iterable[str]) -> Spent:
        """What these runs asked for, together."""
        ids = json.dumps([*runs])
        with self.translated():
            answered = self._db.execute(
                "SELECT count(*), sum(attempts - 1), sum(prompt_tokens), sum(completion_tokens),"
                " sum(prompt_tokens IS NULL) FROM samples WHERE run IN (SELECT value FROM json_each(?))",
                (ids,),
            ).fetchone()
            failed = self._db.execute(
                "SELECT count(*), max(reason) FROM failures WHERE run IN (SELECT value FROM json_each(?))", (ids,)
            ).fetchone()
        retried, *tokens, uncounted = (n or 0 for n in answered[1:])
        return Spent(answered[0], failed[0], retried, tokens[0], tokens[1], uncounted, failed[1] or "")

    def beat(self, run: str) -> None:
        """Say that the sampler lives. Raises LedgerError where the file is no longer there: all writing is in vain."""
        self.check_place()
        with self.translated():
            self._db.execute("UPDATE runs SET beat = beat + 1 WHERE id = ?", (run,))

    def end_run(self, run: str, state: RunState, message: str = "") -> None:
        """Say that the sampler ended, and why where it stopped early."""
        with self.translated():
            self._db.execute("UPDATE runs SET state = ?, message = ? WHERE id = ?", (state, _storable(message), run))

    def status(self, run: str) -> RunStatus | None:
        """How far this run's sampler is, or None where it has not begun."""
        with self.translated():
            row = self._db.execute("SELECT state, message, beat FROM runs WHERE id = ?", (run,)).fetchone()
        return None if row is None else RunStatus(RunState(row[0]), row[1], row[2])

    def mark_sampled(self, run: str, topic: str) -> None:
        """Say that this run has asked all that it will ask of a topic."""
        with self.translated():
            self._db.execute("INSERT OR IGNORE INTO sampled VALUES (?, ?)", (run, topic))

    def is_sampled(self, run: str, topic: str) -> bool:
        """Whether this run has asked all that it will ask of a topic."""
        with self.translated():
            row = self._db.execute("SELECT 1 FROM sampled WHERE run = ? AND topic = ?", (run, topic)).fetchone()
        return row is not None


def sample_key(identity: Identity, query: Query) -> bytes:
    """The ledger's key of a sample: 16 bytes over the model's identity, the query's id and its prompt."""
    return key_of(identity.canonical, query.id, query.text)


def key_of(identity: str, query: str, prompt: str) -> bytes:
    """The same, from what the ledger holds of them."""
    parts = "\0".join((identity, query, prompt))
    return blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def row_sum(key: bytes, held: Sequence[object]) -> bytes:
    """The sum of a row, over its key and what scoring reads (`SCORED`): 8 bytes, against damage and not against
    forgery.
    """
    reply, filtered, prompt_tokens, completion_tokens, served, fingerprint, latency, attempts = held
    scored = (reply, bool(filtered), prompt_tokens, completion_tokens, served, fingerprint, latency, attempts)
    return blake2b(key + repr(scored).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def place_of(ledger: Path) -> Path:
    """Where a ledger is, whatever links lead to it: what belongs to it lies beside that."""
    return Path(os.path.realpath(ledger))


def is_of(ledger: Path, path: Path) -> bool:
    """Whether a path is, by whatever name, a ledger's file, or one that SQLite and whose turn it is need beside it."""
    place = place_of(ledger)
    own = (place.with_name(f"{place.name}{end}") for end in COMPANIONS)
    return any(place_of(path) == each or (path.exists() and each.exists() and path.samefile(each)) for each in own)


def _make_private(path: Path) -> bool:
    """Make the file where none is, readable by its owner alone, and say whether it was made; SQLite gives its
    companions the same mode.

    A file that is there is never opened: to close it again would take back the locks of all who use it in this process
    (POSIX), and SQLite in another one would then remove the log to which they write.
    """
    # A link may lead to where no file is yet.
    path = place_of(path)
    with _MAKING:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
    return True


def _keep_private(path: Path, opened: os.stat_result) -> None:
    """Take the file, which is known to be a ledger, from all but its owner."""
    if not opened.st_mode & 0o077 or opened.st_uid != os.geteuid():
        return
    if not hasattr(os, "O_PATH"):
        path.chmod(0o600)
        return
    # The very file that was looked at, by a descriptor whose closing takes back no lock.
    handle = os.open(path, os.O_PATH)
    try:
        if os.path.samestat(os.fstat(handle), opened):
            Path(f"/proc/self/fd/{handle}").chmod(0o600)
    finally:
        os.close(handle)


def _distrust(database: sqlite3.Connection) -> None:
    """Let nothing that stands in a file call functions or change the tables that SQLite keeps for itself."""
    database.execute("PRAGMA trusted_schema=OFF")
    database.execute("PRAGMA cell_size_check=ON")
    if hasattr(database, "setconfig"):  # Python 3.12
        database.setconfig(_DEFENSIVE, True)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)


def _shapes(database: sqlite3.Connection) -> dict[str, str]:
    """What a database holds, by name: how it was made, in one spelling. Nothing but that is read."""
    rows = database.execute(
        "SELECT name, type, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"
    )
    return {name: f"{kind} {_SPELLING.sub('', made).casefold()}" for name, kind, made in rows}


@cache
def _due(version: int) -> Mapping[str, str]:
    """The shapes of a schema's tables."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as pattern:
        for statement in ";".join(_STEPS[:version]).split(";"):
            pattern.execute(statement)
        return _shapes(pattern)


def _misshapen(tables: Mapping[str, str], version: int) -> str | None:
    """What is not as a ledger of this schema has it, None where all is; a view in a table's place may never end."""
    due = _due(version)
    for name in sorted(due.keys() - tables.keys()):
        return f"it has no table {name!r}"
    for name in sorted(tables.keys() - due.keys()):
        return f"it holds {name!r}, which no ledger has"
    changed = sorted(name for name in due if due[name] != tables[name])
    return f"its table {changed[0]!r} is not what it should be" if changed else None


def _uri(path: Path, write: bool) -> str:
    uri = f"file:{quote(str(path.absolute()))}"
    # Where nobody may write, SQLite reads a file only if it is told that nobody does. Elsewhere whoever reads may write
    # too, for SQLite: it would leave a log and its index behind that it may not remove.
    place = place_of(path)
    frozen = not os.access(place.parent, os.W_OK) and not place.with_name(f"{place.name}-wal").exists()
    return f"{uri}?mode=ro&immutable=1" if frozen and not write else f"{uri}?mode=rw"


_MENDS = {
    "SQLITE_FULL": "Make room; what was stored is kept, and a run goes on from there.",
    "SQLITE_IOERR": "Make room, or mend the disk; what was stored is kept, and a run goes on from there.",
    "SQLITE_READONLY": "Allow writing to the file and its folder, or name another with --ledger.",
    "SQLITE_CANTOPEN": "Allow writing to the file and its folder, or name another with --ledger.",
    "SQLITE_CORRUPT": "The file is damaged: `sqlite3 FILE .recover | sqlite3 NEW` saves what can be read of it.",
    "SQLITE_NOTADB": "Name another file with --ledger.",
    "SQLITE_BUSY": "Another program holds the file: let it end, then run again.",
}


def _mend(error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", "")
    known = next((hint for start, hint in _MENDS.items() if name.startswith(start)), None)
    return known or "Nothing that was stored is lost; mend the file's place, or name another with --ledger."


def _storable(text: str) -> str:
    """SQLite's UTF-8 takes no lone surrogates, which a reply's JSON escapes may hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
