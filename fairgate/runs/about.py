"""What a run notes of itself in the ledger, as JSON: enough to find its samples again, and to judge them.

`past.py` reads it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fairgate.domain import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fairgate.runs.benchmarks import AnyCase
    from fairgate.runs.run import Run


def about(run: Run, cases: Iterable[AnyCase] = ()) -> str:
    """What the run asks, and of whom."""
    settings, cast, text = run.settings, run.cast, run.text
    identities = cast.told()
    noted = {
        "identity": identities.get(Role.MODEL),
        "images": _images(run, identities) if Role.PAINTER in cast.roles else None,
        "data_version": text.dataset.version,
        "data": settings.data and str(settings.data),
        "scenarios": settings.scenarios and str(settings.scenarios),
        "plan": settings.plan,
        "objective": text.plan.objective,
        "subjective": text.plan.subjective,
        "wordings": text.plan.wordings,
        "seed": settings.seed,
        "profiles": settings.profiles,
        "key": settings.key,
        "f2bench": _f2bench(run, identities) if Role.JUDGE in cast.roles else None,
        "identities": identities,
        "versions": run.benchmarks.versions(cast.roles),
        "options": settings.options(asking_only=True),
        "thresholds": str(settings.thresholds),
        "look": None if run.look is None else asdict(run.look),
        "shards": [] if settings.shard is None else ["{}/{}".format(*settings.shard)],
        "cases": [case.name for case in cases],
    }
    if settings.explain:
        noted["explained"] = text.versions["questions for reasons"]
    return json.dumps(noted)


def _images(run: Run, identities: Mapping[str, Any]) -> dict[str, Any]:
    portraits, sitters = run.images.plan, run.bigbench.plan
    return {
        "painter": identities[Role.PAINTER],
        "detector": identities[Role.DETECTOR],
        "objective": portraits.objective,
        "subjective": portraits.subjective,
        "held": portraits.held,
        "sitters": {
            "subjects": sitters.subjects,
            "implicit": sitters.implicit,
            "asked": sitters.asked,
            "explicit": sitters.explicit,
        },
    }


def _f2bench(run: Run, identities: Mapping[str, Any]) -> dict[str, Any]:
    folder, plan = run.settings.f2bench, run.f2bench.plan
    return {
        "speaker": identities[Role.SPEAKER],
        "judge": identities[Role.JUDGE],
        "data_version": plan.instances.version,
        "data": folder and str(folder),
        "prompts": plan.prompts.version,
        "gold": plan.gold.version,
        "repeats": plan.repeats,
        "reference": plan.reference,
    }
