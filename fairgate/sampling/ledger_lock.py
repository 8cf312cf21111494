"""Which run asks with a ledger: one at a time, so that nothing is asked, and paid for, twice."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from fairgate.core.errors import LedgerError
from fairgate.ledger.paths import place_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

LONGEST = 4096  # bytes of a lock's file
SHOWN = 200  # of these, in a message
PAUSE = 0.2  # seconds between two attempts


class LedgerLock:
    """The right to ask with a ledger, held from its making to `release`.

    It is a lock on a file beside the ledger, which the operating system releases when a process dies, however it dies.
    `who` describes the run that holds it, to whoever is refused. Backoff up to `wait` seconds for a run that has it;
    raises LedgerError where that was not enough, or the file cannot be made.
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
        path = _file_of(ledger)
        self._lock = FileLock(path, mode=0o600, thread_local=False)
        # A look takes the lock for a moment: nobody is refused for that.
        end = clock() + max(wait, PAUSE)
        try:
            while not self._acquired():
                if clock() >= end:
                    raise LedgerError(
                        f"another run is asking with it ({_holder(path)}).",
                        where=str(ledger),
                        hint="Let it end, or use another ledger. `fairgate run --ledger-wait SECONDS` waits.",
                    )
                sleep(PAUSE)
            path.write_text(f"process {os.getpid()}, {who}", encoding="utf-8")
        except OSError as error:
            self.release()
            raise _unusable(ledger, error) from error

    def _acquired(self) -> bool:
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        return True

    def release(self) -> None:
        """Let the next run ask. The file stays: removed, another could be made and locked beside it."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_taken(ledger: Path) -> bool:
    """Whether a run is asking with this ledger now."""
    with suppress(LedgerError), LedgerLock(ledger, "a look"):
        return False
    return True


def _file_of(ledger: Path) -> Path:
    """The lock's file. Raises LedgerError for what is no file of ours: a link, a FIFO, somebody's text."""
    # Two names of one ledger, one of them a link, are one.
    place = place_of(ledger)
    path = place.with_name(f"{place.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = path.lstat()
    except FileNotFoundError:
        return path
    except OSError as error:
        raise _unusable(ledger, error) from error
    if stat.S_ISREG(held.st_mode) and held.st_nlink == 1 and held.st_size <= LONGEST:
        return path
    raise LedgerError(f"{path.name} is not a lock file.", where=str(ledger), hint="Remove it, or name another ledger.")


def _holder(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")[:SHOWN] or "its process is not known"
    return "its process is not known"


def _unusable(ledger: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"{type(error).__name__}: {error}.",
        where=str(ledger),
        hint="Allow writing to the file and its folder, or use another ledger.",
    )
