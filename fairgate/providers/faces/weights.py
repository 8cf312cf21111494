"""Weights: where the networks that read faces lie, and that they are what they were.

A folder of weights has a folder for each of them, which holds one ONNX file, and `sums.json`: the SHA-256 of each file
as it was when it was pulled. No sum was found in a document of the publishers, so the first pull is trusted, and every
use is held against it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.errors import ConfigError, FairgateError, MissingDependency, did_you_mean
from fairgate.core.files import opened, read_text
from fairgate.replies.labels import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "FAIRGATE_WEIGHTS"
SUMS = "sums.json"
LOCATION = b"location"


@dataclass(frozen=True, slots=True)
class PublishedNetwork:
    """One network: `file` is the pattern of its name in the publisher's package, None where there is no package."""

    name: str
    title: str
    file: str
    licence: str
    package: str | None = None


@cache
def kinds(path: Path = ROOT / "weights.toml") -> Mapping[str, PublishedNetwork]:
    """The networks by name: detection, genderage, fairface."""
    return {
        name: PublishedNetwork(name, **entry) for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items()
    }


def kind(name: str) -> PublishedNetwork:
    """The network of this name. Raises ConfigError, with a suggestion, where there is none."""
    if name not in kinds():
        raise ConfigError(f"no weights are called {name!r}.", hint=did_you_mean(name, kinds()))
    return kinds()[name]


def default_folder() -> Path:
    """Where weights lie if the user does not say: $FAIRGATE_WEIGHTS, else in the user's cache."""
    if given := os.environ.get(VARIABLE):
        return Path(given).expanduser()
    if sys.platform == "darwin":
        cache_home = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache_home = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache_home / "fairgate" / "weights"


@dataclass(frozen=True, slots=True)
class Network:
    """A network's file, and its SHA-256."""

    path: Path
    sha256: str


class WeightsFolder:
    """A folder of weights: the user's, the cache, or that of the control graphs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def network(self, name: str) -> Network:
        """The network of this kind. Raises FairgateError where it is missing, or no longer what was pulled."""
        wanted = kind(name)
        found = self.files(name)
        if not found:
            raise MissingDependency(
                f"{wanted.title}: no weights are there.",
                where=str(self.path / name),
                hint=f"{_pull(wanted)}, or name a folder that has them with --weights DIR.",
            )
        if len(found) > 1:
            raise FairgateError(
                f"{found[0].name} and {found[1].name}: which is to be used?",
                where=str(self.path / name),
                hint="Leave one.",
            )
        _check_whole(found[0])
        sha256 = sum_of(found[0])
        recorded = self.sums().get(self._key(found[0]), {}).get("sha256")
        if recorded not in (None, sha256):
            raise MissingDependency(
                f"its SHA-256 is {sha256[:12]}…, and was {str(recorded)[:12]}… when it was pulled.",
                where=str(found[0]),
                hint="Remove the file and pull it again: fairgate weights pull",
            )
        return Network(found[0], sha256)

    def files(self, name: str) -> list[Path]:
        """The ONNX files of this kind, in order: one, where all is well."""
        return sorted((self.path / name).glob("*.onnx"))

    def sums(self) -> dict[str, dict[str, object]]:
        """What was recorded of each file, by its path in this folder. Raises FairgateError for a broken record."""
        try:
            recorded = json.loads(read_text(self.path / SUMS))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise FairgateError(f"cannot be read: {error}.", where=str(self.path / SUMS), hint="Restore it.") from error
        if not (isinstance(recorded, dict) and all(isinstance(each, dict) for each in recorded.values())):
            raise FairgateError("is no record of sums.", where=str(self.path / SUMS), hint="Restore it.")
        return recorded

    def _key(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()


def _check_whole(path: Path) -> None:
    """Raise FairgateError where a part of a network lies in another file, whose content no sum here tells.

    Source: ONNX, `TensorProto.external_data`, whose key `location` names the file.
    """
    try:
        with opened(path) as file:
            content = file.read()
    except OSError as error:
        raise FairgateError(f"cannot be read: {error.strerror}.", where=str(path)) from error
    if LOCATION in content and _needs_others(content):
        raise FairgateError(
            "a part of its weights lies in another file.",
            where=str(path),
            hint="Save it as one: python -c \"import onnx; onnx.save(onnx.load('FILE'), 'ONE_FILE.onnx')\"",
        )


def _needs_others(content: bytes) -> bool:
    """Whether a graph, whose words include that of a file's place, has tensors in another file, or is none."""
    try:
        import onnx
        from onnx.external_data_helper import load_external_data_for_model
    except ImportError:
        return True
    with tempfile.TemporaryDirectory() as empty:
        try:
            load_external_data_for_model(onnx.load_from_string(content), empty)
        except Exception:  # noqa: BLE001 - onnx' own errors have no common root
            return True
    return False


def sum_of(path: Path) -> str:
    """The SHA-256 of a file, in 64 lower-case hex digits."""
    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FairgateError(f"cannot be read: {error.strerror}.", where=str(path)) from error


def _pull(wanted: PublishedNetwork) -> str:
    if wanted.package is not None:
        return "Pull them with fairgate weights pull"
    return f"Pull them with fairgate weights pull --{wanted.name}-url URL (source: docs/images.md)"
