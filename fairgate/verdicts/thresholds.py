"""thresholds.toml: the sampling plans and every limit, read and checked."""

from __future__ import annotations

import datetime  # noqa: TC003 - msgspec reads the annotations
import re
import tomllib
from math import isnan
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec

from fairgate.bigbench.topics import Task as BigTask
from fairgate.domain import Modality
from fairgate.errors import ConfigError, did_you_mean
from fairgate.f2bench.topics import Task as F2Task
from fairgate.fact_or_fair.topics import Context, Task

if TYPE_CHECKING:
    from pathlib import Path

Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
Times = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Money = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Reason = Annotated[str, msgspec.Meta(min_length=10)]

Table = TypeVar("Table", bound="Strict")

RATES = ("refused", "unreadable", "no_face", "failed")
COMPARED = ("S_fact", "S_E", "S_KLD", "S_fair", "TV")  # with a baseline's
# What can have a limit on its drop. Eta has none: it is best at 50, and has no better side.
DROPS: dict[tuple[Modality, str], tuple[str, ...]] = {
    **{(modality, task): COMPARED for modality in Modality for task in (Task.OBJECTIVE, Task.SUBJECTIVE)},
    (Modality.TEXT, F2Task.DIALOGUE): ("S_dialogue",),
    (Modality.TEXT, F2Task.BALANCE): ("S_fairness", "S_factuality", "FF1"),
    (Modality.IMAGE, BigTask.IMPLICIT): ("S_implicit", "TV"),
    (Modality.IMAGE, BigTask.EXPLICIT): ("S_explicit",),
}
LESS_IS_BETTER = frozenset({"TV", "d"})
SCORES = (
    *("S_fact", "S_E", "S_KLD", "S_fair", "TV", "d"),
    *("S_dialogue", "S_fairness", "S_factuality", "FF1"),
    *("S_implicit", "S_explicit", "eta"),
)


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file: a key that it does not know is an error."""


class ImagesSize(Strict, frozen=True):
    """How many images are painted for each objective and each subjective topic; 20, as published."""

    objective: Times = 20
    subjective: Times = 20


class SittersSize(Strict, frozen=True):
    """How many images of BIGbench there are. Without a number of subjects, all of each family.

    `subjects` of each family are painted alone, in `implicit` images each; `asked` of them with every group, in
    `explicit` images each. Those that stand in pairs of advantage and disadvantage come first. As published: all
    subjects, 20 prompts of 8 images each.
    """

    subjects: Times | None = None
    implicit: Times = 160
    asked: Times | None = None
    explicit: Times = 160


class PlanSize(Strict, frozen=True):
    """How often each objective question, each subjective scenario and each conversation of F²Bench is asked.

    `wordings` is the number of scenarios for each subjective topic, the first in the data; three, as published.
    """

    objective: Times
    subjective: Times
    reason: Reason
    wordings: Times = 3
    repeats: Times = 1
    images: ImagesSize = ImagesSize()
    sitters: SittersSize = SittersSize()


class CaseLimits(Strict, frozen=True):
    """What a single subjective topic may not be beyond, in percent, and how sure one must be to say so.

    `alpha` is the chance (0 to 1) that a fair model fails any case of the whole plan. `entropy_min` is a limit on the
    normalised entropy of the topic's answers, `gap_max` on the most picked group's share minus the least picked one's.
    """

    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)]
    entropy_min: Percent
    gap_max: Percent
    reason: Reason


class Allowed(Strict, frozen=True):
    """The share of planned samples (percent) that may fail for good before nothing can be said."""

    failed: Percent
    reason: Reason


class JudgeLimits(Strict, frozen=True):
    """What a judge must reach on the gold set before it may judge: shares in percent, kappa -1 to 1.

    `either_min` holds for sensitivity and for specificity, `unreadable_max` for verdicts that stay unreadable,
    `steered_max` for right verdicts that become wrong where the text asks for that.
    """

    agreement_min: Percent
    kappa_min: Annotated[float, msgspec.Meta(ge=-1, le=1)]
    either_min: Percent
    unreadable_max: Percent
    steered_max: Percent
    reason: Reason


class GateLimit(Strict, frozen=True):
    """One limit. Without `context` or `attribute` it holds for each of them, as one gate each."""

    score: str
    task: str
    reason: Reason
    modality: Modality = Modality.TEXT
    min: Percent | None = None
    max: Percent | None = None
    context: Context | tuple[Context, ...] | None = None
    attribute: str | None = None

    def overlaps(self, other: GateLimit) -> bool:
        """Whether both are about the same score of some context and attribute: a gate has one limit, and one name."""
        return (
            (self.modality, self.task, self.score) == (other.modality, other.task, other.score)
            and not {*self.contexts}.isdisjoint(other.contexts)
            and (self.attribute == other.attribute or None in (self.attribute, other.attribute))
        )

    @property
    def _has_contexts(self) -> bool:
        return self.task == Task.SUBJECTIVE and self.modality is Modality.TEXT

    @property
    def contexts(self) -> tuple[Context | None, ...]:
        """The contexts that the limit holds for; (None,) for a task without contexts."""
        if not self._has_contexts:
            return (None,)
        if self.context is None:
            return tuple(Context)
        return (self.context,) if isinstance(self.context, Context) else self.context


class DropLimit(Strict, frozen=True):
    """By how many points a score may be worse than the baseline's, in every context and for every attribute."""

    score: str
    task: str
    max_drop: Percent
    reason: Reason
    modality: Modality = Modality.TEXT


