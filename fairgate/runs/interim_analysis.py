"""The rounds of a run: each asks on where gates are open, until the verdict is known or all of the plan is asked."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fairgate.benchmarks.gate_result import Verdict
from fairgate.gating.gate import further, judge, waive

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.base import Circumstances, InterimAnalysis
    from fairgate.benchmarks.case import Case
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.core.domain import Modality, Query, Topic
    from fairgate.gating.thresholds import Thresholds
    from fairgate.runs.benchmarks import Benchmarks

# By stratum its last interim analysis so far.
Looks = dict[str, "InterimAnalysis"]
# What is scored together: a modality's cases of one stratum, or those that are asked at once.
_Part: TypeAlias = "tuple[Modality, str | None]"


@dataclass(frozen=True)
class Verdicts:
    """The gates of a run at an interim analysis: `open` ones by stratum, and whether any of the strata `failed`."""

    open: Mapping[str, Sequence[GateResult]]
    failed: bool


class InterimVerdicts:
    """Judges the gates of a run by the stored replies: a stratum anew with each of its looks, all else once."""

    def __init__(
        self, benchmarks: Benchmarks, cases: Iterable[Case], thresholds: Thresholds, today: datetime.date
    ) -> None:
        self._benchmarks, self._thresholds, self._today = benchmarks, thresholds, today
        self._cases: dict[_Part, list[Case]] = defaultdict(list)
        for case in cases:
            self._cases[case.topic.modality, benchmarks.stratum(case.topic)].append(case)
        self._known: dict[tuple[_Part, InterimAnalysis | None], list[ScoreResult]] = {}

    def at(self, looks: Looks, now: Circumstances) -> Verdicts:
        """The verdicts after these looks, with all gates in view, as at the end of the run."""
        plan, parts = self._benchmarks.at(looks), list(self._cases)
        here = {modality for modality, stratum in parts if stratum is not None}
        # Further gates never make one fail: Holm's adjusted p-values only grow. So where nothing fails without the
        # other modalities, these need not be scored, which for images takes longest.
        judged, of = self._judged([part for part in parts if part[0] in here], looks, plan, now)
        if any(gate.verdict is Verdict.FAIL for gate in judged):
            judged, of = self._judged(parts, looks, plan, now)
        gates = waive(judged, self._thresholds, self._today)
        found: dict[str, list[GateResult]] = {stratum: [] for _, stratum in parts if stratum is not None}
        for gate in gates:
            stratum = of[id(gate.entry)]
            if stratum is not None and gate.verdict is Verdict.INCONCLUSIVE:
                found[stratum].append(gate)
        failed = any(gate.verdict is Verdict.FAIL and gate.entry.modality in here for gate in gates)
        return Verdicts(found, failed)

    def _judged(
        self, parts: Iterable[_Part], looks: Looks, plan: Benchmarks, now: Circumstances
    ) -> tuple[Sequence[GateResult], Mapping[int, str | None]]:
        """The gates on these parts, with one another in view, and the stratum of each entry, by `id`."""
        held = {part: self._entries(part, looks.get(part[1] or ""), plan, now) for part in parts}
        of = {id(entry): stratum for (_, stratum), entries in held.items() for entry in entries}
        return judge([entry for entries in held.values() for entry in entries], self._thresholds), of

    def _entries(
        self, part: _Part, look: InterimAnalysis | None, plan: Benchmarks, now: Circumstances
    ) -> list[ScoreResult]:
        if (part, look) not in self._known:
            self._known[part, look] = list(self._scored(self._cases[part], plan, now))
        return self._known[part, look]

    def _scored(self, cases: Sequence[Case], plan: Benchmarks, now: Circumstances) -> Iterator[ScoreResult]:
        for benchmark in plan.all:
            here = [case for case in cases if plan.of(case.topic) is benchmark]
            held = benchmark.tally(here, now.reply) if here else None
            if held is not None:
                tasks = {case.topic.task for case in here}
                limits = (each for each in self._thresholds.gates if each.modality == benchmark.modality)
                scores = {each.score for each in limits if each.task in tasks}
                yield from (each for each in benchmark.gated(here, held, now, scores) if each.task in tasks)


class Rounds:
    """Rounds of asking, each of which ends with an interim analysis of the strata that it asked on.

    A stratum of which every gate has passed is asked no further, and none is once a gate has failed. `judged`: the
    verdicts after these looks; `left`: the calls that budgets still allow; `settle` is called with the last looks.
    """

    def __init__(
        self,
        benchmarks: Benchmarks,
        topics: Sequence[Topic],
        judged: Callable[[Looks], Verdicts],
        left: Callable[[], float],
        settle: Callable[[Looks], None],
    ) -> None:
        self.topics, self._benchmarks = topics, benchmarks
        self._judged, self._left, self._settle = judged, left, settle
        self._of = {topic: stratum for topic in topics if (stratum := benchmarks.stratum(topic)) is not None}
        self._looks = {stratum: benchmarks.looks(stratum) for stratum in dict.fromkeys(self._of.values())}
        self._open = [*self._looks]
        self._at: dict[str, int] = {}
        self.most = max(map(len, self._looks.values()))

    def queries(self, number: int, topic: Topic) -> Iterable[Query]:
        """The round's part of a topic's queries: from where the one before it ended."""
        stratum = self._of[topic]
        if stratum not in self._open:
            return ()
        asked = self._answers(stratum, topic, number - 1) if number else 0
        plan = self._benchmarks.at({stratum: self._looks[stratum][number]})
        return plan.of(topic).part(topic, asked)

    def is_enough(self, number: int) -> bool:
        """Whether the verdict is known, all is asked, or no budget is left for what is open."""
        self._at |= dict.fromkeys(self._open, number)
        looks = {stratum: self._looks[stratum][place] for stratum, place in self._at.items()}
        more = [stratum for stratum in self._open if number + 1 < len(self._looks[stratum])]
        if more:
            verdicts = self._judged(looks)
            open_still = {} if verdicts.failed else {each: gates for each in more if (gates := verdicts.open[each])}
            more = list(self._affordable(open_still, number + 1))
        self._open = more
        if not more:
            self._settle(looks)
        return not more

    def _answers(self, stratum: str, topic: Topic, number: int) -> int:
        return self._benchmarks.at({stratum: self._looks[stratum][number]}).of(topic).answers(topic)

    def _affordable(self, open_still: Mapping[str, Sequence[GateResult]], number: int) -> Iterator[str]:
        """The strata that budgets allow to ask on, first those of which the least is needed to decide the run."""
        left = self._left()
        for stratum in sorted(open_still, key=lambda each: needed(open_still[each])):
            before, after = (
                sum(self._answers(stratum, topic, each) for topic, of in self._of.items() if of == stratum)
                for each in (number - 1, number)
            )
            calls = after - before
            if calls <= left:
                left -= calls
                yield stratum


def needed(gates: Iterable[GateResult]) -> tuple[bool, float]:
    """How much more decides these open gates, to sort by: one failure is enough, a pass takes all of them."""
    failing, passing = list[float](), [0.0]
    for gate in gates:
        multiple = further(gate.limit, gate.entry)
        (failing if gate.is_beyond else passing).append(math.inf if multiple is None else multiple)
    return (False, min(failing)) if failing else (True, max(passing))
