"""A model's folder: the files that it is made of, and what it may not point at elsewhere."""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.errors import ConfigError
from fairgate.core.files import opened, read_bytes
from fairgate.providers.fields import parsed_json

if TYPE_CHECKING:
    from collections.abc import Sequence

LEFT_OUT = (".git", ".cache")  # what tools that fetch a model keep beside it
ADAPTER = "adapter_config.json"
INDEX = ".index.json"  # where weights in several files lie
PIPELINE = "model_index.json"  # of diffusers: the class of each part, and the library that has it
CODE = (".py", ".pyc", ".pyo", ".pyd", ".so", ".zip", ".whl")
CONFIG = "config.json"
ELSEWHERE = "transformers_weights"
LAYERS = ("num_hidden_layers", "num_layers", "n_layers", "n_layer")
SMALLEST_LAYER = 2**12  # bytes; models in use have a thousand times that
LONGEST_INDEX = 2**26  # bytes; that of the largest models has a tenth


def digest(folder: Path, where: str) -> str:
    """16 hexadecimal digits of a model's files: their names and all that is in them, those of linked folders too.

    A tuned model can be alike at both ends of its files, so they are read whole: a second for each 1 to 2 GB.
    Raises ConfigError where the folder cannot be read, or points at weights that are not among its files.
    """
    found = hashlib.sha256()
    try:
        files, again = contents(folder, LEFT_OUT)
        _check(folder, files, where)
        for name in files:
            found.update(f"{name}|".encode("utf-8", "surrogateescape"))
            with opened(folder / name) as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as error:
        raise ConfigError(
            f"{error.filename} cannot be read: {error.strerror or type(error).__name__}.", where=where
        ) from error
    for name, first in again:
        found.update(f"{name}|is {first}|".encode("utf-8", "surrogateescape"))
    return found.hexdigest()[:16]


def contents(folder: Path, left_out: Sequence[str] = ()) -> tuple[list[Path], list[tuple[Path, Path]]]:
    """The files by their paths in the folder, in order, and folders of several names, each with its first name.

    Links are followed, once into each folder. `left_out`: folders at the top. Raises OSError.
    """
    files: list[Path] = []
    again: list[tuple[Path, Path]] = []
    first: dict[str, Path] = {}

    def cannot(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, followlinks=True, onerror=cannot):
        here, real = Path(place).relative_to(folder), os.path.realpath(place)
        if real in first:
            again.append((here, first[real]))
            folders.clear()
            continue
        first[real] = here
        folders[:] = sorted(each for each in folders if here.parts or each not in left_out)
        files += [here / name for name in names if Path(place, name).is_file()]
    return sorted(files), again


def check_code(folder: Path) -> None:
    """Raise ValueError where a pipeline's folder holds code, or names modules: older diffusers run it unasked."""
    files, _ = contents(folder)
    code = next((each for each in files if each.suffix.lower() in CODE), None)
    if code is not None:
        raise ValueError(f"it holds code of its own, {code}, which is not run")
    told = _json(folder / PIPELINE) if Path(PIPELINE) in files else None
    for name, part in told.items() if isinstance(told, dict) else ():
        library = part[0] if isinstance(part, list) and part else None
        if isinstance(library, str) and not _is_of_diffusers(library):
            raise ValueError(
                f"its {PIPELINE} names {library!r} for {name}, which is no part of diffusers or transformers"
            )


def check_layers(folder: Path) -> None:
    """Raise ValueError for a configuration of more layers than the files hold: each is made, with weights or not."""
    files, _ = contents(folder)
    told = _json(folder / CONFIG) if Path(CONFIG) in files else None
    held = sum((folder / each).stat().st_size for each in files)
    for part in (told, *told.values()) if isinstance(told, dict) else ():
        for name in LAYERS if isinstance(part, dict) else ():
            layers = part.get(name)
            if isinstance(layers, int) and layers * SMALLEST_LAYER > held:
                raise ValueError(f"its {CONFIG} has {name} {layers:,}, and all of its files {held:,} bytes")


def _is_of_diffusers(library: str) -> bool:
    if library in ("diffusers", "transformers"):
        return True
    try:
        return library.isidentifier() and find_spec(f"diffusers.pipelines.{library}") is not None
    except ImportError:
        return False


def _check(folder: Path, files: Sequence[Path], where: str) -> None:
    """Raise ConfigError where weights lie elsewhere: others could take their place, and the digest be the same."""
    adapter = next((each for each in files if each.name == ADAPTER), None)
    if adapter is not None:
        raise ConfigError(
            f"it holds an adapter, {adapter}, whose base model lies elsewhere.",
            where=where,
            hint="Save the whole model (merge_and_unload of peft, then save_pretrained), in a folder without adapters.",
        )
    # Nothing that a model is saved with has it; it names any file, one that is left out of the digest too.
    named = next((each for each in files if each.name == CONFIG and _has(folder / each, ELSEWHERE)), None)
    if named is not None:
        raise ConfigError(
            f"{named} has {ELSEWHERE!r}, which names weights of its own.",
            where=where,
            hint="Remove the key, and name the weights model.safetensors.",
        )
    held = {os.path.realpath(folder / each) for each in files}
    for index in (each for each in files if each.name.endswith(INDEX)):
        for name in sorted(_weights(folder / index)):
            # Libraries join a name to the folder of the index, or to that of the model.
            places = {os.path.realpath(folder / index.parent / name), os.path.realpath(folder / name)}
            leads_out = Path(name).is_absolute() or ".." in Path(name).parts
            if leads_out or any(Path(each).is_file() and each not in held for each in places):
                raise ConfigError(
                    f"{index} names {name!r}, which is not among the files of the folder.",
                    where=where,
                    hint="Put the weights into the folder.",
                )


def _has(config: Path, key: str) -> bool:
    told = _json(config)
    return isinstance(told, dict) and key in told


def _weights(index: Path) -> set[str]:
    """The files that an index names; none where it is no index, of which the library says what is wrong."""
    told = _json(index)
    named = told.get("weight_map") if isinstance(told, dict) else None
    listed = named.values() if isinstance(named, dict) else ()
    return {each for each in listed if isinstance(each, str) and "\0" not in each}


def _json(path: Path) -> object:
    try:
        return parsed_json(read_bytes(path, LONGEST_INDEX))
    except ValueError:
        return None
