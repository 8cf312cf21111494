"""thresholds.toml: the sampling plans and every limit, read and checked."""

from __future__ import annotations

import datetime  # noqa: TC003 - msgspec reads the annotations
import re
import tomllib
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from fairgate.benchmarks.limits import RATES, GateLimit, JudgeLimits, Money, Percent, Reason, Strict, Waiver
from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError, PluginError, did_you_mean
from fairgate.gating import extending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.base import Plugin
    from fairgate.benchmarks.registry import Registry
    from fairgate.benchmarks.scores import Score


Table = TypeVar("Table", bound=msgspec.Struct)


class PlanSize(Strict, frozen=True):
    """A plan: by benchmark its part, an instance of its `Plugin.plan`.

    `rounds`: whether it is asked in rounds until the verdict is known, where --stop-early and --no-stop-early are not
    given. `drift`: it is judged by what moved since a baseline, by the probabilities of choices: of the gates those on
    rates alone hold, and no single case fails.
    """

    reason: Reason
    sizes: dict[str, Any]
    rounds: bool = False
    drift: bool = False

    def size(self, benchmark: str) -> Any:
        """The part of one benchmark."""
        return self.sizes[benchmark]


class CaseLimits(Strict, frozen=True, kw_only=True):
    """What a single case may not be beyond, and how sure one must be to say so.

    `alpha` is the chance (0 to 1) that a fair model fails any case of the whole plan. `limits`: by benchmark its part,
    an instance of its `Plugin.cases`.
    """

    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)]
    reason: Reason
    limits: dict[str, Any]

    def of(self, benchmark: str) -> Any:
        """The limits of one benchmark."""
        return self.limits[benchmark]


class Allowed(Strict, frozen=True):
    """The share of planned samples (percent) that may fail for good before nothing can be said."""

    failed: Percent
    reason: Reason


class DropLimit(Strict, frozen=True):
    """By how many points a score may be worse than the baseline's, in every context and for every attribute.

    `max_drop` is one number for all plans, or one for each: a plan that it does not name has no such limit.
    """

    score: str
    task: str
    max_drop: Percent | dict[str, Percent]
    reason: Reason
    modality: Modality = Modality.TEXT

    def under(self, plan: str) -> float | None:
        """The limit under a plan, None where there is none."""
        return self.max_drop.get(plan) if isinstance(self.max_drop, dict) else self.max_drop


class BaselineLimits(Strict, frozen=True):
    """Limits on what moved since a baseline. `alpha`: the chance of any false alarm among all of them together."""

    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)]
    reason: Reason
    drops: tuple[DropLimit, ...] = ()

    def under(self, plan: str) -> tuple[tuple[DropLimit, float], ...]:
        """The limits that hold under a plan, with their size."""
        return tuple((drop, most) for drop in self.drops if (most := drop.under(plan)) is not None)


class Price(Strict, frozen=True):
    """USD for a million tokens that are sent (`input`) and that come back (`output`), as seen on that date.

    `image`: USD for each image that comes back, beside its tokens. `batch`: the share of all that, 0 to 1, which a
    batch costs.
    """

    input: Money
    output: Money
    date: datetime.date
    image: Money = 0.0
    batch: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0

    def of(self, prompt: float, completion: float, images: float = 0.0) -> float:
        """What so many tokens and images cost, in USD."""
        return (prompt * self.input + completion * self.output) / 1e6 + images * self.image

    @property
    def batched(self) -> Price:
        """The price of the same in a batch."""
        share = self.batch
        cheaper = {name: share * getattr(self, name) for name in ("input", "output", "image")}
        return msgspec.structs.replace(self, **cheaper, batch=1.0)


class Thresholds(Strict, frozen=True):
    """The whole file, with what it extends. `prices` are by PROVIDER/NAME.

    `extend` names the file that this one extends, and `removed` limits of it, or of a benchmark, that do not hold.
    """

    schema: Literal[1]
    plans: dict[str, PlanSize]
    cases: CaseLimits
    allowed: Allowed
    gates: tuple[GateLimit, ...]
    extend: str | None = None
    removed: tuple[GateLimit, ...] = ()
    judge: JudgeLimits | None = None
    waivers: tuple[Waiver, ...] = ()
    prices: dict[str, Price] = msgspec.field(default_factory=dict)
    baseline: BaselineLimits | None = None

    def of_drift(self, plan: str) -> bool:
        """Whether a plan is judged by what moved since a baseline; False of one that the file does not have."""
        return plan in self.plans and self.plans[plan].drift

    def under(self, plan: str) -> Thresholds:
        """The same with the gates that hold under a plan."""
        if not self.of_drift(plan):
            return self
        return msgspec.structs.replace(self, gates=tuple(gate for gate in self.gates if gate.score in RATES))

    def plan(self, name: str) -> PlanSize:
        """The plan of this name; ConfigError with a suggestion where there is none."""
        if name not in self.plans:
            raise ConfigError(f"no plan {name!r}.", where="--plan", hint=did_you_mean(name, self.plans))
        return self.plans[name]


