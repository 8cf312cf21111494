"""The current folder, which may be somebody's clone: its links are not followed, and what lies there is no setting."""

from __future__ import annotations

import os
import tempfile
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_unlinked(folder: Path, inner: Path, where: str, hint: str) -> None:
    """Raise ConfigError where a part of the path `inner` below `folder` is a link.

    A clone keeps links: what is written through one appears, or changes a file, wherever it leads. `folder` itself,
    which the user named or started the command in, may be one.
    """
    path = folder
    for part in inner.parts:
        path /= part
        if path.is_symlink():
            raise ConfigError(f"{path} is a link, which is not followed.", where=where, hint=hint)


def check_inside(folder: Path, path: Path, where: str) -> None:
    """Raise ConfigError where a path in `folder` is a link, lies behind one below the folder, or is no file or folder.

    Somebody who named the path saw no more than its name. Paths elsewhere may be links.
    """
    named = Path(os.path.abspath(folder / path))  # noqa: PTH100 - links stay
    below = []
    # The folder may have been named by way of a link to it.
    for each in (named, *named.parents):
        if each.exists() and each.samefile(folder):
            break
        below.append(each)
    else:
        return
    if any(each.is_symlink() for each in below):
        place = os.path.realpath(named)
        raise ConfigError(f"{named} is a link, or lies behind one, to {place}.", where=where, hint="Name that place.")
    if named.exists() and not (named.is_file() or named.is_dir()):
        raise ConfigError(f"{named} is no regular file.", where=where, hint="Name another place.")


@contextmanager
def apart() -> Iterator[None]:
    """Another current folder, in which nothing lies, for a library that reads settings or modules from it.

    It is the process's own: relative paths lead elsewhere meanwhile, in every thread.
    """
    # A process that the library leaves running may hold the folder, which Windows then keeps.
    with tempfile.TemporaryDirectory(prefix="fairgate-", ignore_cleanup_errors=True) as empty, chdir(empty):
        yield
