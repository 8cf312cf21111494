"""Options -> the run that they ask for, with all that can be wrong with them said before anything is asked."""

from __future__ import annotations

import uuid
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from fairgate.benchmarks.registry import registry
from fairgate.comparison.baseline import load as load_baseline
from fairgate.comparison.paired_comparison import check
from fairgate.core.domain import Role
from fairgate.core.errors import ConfigError
from fairgate.core.typed import Mistyped, edited
from fairgate.gating.extending import sha256_of
from fairgate.gating.gate import check_attributes, check_waivers
from fairgate.gating.thresholds import load as load_thresholds
from fairgate.providers.chat import registry as providers
from fairgate.providers.images import registry as image_models
from fairgate.runs.benchmarks import benchmarks_of
from fairgate.runs.participants import Participants
from fairgate.runs.run import Run
from fairgate.runs.save_baseline import asked_by, check_keeping, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fairgate.benchmarks.paired import Baseline
    from fairgate.gating.thresholds import Thresholds
    from fairgate.options.settings import Settings
    from fairgate.runs.past_run import Past


def open_run(
    settings: Settings,
    told: Mapping[str, Any] | None = None,
    past: Past | None = None,
    callables: Mapping[Role, Callable[..., object]] = MappingProxyType({}),
) -> Run:
    """The run of these settings, or the past one of its ledger. Raises FairgateError for what is wrong with them.

    `told`: the `worker_info` of the process that asks, in a worker. `callables`: objects of this process that stand in
    for the models of a role.
    """
    if past is not None:
        settings = replace(settings, imageless=Role.IMAGE_MODEL not in past.identities)
        # Who was asked is known: no model is made, and no key needed.
        told = {"run": past.id, "identities": to_builtins(past.identities)}
    thresholds = load_thresholds(settings.thresholds, registry())
    # Now: the file may be edited or removed while the run asks.
    limits_hash = sha256_of(settings.thresholds)
    size = thresholds.plan(settings.plan) if past is None else next(iter(thresholds.plans.values()))
    if thresholds.of_drift(settings.plan):
        # What such a plan is for takes them, and asking for them changes no reply.
        settings = replace(settings, probabilities=True)
    if settings.model_spec is not None:
        providers.split(settings.model_spec)
    if settings.t2i_spec is not None:
        image_models.split(settings.t2i_spec)
    benchmarks = benchmarks_of(settings, thresholds, size, past)
    participants = Participants(settings, thresholds, benchmarks, told["identities"] if told else {}, callables)
    run = Run(
        id=told["run"] if told else uuid.uuid4().hex,
        settings=settings,
        thresholds=thresholds,
        whole=benchmarks,
        benchmarks=benchmarks,
        participants=participants,
        in_rounds=past is None and settings.in_rounds(size.rounds),
        past=past,
        limits_hash=limits_hash,
    )
    if past is not None:
        run = run.noted(past.note.looks, past.where)
    check_attributes(thresholds, benchmarks.attributes, str(settings.thresholds))
    check_waivers(thresholds, registry(), benchmarks.attributes, str(settings.thresholds))
    providers.check_judge(settings)
    providers.check_batch(settings)
    providers.check_probabilities(settings)
    _check_prices(settings, thresholds)
    _check_calibration(run)
    check_keeping(run)
    run = replace(run, baseline=None if settings.baseline is None else _comparable(run, settings.baseline))
    if past is not None:
        _check_past(run, past)
    elif run.of_drift:
        _check_drift(run)
    return run


def worker_info(run: Run) -> dict[str, Any]:
    """What a worker opens the same run by, of plain values: it makes no model."""
    return {"run": run.id, "identities": run.participants.told()}


def _check_prices(settings: Settings, thresholds: Thresholds) -> None:
    """A budget in USD needs the price of whoever is asked; controls cost nothing."""
    if settings.budget_usd is None:
        return
    for spec in (settings.model_spec, settings.judge_spec, settings.t2i_spec):
        if spec is None or spec in thresholds.prices or spec.startswith(("control/", "results/", "folder/")):
            continue
        raise ConfigError(
            f"no price is known for {spec}.",
            where="--budget-usd",
            hint=f'Add it to {settings.thresholds}, in USD per million tokens: [prices."{spec}"] input = 0.15,'
            " output = 0.60, date = 2026-03-23, each on a line of its own.",
        )


def _check_drift(run: Run) -> None:
    """What a plan of drift is compared with must be there, or be made, before anything is asked."""
    settings, where = run.settings, f"--plan {run.settings.plan}"
    if run.baseline is None and settings.save_baseline is None:
        hint = "Save one of the release before (--save-baseline FILE), then compare with it: --baseline FILE."
        raise ConfigError("it finds what moved since a baseline, and none is given.", where=where, hint=hint)
    if run.baseline is not None and not run.baseline.shares:
        hint = f"Save it anew with {where}, which asks for them."
        raise ConfigError("the baseline holds no probabilities.", where=f"--baseline {settings.baseline}", hint=hint)


def _check_calibration(run: Run) -> None:
    """A calibration corrects what a detector read: where none reads anything, it would be ignored."""
    if run.settings.calibration is not None and Role.DETECTOR not in run.participants.roles:
        raise ConfigError(
            f"{run.settings.calibration}: no images are read that it could correct.",
            where="--calibration",
            hint="Name a text-to-image model (--t2i-model), or remove it.",
        )


def _comparable(run: Run, path: Path) -> Baseline:
    """The baseline. Raises ConfigError where it asked otherwise, before anything is asked here."""
    if not run.participants.roles:
        raise ConfigError("there are no answers to compare.", where="--baseline", hint="Name a model.")
    parts = parts_of(run)
    found = load_baseline(path, parts)
    check(found, asked_by(run), f"--baseline {path}", parts, common=run.settings.compare_common)
    return found


def _check_past(run: Run, past: Past) -> None:
    """That every model of the past run is named, as none is made from what a ledger says, and its data are here."""
    lost = [str(role) for role in run.participants.roles if role not in past.identities]
    if lost:
        raise edited(Mistyped(f"it names nobody as {lost[0]}, whom the run asked", "identities", ""), past.where)
    for name, version in run.benchmarks.versions(run.participants.roles).items():
        past.check(name, version)