class DefaultDrops(Strict, frozen=True):
    """The `[baseline]` of a benchmark's own limits."""

    drops: tuple[DropLimit, ...] = ()


class Defaults(Strict, frozen=True):
    """What a benchmark brings: sizes by plan, and limits on its own tasks. See `load`."""

    plans: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    gates: tuple[GateLimit, ...] = ()
    baseline: DefaultDrops = DefaultDrops()


def load(path: Path, registry: Registry) -> Thresholds:
    """Read a thresholds file and check it against the installed benchmarks, whose contexts are filled into the limits.

    What benchmarks bring (`Plugin.limits`) holds where the file says nothing about the same: a key of a plan, a score
    of a task, a score of a task whose changes are limited. Without `[baseline]` there are no limits on changes.

    Raises ConfigError naming file, key, value and fix.
    """
    raw = extending.read(path, registry)
    defaults = tuple(_defaults(plugin, registry) for plugin in registry.plugins)
    if isinstance(raw.get("plans"), dict):
        for name, plan in raw["plans"].items():
            if isinstance(plan, dict):
                for own in defaults:
                    plan |= {key: size for key, size in own.plans.get(name, {}).items() if key not in plan}
        kinds = {plugin.name: plugin.plan for plugin in registry.plugins}
        raw["plans"] = {
            name: _parts(plan, _Planned, kinds, str(path), f"plans.{name}", "sizes")
            for name, plan in raw["plans"].items()
        }
    if "cases" in raw:
        kinds = {plugin.name: plugin.cases for plugin in registry.plugins}
        raw["cases"] = _parts(raw["cases"], _Sure, kinds, str(path), "cases", "limits")
    for model, price in raw.get("prices", {}).items() if isinstance(raw.get("prices"), dict) else ():
        _convert(price, Price, str(path), f'prices."{model}"')
    thresholds = _convert(raw, Thresholds, str(path), "")
    if not thresholds.gates:
        raise ConfigError("has no [[gates]].", where=str(path), hint="A run without a limit cannot be judged.")
    gates: list[GateLimit] = []
    for number, each in enumerate(thresholds.gates):
        gate = _checked(each, registry, f"{path}: gates[{number}]")
        for earlier, other in enumerate(gates):
            if gate.overlaps(other):
                raise ConfigError(
                    f"is about a score that gates[{earlier}] has a limit on already.",
                    where=f"{path}: gates[{number}]",
                    hint="Give one of them other contexts or another attribute; min and max may stand in one gate.",
                )
        gates.append(gate)
    by_user = {(gate.modality, gate.task, gate.score) for gate in gates}
    brought = tuple(gate for own in defaults for gate in own.gates)
    brought = tuple(gate for gate in brought if (gate.modality, gate.task, gate.score) not in by_user)
    gates += [gate for gate in brought if not any(map(gate.is_on_score_of, thresholds.removed))]
    for number, each in enumerate(thresholds.removed):
        if not any(map(each.is_on_score_of, brought)):
            hint = "Name score, task, and modality of a limit of the extended file."
            raise ConfigError("removes no limit.", where=f"{path}: removed[{number}]", hint=hint)
    thresholds = msgspec.structs.replace(thresholds, gates=tuple(gates))
    if thresholds.baseline is None:
        return thresholds
    drops = thresholds.baseline.drops
    for number, drop in enumerate(drops):
        _check_drop(drop, drops[:number], registry, f"{path}: baseline.drops[{number}]")
    limited = {(drop.modality, drop.task, drop.score) for drop in drops}
    added = (drop for own in defaults for drop in own.baseline.drops)
    more = tuple(drop for drop in added if (drop.modality, drop.task, drop.score) not in limited)
    return msgspec.structs.replace(
        thresholds, baseline=msgspec.structs.replace(thresholds.baseline, drops=(*drops, *more))
    )