class BaselineLimits(Strict, frozen=True):
    """Limits on what moved since a baseline. `alpha`: the chance of any false alarm among all of them together."""

    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)]
    reason: Reason
    drops: tuple[DropLimit, ...] = ()


class Waiver(Strict, frozen=True):
    """A failed gate that somebody answers for until a day, that day included. `gate` is its name in the reports."""

    gate: Annotated[str, msgspec.Meta(min_length=1)]
    reason: Reason
    owner: Annotated[str, msgspec.Meta(min_length=1)]
    expires: datetime.date

    def holds(self, today: datetime.date) -> bool:
        """Whether it still counts."""
        return today <= self.expires


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
    """The whole file. `prices` are by PROVIDER/NAME."""

    schema: Literal[1]
    plans: dict[str, PlanSize]
    cases: CaseLimits
    allowed: Allowed
    gates: tuple[GateLimit, ...]
    judge: JudgeLimits | None = None
    waivers: tuple[Waiver, ...] = ()
    prices: dict[str, Price] = {}
    baseline: BaselineLimits | None = None

    def plan(self, name: str) -> PlanSize:
        """The plan of this name; ConfigError with a suggestion where there is none."""
        if name not in self.plans:
            raise ConfigError(f"no plan {name!r}.", where="--plan", mend=did_you_mean(name, self.plans))
        return self.plans[name]


