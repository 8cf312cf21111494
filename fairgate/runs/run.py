"""A run, as all of its processes share it: what is asked for, of which models, and the plan. `opening.py` makes it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import AvailableModels, Circumstances
from fairgate.benchmarks.registry import registry
from fairgate.core.domain import Role
from fairgate.core.statistics.paired import shared_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fairgate.benchmarks.base import InterimAnalysis
    from fairgate.benchmarks.case import Case, Replies
    from fairgate.benchmarks.paired import Baseline
    from fairgate.core.domain import Identity, Topic
    from fairgate.gating.thresholds import Thresholds
    from fairgate.options.settings import Settings
    from fairgate.runs.benchmarks import Benchmarks
    from fairgate.runs.manifest_reader import Look
    from fairgate.runs.participants import Participants
    from fairgate.runs.past_run import Past

CASE = re.compile(r"::test_(?P<test>\w+)\[(?P<id>.+)\]$")


@dataclass(frozen=True, eq=False)
class Run:
    """One run of the gate.

    `whole`: the benchmarks with all of their plan; `benchmarks`: the same, cut to the interim analyses at which asking
    ended, where the run asks `in_rounds` and its end is known. `past`: the run of the ledger that is scored again.
    `limits_hash`: SHA-256 of the limits file and of those that it extends.
    """

    id: str
    settings: Settings
    thresholds: Thresholds
    whole: Benchmarks
    benchmarks: Benchmarks
    participants: Participants
    in_rounds: bool
    past: Past | None = None
    baseline: Baseline | None = None
    limits_hash: str = ""

    @property
    def of_drift(self) -> bool:
        """Whether it is judged by what moved since a baseline, as its plan says."""
        return self.thresholds.of_drift(self.settings.plan)

    def at(self, looks: Mapping[str, InterimAnalysis]) -> Run:
        """The same, where asking ended at these interim analyses, by stratum."""
        return replace(self, benchmarks=self.whole.at(looks)) if looks else self

    def noted(self, looks: Mapping[str, Look], where: str) -> Run:
        """The same by what a ledger notes. Raises LedgerError where the plan has no such interim analyses."""
        return replace(self, benchmarks=self.whole.noted(looks, where)) if looks else self

    @cached_property
    def cases(self) -> dict[tuple[str, str], Case]:
        """Every case there can be, by the name of its test function (without `test_`) and its id."""
        return {(case.test, case.id): case for benchmark in self.whole.all for case in benchmark.cases}

    def case_of(self, nodeid: str) -> Case | None:
        """The case that a pytest node id names, None where it is no case of ours."""
        found = CASE.search(nodeid)
        return self.cases.get((found["test"], found["id"])) if found else None

    @cached_property
    def offers(self) -> AvailableModels:
        """The models of the run."""
        return AvailableModels(
            modalities=frozenset(self.participants.modalities),
            sampled=frozenset(self.participants.sampled),
            judge=Role.JUDGE in self.participants.roles,
            from_folder=(self.settings.t2i_spec or "").startswith("folder/"),
        )

    def can_ask(self, case: Case) -> bool:
        """Whether there are the models that a case needs."""
        return self.benchmarks.of(case.topic).applies(case, self.offers)

    def asks(self, case: Case) -> bool:
        """The same; of a past run, whether it asked the case, too."""
        return (self.past is None or case.name in self.past.cases) and self.can_ask(case)

    def size(self, topic: Topic) -> int:
        """Planned samples of a topic."""
        return self.benchmarks.of(topic).size(topic)

    def command(self, case: Case) -> str:
        """How to run this case alone, with the options of this run."""
        file = registry().test_module(case.topic.benchmark, case.test).replace(".", "/")
        return shlex.join(["fairgate", "run", f"tests_bench/{file}.py::test_{case.name}", *self.settings.options()])

    @cached_property
    def deciding(self) -> int:
        """The cases of the whole plan that can fail by themselves, whatever part of it was selected."""
        deciding = (case for case in self.cases.values() if self.whole.of(case.topic).decides(case))
        return sum(case.topic.modality in self.participants.modalities for case in deciding)

    def case_alpha(self, case: Case, chances: Iterable[tuple[Case, float]] = ()) -> float:
        """The level of one case: that of all of them, shared by all that can fail, and by all looks at it.

        `chances`: the p-values of cases that are known beside it: where many are small, each has a larger part.
        0, at which none fails, where the run is judged by what moved.
        """
        if self.of_drift:
            return 0.0
        known = (chance / self._share(each) for each, chance in chances)
        return shared_level(known, self.thresholds.cases.alpha, self.deciding) * self._share(case)

    def _share(self, case: Case) -> float:
        look = self.benchmarks.settled.get(self.benchmarks.stratum(case.topic) or "")
        return 1.0 if look is None else look.share

    def circumstances(self, reply: Replies) -> Circumstances:
        """What the scores depend on beside the samples."""
        settings, participants = self.settings, self.participants

        def identity(role: Role) -> Identity | None:
            return participants.identity_of(role) if role in participants.roles else None

        return Circumstances(
            reply,
            settings.key,
            settings.seed,
            settings.calibration,
            identity(Role.DETECTOR),
            identity(Role.JUDGE),
            settings.scoring,
        )
