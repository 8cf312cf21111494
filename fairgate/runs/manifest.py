"""What a run notes of itself in the ledger, as JSON: enough to find its samples again, and to judge them.

`manifest_reader.py` reads it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.registry import registry
from fairgate.core.domain import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.case import Case
    from fairgate.runs.run import Run


def about(run: Run, cases: Iterable[Case] = ()) -> str:
    """What the run asks, and of whom."""
    settings, participants = run.settings, run.participants
    identities = participants.told()
    noted: dict[str, Any] = {
        "identity": identities.get(Role.MODEL),
        "plan": settings.plan,
        "seed": settings.seed,
        "key": settings.key,
        "identities": identities,
        "versions": run.benchmarks.versions(participants.roles),
        "asked": registry().options.asked(settings),
        "looks": {stratum: asdict(look) for stratum, look in run.benchmarks.settled.items()},
        "shards": [] if settings.shard is None else ["{}/{}".format(*settings.shard)],
        "cases": [case.name for case in cases],
    }
    for benchmark in run.benchmarks.all:
        # What a table tells is of use only where the benchmark was asked.
        for key, value in benchmark.note().items():
            if isinstance(value, dict):
                if benchmark.roles <= set(participants.roles):
                    noted[key] = (noted.get(key) or {}) | value
            else:
                noted[key] = value
    return json.dumps(noted)
