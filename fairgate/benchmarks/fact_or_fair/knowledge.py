"""What controls know of a data set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind
    from fairgate.benchmarks.fact_or_fair.topics import Level


@dataclass(frozen=True)
class Knowledge:
    """What controls know: right groups by (statistic, attribute, level), and the order of an attribute's groups.

    `profile` is the template of a person to choose, `scenarios` the scenarios by statistic and level.
    """

    key: Mapping[tuple[str, str, Level], tuple[str, ...]]
    published: Mapping[tuple[str, str, Level], tuple[str, ...]]
    order: Mapping[str, Sequence[str]]
    key_name: str = "published"
    profile: str = ""
    scenarios: Mapping[tuple[str, Level], Sequence[str]] = field(default_factory=dict)


def knowledge(dataset: Dataset, key: KeyKind) -> Knowledge:
    """What controls know of a data set, under an answer key."""

    def answers(which: KeyKind) -> Mapping[tuple[str, str, Level], tuple[str, ...]]:
        return {
            (statistic.slug, attribute, level): entry.groups
            for statistic in dataset.statistics
            for (attribute, level), entry in statistic.key(which).items()
        }

    order = {attribute.name: [group.name for group in attribute.groups] for attribute in dataset.attributes}
    return Knowledge(answers(key), answers("published"), order, key, dataset.templates.person, dataset.scenarios)
