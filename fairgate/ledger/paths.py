"""Where a ledger's file lies, what belongs to it, and how it is kept from everybody but its owner."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from urllib.parse import quote

from fairgate.core.errors import DataError
from fairgate.core.files import opened

SQLITE = b"SQLite format 3\0"  # what a database begins with
COMPANIONS = ("", "-wal", "-shm", "-journal", ".lock")  # what a ledger's files are called, after its name

# Held while a file is made: nothing in this process uses it before it is closed.
_MAKING = threading.Lock()


def is_ledger(path: Path) -> bool:
    """Whether a file is a database, as ledgers are. Raises DataError where it cannot be read."""
    try:
        with opened(path) as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path)) from error


def place_of(ledger: Path) -> Path:
    """Where a ledger is, whatever links lead to it: what belongs to it lies beside that."""
    return Path(os.path.realpath(ledger))


def is_of(ledger: Path, path: Path) -> bool:
    """Whether a path is, by whatever name, a ledger's file, or one that SQLite and whose turn it is need beside it."""
    place = place_of(ledger)
    own = (place.with_name(f"{place.name}{end}") for end in COMPANIONS)
    return any(place_of(path) == each or (path.exists() and each.exists() and path.samefile(each)) for each in own)


def make_private(path: Path) -> bool:
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


def keep_private(path: Path, opened: os.stat_result) -> None:
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


def foreign_companion(path: Path) -> Path | None:
    """What lies beside a ledger in the place of a log of SQLite's, and is none: a link, a FIFO, another file's second
    name. SQLite would write to it, or wait for it.
    """
    place = place_of(path)
    for end in ("-wal", "-shm", "-journal"):
        beside = place.with_name(f"{place.name}{end}")
        try:
            held = beside.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(held.st_mode) or held.st_nlink > 1:
            return beside
    return None


def journal_of(path: Path) -> Path | None:
    """The rollback journal beside a ledger, if one lies there.

    A ledger has a write-ahead log instead, but for the moment in which it is made. SQLite obeys a journal on the first
    read: it writes the journal's pages into the file, and removes another file that the journal names.
    """
    place = place_of(path)
    journal = place.with_name(f"{place.name}-journal")
    # To an empty file SQLite takes nothing back.
    return journal if journal.exists() and place.stat().st_size else None


def uri_of(path: Path, write: bool) -> str:
    """The address by which SQLite opens the file."""
    uri = f"file:{quote(os.fsencode(path.absolute()))}"
    # On a read-only medium SQLite opens a file only as immutable. Elsewhere a reader may write
    # too, for SQLite: it would leave a log and its index behind that it may not remove.
    place = place_of(path)
    frozen = not os.access(place.parent, os.W_OK) and not place.with_name(f"{place.name}-wal").exists()
    return f"{uri}?mode=ro&immutable=1" if frozen and not write else f"{uri}?mode=rw"
