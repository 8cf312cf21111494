"""Ledgers of several machines -> one, and their last runs -> one run that can be judged."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import tempfile
import uuid
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.registry import registry
from fairgate.core.errors import LedgerError
from fairgate.ledger.images import ImageStore
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.maintenance import sample_problems, survey
from fairgate.ledger.merge import absorb
from fairgate.ledger.paths import COMPANIONS, place_of
from fairgate.ledger.runs import PastRun, RunState
from fairgate.runs.past_run import Past, recall
from fairgate.sampling.ledger_lock import LedgerLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PATIENCE = 60.0  # seconds until another merge into the same ledger ends
HASH = re.compile(r"[0-9a-f]{64}")
# What the machines of one run may differ in. Of their paths the first machine's are kept.
OWN = ("cases", "members", "shards", "thresholds", "data", "scenarios", "asked", "options")


@dataclass(frozen=True)
class Merged:
    """What came of a merge: the run, its shards, and the queries that two ledgers answer otherwise.

    `model` is the run's; `others` are the runs of other models that the ledger holds, each in a line.
    """

    past: Past
    conflicts: tuple[str, ...]
    model: str
    others: tuple[str, ...]


def merge(out: Path, sources: Sequence[Path]) -> Merged:
    """Put all that the sources hold into `out`, which may exist; the sources are left as they are.

    Raises LedgerError where their last runs asked different things, before anything is written.
    """
    conflicts: set[str] = set()
    parts = [recall(path) for path in sources]
    with tempfile.TemporaryDirectory() as folder:
        copies = {path: _copied(path, Path(folder)) for path in sources}
        run = _joined(parts)
        with LedgerLock(out, "merging into it", PATIENCE):
            if out.is_file() and _alike(parts[0], here := recall(out)) is None:
                run = _joined([*parts, here])
            for path in sources:
                _copy_images(path, out)
            # Whatever cannot be taken over is found before anything is changed.
            together = Path(folder) / "together.sqlite"
            with Ledger(together) as ledger:
                for copy in copies.values():
                    conflicts.update(absorb(ledger, copy))
            with _made_whole(out) as place, Ledger(place) as ledger:
                conflicts.update(absorb(ledger, together))
                members: list[str] = json.loads(run.about)["members"]
                ledger.runs.put(run, members)
    past = recall(out)
    with Ledger(out, write=False) as ledger:
        runs = {each.id: each for each in survey(ledger).runs}
    model = runs[past.id].model
    others = tuple(f"{each.id[:8]} {each.model}" for each in runs.values() if each.model != model)
    return Merged(past, tuple(sorted(conflicts)), model, others)


@contextmanager
def _made_whole(out: Path) -> Iterator[Path]:
    """Where to put it all together: a ledger that is not there yet takes its place when it is whole, or never."""
    aim = place_of(out)
    if aim.exists():
        yield aim
        return
    unfinished = aim.with_name(f".{aim.name}.{uuid.uuid4().hex}")
    _check_alone(aim)
    try:
        yield unfinished
        _check_alone(aim)
        _moved(unfinished, aim)
    finally:
        for end in COMPANIONS:
            unfinished.with_name(f"{unfinished.name}{end}").unlink(missing_ok=True)


def _moved(unfinished: Path, aim: Path) -> None:
    """Give a file its name. Raises LedgerError where a run has made a file of that name meanwhile: it is open there."""
    try:
        aim.hardlink_to(unfinished)
    except FileExistsError:
        raise LedgerError(
            "was made meanwhile, by a run that waits.", where=str(aim), hint="Merge again when it has ended."
        ) from None
    except OSError:
        unfinished.rename(aim)  # a file system without links
    else:
        unfinished.unlink()


def _check_alone(aim: Path) -> None:
    """Raise LedgerError where a log lies beside a ledger that is to be: SQLite would play it into whatever comes."""
    for end in COMPANIONS[1:-1]:
        beside = aim.with_name(f"{aim.name}{end}")
        if os.path.lexists(beside):
            raise LedgerError(
                f"{beside.name} lies there, the log of another ledger of this name, and would take its place.",
                where=str(aim),
                hint=f"Put its ledger back, or move it away: mv {beside} ELSEWHERE",
            )


def _joined(parts: Sequence[Past]) -> PastRun:
    """The last runs as one, whatever their order. Raises LedgerError where they are not parts of one."""
    first, *others = sorted(parts, key=lambda part: part.id)
    for part in others:
        if (difference := _alike(first, part)) is not None:
            raise LedgerError(
                f"its last run is no part of that of {first.where}: {difference}.",
                where=part.where,
                hint="Merge ledgers of runs with the same options; each machine's --shard I/N is its own.",
            )
    members = sorted({member for part in parts for member in part.members})
    about: dict[str, Any] = {
        **first.about,
        "members": members,
        "cases": sorted({case for part in parts for case in part.cases}),
        "shards": sorted({shard for part in parts for shard in part.shards}),
    }
    states = {part.state for part in parts}
    unfinished = (state for state in (RunState.STOPPED, RunState.SAMPLING) if state in states)
    messages = sorted({part.message for part in parts if part.message})
    whole = members[0] if len(members) == 1 else blake2b("\0".join(members).encode(), digest_size=16).hexdigest()
    return PastRun(whole, json.dumps(about), next(unfinished, RunState.DONE), "; ".join(messages))


def _alike(one: Past, other: Past) -> str | None:
    """What two runs differ in that parts of one run must share, None where nothing."""
    for key in sorted({*one.about, *other.about} - {*OWN}):
        here, there = (part.about.get(key) for part in (one, other))
        if isinstance(here, dict) and isinstance(there, dict):
            # Where a benchmark's data lay: each machine has it in a place of its own.
            here, there = ({**noted, "data": None} for noted in (here, there))
        if here != there:
            return _difference(key, here, there)
    asked, also = one.asked, other.asked
    places = {each.field.name for each in registry().options if each.kind is Path}
    for key in sorted({*asked, *also} - places):
        if asked.get(key) != also.get(key):
            return f"{key} is {also.get(key)!r}, not {asked.get(key)!r}"
    parts = [{shard.partition("/")[2] for shard in part.shards} for part in (one, other)]
    if parts[0] != parts[1]:
        return "one is a shard and the other is not, or they are shards of different numbers"
    return None


def _difference(key: str, here: object, there: object) -> str:
    """A sentence on the first value below the key that differs; models are named by their labels."""
    if isinstance(here, dict) and isinstance(there, dict) and _named(here) == _named(there):
        for name in sorted({*here, *there}):
            if here.get(name) != there.get(name):
                return _difference(f"{key}.{name}", here.get(name), there.get(name))
    return f"{key} is {_named(there) or repr(there)}, not {_named(here) or repr(here)}"


def _named(value: object) -> str | None:
    """The label of a model, None for anything that is not a model's identity."""
    if isinstance(value, dict) and {"provider", "name"} <= value.keys():
        return f"{value['provider']}/{value['name']}"
    return None


def _copied(path: Path, folder: Path) -> Path:
    """A copy of the ledger, with what stands in its write-ahead log, by this fairgate's schema."""
    copy = folder / f"{len([*folder.iterdir()])}.sqlite"
    with Ledger(path, write=False) as source, source.translated(), closing(sqlite3.connect(copy)) as target:
        source.database.backup(target)
    with Ledger(copy) as made:
        # What is damaged would take the place of what is sound. Images are looked at where they are copied.
        problem = next(sample_problems(made, images=False), None)
    if problem is not None:
        hint = f"Nothing was merged. `fairgate ledger {path} verify` names all that is wrong with it."
        raise LedgerError(problem, where=str(path), hint=hint)
    return copy


def _copy_images(path: Path, out: Path) -> None:
    store, source = ImageStore(out), ImageStore(path)
    for image in sorted(source.folder.glob("*/*")):
        if HASH.fullmatch(image.name) and not store.path(image.name).exists():
            # Read as the image that its name says: nothing else gets into another ledger's store.
            store.add(source.read(image.name))