def load(path: Path) -> Thresholds:
    """Read and check a thresholds file. Raises ConfigError naming file, key, value and mend."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}.", where=str(path), mend="See --thresholds.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"is no TOML: {error}.", where=str(path)) from error
    for name, plan in raw.get("plans", {}).items() if isinstance(raw.get("plans"), dict) else ():
        _convert(plan, PlanSize, str(path), f"plans.{name}")
    for model, price in raw.get("prices", {}).items() if isinstance(raw.get("prices"), dict) else ():
        _convert(price, Price, str(path), f'prices."{model}"')
    thresholds = _convert(raw, Thresholds, str(path), "")
    if not thresholds.gates:
        raise ConfigError("has no [[gates]].", where=str(path), mend="A run without a limit cannot be judged.")
    for number, gate in enumerate(thresholds.gates):
        _check_gate(gate, f"{path}: gates[{number}]")
        for earlier, other in enumerate(thresholds.gates[:number]):
            if gate.overlaps(other):
                raise ConfigError(
                    f"is about a score that gates[{earlier}] has a limit on already.",
                    where=f"{path}: gates[{number}]",
                    mend="Give one of them other contexts or another attribute; min and max may stand in one gate.",
                )
    drops = () if thresholds.baseline is None else thresholds.baseline.drops
    for number, drop in enumerate(drops):
        _check_drop(drop, drops[:number], f"{path}: baseline.drops[{number}]")
    return thresholds


def _check_drop(drop: DropLimit, earlier: tuple[DropLimit, ...], where: str) -> None:
    known = DROPS.get((drop.modality, drop.task))
    if known is None:
        raise ConfigError(
            f"task = {str(drop.task)!r}, modality = {str(drop.modality)!r} is not compared with a baseline's.",
            where=where,
            mend='Give objective or subjective; dialogue or balance; or, with modality = "image", objective, '
            "subjective, implicit or explicit.",
        )
    if drop.score not in known:
        mend = did_you_mean(drop.score, known)
        raise ConfigError(f"score = {drop.score!r} is not compared with a baseline's.", where=where, mend=mend)
    if any((drop.score, drop.task, drop.modality) == (other.score, other.task, other.modality) for other in earlier):
        raise ConfigError("is about a score that has a limit already.", where=where, mend="Remove one of them.")


def _convert(raw: object, kind: type[Table], path: str, prefix: str) -> Table:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _explained(str(error), raw, kind, path, prefix) from error


def _check_gate(gate: GateLimit, where: str) -> None:
    known = (*SCORES, *RATES)
    if gate.score not in known:
        raise ConfigError(f"score = {gate.score!r} is no score.", where=where, mend=did_you_mean(gate.score, known))
    if gate.min is None and gate.max is None:
        raise ConfigError("has neither min nor max.", where=where, mend="Give at least one limit, 0 to 100.")
    if any(limit is not None and isnan(limit) for limit in (gate.min, gate.max)):
        raise ConfigError("has a limit that is no number (nan).", where=where, mend="Give a number, 0 to 100.")
    if gate.min is not None and gate.max is not None and gate.min > gate.max:
        raise ConfigError(f"min = {gate.min:g} is above max = {gate.max:g}.", where=where, mend="Swap them?")
    if gate.context == ():
        raise ConfigError("names no context.", where=where, mend="Without the key, a limit holds for each of them.")
    if gate.attribute is not None and gate.score in RATES:
        raise ConfigError(
            f"attribute = {gate.attribute!r} stands on a gate on {gate.score}.",
            where=where,
            mend="Rates count the samples of all attributes: remove it.",
        )
    if gate.score == "no_face" and gate.modality is not Modality.IMAGE:
        raise ConfigError(
            "stands on a gate of text.", where=f"{where}: no_face", mend='Only images lack faces: modality = "image".'
        )
    if gate.context is not None and gate.contexts == (None,):
        raise ConfigError(
            f"a context stands on a gate of {gate.modality}, {gate.task}.",
            where=where,
            mend="Only subjective text queries have contexts: remove it.",
        )


def _explained(message: str, raw: object, kind: type[Strict], path: str, prefix: str) -> ConfigError:
    """The validator's message, with the offending value and a suggestion, which it does not give itself."""
    what, _, at = message.partition(" - at `$")
    keys = re.findall(r"[^.\[\]`]+", at)
    where = f"{path}: {'.'.join(filter(None, [prefix, at.rstrip('`').lstrip('.')])) or 'top level'}"
    if unknown := re.search(r"unknown field `(?P<key>[^`]*)`", what):
        known = _TABLES.get(keys[0], kind).__struct_fields__ if keys else kind.__struct_fields__
        return ConfigError(f"unknown key {unknown['key']!r}.", where=where, mend=did_you_mean(unknown["key"], known))
    value = raw
    for key in keys:
        value = value[int(key)] if isinstance(value, list) else value.get(key) if isinstance(value, dict) else value
    shown = "" if isinstance(value, dict | list) else f" It is {value!r}."
    mend = None
    if what.startswith("Invalid enum value") and keys and keys[-1] in _WORDS:
        mend = did_you_mean(str(value), [str(word) for word in _WORDS[keys[-1]]])
    return ConfigError(f"{what}.{shown}", where=where, mend=mend)


_TABLES: dict[str, type[Strict]] = {
    "cases": CaseLimits,
    "allowed": Allowed,
    "gates": GateLimit,
    "judge": JudgeLimits,
    "waivers": Waiver,
    "baseline": BaselineLimits,
}
_WORDS: dict[str, type[str | Context | Modality]] = {"task": str, "context": Context, "modality": Modality}
