"""Files that somebody else wrote, read without trust; and files that appear whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

MOST = 2**24  # bytes
LOCK = ".fairgate.lock"  # the file by which a folder is locked against other processes


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """A regular file, to be read. Raises OSError for anything else: a FIFO would be waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        yield file


def read_bytes(path: Path, most: int = MOST) -> bytes:
    """The content of a regular file of so many bytes at most. Raises OSError for anything else: a FIFO never ends."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        held = os.fstat(handle)
        if stat.S_ISDIR(held.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(held.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        if held.st_size > most:
            raise OSError(errno.EFBIG, f"it has {held.st_size:,} bytes, more than {most:,}", str(path))
        with os.fdopen(os.dup(handle), "rb") as file:
            # A buffer as large as the file, not as large as it may be.
            return file.read(held.st_size)
    finally:
        os.close(handle)


def read_text(path: Path, most: int = MOST) -> str:
    """The same as text of UTF-8, with or without a mark of it at the beginning. Raises OSError, UnicodeDecodeError."""
    return text_of(read_bytes(path, most))


def text_of(content: bytes) -> str:
    """Bytes as text of UTF-8, with or without a mark of it at the beginning, lines ended alike. UnicodeDecodeError."""
    return "\n".join(content.decode("utf-8-sig").replace("\r\n", "\n").split("\r"))


@contextmanager
def whole(path: Path, *, follow: bool = True) -> Iterator[IO[bytes]]:
    """A file for its owner alone, that takes its place when all is written, or never. Raises OSError.

    A link that the user named is followed. One that lies under a name of our own in a folder may be anybody's:
    `follow=False` takes its place.
    """
    if follow and path.exists() and not path.is_file():
        # Such as /dev/stdout: nothing that a file could take the place of.
        with path.open("wb") as file:
            yield file
        return
    aim = Path(os.path.realpath(path)) if follow else path.absolute()
    handle, name = tempfile.mkstemp(dir=aim.parent, prefix=f".{aim.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(aim)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
