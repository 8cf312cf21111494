"""Cases -> the parts of several machines (`--shard`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fairgate.benchmarks.case import Case
    from fairgate.core.domain import Topic


def deal(cases: Iterable[Case], of: int, size: Callable[[Topic], int]) -> list[frozenset[Case]]:
    """The cases dealt to `of` machines, the same on each of them, with about as many samples each.

    Cases that share samples stay together, and so do the themes of one task, which share the judge's gold set. `size`
    says how many samples a topic has.
    """
    units: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        units.setdefault((case.topic.benchmark, case.together), []).append(case)

    def whole(name: tuple[str, str]) -> int:
        return sum(size(topic) for topic in {topic for case in units[name] for topic in case.topics})

    dealt: list[list[Case]] = [[] for _ in range(of)]
    held = [0] * of
    for name in sorted(units, key=lambda each: (-whole(each), each)):
        least = held.index(min(held))
        dealt[least] += units[name]
        held[least] += whole(name)
    return [frozenset(part) for part in dealt]
