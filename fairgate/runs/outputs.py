"""Where pytest and its plug-ins are told to write: looked at before anything is asked, and kept off the ledger."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import check_inside
from fairgate.core.errors import ConfigError
from fairgate.ledger.images import ImageStore
from fairgate.ledger.paths import is_of, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fairgate.options.settings import Settings

# Options of pytest and its plug-ins that name a file, and those that name a folder which is emptied.
FILES = {"xmlpath": "--junitxml", "log_file": "--log-file", "report_log": "--report-log"}
EMPTIED = {"basetemp": "--basetemp"}
ALLURE = "--alluredir"
CACHED = ("d", "v")  # what --cache-clear removes of pytest's cache
AMISS = "Name another place."


def check_outputs(
    get: Callable[[str, Any], Any], base: Path, settings: Settings, others: Mapping[str, object], cache: Path | None
) -> None:
    """Raise ConfigError for a place that is the ledger's own, or where nothing can be written.

    `get` gives the value of an option of pytest; relative paths start from `base`. `others`: the values of all options
    that are not ours; `cache`: pytest's, where it is to be emptied.
    """
    for name, value in others.items():
        for given in _paths(value):
            if _is_of(settings.ledger, base / given):
                raise _own(base / given, FILES.get(name, f"--{name.replace('_', '-')}"))

    def named(options: dict[str, str]) -> Iterator[tuple[str, Path]]:
        for name, option in options.items():
            if value := get(name, None):
                yield option, Path(os.path.abspath(base / Path(os.path.expandvars(value)).expanduser()))  # noqa: PTH100 - as pytest does it

    allure = dict(named({"allure_report_dir": ALLURE}))
    own = (("--report-dir", settings.report_dir), ("--save-baseline", settings.save_baseline))
    for option, path in (*own, *named(FILES), *named(EMPTIED), *allure.items()):
        if path is not None:
            check_inside(base, path, option)
    for option, path in named(FILES):
        _keep_off(settings.ledger, path, option)
        if not path.is_dir():
            _try(path.parent, path, option)
    emptied = list(named(EMPTIED))
    if get("clean_alluredir", False):
        emptied += allure.items()
    if cache is not None:
        emptied += [("--cache-clear", cache / each) for each in CACHED]
    for option, folder in emptied:
        if any(_is_in(each, folder) for each in _kept(settings.ledger)):
            raise ConfigError(
                f"{folder} would be emptied, and the ledger {settings.ledger} lies in it.", where=option, hint=AMISS
            )
    for option, folder in allure.items():
        if any(folder == each or _is_in(folder, each) for each in _kept(settings.ledger)):
            raise _own(folder, option)
        _try(folder, None, option)


def check_debug(ledger: Path, path: str, base: Path) -> None:
    """Raise ConfigError where pytest's --debug names the ledger, or a link out of the folder.

    Its file is opened before other options are looked at.
    """
    _keep_off(base / ledger.expanduser(), base / path, "--debug")
    check_inside(base, Path(path), "--debug")


def _paths(value: object) -> Iterator[str]:
    """What may be paths in the value of an option; reports of coverage are given as a mapping."""
    if isinstance(value, str | os.PathLike):
        yield os.fspath(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _paths(each)


def _kept(ledger: Path) -> tuple[Path, Path]:
    """The file, and the folder of its images."""
    return place_of(ledger), ImageStore(ledger).folder


def _is_in(path: Path, folder: Path) -> bool:
    return place_of(path).is_relative_to(place_of(folder))


def _keep_off(ledger: Path, path: Path, option: str) -> None:
    if is_of(ledger, path) or _is_in(path, ImageStore(ledger).folder):
        raise _own(path, option)


def _own(path: Path, option: str) -> ConfigError:
    return ConfigError(f"{path} is the ledger's own.", where=option, hint=AMISS)


def _is_of(ledger: Path, path: Path) -> bool:
    try:
        return is_of(ledger, path)
    except OSError:  # no path, as an expression of -k that is too long for one
        return False


def _try(folder: Path, file: Path | None, option: str) -> None:
    """Make the folder if need be, and see that a file can be written in it, or over the one that is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file is not None and file.exists():
            if not os.access(file, os.W_OK):
                raise PermissionError(13, "Permission denied", str(file))
            return
        trial = folder / f".fairgate-{uuid.uuid4().hex}"
        try:
            trial.write_bytes(b"x" * 4096)
        finally:
            with suppress(OSError):
                trial.unlink()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{file or folder} cannot be written: {reason}.", where=option, hint=AMISS) from error
