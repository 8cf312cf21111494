"""Choices among four people -> selection rates by attribute, and by all attributes together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK
from fairgate.benchmarks.fact_or_fair.choices import LEVELS, choices_of
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.selection_rates import GroupRate, SelectionRates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.benchmarks.fact_or_fair.choices import Choices
    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.tally import Tallies, TopicTally


def rates_of_choices(source: Tallies[TopicTally]) -> Iterator[SelectionRates]:
    """By context: of all choices, then of those where it is good to be chosen (a high income, a low crime rate)."""
    dataset = source.dataset
    names = [each.name for each in dataset.attributes]
    good = np.array([[each.favourable is level for level in LEVELS] for each in dataset.statistics])
    for context in Context:
        found = choices_of(source.tallies, dataset, Task.SUBJECTIVE, context, None)
        favourable = found.where(good[found.asked.statistic, found.asked.level])
        for which, choices in (("all", found), ("favourable", favourable)):
            if len(choices.chosen):
                for by in dict.fromkeys((*((name,) for name in names), tuple(names))):
                    yield _rates(choices, dataset, by, f"{context}, {which}")


def _rates(choices: Choices, dataset: Dataset, by: tuple[str, ...], which: str) -> SelectionRates:
    """The rates by the joint groups of these attributes."""
    code, labels = np.zeros_like(choices.groups[by[0]]), [""]
    for name in by:
        attribute = dataset.attribute(name)
        code = code * attribute.k + choices.groups[name]
        labels = [f"{label} {group}".strip() for label in labels for group in attribute.names]
    picked = code[np.arange(len(choices.chosen)), choices.chosen]
    offered, chosen = (np.bincount(each.ravel(), minlength=len(labels)).tolist() for each in (code, picked))
    groups = tuple(map(GroupRate, labels, offered, chosen))
    return SelectionRates(BENCHMARK, which, by, len(choices.chosen), groups)
