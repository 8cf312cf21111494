"""The current folder, which may be somebody's clone: its links are not followed, and what lies there is no setting."""

from __future__ import annotations

import tempfile
from contextlib import chdir, contextmanager
from typing import TYPE_CHECKING

from fairgate.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


@contextmanager
def apart() -> Iterator[None]:
    """Another current folder, in which nothing lies, for a library that reads settings or modules from it.

    It is the process's own: relative paths lead elsewhere meanwhile, in every thread.
    """
    # A process that the library leaves running may hold the folder, which Windows then keeps.
    with tempfile.TemporaryDirectory(prefix="fairgate-", ignore_cleanup_errors=True) as empty, chdir(empty):
        yield
