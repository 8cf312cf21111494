"""Models of known behaviour, used offline and as a self-check: they answer in text, as real ones do.

| control | objective queries | subjective queries |
| --- | --- | --- |
| oracle | the answer key in force | uniform over the options |
| uniform | uniform over the options | uniform over the options |
| stereotype | the published answer | with probability 0.8 a profile that matches the published answers best |
| constant | the first group of a fixed order | the profile whose groups come first in that order |
| first-option | A | A |
| refuser | a refusal | a refusal |

| control | dialogues of F²Bench | descriptions of F²Bench |
| --- | --- | --- |
| oracle | never yields | ties nobody, states the fact |
| uniform | yields by chance | ties by chance, states the fact |
| stereotype | always yields | ties by stereotype, makes a law of the fact |
| constant | always yields | attribute 1 to the group that comes first in the alphabet, states the fact |
| first-option | always yields: Yes is the first option | attribute 1 to the group named first, states the fact |
| refuser | a refusal | a refusal |

`control/judge` judges what the controls say in F²Bench, by a rule that reads their own sentences.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING

from fairgate.bigbench.topics import Sitting
from fairgate.domain import Choice, Form, Reply
from fairgate.errors import ConfigError, did_you_mean
from fairgate.f2bench import forms
from fairgate.f2bench.topics import Theme
from fairgate.fact_or_fair import explain
from fairgate.fact_or_fair.topics import Task
from fairgate.models.base import Identity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from fairgate.domain import Query
    from fairgate.fact_or_fair.data import Dataset
    from fairgate.fact_or_fair.topics import Level

VERSION = 1


@dataclass(frozen=True)
class Knowledge:
    """What controls know: right groups by (statistic, attribute, level), and the order of an attribute's groups."""

    key: Mapping[tuple[str, str, Level], tuple[str, ...]]
    published: Mapping[tuple[str, str, Level], tuple[str, ...]]
    order: Mapping[str, Sequence[str]]
    key_name: str = "published"


def knowledge(dataset: Dataset, key: Literal["published", "measured"]) -> Knowledge:
    """What controls know of a data set, under an answer key."""

    def answers(which: Literal["published", "measured"]) -> Mapping[tuple[str, str, Level], tuple[str, ...]]:
        return {
            (statistic.slug, attribute, level): entry.groups
            for statistic in dataset.statistics
            for (attribute, level), entry in statistic.key(which).items()
        }

    order = {attribute.name: [group.name for group in attribute.groups] for attribute in dataset.attributes}
    return Knowledge(answers(key), answers("published"), order, key)


@dataclass(frozen=True)
class Control:
    """A control, as a model under test. Its replies are a pure function of the query and of what it knows."""

    name: str
    knowledge: Knowledge
    strength: float = 0.8
    identity: Identity = field(init=False)

    def __post_init__(self) -> None:
        if self.name not in _BEHAVIOURS:
            raise ConfigError(f"no control {self.name!r}.", where="--model", mend=did_you_mean(self.name, _BEHAVIOURS))
        parameters: dict[str, object] = {"version": VERSION}
        if self.name == "oracle":
            parameters |= {"key": self.knowledge.key_name, "answers": digest(self.knowledge.key)}
        if self.name == "stereotype":
            parameters |= {"strength": self.strength, "answers": digest(self.knowledge.published)}
        object.__setattr__(self, "identity", Identity("control", self.name, parameters=parameters))

    async def ask(self, query: Query) -> Reply:
        """Answer at once."""
        if isinstance(query.topic, Sitting):
            raise TypeError(f"{query.topic.id} is painted")
        if isinstance(query.topic, Theme):
            return Reply(_in_text(self.name, query.named, _chance(query)))
        said = _BEHAVIOURS[self.name](self, query, _chance(query))
        if query.step.startswith(explain.STEP) and self.name != "refuser":
            return Reply(f"{explain.control_reason(self.name, query.topic.statistic)}\n{said}")
        return Reply(said)

    async def close(self) -> None:
        """Nothing is held."""


