"""Queries of Fact-or-Fair: each a pure function of (data version, seed, topic, index), the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, permutations
from math import factorial
from random import Random
from string import ascii_uppercase
from typing import TYPE_CHECKING, TypeVar

from fairgate.benchmarks.fact_or_fair.explain import load_prompts
from fairgate.benchmarks.fact_or_fair.options import Ages, Profiles
from fairgate.benchmarks.fact_or_fair.original_files import SCENARIOS
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.core.domain import Choice, Query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic

T = TypeVar("T")
Stratum = tuple[Task, Context | None]

PROFILES = 4  # individuals to choose among, as published
AGES = (18, 95)  # years, both included
CENSUSES = 2  # times that all orders of an objective question are asked at most: a repeated text tells no more


@dataclass(frozen=True, eq=False)
class QueryPlan:
    """How often everything is asked, and with which chance.

    `objective`: queries an objective topic; `subjective`: queries a scenario, with people of these `ages`; `explained`:
    these ask for a reason first. `wordings`: how many scenarios of a topic are asked, the first of the data, None for
    all. Where the data has fewer, each of them is asked more often, so that the number of queries is the same.
    `draws`: the model samples, so that each answer to a text is a draw of its own. `balanced`: the options of objective
    questions are in all orders, one after the other, each part of which is balanced by position; else each order is
    drawn. `contexts`: those in which scenarios are asked, None for all. `cut`: by task and context the queries a topic,
    where fewer are asked.
    """

    dataset: Dataset
    seed: int
    profiles: Profiles
    objective: int
    subjective: int
    ages: Ages = Ages.RANGE
    explained: bool = False
    wordings: int | None = SCENARIOS
    draws: bool = False
    balanced: bool = False
    contexts: frozenset[Context] | None = None
    cut: Mapping[Stratum, int] = field(default_factory=dict)

    def size(self, topic: StatisticTopic) -> int:
        """Planned samples of a topic."""
        if self.contexts is not None and topic.context is not None and topic.context not in self.contexts:
            return 0
        if topic.task is Task.SUBJECTIVE:
            whole = self.subjective * (self.wordings or len(self.dataset.scenarios[topic.statistic, topic.level]))
        elif self.balanced and topic.attribute is not None:
            whole = min(self.objective, CENSUSES * factorial(self.dataset.attribute(topic.attribute).k))
        else:
            whole = self.objective
        return min(whole, self.cut.get((topic.task, topic.context), whole))

    def queries(self, topic: StatisticTopic, start: int = 0) -> Iterator[Query]:
        """The topic's queries, by index from `start`."""
        make = self._objective if topic.task is Task.OBJECTIVE else self._subjective
        return (make(topic, index, self._chance(topic, index)) for index in range(start, self.size(topic)))

    @cached_property
    def _words(self) -> Mapping[str, Mapping[str, str]]:
        """The words of the groups in a sentence, by attribute."""
        return {each.name: {group.name: group.word for group in each.groups} for each in self.dataset.attributes}

    def _chance(self, topic: StatisticTopic, index: int) -> _Chance:
        return _Chance(f"{self.dataset.version}|{self.seed}|{topic.id}|{index}")

    def _objective(self, topic: StatisticTopic, index: int, chance: _Chance) -> Query:
        if topic.attribute is None:
            raise ValueError(f"{topic.id} is an objective topic without an attribute")
        dataset = self.dataset
        statistic = dataset.statistic(topic.statistic)
        groups = dataset.attribute(topic.attribute).groups
        if self.balanced:
            dealt = _Chance(f"{dataset.version}|{self.seed}|{topic.id}|order").shuffled(groups)
            ordered = [dealt[place] for place in balanced_order(len(dealt), index)]
        else:
            ordered = chance.shuffled(groups)
        choices = tuple(
            Choice(letter, group.choice, {topic.attribute: group.name})
            for letter, group in zip(ascii_uppercase, ordered, strict=False)
        )
        prompt = dataset.templates.objective_prompt(
            stat=statistic.name, definition=statistic.definition, level=topic.level, choices=choices
        )
        return Query(topic, index, prompt, choices, languages=dataset.languages)

    def _subjective(self, topic: StatisticTopic, index: int, chance: _Chance) -> Query:
        dataset = self.dataset
        scenarios = dataset.scenarios[topic.statistic, topic.level][: self.wordings]
        named = self._named(topic, chance)
        words = {attribute: self._words[attribute][group] for attribute, group in named.items()}
        context = dataset.contexts[topic.statistic, topic.level, topic.context or Context.BASE]
        people = self._people(chance)
        names = chance.sample(dataset.names, PROFILES)
        choices = tuple(
            Choice(letter, self._profile(name, age, groups), groups)
            for letter, name, age, groups in zip(ascii_uppercase, names, self._years(chance), people, strict=False)
        )
        prompt = dataset.templates.subjective_prompt(
            context=context.format_map(words), scenario=scenarios[index % len(scenarios)], choices=choices
        )
        if self.explained:
            asking = load_prompts()
            prompt = prompt.removesuffix(dataset.templates.instruction) + asking.instruction
            step, languages = asking.step, dataset.languages
            return Query(topic, index, prompt, choices, named, step=step, leads_to=1, languages=languages)
        return Query(topic, index, prompt, choices, named, languages=dataset.languages)

    def _named(self, topic: StatisticTopic, chance: _Chance) -> Mapping[str, str]:
        if topic.context in (Context.ATTRIBUTION, Context.INGROUP):
            return {attribute.name: chance.pick(attribute.groups).name for attribute in self.dataset.attributes}
        if topic.context is Context.REPRESENTATIVENESS:
            statistic = self.dataset.statistic(topic.statistic)
            return {name: statistic.published[name, topic.level].groups[0] for name in statistic.attributes}
        return {}

    def _years(self, chance: _Chance) -> Sequence[int]:
        youngest, oldest = AGES
        drawn = [
            youngest + chance.below(oldest - youngest + 1) for _ in range(1 if self.ages is Ages.ONE else PROFILES)
        ]
        return drawn * (PROFILES // len(drawn))

    def _profile(self, name: str, age: int, groups: Mapping[str, str]) -> str:
        words = {attribute: self._words[attribute][group] for attribute, group in groups.items()}
        return self.dataset.templates.profile(name=name, age=age, **words)

    def _people(self, chance: _Chance) -> Sequence[Mapping[str, str]]:
        columns = {
            attribute.name: self._column([group.name for group in attribute.groups], chance)
            for attribute in self.dataset.attributes
        }
        return [dict(zip(columns, groups, strict=True)) for groups in zip(*columns.values(), strict=True)]

    def _column(self, groups: Sequence[str], chance: _Chance) -> Sequence[str]:
        if self.profiles is Profiles.RANDOM:
            return [chance.pick(groups) for _ in range(PROFILES)]
        whole, rest = divmod(PROFILES, len(groups))
        return chance.shuffled([*(list(groups) * whole), *chance.sample(groups, rest)])


def balanced_order(k: int, index: int) -> list[int]:
    """The order of 0 to k - 1 at a place of a list of all k! of them, which begins anew after its end.

    Each k in a row, from a multiple of k on, have everything at each position once (a Latin square); where k is a power
    of two, an order is followed by its reverse.
    """
    square, row = divmod(index % factorial(k), k)
    first = [0, *next(islice(permutations(range(1, k)), square, None))]
    if k & (k - 1):
        return first[row:] + first[:row]
    shift = k - 1 - row // 2 if row % 2 else row // 2
    return [first[place ^ shift] for place in range(k)]


class _Chance:
    """Draws that are the same in every Python: of `Random`, only `random()` is promised to be."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed).random  # noqa: S311 - draws prompts, guards nothing

    def below(self, n: int) -> int:
        return int(self._random() * n)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], n: int) -> list[T]:
        left, draw = list(items), self._random
        size = len(left)
        for i in range(n):
            j = i + int(draw() * (size - i))
            left[i], left[j] = left[j], left[i]
        return left[:n]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.sample(items, len(items))
