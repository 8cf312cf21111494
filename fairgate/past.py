"""A run of the past, found again in its ledger: what it asked, and what was answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate.errors import LedgerError
from fairgate.fact_or_fair.cases import OWN_TASKS, text_cases
from fairgate.fact_or_fair.data import load as load_dataset
from fairgate.fact_or_fair.queries import Profiles, QueryPlan
from fairgate.fact_or_fair.tally import Tallies, tally
from fairgate.ledger import Ledger
from fairgate.models.base import Identity
from fairgate.samples import from_ledger

if TYPE_CHECKING:
    from fairgate.fact_or_fair.data import Dataset


@dataclass(frozen=True)
class PastRun:
    """The last run of a ledger. `tallies` count what the ledger holds of its whole plan."""

    model: str
    seed: int
    dataset: Dataset
    tallies: Tallies


def last_run(path: Path) -> PastRun:
    """Read the last run of a ledger. Raises LedgerError where there is none, or its data is not at hand."""
    if not path.is_file():
        raise LedgerError("no such file.", where=str(path))
    with Ledger(path) as ledger:
        about: dict[str, Any] = json.loads(ledger.last_run())
        folders = {name: Path(about[name]) if about[name] else None for name in ("data", "scenarios")}
        dataset = load_dataset(overlay=folders["data"], scenarios=folders["scenarios"])
        if dataset.version != about["data_version"]:
            raise LedgerError(
                f"its run used data version {about['data_version']}, here is {dataset.version}.",
                where=str(path),
                mend="Check out the fairgate that asked, or run again.",
            )
        identity = Identity(**about["identity"])
        plan = QueryPlan(
            dataset,
            seed=about["seed"],
            profiles=Profiles(about["profiles"]),
            objective=about["objective"],
            subjective=about["subjective"],
        )
        cases = frozenset(case for task in OWN_TASKS for case in text_cases(dataset, task))
        topics = dict.fromkeys(case.topic for case in cases)
        counted = {topic: tally(topic, from_ledger(ledger, identity, plan.queries(topic)), dataset) for topic in topics}
    return PastRun(identity.label, about["seed"], dataset, Tallies(dataset, counted, cases))
