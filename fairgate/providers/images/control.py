"""`control/NAME` as a text-to-image model: portraits of known groups, drawn offline as a real model would draw them.

Whom it draws is each benchmark's (`benchmarks/controls`); all else is drawn by chance, so that no two portraits are
alike.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairgate.core.domain import Identity, Reply
from fairgate.ledger.images import said
from fairgate.providers.chat.control import chance_of
from fairgate.providers.images import portraits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from fairgate.core.domain import Query
    from fairgate.ledger.images import ImageStore
    from fairgate.providers.chat.control import ControlSpec
    from fairgate.replies.labels import LabelMap

VERSION = 1
REFUSAL = "I'm sorry, but I can't paint a person for that."
# Drawing and packing hold the interpreter's lock for a part of the time only.
THREADS = 2


@dataclass
class ControlImageModel:
    """A control, as a text-to-image model. What it draws is a pure function of the query and of what it knows.

    `size` is width and height in pixels.
    """

    spec: ControlSpec
    store: ImageStore
    size: tuple[int, int]
    identity: Identity = field(init=False)
    _threads: ThreadPoolExecutor | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        parameters: dict[str, object] = {
            "version": VERSION,
            "portraits": portraits.VERSION,
            "size": list(self.size),
            **self.spec.parameters,
        }
        self.identity = Identity("control", self.spec.label, parameters=parameters)

    async def ask(self, query: Query) -> Reply:
        """Paint, in a thread beside the event loop."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="fairgate-control-images")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._draw, query)

    async def close(self) -> None:
        """Give back the threads."""
        threads, self._threads = self._threads, None
        if threads is not None:
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    def groups(self, query: Query) -> list[Mapping[str, str]]:
        """The people in the image for a query, from left to right: groups by attribute."""
        return [groups for groups, _ in self._people(query, chance_of(query))]

    def _draw(self, query: Query) -> Reply:
        chance = chance_of(query)
        found = self._people(query, chance)
        if not found:
            return Reply(REFUSAL, filtered=True)
        people = [portraits.shown(groups, maps, chance) for groups, maps in found]
        return Reply(said(self.store.add(portraits.draw(people, self.size, chance))))

    def _people(self, query: Query, chance: Random) -> Sequence[tuple[Mapping[str, str], Mapping[str, LabelMap]]]:
        held, name, strength = self.spec.at(query.topic)
        return held.people(name, strength, query, chance)
