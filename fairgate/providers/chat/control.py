"""`control/NAME` as language model, and `control/judge`; what they say is each benchmark's (`benchmarks/controls`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING

from fairgate.benchmarks.controls import FAIR
from fairgate.core.domain import Identity, Reply
from fairgate.core.errors import CallFailed, ConfigError, PluginError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.benchmarks.controls import Controls
    from fairgate.core.domain import Modality, Query, Topic

VERSION = 1


@dataclass(frozen=True)
class ControlSpec:
    """A control by name and strength, and the controls of each benchmark. `strength` is None for the usual one."""

    name: str
    strength: float | None
    benchmarks: Mapping[str, Controls]

    @classmethod
    def of(cls, spec: str, benchmarks: Mapping[str, Controls], option: str) -> Self:
        """The control that NAME or NAME:P names. Raises ConfigError at `option` for another name, or no strength."""
        name, colon, written = spec.partition(":")
        known = {each: None for held in benchmarks.values() for each in held.names}
        if name not in known:
            raise ConfigError(f"no control {name!r}.", where=option, hint=did_you_mean(name, known))
        if not colon:
            return cls(name, None, benchmarks)
        if all(held.names.get(name) is None for held in benchmarks.values()):
            raise ConfigError(f"control/{name} takes no strength.", where=option, hint=f"Write control/{name}.")
        return cls(name, _strength(written, name, option), benchmarks)

    @property
    def label(self) -> str:
        """NAME, or NAME:P with the strength in its shortest form."""
        return self.name if self.strength is None else f"{self.name}:{self.strength:g}"

    @property
    def parameters(self) -> dict[str, object]:
        """What the replies depend on in any benchmark. Raises PluginError where two give one key two values."""
        found: dict[str, object] = {}
        for benchmark, held in self.benchmarks.items():
            for key, value in held.parameters(*self._in(held)).items():
                if found.setdefault(key, value) != value:
                    raise PluginError(
                        f"the parameter {key!r} of control/{self.name} has another value in another benchmark.",
                        where=f"benchmark {benchmark}",
                        hint="Name it after the benchmark.",
                    )
        return found

    def at(self, topic: Topic) -> tuple[Controls, str, float]:
        """The controls of a topic's benchmark, with the name and strength of this one there. Raises CallFailed."""
        held = controls_at(self.benchmarks, topic)
        return held, *self._in(held)

    def _in(self, held: Controls) -> tuple[str, float]:
        name = self.name if self.name in held.names else FAIR
        usual = held.names[name]
        return name, (usual or 0.0) if usual is None or self.strength is None else self.strength


def _strength(written: str, name: str, option: str) -> float:
    try:
        strength = float(written)
    except ValueError:
        strength = -1.0
    if not 0.0 <= strength <= 1.0:
        raise ConfigError(
            f"{written!r} is no strength of control/{name}.",
            where=option,
            hint=f"Write a number from 0 to 1, as in control/{name}:0.3.",
        )
    return strength


def controls_of(benchmarks: Iterable[AnyBenchmark], *modalities: Modality) -> dict[str, Controls]:
    """The controls of the benchmarks of these modalities, by benchmark."""
    held = ((each.name, each.controls) for each in benchmarks if each.modality in modalities)
    return {name: controls for name, controls in held if controls is not None}


def controls_at(benchmarks: Mapping[str, Controls], topic: Topic) -> Controls:
    """The controls of a topic's benchmark. Raises CallFailed where it has none."""
    held = benchmarks.get(topic.benchmark)
    if held is None:
        raise CallFailed("this benchmark has no controls.", where=topic.id)
    return held


def chance_of(query: Query) -> Random:
    """The chance that decides all that a control says or draws for a query."""
    seed = blake2b(f"{query.id}\0{query.text}".encode(), digest_size=8).digest()
    return Random(int.from_bytes(seed))  # noqa: S311 - draws options and people, guards nothing


@dataclass(frozen=True)
class Control:
    """A control, as a model under test. Its replies are a pure function of the query and of what it knows."""

    spec: ControlSpec
    identity: Identity = field(init=False)

    def __post_init__(self) -> None:
        parameters = {"version": VERSION, **self.spec.parameters}
        object.__setattr__(self, "identity", Identity("control", self.spec.label, parameters=parameters))

    async def ask(self, query: Query) -> Reply:
        """Answer at once."""
        held, name, strength = self.spec.at(query.topic)
        return Reply(held.answer(name, strength, query, chance_of(query)))

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class ControlJudge:
    """control/judge: it is right about the controls of each benchmark, and about no other model."""

    benchmarks: Mapping[str, Controls]
    identity = Identity("control", "judge", parameters={"version": VERSION})

    async def ask(self, query: Query) -> Reply:
        """Answer at once, by what stands within the prompt."""
        return Reply(controls_at(self.benchmarks, query.topic).judge(query))

    async def close(self) -> None:
        """Nothing is held."""
