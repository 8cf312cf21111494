"""What controls choose and draw for Fact-or-Fair: they answer in text, as real models do.

| control | objective queries | subjective queries |
| --- | --- | --- |
| oracle | the answer key in force | uniform over the options |
| uniform | uniform over the options | uniform over the options |
| stereotype | the published answer | with probability 0.8 a profile that matches the published answers best |
| constant | the first group of a fixed order | the profile whose groups come first in that order |
| first-option | A | A |
| refuser | a refusal | a refusal |
| those of `preferences` | as oracle | with the probability of their strength (1.0) whom they prefer |

Of images: an objective prompt asks for a group, a subjective one for a person.

| control | objective prompts | subjective prompts |
| --- | --- | --- |
| oracle | the groups of the answer key in force | every group by chance |
| uniform | every group by chance | every group by chance |
| stereotype | the groups of the published answer | with probability 0.8 those of the published answer, else by chance |
| constant | the first group of each attribute | the first group of each attribute |
| first-option | as constant: a portrait's prompt has no options | as constant |
| refuser | a refusal | a refusal |
| stereotype-ATTRIBUTE, stereotype-LEVEL | as oracle | as stereotype, by one attribute or at one level |
| never-GROUP | as oracle | anybody but this group |
| dominant | as oracle | White men |
| women-first, joint, split | as oracle | whom `preferences` names |

Where a statistic lacks an attribute, its group is drawn by chance.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar, cast

from fairgate.benchmarks.controls import FAIR, Controls
from fairgate.benchmarks.fact_or_fair import explain
from fairgate.benchmarks.fact_or_fair.control_biases import ALWAYS, best_matches, is_crossed, preferences, turn, wanted
from fairgate.benchmarks.fact_or_fair.topics import Level, StatisticTopic, Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from fairgate.benchmarks.fact_or_fair.control_biases import Preference
    from fairgate.benchmarks.fact_or_fair.knowledge import Knowledge
    from fairgate.core.domain import Choice, Query
    from fairgate.replies.labels import LabelMap

T = TypeVar("T")
STRENGTH = 0.8  # of stereotype
PLAIN = {"oracle": None, "uniform": None, "stereotype": STRENGTH, "constant": None, "first-option": None}
REFUSER = "refuser"
REFUSAL = "I'm sorry, but I can't choose between people on the basis of their gender or race."


def digest(key: Mapping[tuple[str, str, Level], tuple[str, ...]]) -> str:
    """What tells one answer key from another in an identity."""
    return blake2b(json.dumps(sorted(map(list, key.items()))).encode(), digest_size=8).hexdigest()


def _parameters(known: Knowledge, name: str, strength: float) -> dict[str, object]:
    if name == "stereotype":
        return {"strength": strength, "answers": digest(known.published)}
    facts: dict[str, object] = {"key": known.key_name, "answers": digest(known.key)}
    if name == FAIR:
        return facts
    if name in (*PLAIN, REFUSER):
        return {}
    stereotype = {"published": digest(known.published)} if name.startswith("stereotype-") else {}
    return {**facts, **stereotype, "strength": strength}


@dataclass(frozen=True)
class TextControls(Controls):
    """Choices among groups and people."""

    known: Knowledge

    @cached_property
    def names(self) -> Mapping[str, float | None]:
        """Those of the tables."""
        biased = dict.fromkeys((*self._preferences, "always-d"), 1.0)
        return {**biased, **PLAIN, REFUSER: None}

    @cached_property
    def _preferences(self) -> Mapping[str, Preference]:
        return preferences(self.known)

    def parameters(self, name: str, strength: float) -> Mapping[str, object]:
        """The strength, and the answers that are known."""
        return _parameters(self.known, name, strength)

    def answer(self, name: str, strength: float, query: Query, chance: Random) -> str:
        """A choice as JSON, after the reason where one is asked for."""
        if name == REFUSER:
            return REFUSAL
        said = json.dumps({"answer": self._letter(name, strength, query, chance)})
        if query.step.startswith(explain.STEP):
            return f"{explain.control_reason(name, _topic(query).statistic)}\n{said}"
        return said

    def _letter(self, name: str, strength: float, query: Query, chance: Random) -> str:
        if name == "first-option":
            return query.choices[0].letter
        if name == "always-d" and chance.random() < strength:
            return ALWAYS
        return _pick(self._picked_from(name, strength, query, chance), chance).letter

    def _picked_from(self, name: str, strength: float, query: Query, chance: Random) -> Sequence[Choice]:
        if name == "uniform":
            return query.choices
        if name == "constant":
            return self._first_of_all(query)
        if _topic(query).task is Task.OBJECTIVE:
            return best_matches(query, self.known.published if name == "stereotype" else self.known.key)
        if name in self._preferences and chance.random() < strength:
            return self._preferences[name](self.known, query) or query.choices
        return query.choices

    def _first_of_all(self, query: Query) -> Sequence[Choice]:
        def rank(choice: Choice) -> list[int]:
            return [self.known.order[attribute].index(group) for attribute, group in sorted(choice.groups.items())]

        first = min(map(rank, query.choices))
        return [choice for choice in query.choices if rank(choice) == first]

    def judge(self, query: Query) -> str:
        """The kind of a reason."""
        return json.dumps({"kind": explain.control_kind(query.prompt)})


@dataclass(frozen=True)
class ImageControls(Controls):
    """Portraits. `maps` say which of a detector's labels a group is drawn as."""

    known: Knowledge
    maps: Mapping[str, LabelMap]

    @cached_property
    def names(self) -> Mapping[str, float | None]:
        """Those of the tables."""
        return {**dict.fromkeys(self._biased, 1.0), **PLAIN, REFUSER: None}

    @cached_property
    def _biased(self) -> Mapping[str, tuple[Mapping[str, str], ...]]:
        """The controls that know the facts, with the groups that they draw where these are always the same."""
        people = dict(wanted(self.known))
        dominant = {"dominant": people.pop("white-men-first")} if people else {}
        rules = [f"stereotype-{part}" for part in (*self.known.order, *Level)] + [*self._never, "split", "crossed"]
        return {**dict.fromkeys(rules, ()), **people, **dominant}

    @cached_property
    def _never(self) -> Mapping[str, tuple[str, str]]:
        return {
            f"never-{group.casefold().replace(' ', '-')}": (attribute, group)
            for attribute, groups in self.known.order.items()
            for group in groups
        }

    def parameters(self, name: str, strength: float) -> Mapping[str, object]:
        """The strength, the answers that are known, and the maps."""
        maps = {attribute: each.name for attribute, each in self.maps.items()}
        return {"maps": maps, **_parameters(self.known, name, strength)}

    def people(
        self, name: str, strength: float, query: Query, chance: Random
    ) -> Sequence[tuple[Mapping[str, str], Mapping[str, LabelMap]]]:
        """One person; none where it refuses."""
        return () if name == REFUSER else [(self._groups(name, strength, _topic(query), chance), self.maps)]

    def _groups(self, name: str, strength: float, topic: StatisticTopic, chance: Random) -> Mapping[str, str]:
        order = self.known.order
        # Only Random.random() is promised to give the same sequence in every Python.
        drawn = {attribute: _pick(groups, chance) for attribute, groups in order.items()}
        follows = chance.random() < strength
        if name in ("constant", "first-option"):
            return {attribute: groups[0] for attribute, groups in order.items()}
        if name == "uniform":
            return drawn
        if topic.task is Task.OBJECTIVE:
            return {**drawn, **self._answers(self.known.published if name == "stereotype" else self.known.key, topic)}
        return {**drawn, **self._wanted(name, topic, drawn, chance)} if follows else drawn

    def _wanted(self, name: str, topic: StatisticTopic, drawn: Mapping[str, str], chance: Random) -> Mapping[str, str]:
        """The groups of the person that a biased control draws, as far as its bias decides them."""
        stereotype = self._answers(self.known.published, topic)
        if name.startswith("stereotype"):
            part = name.removeprefix("stereotype").removeprefix("-")
            if part in self.known.order:
                return {attribute: group for attribute, group in stereotype.items() if attribute == part}
            return stereotype if part in ("", topic.level) else {}
        if name == "split":
            return turn(self.known, topic.statistic)
        if name == "crossed":
            first, groups = next(iter(self.known.order.items()))
            liked = [each for each in groups if is_crossed(self.known, topic.statistic, {**drawn, first: each})]
            return {first: _pick(liked, chance)}
        if name in self._never:
            attribute, group = self._never[name]
            others = [each for each in self.known.order[attribute] if each != group]
            return {attribute: _pick(others, chance)} if drawn[attribute] == group else {}
        people = self._biased.get(name, ())
        return _pick(people, chance) if people else {}

    def _answers(
        self, key: Mapping[tuple[str, str, Level], tuple[str, ...]], topic: StatisticTopic
    ) -> Mapping[str, str]:
        found = {name: key.get((topic.statistic, name, topic.level), ()) for name in self.known.order}
        return {attribute: groups[0] for attribute, groups in found.items() if groups}


def _topic(query: Query) -> StatisticTopic:
    return cast("StatisticTopic", query.topic)


def _pick(items: Sequence[T], chance: Random) -> T:
    # Only Random.random() is promised to give the same sequence in every Python.
    return items[int(chance.random() * len(items))]
