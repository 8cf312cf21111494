"""Interim analyses of a run (`--stop-early`): what each asks, and whether its verdicts are clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.verdicts.gate import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fairgate.benchmarks.base import Case, Circumstances, InterimAnalysis
    from fairgate.domain import Query, Topic
    from fairgate.runs.benchmarks import Benchmarks
    from fairgate.verdicts.gate import GateResult
    from fairgate.verdicts.thresholds import Thresholds


def clear(benchmarks: Benchmarks, cases: Sequence[Case], thresholds: Thresholds, now: Circumstances) -> bool:
    """Whether every gate on what these cases ask has passed or failed, by the stored replies."""
    gates: list[GateResult] = []
    for benchmark in benchmarks.all:
        here = [case for case in cases if benchmarks.of(case.topic) is benchmark]
        held = benchmark.tally(here, now.reply) if here else None
        if held is not None:
            tasks = {case.topic.task for case in here}
            entries = [entry for entry in benchmark.score(here, held, now).entries if entry.task in tasks]
            gates += judge(entries, thresholds)
    return bool(gates) and all(gate.verdict in (Verdict.PASS, Verdict.FAIL) for gate in gates)


class EarlyRounds:
    """Rounds that end with the first interim analysis that leaves nothing open.

    `settle` is called with the one that was the last.
    """

    def __init__(
        self,
        benchmarks: Benchmarks,
        topics: Sequence[Topic],
        is_clear: Callable[[InterimAnalysis], bool],
        settle: Callable[[InterimAnalysis], None],
    ) -> None:
        self.topics, self._looks = topics, benchmarks.looks()
        self.most = len(self._looks)
        self._plans = [benchmarks.at(look) for look in self._looks]
        self._is_clear, self._settle = is_clear, settle

    def queries(self, number: int, topic: Topic) -> Iterable[Query]:
        """The round's part of a topic's queries: from where the one before it ended."""
        asked = self._plans[number - 1].of(topic).answers(topic) if number else 0
        return self._plans[number].of(topic).part(topic, asked)

    def is_enough(self, number: int) -> bool:
        """Whether all is clear, or was asked."""
        look = self._looks[number]
        if number < self.most - 1 and not self._is_clear(look):
            return False
        self._settle(look)
        return True
