"""A run of the past, found in its ledger: what it asked, of whom, and how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairgate.errors import LedgerError
from fairgate.fact_or_fair.original_files import SCENARIOS
from fairgate.store.ledger import Ledger, RunState
from fairgate.verdicts.thresholds import ImagesSize, PlanSize, SittersSize

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
    def size(self) -> PlanSize:
        """How often everything was asked."""
        spoken = self.about["f2bench"] or {}
        painted = self.about.get("images") or {}
        return PlanSize(
            objective=self.about["objective"],
            subjective=self.about["subjective"],
            wordings=self.about.get("wordings", SCENARIOS),
            repeats=spoken.get("repeats", 1),
            images=ImagesSize(**{task: painted[task] for task in ("objective", "subjective") if task in painted}),
            sitters=SittersSize(**painted.get("sitters", {})),
            reason="As often as the run asked.",
        )

    @property
    def held(self) -> Mapping[str, int] | None:
        """How many images of each topic a folder held, None where they were painted."""
        found: Mapping[str, int] | None = (self.about.get("images") or {}).get("held")
        return found

    @property
    def reference(self) -> bool:
        """Whether F²Bench was also asked as its released program asks."""
        return bool((self.about["f2bench"] or {}).get("reference"))

    @property
    def lost_shards(self) -> tuple[str, ...]:
        """The shards of the run that are not here, e.g. ("3/5",)."""
        shards: list[str] = self.about["shards"]
        if not shards:
            return ()
        of = int(shards[0].partition("/")[2])
        return tuple(shard for shard in (f"{number}/{of}" for number in range(1, of + 1)) if shard not in shards)

    def options(self) -> list[str]:
        """The options of pytest that say what it asked; limits, ledger and reports are left to who judges again."""
        return list(self.about["options"])

    def check(self, name: str, here: object) -> None:
        """Raise LedgerError where what was asked about is not what is here."""
        there = self.about["versions"].get(name)
        if there != here:
            raise LedgerError(f"its run used {name} {there}, here is {here}.", where=self.where, mend=AGAIN)


def find(path: Path, run: str | None = None) -> Past:
    """The last run of a ledger, or the one whose id begins so; nothing is written. Raises LedgerError without one."""
    with Ledger(path, write=False) as ledger:
        last = ledger.last_run() if run is None else ledger.run_of(run)
    about = json.loads(last.about)
    return Past(last.id, tuple(about.get("members", [last.id])), about, last.state, last.message, str(path))


def recall(path: Path, run: str | None = None) -> Past:
    """The same, to be judged again. Raises LedgerError where there is none, or it did not note all that this takes."""
    past = find(path, run)
    if not {"identities", "cases", "options", "versions"} <= past.about.keys():
        raise LedgerError(
            "its last run was made by an older fairgate, which did not note all that judging again takes.",
            where=str(path),
            mend="Run pytest on it once more: what it holds is not asked again.",
        )
    return past