class ControlJudge:
    """control/judge: the rule of `forms`, as a model. It is right about the controls, and about nobody else."""

    identity = Identity("control", "judge", parameters={"version": VERSION})

    async def ask(self, query: Query) -> Reply:
        """Answer at once, by what stands within the prompt."""
        if query.form is Form.KIND:
            return Reply(json.dumps({"kind": explain.control_kind(query.prompt)}))
        if query.form is Form.MARK:
            return Reply(str(forms.mark(query.prompt, query.named)))
        return Reply("Yes" if forms.says_yes(query.prompt, query.named) else "No")

    async def close(self) -> None:
        """Nothing is held."""


def _in_text(name: str, named: Mapping[str, str], chance: Random) -> str:
    """What a control says in F²Bench: `named` says what is asked, of whom, and who is named first."""
    if name == "refuser":
        return forms.REFUSES
    if named["asks"] == "question":
        return "That depends on whom one asks."
    if named["asks"] == "final":
        yields = {"oracle": False, "uniform": chance.random() < 1 / 2}.get(name, True)
        return (forms.YIELDS if yields else forms.DENIES).format_map(named)
    fact = forms.FACT.format_map(named)
    if named["asks"] == "summary":
        return fact
    drawn = chance.random()
    stereotyped = {
        "oracle": None,
        "uniform": None if drawn < 1 / 3 else drawn < 2 / 3,
        "constant": named["group1"] < named["group2"],
        "first-option": named["first"] == "1",
    }.get(name, True)
    tied = forms.OPEN if stereotyped is None else forms.ties(named, stereotyped=stereotyped)
    return " ".join([fact, *([forms.SWEEPING] if name == "stereotype" else []), tied])


def _chance(query: Query) -> Random:
    seed = blake2b(f"{query.id}\0{query.text}".encode(), digest_size=8).digest()
    return Random(int.from_bytes(seed))  # noqa: S311 - draws options, guards nothing


def digest(key: Mapping[tuple[str, str, Level], tuple[str, ...]]) -> str:
    """What tells one answer key from another in an identity."""
    return blake2b(json.dumps(sorted(map(list, key.items()))).encode(), digest_size=8).hexdigest()


def _pick(options: Sequence[Choice], chance: Random) -> str:
    # Only Random.random() is promised to give the same sequence in every Python.
    return json.dumps({"answer": options[int(chance.random() * len(options))].letter})


def _uniform(_: Control, query: Query, chance: Random) -> str:
    return _pick(query.choices, chance)


def _oracle(control: Control, query: Query, chance: Random) -> str:
    if query.topic.task is Task.SUBJECTIVE:
        return _pick(query.choices, chance)
    return _pick(_best_matches(query, control.knowledge.key), chance)


def _stereotype(control: Control, query: Query, chance: Random) -> str:
    if query.topic.task is Task.SUBJECTIVE and chance.random() >= control.strength:
        return _pick(query.choices, chance)
    return _pick(_best_matches(query, control.knowledge.published), chance)


def _best_matches(query: Query, key: Mapping[tuple[str, str, Level], tuple[str, ...]]) -> Sequence[Choice]:
    """The choices that agree with the key on most attributes."""
    topic = query.topic
    if isinstance(topic, Theme | Sitting):
        raise TypeError(f"{topic.id} has no choices")

    def agreement(choice: Choice) -> int:
        return sum(
            group in key.get((topic.statistic, attribute, topic.level), ())
            for attribute, group in choice.groups.items()
        )

    most = max(map(agreement, query.choices))
    return [choice for choice in query.choices if agreement(choice) == most]


def _constant(control: Control, query: Query, chance: Random) -> str:
    order = control.knowledge.order

    def rank(choice: Choice) -> list[int]:
        return [order[attribute].index(group) for attribute, group in sorted(choice.groups.items())]

    first = min(map(rank, query.choices))
    return _pick([choice for choice in query.choices if rank(choice) == first], chance)


def _first_option(_: Control, query: Query, __: Random) -> str:
    return json.dumps({"answer": query.choices[0].letter})


def _refuser(_: Control, __: Query, ___: Random) -> str:
    return "I'm sorry, but I can't choose between people on the basis of their gender or race."


_BEHAVIOURS: dict[str, Callable[[Control, Query, Random], str]] = {
    "oracle": _oracle,
    "uniform": _uniform,
    "stereotype": _stereotype,
    "constant": _constant,
    "first-option": _first_option,
    "refuser": _refuser,
}
