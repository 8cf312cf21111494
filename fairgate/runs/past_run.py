"""A run of the past, found in its ledger: what it asked, of whom, and how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairgate.asked import Asked, decode, decode_old
from fairgate.errors import LedgerError
from fairgate.store.ledger import Ledger, RunState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AGAIN = "Check out the fairgate that asked, or run again."


@dataclass(frozen=True)
class Past:
    """The last run of a ledger, or several that were merged into one.

    `members` are the runs whose samples it asked for: itself, or the merged ones. `about` is what it asked.
    """

    id: str
    members: tuple[str, ...]
    about: Mapping[str, Any]
    state: RunState
    message: str
    where: str

    @property
    def identities(self) -> Mapping[str, Mapping[str, Any]]:
        """Who was asked, by role."""
        found: Mapping[str, Mapping[str, Any]] = self.about["identities"]
        return found

    @property
    def cases(self) -> frozenset[str]:
        """The selected cases, as `test[id]`."""
        return frozenset(self.about["cases"])

    @property
    def lost_shards(self) -> tuple[str, ...]:
        """The shards of the run that are not here, e.g. ("3/5",)."""
        shards: list[str] = self.about["shards"]
        if not shards:
            return ()
        of = int(shards[0].partition("/")[2])
        return tuple(shard for shard in (f"{number}/{of}" for number in range(1, of + 1)) if shard not in shards)

    @cached_property
    def asked(self) -> Asked:
        """The values that say what it asked. Raises LedgerError where the ledger holds anything else."""
        if "asked" in self.about:
            return decode(self.about["asked"], self.where)
        return decode_old(self.about["options"], self.where)

    def check(self, name: str, here: object) -> None:
        """Raise LedgerError where what was asked about is not what is here."""
        there = self.about["versions"].get(name)
        if there != here:
            raise LedgerError(f"its run used {name} {there}, here is {here}.", where=self.where, hint=AGAIN)


def find(path: Path, run: str | None = None) -> Past:
    """The last run of a ledger, or the one whose id begins so; nothing is written. Raises LedgerError without one."""
    with Ledger(path, write=False) as ledger:
        last = ledger.last_run() if run is None else ledger.run_of(run)
    about = json.loads(last.about)
    return Past(last.id, tuple(about.get("members", [last.id])), about, last.state, last.message, str(path))


def recall(path: Path, run: str | None = None) -> Past:
    """The same, to be judged again. Raises LedgerError where there is none, or it did not note all that this takes."""
    past = find(path, run)
    noted = past.about.keys()
    if not {"identities", "cases", "versions"} <= noted or not noted & {"asked", "options"}:
        raise LedgerError(
            "its last run was made by an older fairgate, which did not note all that judging again takes.",
            where=str(path),
            hint="Run pytest on it once more: what it holds is not asked again.",
        )
    _ = past.asked
    return past