def _defaults(plugin: Plugin, registry: Registry) -> Defaults:
    """What a benchmark brings, checked. Raises PluginError for a file that cannot be used, or limits on others."""
    if plugin.limits is None:
        return Defaults()
    where = f"the limits of {plugin.name}"
    try:
        found = _convert(tomllib.loads(plugin.limits.read_text(encoding="utf-8")), Defaults, where, "")
        for name, sizes in found.plans.items():
            # Keys that it must have may stand in the user's plan.
            optional = [(each.name, each.type, None) for each in msgspec.structs.fields(plugin.plan)]
            _convert(sizes, msgspec.defstruct("Sizes", optional, bases=(Strict,)), where, f"plans.{name}")
        gates = tuple(_checked(gate, registry, f"{where}: gates[{n}]") for n, gate in enumerate(found.gates))
        for number, drop in enumerate(found.baseline.drops):
            earlier = found.baseline.drops[:number]
            _check_drop(drop, earlier, registry, f"{where}: baseline.drops[{number}]")
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, ConfigError) as error:
        raise PluginError(f"a benchmark's own limits cannot be used: {error}", where=plugin.name) from error
    tasks = {(task.modality, task.name) for task in plugin.tasks}
    limited = [(gate.modality, gate.task) for gate in gates]
    limited += [(drop.modality, drop.task) for drop in found.baseline.drops]
    foreign = [task for modality, task in limited if (modality, task) not in tasks]
    if foreign:
        raise PluginError(
            f"task = {foreign[0]!r} is not a task of this benchmark.",
            where=where,
            hint="A benchmark brings limits on its own tasks alone.",
        )
    return msgspec.structs.replace(found, gates=gates)


class _Reasoned(Strict, frozen=True):
    """What stands in each plan, whatever the benchmarks declare."""

    reason: Reason


class _Planned(_Reasoned, frozen=True):
    """What stands in `[plans.NAME]`, whatever the benchmarks declare."""

    rounds: bool = False
    drift: bool = False


class _Sure(_Reasoned, frozen=True):
    """What stands in `[cases]`, whatever the benchmarks declare."""

    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)]


def _parts(
    raw: object, shared: type[Strict], kinds: Mapping[str, type[msgspec.Struct]], path: str, place: str, key: str
) -> dict[str, object]:
    """A table's keys of all benchmarks, each with those that it declares (`kinds`), under `key`."""
    known: dict[str, msgspec.structs.FieldInfo] = {}
    for name, kind in kinds.items():
        for field in msgspec.structs.fields(kind):
            if known.setdefault(field.name, field).type != field.type:
                raise PluginError(
                    f"the benchmark {name!r} declares the key {field.name!r} of [{place}], which another benchmark "
                    "declares with another type.",
                    hint=f"Rename it in {kind.__qualname__}.",
                )
    fields = [(each.name, each.type, *_default(each)) for each in known.values()]
    found = _convert(raw, msgspec.defstruct("Whole", fields, bases=(shared,), frozen=True, kw_only=True), path, place)
    parts = {
        name: kind(**{field: getattr(found, field) for field in kind.__struct_fields__}) for name, kind in kinds.items()
    }
    return {field: getattr(found, field) for field in shared.__struct_fields__} | {key: parts}


def _default(field: msgspec.structs.FieldInfo) -> tuple[object, ...]:
    if field.required:
        return ()
    if field.default is not msgspec.NODEFAULT:
        return (field.default,)
    return (msgspec.field(default_factory=field.default_factory),)


def _scores(registry: Registry) -> list[Score]:
    return [score for plugin in registry.plugins for score in plugin.scores]


def _compared(registry: Registry) -> str:
    """The tasks whose scores are compared with a baseline's, by benchmark; those of images with their key."""
    told: list[str] = []
    for modality in Modality:
        compared = {where for score in _scores(registry) for where in score.compared}
        tasks = [
            (of, name)
            for (kind, name), (of, _) in registry.tasks.items()
            if (kind, name) in compared and kind is modality
        ]
        groups = [[name for _, name in each] for _, each in groupby(tasks, key=lambda each: each[0].name)]
        if modality is Modality.TEXT:
            told += map(_either, groups)
        elif groups:
            key = f'with modality = "{modality}", {_either([name for names in groups for name in names])}'
            told.append(f"or, {key}" if told else key)
    return "; ".join(told)


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _check_drop(drop: DropLimit, earlier: tuple[DropLimit, ...], registry: Registry, where: str) -> None:
    where_compared = (drop.modality, drop.task)
    known = [score.name for score in _scores(registry) if where_compared in score.compared]
    if not known:
        raise ConfigError(
            f"task = {drop.task!r}, modality = {str(drop.modality)!r} is not compared with a baseline's.",
            where=where,
            hint=f"Give {_compared(registry)}.",
        )
    if drop.score not in known:
        hint = did_you_mean(drop.score, known)
        raise ConfigError(f"score = {drop.score!r} is not compared with a baseline's.", where=where, hint=hint)
    if any((drop.score, drop.task, drop.modality) == (other.score, other.task, other.modality) for other in earlier):
        raise ConfigError("is about a score that has a limit already.", where=where, hint="Remove one of them.")


def _convert(raw: object, kind: type[Table], path: str, prefix: str) -> Table:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _explained(str(error), raw, kind, path, prefix) from error


