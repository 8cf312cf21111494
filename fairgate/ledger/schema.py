"""The tables of a ledger, by version, and the steps from one version to the next."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA = 5

# SQLite's words and signs: its blanks alone end a word, a name in quotes is one, and all beyond ASCII is part of one.
_TOKEN = re.compile(r"\"[^\"]*\"|[\w$\x80-\U0010ffff]+|[^ \t\n\f\r]", re.ASCII)
# A table that was renamed has its name in quotes.
_RENAMED = re.compile(r"^CREATE TABLE \"(\w+)\"", re.ASCII)

OF_SCHEMA_2 = """
CREATE TABLE marks (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, word TEXT, who TEXT NOT NULL, why TEXT NOT NULL, made_at REAL NOT NULL
);
CREATE TABLE batches (
    id TEXT PRIMARY KEY, model INTEGER NOT NULL REFERENCES models (id), remote TEXT, sent_at REAL NOT NULL
);
CREATE TABLE batched (key BLOB PRIMARY KEY, batch TEXT NOT NULL REFERENCES batches (id)) WITHOUT ROWID;
"""


# Step n makes a ledger of schema n out of one of schema n - 1; a new file takes them all. A step that was released is
# never changed.
STEPS = (
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
    + OF_SCHEMA_2,
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
    # The probabilities of the letters on offer, as JSON: null where nobody asked for them, and in rows that are older.
    """
ALTER TABLE samples ADD COLUMN probabilities TEXT;
""",
)


# The columns of samples that a schema added, in their order.
LATER: Mapping[int, Sequence[str]] = {2: ("form", "letters"), 4: ("checked",), 5: ("probabilities",)}


class Shape(NamedTuple):
    """One table, index, view or trigger of a database, and the words of the statement that makes it: none for an index
    that SQLite makes by itself for a unique column.
    """

    name: str
    kind: str
    made: tuple[str, ...]


def shapes(database: sqlite3.Connection) -> tuple[Shape, ...]:
    """All that a database holds, sorted. Nothing but how it was made is read.

    A table and a trigger may have one name, and a name that begins with `sqlite_` is no proof of whose it is.
    """
    rows = database.execute("SELECT name, type, coalesce(sql, '') FROM sqlite_master")
    return tuple(sorted(Shape(str(name), str(kind), _words(str(made))) for name, kind, made in rows))


def _words(made: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(_RENAMED.sub(r"CREATE TABLE \1", made)))


@cache
def _due(version: int) -> tuple[Shape, ...]:
    """The shapes of a schema's tables."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as pattern:
        for statement in ";".join(STEPS[:version]).split(";"):
            pattern.execute(statement)
        return shapes(pattern)


def misshapen(held: Sequence[Shape], version: int) -> str | None:
    """What is not as a ledger of this schema has it, None where all is; a view in a table's place may never end."""
    due = {each.name: each for each in _due(version)}
    names = {each.name for each in held}
    for name in sorted(due.keys() - names):
        return f"it lacks {name!r}"
    for name in sorted(names - due.keys()):
        return f"it holds {name!r}, which no ledger has"
    changed = sorted(name for name in due if [each for each in held if each.name == name] != [due[name]])
    return f"its table {changed[0]!r} is not what it should be" if changed else None
