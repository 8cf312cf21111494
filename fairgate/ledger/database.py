"""A ledger's file, open: made, migrated, held in its place, and read without trust."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fairgate.core.errors import LedgerError
from fairgate.core.redaction import printable
from fairgate.ledger.paths import foreign_companion, journal_of, keep_private, make_private, uri_of
from fairgate.ledger.schema import LATER, OF_SCHEMA_2, SCHEMA, STEPS, misshapen, shapes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

# Seconds for which another process may keep the file to itself: fewer than those after which waiting cases believe that
# nobody asks any more.
_PATIENCE = 50

# Seconds for which a file may be in the making.
_MAKING = 5

# What SQLite calls SQLITE_DBCONFIG_DEFENSIVE.
_DEFENSIVE = 1010

# Bytes of one text: more than any reply has (16 MiB of an answer, each byte written as a character).
_LONGEST = 2**26


class Database:
    """An open file, for one thread. Raises LedgerError, naming the file, for whatever SQLite cannot do.

    With `write=False` nothing is written, not even a newer schema: the file must be there, and may be where nobody may
    write. With `make=False` the file must be there too: what was moved away in mid-run is not made anew. A file that is
    no ledger is left as it is, its mode too.
    """

    def __init__(self, path: Path, *, write: bool = True, make: bool = True) -> None:
        self.path = path
        if path.is_dir():
            inside = sorted(path.glob("*.sqlite"))
            hint = f"Name a file in it: {inside[0]}" if inside else "Name a file, or another ledger."
            raise LedgerError("is a folder, and a ledger is a file.", where=str(path), hint=hint)
        if not (write and make) and not path.exists():
            raise LedgerError("no such file.", where=str(path), hint="Put it back, or name another ledger.")
        with self.translated():
            made = False
            if write and make:
                path.parent.mkdir(parents=True, exist_ok=True)
                made = make_private(path)
            self._opened = path.stat()
            if not stat.S_ISREG(self._opened.st_mode):
                # To open a FIFO would wait for ever; a device is no file at all.
                raise LedgerError(
                    "is no regular file, and a ledger is one.",
                    where=str(path),
                    hint="Name another file with --ledger.",
                )
            if write and self._opened.st_nlink > 1:
                # By either name there is another lock and another log.
                raise LedgerError(
                    f"has {self._opened.st_nlink} names (hard links): a run by another one would ask, and pay, again.",
                    where=str(path),
                    hint=f"Make it a file of its own: cp {path} COPY && mv COPY {path}",
                )
            if write and not os.access(path, os.R_OK | os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            self._check_companions()
            self.database = sqlite3.connect(uri_of(path, write), uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            with self.translated():
                _distrust(self.database)
                self._prepare(write, made=made)
        except LedgerError:
            self.database.close()
            raise

    def _check_companions(self) -> None:
        if (foreign := foreign_companion(self.path)) is not None:
            raise LedgerError(
                f"has {foreign.name} beside it, which is a link, no regular file, or has another name elsewhere.",
                where=str(self.path),
                hint="SQLite would write to it: move it away, if it is yours.",
            )
        until = time.monotonic() + _MAKING
        while (journal := journal_of(self.path)) is not None:
            if time.monotonic() > until:
                raise LedgerError(
                    f"has a rollback journal beside it ({journal.name}), which no ledger has.",
                    where=str(self.path),
                    hint=f"Trust neither if they are not yours: it could change the ledger. Else: rm {journal}",
                )
            time.sleep(0.05)

    def _prepare(self, write: bool, *, made: bool) -> None:
        # Both looked at in one transaction: another process may be making its tables at this moment.
        self.database.execute("BEGIN")
        version = self.schema
        tables = shapes(self.database)
        self.database.execute("COMMIT")
        if version > SCHEMA:
            raise LedgerError(
                f"was written by a newer fairgate (schema {version}, this one reads {SCHEMA}).",
                where=str(self.path),
                hint="Upgrade fairgate, or name another ledger.",
            )
        if version <= 0 and (tables or version < 0):
            raise LedgerError(
                "is another program's database.", where=str(self.path), hint="Name another file with --ledger."
            )
        if (amiss := misshapen(tables, version)) is not None:
            raise LedgerError(
                f"is no ledger of ours: {amiss}.", where=str(self.path), hint="Name another file with --ledger."
            )
        if not made and version > 0:
            self._check_pages()
        if not write:
            self._pretend(version)
            self.database.execute("PRAGMA query_only=ON")
            return
        if not made:
            keep_private(self.path, self._opened)
        self._write_ahead()
        self.database.execute("PRAGMA synchronous=NORMAL")
        if version < SCHEMA:
            # One statement at a time inside a transaction: two processes may open a new ledger at the same moment.
            with self.whole():
                for step in STEPS[self.schema :]:
                    self._do(step)
                self.database.execute(f"PRAGMA user_version={SCHEMA}")

    def _check_pages(self) -> None:
        """Raise LedgerError where the pages are no trees of rows: few of them that stand in several places can be more
        rows than are ever read to an end. Takes some 0.5 ms a MB.
        """
        # The first fault alone: behind it SQLite would read the rows.
        [said] = self.database.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise LedgerError(
                f"is damaged: {printable(' '.join(said.split()))}.", where=str(self.path), hint=_HINTS["SQLITE_CORRUPT"]
            )

    def _write_ahead(self) -> None:
        """Give the file a write-ahead log, which it keeps."""
        # SQLite's own timeout does not hold here: where two processes open a new ledger at the same moment, the second
        # is refused at once.
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self.database.execute("PRAGMA journal_mode=WAL")
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
        lacking = [name for since, names in LATER.items() if version < since for name in names]
        if lacking:
            nothing = ", ".join(f"NULL AS {name}" for name in lacking)
            self._do(f"CREATE TEMP VIEW samples AS SELECT *, {nothing} FROM main.samples")  # noqa: S608 - our own words
        if version < 2:
            self._do(OF_SCHEMA_2.replace("CREATE TABLE", "CREATE TEMP TABLE"))

    def _do(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self.database.execute(statement)

    @property
    def schema(self) -> int:
        """The version of the tables in the file."""
        return int(self.database.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn what SQLite and the file system say into LedgerError, with a hint."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(f"{type(error).__name__}: {error}.", where=str(self.path), hint=_hint(error)) from error

    @contextmanager
    def whole(self) -> Iterator[None]:
        """A transaction that excludes other writers: all that is written within, or nothing."""
        with self.translated():
            self.database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.database.execute("COMMIT")
            finally:
                # Left open it would keep out all others, this very process among them. SQLite ends some by itself.
                if self.database.in_transaction:
                    self.database.execute("ROLLBACK")

    def close(self) -> None:
        """Give the file back."""
        if not self._is_in_place():
            # Its log stays behind under the old name, and SQLite brings nothing home to a file that was moved.
            with suppress(sqlite3.Error):
                self.database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self.database.close()

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


def _distrust(database: sqlite3.Connection) -> None:
    """Let nothing that stands in a file call functions or change the tables that SQLite keeps for itself."""
    database.execute("PRAGMA trusted_schema=OFF")
    database.execute("PRAGMA cell_size_check=ON")
    if hasattr(database, "setconfig"):  # Python 3.12
        database.setconfig(_DEFENSIVE, True)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)


_HINTS = {
    "SQLITE_FULL": "Make room; what was stored is kept, and a run goes on from there.",
    "SQLITE_IOERR": "Make room, or repair the disk; what was stored is kept, and a run goes on from there.",
    "SQLITE_READONLY": "Allow writing to the file and its folder, or name another ledger.",
    "SQLITE_CANTOPEN": "Allow writing to the file and its folder, or name another ledger.",
    "SQLITE_CORRUPT": "The file is damaged: `sqlite3 FILE .recover | sqlite3 NEW` saves what can be read of it.",
    "SQLITE_NOTADB": "Name another file with --ledger.",
    "SQLITE_BUSY": "Another program holds the file: let it end, then run again.",
}


def _hint(error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", "")
    known = next((hint for start, hint in _HINTS.items() if name.startswith(start)), None)
    return known or "Nothing that was stored is lost; repair the file's place, or name another ledger."
