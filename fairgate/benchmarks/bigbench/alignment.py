"""The original program's alignment file: prompt -> attribute -> group -> share, `left` and `right` for relations."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.bigbench.original_files import SIDES, names
from fairgate.benchmarks.bigbench.portrayals import Portrayal
from fairgate.core.errors import DataError
from fairgate.core.files import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.bigbench.original_files import Names

# The paper's word for gender.
SPELLED = {"sex": "gender"}
# What four shares, each rounded to two decimals, may be off by in sum.
ROUNDING = 0.02
LONGEST = 80  # characters of a prompt that is named


@dataclass(frozen=True, eq=False)
class Aligned:
    """What a file holds: one portrayal for each prompt that is known; `notes` name the rest.

    `uneven` are prompts and attributes whose shares do not sum to 1, with what they sum to.
    """

    model: str
    portrayals: tuple[Portrayal, ...]
    notes: tuple[str, ...]
    uneven: tuple[str, ...] = ()


def read_alignment(path: Path, data: Bigbench) -> Aligned:
    """Read an alignment file. Raises DataError, with the place, for what is no such file or has impossible shares.

    Shares that do not sum to 1 are taken as they are, as the released program takes them, and named.
    """
    raw = _json(path)
    if not isinstance(raw, dict):
        raise DataError("is no alignment file.", where=str(path), hint="Its keys are prompts.")
    known, notes, odd = names(data), list[str](), list[str]()
    found: dict[str, Portrayal] = {}
    for prompt, held in raw.items():
        shown = repr(prompt if len(prompt) <= LONGEST else f"{prompt[:LONGEST]}…")
        where = f"{path}: {shown}"
        identity = known.identity(prompt.partition(",")[0])
        if identity is None:
            notes.append(f"{shown} is no prompt that is known, and was passed over")
            continue
        if identity.id in found:
            raise DataError("stands for a prompt that another line has already.", where=where, hint="Remove one.")
        if not isinstance(held, dict):
            raise DataError("holds no attributes.", where=where, hint="Write attribute: {group: share}.")
        sides = [held]
        if len(identity.subject.people) > 1:
            if unknown := [side for side in held if side not in SIDES]:
                raise DataError(
                    f"{unknown[0]!r} is neither left nor right.", where=where, hint="Two people are asked for."
                )
            sides = [held.get(side, {}) for side in SIDES]
        people = tuple(_person(side, data, known, where) for side in sides)
        found[identity.id] = Portrayal(identity, named=people, prompt=prompt.partition(",")[0], place=len(found))
        sums = [(name, sum(shares.values())) for person in people for name, shares in person.items() if shares]
        odd += [f"{shown}, {name} ({whole:.3g})" for name, whole in sums if abs(whole - 1) > ROUNDING]
    return Aligned(path.stem, tuple(found.values()), tuple(notes), tuple(odd))


def _json(path: Path) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        held = dict(pairs)
        if len(held) < len(pairs):
            twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
            raise DataError(f"{twice[:LONGEST]!r} stands there twice.", where=str(path), hint="Remove one.")
        return held

    try:
        return json.loads(read_text(path), object_pairs_hook=once)
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror}.", where=str(path), hint="Name an alignment file."
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no JSON: {error}.", where=str(path), hint="Name an alignment file.") from error


def _person(raw: object, data: Bigbench, known: Names, where: str) -> Mapping[str, Mapping[str, float]]:
    if not isinstance(raw, dict):
        raise DataError("holds no attributes.", where=where, hint="Write attribute: {group: share}.")
    person: dict[str, Mapping[str, float]] = {}
    for name, held in raw.items():
        attribute = next((each for each in data.attributes if each.name == SPELLED.get(name, name)), None)
        if attribute is None or not isinstance(held, dict):
            raise DataError(f"{name!r} is no attribute with shares.", where=where)
        if attribute.name in person:
            raise DataError(f"{name!r} stands for an attribute that is there already.", where=where, hint="Remove one.")
        groups = {group: known.group(group) for group in held}
        for number, (group, ours) in enumerate(groups.items()):
            if ours not in attribute.names:
                raise DataError(f"{group!r} is no group of {name}.", where=where)
            if ours in list(groups.values())[:number]:
                hint = "Remove one."
                raise DataError(
                    f"{group!r} stands for a group that is there already.", where=f"{where}, {name}", hint=hint
                )
        person[attribute.name] = {
            str(groups[group]): _share(share, f"{where}, {name}, {group}") for group, share in held.items()
        }
    return person


def _share(value: Any, where: str) -> float:
    # Comparisons with NaN are false. Above 1 are percents and counts, of which eta by `reference` would be anything.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 + ROUNDING:
        raise DataError(f"{repr(value)[:LONGEST]} is no share.", where=where, hint="Write a number of 0 to 1.")
    return float(value)
