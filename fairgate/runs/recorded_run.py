"""What a ledger holds of a plan: walked as the sampler walks it, and nothing is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.core.domain import Query
from fairgate.core.errors import RunStopped
from fairgate.ledger.runs import RunState
from fairgate.ledger.samples import replay, spares
from fairgate.sampling.sampler import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fairgate.core.domain import Reply, Topic
    from fairgate.core.errors import FairgateError
    from fairgate.ledger.samples import Steps
    from fairgate.runs.past_run import Past
    from fairgate.runs.run import Run


def walk(
    work: Iterable[Query | Steps[object]], reply: Callable[[Query], Reply | None]
) -> Iterator[tuple[Query, Reply | None]]:
    """Every query with its stored reply; of a conversation all up to the first that has none."""
    for each in work:
        if isinstance(each, Query):
            yield each, reply(each)
        else:
            yield from ((sample.query, sample.reply) for sample in replay(each, reply)[1])


class RecordedSampler:
    """Stands in for the sampler of a run that is judged again: what it came to, and nothing left to be done."""

    def __init__(self, run: Run, past: Past, topics: Sequence[Topic]) -> None:
        held = again = 0
        with run.participants.ledger() as ledger:
            reply = run.participants.replies(ledger)
            for topic in topics:
                for query, said in walk(run.benchmarks.of(topic).work(topic), reply):
                    held += said is not None
                    again += query.again - spares(query, said)
            spent = ledger.runs.spent(past.members)
        missing = sum(map(run.size, topics)) + again - held
        # A mark may end a conversation before what was asked in it: that was planned when it was asked.
        held = max(held, spent.answered)
        self.progress = Progress(
            planned=held + missing,
            asked=spent.answered,
            reused=held - spent.answered,
            failed=spent.failed,
            retried=spent.retried,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            uncounted=spent.uncounted,
            last_failure=spent.last_failure,
        )
        self.error = _error(past, missing)

    def start(self) -> None:
        """Nothing is asked."""

    def stop(self) -> None:
        """Nothing is under way."""

    def wait(self, timeout: float | None = None) -> bool:
        """It ended long ago."""
        del timeout
        return True


def _error(past: Past, missing: int) -> FairgateError | None:
    if past.lost_shards:
        return RunStopped(
            f"it lacks shard {past.lost}: no gate is held against a part of a run.",
            where=past.where,
            hint="Merge the ledgers of all shards: fairgate merge OUT LEDGER…",
        )
    if past.state is RunState.STOPPED:
        return RunStopped(past.message)
    if past.state is RunState.SAMPLING and missing:
        return RunStopped(
            f"its run was cut off: {missing:,} samples are missing.",
            where=past.where,
            hint="Run it again: only these are asked.",
        )
    return None
