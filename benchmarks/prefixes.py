"""How much of a prompt a server with a prefix cache has seen before: shares of tokens, by context.

`python -m benchmarks.prefixes` prints the table of docs/throughput.md. Tokens are words, numbers and marks, which is
near enough for shares; `next` is shared with the query asked just before, `cached` with any asked before in the topic.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from benchmarks.clients import topics
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKEN = re.compile(r"\w+|[^\w\s]")


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of what both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def main() -> None:
    plan = QueryPlan(load(), seed=0, profiles=Profiles.RANDOM, objective=3, subjective=3, wordings=9)
    found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for topic in topics():
        asked = [TOKEN.findall(query.prompt) for query in plan.queries(topic)]
        for (before, now), number in zip(pairwise(asked), range(1, len(asked)), strict=True):
            best = max(shared(now, earlier) for earlier in asked[:number])
            found[f"{topic.task} {topic.context or ''}".strip()].append((len(now), shared(now, before), best))
    print("| queries | tokens a prompt | next | cached |")
    print("|---|---|---|---|")
    for name, counts in found.items():
        length, following, cached = (sum(column) for column in zip(*counts, strict=True))
        shares = f"{100 * following / length:.0f} % | {100 * cached / length:.0f} %"
        print(f"| {name} | {length / len(counts):.0f} | {shares} |")


if __name__ == "__main__":
    main()
