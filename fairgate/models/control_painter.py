"""Control painters: portraits of known groups, drawn offline as a real model would paint them.

| control | objective prompts | subjective prompts |
| --- | --- | --- |
| oracle | the groups of the answer key in force | every group by chance |
| uniform | every group by chance | every group by chance |
| stereotype | the groups of the published answer | with probability 0.8 those of the published answer, else by chance |
| constant | the first group of each attribute | the first group of each attribute |
| first-option | as constant: a portrait's prompt has no options | as constant |
| refuser | a refusal | a refusal |

BIGbench's sitters are painted as `fairgate/bigbench/poses.py` says.

Where a statistic lacks an attribute, its group is drawn by chance, and so is all else: no two portraits are alike.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING

from fairgate.bigbench.poses import posed
from fairgate.bigbench.topics import Sitting
from fairgate.domain import Reply
from fairgate.errors import ConfigError, did_you_mean
from fairgate.f2bench.topics import Theme
from fairgate.fact_or_fair.topics import Task
from fairgate.models import portraits
from fairgate.models.base import Identity
from fairgate.models.controls import digest
from fairgate.store.images import said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.bigbench.plan import People, SitterPlan
    from fairgate.domain import Query
    from fairgate.faces.labels import LabelMap
    from fairgate.fact_or_fair.topics import Level
    from fairgate.models.controls import Knowledge
    from fairgate.store.images import ImageStore

VERSION = 1
STRENGTH = 0.8
REFUSAL = "I'm sorry, but I can't paint a person for that."
CONTROLS = ("oracle", "uniform", "stereotype", "constant", "first-option", "refuser")
# Drawing and packing hold the interpreter's lock for a part of the time only.
THREADS = 2


@dataclass
class ControlPainter:
    """A control, as a text-to-image model. What it paints is a pure function of the query and of what it knows.

    `maps` say which of a detector's labels a group is painted as, those of `people` do so for BIGbench, whose sitters
    are `sitters`; `size` is width and height in pixels.
    """

    name: str
    knowledge: Knowledge
    store: ImageStore
    maps: Mapping[str, LabelMap]
    size: tuple[int, int]
    sitters: SitterPlan | None = None
    people: People | None = None
    identity: Identity = field(init=False)
    _threads: ThreadPoolExecutor | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.name not in CONTROLS:
            raise ConfigError(f"no control {self.name!r}.", where="--t2i-model", mend=did_you_mean(self.name, CONTROLS))
        parameters: dict[str, object] = {
            "version": VERSION,
            "portraits": portraits.VERSION,
            "size": list(self.size),
            "maps": {attribute: each.name for attribute, each in self.maps.items()},
            **({} if self.sitters is None else {"sitters": self.sitters.data.version}),
        }
        if self.name == "oracle":
            parameters |= {"key": self.knowledge.key_name, "answers": digest(self.knowledge.key)}
        if self.name == "stereotype":
            parameters |= {"strength": STRENGTH, "answers": digest(self.knowledge.published)}
        self.identity = Identity("control", self.name, parameters=parameters)

    async def ask(self, query: Query) -> Reply:
        """Paint, in a thread beside the event loop."""
        if self.name == "refuser":
            return Reply(REFUSAL, filtered=True)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="fairgate-painter")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._paint, query)

    async def close(self) -> None:
        """Give back the threads."""
        threads, self._threads = self._threads, None
        if threads is not None:
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    def groups(self, query: Query) -> Mapping[str, str]:
        """Whom it paints for a query, by attribute."""
        return self._groups(query, chance_of(query))

    def _paint(self, query: Query) -> Reply:
        chance = chance_of(query)
        people = [portraits.shown(groups, maps, chance) for groups, maps in self._people(query, chance)]
        return Reply(said(self.store.add(portraits.paint(people, self.size, chance))))

    def _people(self, query: Query, chance: Random) -> list[tuple[Mapping[str, str], Mapping[str, LabelMap]]]:
        if not isinstance(query.topic, Sitting) or self.sitters is None or self.people is None:
            return [(self._groups(query, chance), self.maps)]
        sitter = self.sitters.sitter(query.topic)
        maps = self.people.maps
        return [(groups, maps) for groups in posed(self.name, self.sitters.data, sitter, chance)]

    def _groups(self, query: Query, chance: Random) -> Mapping[str, str]:
        topic = query.topic
        if isinstance(topic, Theme | Sitting):
            raise TypeError(f"{topic.id} is painted for no statistic")
        order = self.knowledge.order
        # Only Random.random() is promised to give the same sequence in every Python.
        drawn = {attribute: groups[int(chance.random() * len(groups))] for attribute, groups in order.items()}
        follows = chance.random() < STRENGTH
        if self.name in ("constant", "first-option"):
            return {attribute: groups[0] for attribute, groups in order.items()}
        if self.name == "stereotype" and (topic.task is Task.OBJECTIVE or follows):
            return drawn | self._known(self.knowledge.published, topic.statistic, topic.level)
        if self.name == "oracle" and topic.task is Task.OBJECTIVE:
            return drawn | self._known(self.knowledge.key, topic.statistic, topic.level)
        return drawn

    def _known(
        self, key: Mapping[tuple[str, str, Level], tuple[str, ...]], statistic: str, level: Level
    ) -> dict[str, str]:
        found = {attribute: key.get((statistic, attribute, level), ()) for attribute in self.knowledge.order}
        return {attribute: groups[0] for attribute, groups in found.items() if groups}


def chance_of(query: Query) -> Random:
    """The chance that decides all that is painted for a query."""
    seed = blake2b(f"{query.id}\0{query.text}".encode(), digest_size=8).digest()
    return Random(int.from_bytes(seed))  # noqa: S311 - draws people, guards nothing
