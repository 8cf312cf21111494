"""Looks at a run before its end (`--stop-early`): when, how sure each must be, and whether its verdicts are clear."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairgate.domain import Task
from fairgate.fact_or_fair.board import CONFIDENCE, ROUNDS, board
from fairgate.fact_or_fair.tally import Tallies, tally
from fairgate.maths.sequential import confidences, rounds
from fairgate.store.ledger import Ledger
from fairgate.store.samples import from_ledger
from fairgate.verdicts.gate import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from fairgate.domain import Query, Topic
    from fairgate.fact_or_fair.cases import Case
    from fairgate.fact_or_fair.data import Dataset, KeyKind
    from fairgate.fact_or_fair.queries import QueryPlan
    from fairgate.models.base import Identity
    from fairgate.verdicts.thresholds import Thresholds

# Answers a topic before which intervals are not reliable (docs/statistics.md): looking earlier could decide nothing.
FIRST = 20


@dataclass(frozen=True)
class Look:
    """One look: after `subjective` of the plan's `whole` queries a scenario, with intervals of this `confidence`.

    `number` counts from 1, up to `most`.
    """

    subjective: int
    whole: int
    confidence: float
    number: int
    most: int

    @property
    def share(self) -> float:
        """The share of the run's whole error, 0 to 1, that this look may make."""
        return (1.0 - self.confidence) / (1.0 - CONFIDENCE)


def looks(plan: QueryPlan) -> tuple[Look, ...]:
    """The looks of a plan, the last of them at its end."""
    scenarios = min(len(each) for each in plan.dataset.scenarios.values())
    sizes = rounds(plan.subjective, -(-FIRST // scenarios))
    sure = confidences(sizes, CONFIDENCE)
    return tuple(
        Look(size, plan.subjective, confidence, number, len(sizes))
        for number, (size, confidence) in enumerate(zip(sizes, sure, strict=True), start=1)
    )


def looked_at(topic: Topic) -> bool:
    """Whether a topic's queries are asked in rounds: the few objective ones are asked at once."""
    return (topic.modality, topic.task) == ROUNDS


@dataclass(frozen=True)
class Watch:
    """What a look looks at: the samples of these cases, as this limits file judges them."""

    ledger: Path
    identity: Identity
    dataset: Dataset
    cases: frozenset[Case]
    thresholds: Thresholds
    key: KeyKind
    seed: int

    def is_clear(self, plan: QueryPlan, topics: Iterable[Topic], confidence: float) -> bool:
        """Whether every gate on what is asked in rounds has passed or failed by what the ledger holds of this plan."""
        with Ledger(self.ledger, make=False) as ledger:
            tallies = {
                topic: tally(topic, from_ledger(ledger, self.identity, plan.queries(topic)), self.dataset)
                for topic in topics
            }
        source = Tallies(self.dataset, tallies, self.cases)
        found = board(source, self.dataset, key=self.key, seed=self.seed, confidence=confidence).entries
        gates = judge([entry for entry in found if entry.task is Task.SUBJECTIVE], self.thresholds)
        return bool(gates) and all(gate.verdict in (Verdict.PASS, Verdict.FAIL) for gate in gates)


class EarlyRounds:
    """Rounds that end with the first look that leaves nothing open. `settle` is told which look that was."""

    def __init__(self, plan: QueryPlan, topics: Sequence[Topic], watch: Watch, settle: Callable[[Look], None]) -> None:
        self.topics, self.most = topics, len(looks(plan))
        self._looks, self._watch, self._settle = looks(plan), watch, settle
        self._plans = [replace(plan, subjective=look.subjective) for look in self._looks]

    def queries(self, number: int, topic: Topic) -> Iterable[Query]:
        """The round's part of a topic's queries: from where the one before it ended."""
        asked = self._plans[number - 1].size(topic) if number else 0
        return self._plans[number].queries(topic, asked)

    def is_enough(self, number: int) -> bool:
        """Whether all is clear, or was asked."""
        look = self._looks[number]
        last = number == self.most - 1
        if not last and not self._watch.is_clear(self._plans[number], self.topics, look.confidence):
            return False
        self._settle(look)
        return True
