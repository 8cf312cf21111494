"""Whose turn it is to ask with a ledger: one run at a time, so that nothing is asked, and paid for, twice."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from fairgate.errors import LedgerError
from fairgate.store.ledger import place_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

LONGEST = 4096  # bytes of a lock's file
PAUSE = 0.2  # seconds between two looks whether the turn is free


class LedgerLock:
    """The right to ask with a ledger, held from its making to `release`.

    It is a lock on a file beside the ledger, which the operating system takes back from a process that dies, however
    it dies: no run is ever kept waiting by a dead one. `who` is told to whoever is refused. Waits up to `wait` seconds
    for a run that has it; raises LedgerError where that was not enough, or the file cannot be made.
    """

    def __init__(
        self,
        ledger: Path,
        who: str,
        wait: float = 0.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._handle: int | None = _opened(ledger)
        try:
            # A look takes the lock for a moment: nobody is refused for that.
            self._take(self._handle, ledger, clock() + max(wait, PAUSE), clock, sleep)
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, f"process {os.getpid()}, {who}".encode(), 0)
        except OSError as error:
            self.release()
            raise _trouble(ledger, error) from error
        except LedgerError:
            self.release()
            raise

    @staticmethod
    def _take(
        handle: int, ledger: Path, end: float, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        while not _locked(handle):
            if clock() >= end:
                raise LedgerError(
                    f"another run is asking with it ({_told(handle)}).",
                    where=str(ledger),
                    hint="Let it end (a run waits with --ledger-wait SECONDS), or name another file with --ledger.",
                )
            sleep(PAUSE)

    def release(self) -> None:
        """Let the next one ask."""
        handle, self._handle = self._handle, None
        if handle is not None:
            # The file stays: removed, another could be made and locked beside it.
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_taken(ledger: Path) -> bool:
    """Whether a run is asking with this ledger now."""
    with suppress(LedgerError), LedgerLock(ledger, "a look"):
        return False
    return True


def _opened(ledger: Path) -> int:
    # Two names of one ledger, one of them a link, are one.
    path = place_of(ledger)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What it leads to would be emptied, were it a link; a FIFO would be waited for.
        how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(path.with_name(f"{path.name}.lock"), how, 0o600)
    except OSError as error:
        raise _trouble(ledger, error) from error
    held = os.fstat(handle)
    if stat.S_ISREG(held.st_mode) and held.st_nlink == 1 and held.st_size <= LONGEST:
        return handle
    os.close(handle)
    raise LedgerError(
        f"{path.name}.lock is no file of a ledger's turn.", where=str(ledger), hint="Remove it, or name another ledger."
    )


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _told(handle: int) -> str:
    return os.pread(handle, 200, 0).decode("utf-8", "replace") or "its process is not known"


def _trouble(ledger: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"{type(error).__name__}: {error}.",
        where=str(ledger),
        hint="Allow writing to the file and its folder, or name another with --ledger.",
    )
