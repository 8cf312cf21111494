"""The benchmarks of the project as they are declared, for tests that need no data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.base import AnyBenchmark, Plugin, Request
from fairgate.benchmarks.bigbench import specs as bigbench
from fairgate.benchmarks.f2bench import specs as f2bench
from fairgate.benchmarks.fact_or_fair import specs as fact_or_fair
from fairgate.benchmarks.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence


class Declared(Plugin):
    """What a package declares, under a name; it cannot be opened."""

    def __init__(self, name: str, title: str, order: int, specs: Any) -> None:
        self.name, self.title, self.order = name, title, order
        self.tasks, self.scores, self.markers, self.plan = specs.TASKS, specs.SCORES, specs.MARKERS, specs.Plan
        self.cases = getattr(specs, "CaseMargins", Plugin.cases)
        self.views, self.summary = specs.VIEWS, specs.SUMMARY

    def open(self, request: Request) -> Sequence[AnyBenchmark]:
        """No test opens it."""
        raise NotImplementedError(request)


REGISTRY = Registry(
    (
        Declared("fact-or-fair", "Fact-or-Fair", 1, fact_or_fair),
        Declared("f2bench", "F²Bench", 2, f2bench),
        Declared("bigbench", "BIGbench", 3, bigbench),
    )
)
