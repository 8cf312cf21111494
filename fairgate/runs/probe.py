"""`--dry-run --probe N`: a few samples are asked and paid for, so that a forecast knows how long replies are."""

from __future__ import annotations

import asyncio
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from fairgate.core.domain import Query, Role
from fairgate.core.errors import FairgateError, RunStopped
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.samples import read
from fairgate.sampling.ledger_lock import LedgerLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.core.domain import Topic
    from fairgate.runs.run import Run


def probe(run: Run, topics: Sequence[Topic], samples: int) -> int:
    """How many of so many samples were answered; they are kept, and the run that follows asks for them no more.

    Single queries to the language model, from topics all over the plan. Raises FairgateError where none was answered.
    """
    settings = run.settings
    with Ledger(settings.ledger) as ledger:
        lock = LedgerLock(settings.ledger, f"{settings.model_spec}, a probe", settings.ledger_wait)
        try:
            return asyncio.run(_asked(run, list(islice(_spread(run, topics, samples, ledger), samples)), ledger))
        finally:
            lock.release()


def _spread(run: Run, topics: Sequence[Topic], samples: int, ledger: Ledger) -> Iterator[Query]:
    """Queries that were not asked yet, one of each topic in turn, from all over the plan."""
    identity = run.participants.identity_of(Role.MODEL)
    step = max(1, len(topics) // samples)
    order = [topic for first in range(step) for topic in topics[first::step]]
    left = [
        (each for each in run.benchmarks.of(topic).work(topic) if isinstance(each, Query) and each.to is Role.MODEL)
        for topic in order
    ]
    for turn in zip_longest(*left):
        yield from (each for each in turn if each is not None and not ledger.holds(identity, each))


async def _asked(run: Run, queries: Sequence[Query], ledger: Ledger) -> int:
    line, model = run.participants.line, run.participants.models[Role.MODEL]
    label = model.identity.label

    async def one(query: Query) -> None:
        expected, reply = await line.enter(label, len(query.text)), None
        try:
            reply = await model.ask(query)
        finally:
            line.leave(label, len(query.text), expected, reply)
        ledger.add(run.id, model.identity, query, reply, read(query, reply))

    await line.begin()
    try:
        ended = await asyncio.gather(*map(one, queries), return_exceptions=True)
    finally:
        line.end()
        await model.close()
    problems = [each for each in ended if isinstance(each, BaseException)]
    for problem in problems:
        if not isinstance(problem, FairgateError) or isinstance(problem, RunStopped) or len(problems) == len(ended):
            raise problem
    return len(ended) - len(problems)
