"""A run of the past, found in its ledger: what it asked, of whom, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairgate.core.errors import LedgerError
from fairgate.ledger.ledger import Ledger
from fairgate.runs.manifest_reader import decode_note

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairgate.core.domain import Role
    from fairgate.ledger.runs import RunState
    from fairgate.runs.manifest_reader import Note, NotedIdentity

AGAIN = "Check out the fairgate that asked, or run again."
SHOWN = 5  # lost shards


@dataclass(frozen=True)
class Past:
    """The last run of a ledger, or several that were merged into one.

    `members` are the runs whose samples it asked for: itself, or the merged ones. `note` is what it asked, `about` the
    same as JSON values, with what the benchmarks noted.
    """

    id: str
    note: Note
    about: Mapping[str, Any]
    state: RunState
    message: str
    where: str

    @property
    def members(self) -> tuple[str, ...]:
        """The runs whose samples it asked for."""
        return self.note.members or (self.id,)

    @property
    def identities(self) -> Mapping[Role, NotedIdentity]:
        """Who was asked, by role."""
        return self.note.identities or {}

    @property
    def cases(self) -> frozenset[str]:
        """The selected cases, as `test[id]`."""
        return frozenset(self.note.cases or ())

    @property
    def shards(self) -> tuple[str, ...]:
        """The shards that are here, e.g. ("1/5", "2/5"); none of a run that is whole."""
        return self.note.shards

    @property
    def lost_shards(self) -> tuple[str, ...]:
        """The shards of the run that are not here, e.g. ("3/5",)."""
        if not self.shards:
            return ()
        of, here = int(self.shards[0].partition("/")[2]), {*self.shards}
        return tuple(shard for number in range(1, of + 1) if (shard := f"{number}/{of}") not in here)

    @property
    def lost(self) -> str:
        """The same in words, the first of them where there are many."""
        lost = self.lost_shards
        more = f" and {len(lost) - SHOWN:,} more" if len(lost) > SHOWN else ""
        return f"{', '.join(lost[:SHOWN])}{more}"

    @property
    def asked(self) -> Mapping[str, Any]:
        """The values that say what it asked."""
        return self.note.asked or {}

    def check(self, name: str, here: object) -> None:
        """Raise LedgerError where what was asked about is not what is here."""
        there = (self.note.versions or {}).get(name)
        if there != here:
            raise LedgerError(f"its run used {name} {there}, here is {here}.", where=self.where, hint=AGAIN)


def recall(path: Path, run: str | None = None) -> Past:
    """The last run of a ledger, or the one whose id begins so, to be judged again; nothing is written.

    Raises LedgerError where there is none, where its note is damaged, or where it does not say all that this takes.
    """
    with Ledger(path, write=False) as ledger:
        last = ledger.runs.last() if run is None else ledger.runs.find(run)
    note, about = decode_note(last.about, str(path))
    if not note.is_complete:
        raise LedgerError(
            "its last run was made by an older fairgate, which did not note all that judging again takes.",
            where=str(path),
            hint="Run pytest on it once more: what it holds is not asked again.",
        )
    return Past(last.id, note, about, last.state, last.message, str(path))
