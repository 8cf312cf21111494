"""pytest's cache of a folder in which `fairgate run` is started: looked at before pytest opens what lies there."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import check_unlinked
from fairgate.core.errors import ConfigError
from fairgate.core.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE = Path(".fairgate") / "pytest-cache"
MOST = 2**24  # bytes of one entry
DEEPEST = 8  # folders in one another
# What pytest reads at every start, and the only forms in which it can.
FORMS: dict[str, type[dict[str, object] | list[object]]] = {"lastfailed": dict, "nodeids": list}
REMOVE = "Remove the folder .fairgate/pytest-cache: it holds the names of cases alone."


def cache_of(here: Path) -> Path:
    """Where the cases of runs in this folder are remembered.

    Raises ConfigError where anything in it is a link, another file's second name, no file, or nothing that pytest
    can have written: pytest writes to what it finds there, wherever that leads.
    """
    folder = here / CACHE
    check_unlinked(here, CACHE, "pytest's cache", "Remove it.")
    for path in _files(folder):
        if path.parent.name == "cache" and path.name in FORMS:
            _check(path, FORMS[path.name])
    return folder


def _files(folder: Path) -> Iterator[Path]:
    def cannot(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise ConfigError(f"{error.strerror}.", where=str(error.filename), hint=REMOVE) from error

    for place, folders, names in os.walk(folder, onerror=cannot):
        if len(Path(place).relative_to(folder).parts) > DEEPEST:
            raise ConfigError("it is nothing that pytest writes there.", where=str(folder), hint=REMOVE)
        for path in (Path(place, name) for name in sorted((*folders, *names))):
            held = path.lstat()
            if stat.S_ISREG(held.st_mode) and held.st_nlink == 1:
                yield path
            elif not stat.S_ISDIR(held.st_mode):
                kind = "a link" if stat.S_ISLNK(held.st_mode) else "no file of its own"
                raise ConfigError(f"it is {kind}, which is not written to.", where=str(path), hint=REMOVE)


def _check(path: Path, form: type[dict[str, object] | list[object]]) -> None:
    try:
        held = json.loads(read_bytes(path, MOST))
    except OSError as error:
        raise ConfigError(f"{error.strerror}.", where=str(path), hint=REMOVE) from error
    except ValueError:
        return  # pytest takes what is no JSON for nothing
    except RecursionError:
        held = None
    if not isinstance(held, form) or not all(isinstance(each, str) for each in held):
        raise ConfigError("it is nothing that pytest writes there.", where=str(path), hint=REMOVE)
