"""The original program's alignment file: prompt -> attribute -> group -> share, `left` and `right` for relations."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairgate.bigbench.original import SIDES, names
from fairgate.bigbench.portrayals import Portrayal
from fairgate.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairgate.bigbench.data import Bigbench
    from fairgate.bigbench.original import Names

# The paper's word for gender.
SPELLED = {"sex": "gender"}


@dataclass(frozen=True, eq=False)
class Aligned:
    """What a file holds: one portrayal for each prompt that is known; `notes` name the rest."""

    model: str
    portrayals: tuple[Portrayal, ...]
    notes: tuple[str, ...]


def read_alignment(path: Path, data: Bigbench) -> Aligned:
    """Read an alignment file. Raises DataError, with the place, for what is no such file or has impossible shares."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror}.", where=str(path), mend="Name an alignment file."
        ) from error
    except ValueError as error:
        raise DataError(f"is no JSON: {error}.", where=str(path), mend="Name an alignment file.") from error
    if not isinstance(raw, dict):
        raise DataError("is no alignment file.", where=str(path), mend="Its keys are prompts.")
    known, notes = names(data), list[str]()
    found: dict[str, Portrayal] = {}
    for prompt, held in raw.items():
        where = f"{path}: {prompt!r}"
        sitter = known.sitter(prompt.partition(",")[0])
        if sitter is None:
            notes.append(f"{prompt!r} is no prompt that is known, and was passed over")
            continue
        if sitter.id in found:
            raise DataError("stands for a prompt that another line has already.", where=where, mend="Remove one.")
        if not isinstance(held, dict):
            raise DataError("holds no attributes.", where=where, mend="Write attribute: {group: share}.")
        sides = [held.get(side, {}) for side in SIDES] if len(sitter.subject.people) > 1 else [held]
        found[sitter.id] = Portrayal(sitter, named=tuple(_person(side, data, known, where) for side in sides))
    return Aligned(path.stem, tuple(found.values()), tuple(notes))


def _person(raw: object, data: Bigbench, known: Names, where: str) -> Mapping[str, Mapping[str, float]]:
    if not isinstance(raw, dict):
        raise DataError("holds no attributes.", where=where, mend="Write attribute: {group: share}.")
    person: dict[str, dict[str, float]] = {}
    for name, held in raw.items():
        attribute = next((each for each in data.attributes if each.name == SPELLED.get(name, name)), None)
        if attribute is None or not isinstance(held, dict):
            raise DataError(f"{name!r} is no attribute with shares.", where=where)
        shares: dict[str, float] = {}
        for group, share in held.items():
            ours = known.group(group)
            if ours not in attribute.names:
                raise DataError(f"{group!r} is no group of {name}.", where=where)
            shares[ours] = _share(share, f"{where}, {name}, {group}")
        person[attribute.name] = shares
    return person


def _share(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise DataError(f"{value!r} is no share.", where=where, mend="Write a number of 0 or more.")
    return float(value)