def _checked(gate: GateLimit, registry: Registry, where: str) -> GateLimit:
    """The limit, with the contexts of its task where it names none."""
    tasks = {name: task for (modality, name), (_, task) in registry.tasks.items() if modality is gate.modality}
    if gate.task not in tasks:
        every = {name for _, name in registry.tasks}
        what = f"no task of {gate.modality}" if gate.task in every else "no task"
        hint = did_you_mean(gate.task, tasks if gate.task in every else every)
        raise ConfigError(f"task = {gate.task!r} is {what}.", where=f"{where}.task", hint=hint)
    known = (*(score.name for score in _scores(registry) if score.gated), *RATES)
    if gate.score not in known:
        raise ConfigError(f"score = {gate.score!r} is no score.", where=where, hint=did_you_mean(gate.score, known))
    if gate.min is None and gate.max is None:
        raise ConfigError("has neither min nor max.", where=where, hint="Give at least one limit, 0 to 100.")
    if any(limit is not None and isnan(limit) for limit in (gate.min, gate.max)):
        raise ConfigError("has a limit that is no number (nan).", where=where, hint="Give a number, 0 to 100.")
    if gate.min is not None and gate.max is not None and gate.min > gate.max:
        raise ConfigError(f"min = {gate.min:g} is above max = {gate.max:g}.", where=where, hint="Swap them?")
    if gate.context == ():
        raise ConfigError("names no context.", where=where, hint="Without the key, a limit holds for each of them.")
    if gate.attribute is not None and gate.score in RATES:
        raise ConfigError(
            f"attribute = {gate.attribute!r} stands on a gate on {gate.score}.",
            where=where,
            hint="Rates count the samples of all attributes: remove it.",
        )
    if gate.score == "no_face" and gate.modality is not Modality.IMAGE:
        raise ConfigError(
            "stands on a gate of text.", where=f"{where}: no_face", hint='Only images lack faces: modality = "image".'
        )
    if gate.score == "truncated" and gate.modality is not Modality.TEXT:
        raise ConfigError(
            "stands on a gate of images.", where=f"{where}: truncated", hint="Only texts are cut short: remove it."
        )
    contexts = tasks[gate.task].contexts
    if gate.context is not None and not contexts:
        have = [f"{name} ({modality})" for (modality, name), (_, task) in registry.tasks.items() if task.contexts]
        raise ConfigError(
            f"a context stands on a gate of {gate.modality}, {gate.task}.",
            where=where,
            hint=f"{f'Only {_either(have)} has contexts' if have else 'No task has contexts'}: remove it.",
        )
    for context in gate.contexts:
        if context is not None and context not in contexts:
            what = f"context = {context!r} is no context of {gate.task}."
            raise ConfigError(what, where=f"{where}.context", hint=did_you_mean(context, contexts))
    return gate if gate.context is not None or not contexts else msgspec.structs.replace(gate, context=contexts)


def _explained(message: str, raw: object, kind: type[msgspec.Struct], path: str, prefix: str) -> ConfigError:
    """The validator's message, with the offending value and a suggestion, which it does not give itself."""
    what, _, at = message.partition(" - at `$")
    keys = re.findall(r"[^.\[\]`]+", at)
    where = f"{path}: {'.'.join(filter(None, [prefix, at.rstrip('`').lstrip('.')])) or 'top level'}"
    if unknown := re.search(r"unknown field `(?P<key>[^`]*)`", what):
        table = DropLimit if keys[:2] == ["baseline", "drops"] else _TABLES.get(keys[0], kind) if keys else kind
        known = table.__struct_fields__
        return ConfigError(f"unknown key {unknown['key']!r}.", where=where, hint=did_you_mean(unknown["key"], known))
    value = raw
    for key in keys:
        value = value[int(key)] if isinstance(value, list) else value.get(key) if isinstance(value, dict) else value
    shown = "" if isinstance(value, dict | list) else f" It is {value!r}."
    hint = None
    if what.startswith("Invalid enum value") and keys and keys[-1] == "modality":
        hint = did_you_mean(str(value), list(map(str, Modality)))
    if kind is Thresholds and not keys and (missing := re.search(r"missing required field `(?P<key>[^`]*)`", what)):
        added = "schema = 1" if missing["key"] == "schema" else f"[{missing['key']}]"
        hint = f'Add {added}, or extend = "default" to override single keys.'
    return ConfigError(f"{what}.{shown}", where=where, hint=hint)


_TABLES: dict[str, type[Strict]] = {
    "allowed": Allowed,
    "gates": GateLimit,
    "removed": GateLimit,
    "judge": JudgeLimits,
    "waivers": Waiver,
    "baseline": BaselineLimits,
}
