"""F²Bench, as it is registered: open answers that a judge reads."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from fairgate.benchmarks.base import Package, Plugin
from fairgate.benchmarks.f2bench import specs
from fairgate.benchmarks.f2bench.baseline import CONVERSATIONS
from fairgate.benchmarks.f2bench.benchmark import F2Bench
from fairgate.benchmarks.f2bench.cases import BENCHMARK
from fairgate.benchmarks.f2bench.data import load, read_workbooks
from fairgate.benchmarks.f2bench.forms import in_forms
from fairgate.benchmarks.f2bench.gold import load_gold
from fairgate.benchmarks.f2bench.options import F2BenchOptions
from fairgate.benchmarks.f2bench.plan import ConversationPlan
from fairgate.benchmarks.f2bench.prompts import load_prompts, load_released
from fairgate.benchmarks.limits import Times  # noqa: TC001 - msgspec reads annotations at run time
from fairgate.core.domain import Modality
from fairgate.options.settings import CONTROL_JUDGE

if TYPE_CHECKING:
    from fairgate.benchmarks.base import Request
    from fairgate.benchmarks.published import Published
    from fairgate.core.statistics.prediction_powered import Corrects


REVIEWED = re.compile(
    rf"{BENCHMARK}/{Modality.TEXT}/[^#]+#\d+/[^/]+/(?:(?P<tie>tie)|(?:paragraph|twin)/(?P<of>[^/]+))/judge\.[^/]+(?:/again)?"
)


class Conversations(msgspec.Struct, frozen=True):
    """How often a past run held which conversations, and by which scoring their judgements were asked for."""

    repeats: Times = 1
    reference: bool = False
    size: specs.Plan = specs.Plan()


class Noted(msgspec.Struct, frozen=True):
    """What a past run asked."""

    f2bench: Conversations | None = None


class F2BenchPlugin(Plugin):
    """Dialogue induction, and the balance of fairness and factuality."""

    name, title, order = BENCHMARK, "F²Bench", 2
    tasks, scores, markers, plan = specs.TASKS, specs.SCORES, specs.MARKERS, specs.Plan
    parts, options = (CONVERSATIONS,), F2BenchOptions
    packages = MappingProxyType({"openpyxl": Package("--f2bench DIR", "fairgate[f2bench]")})
    views, summary = specs.VIEWS, specs.SUMMARY

    def reviewed(self, query: str) -> tuple[str, Corrects] | None:
        """Verdicts on dialogues and descriptions, and marks of these, by definition; those of the gold set are none."""
        found = REVIEWED.fullmatch(query)
        return None if found is None else specs.REVIEWED[found["tie"] or found["of"]]

    @property
    def published(self) -> Published:
        """The tables of its paper, which no run needs."""
        from fairgate.benchmarks.f2bench.published import F2BenchTables

        return F2BenchTables()

    def open(self, request: Request) -> tuple[F2Bench]:
        """The conversations."""
        settings, gold = request.settings, load_gold()
        given = settings.of(F2BenchOptions)
        noted = request.recalled(Noted)
        then = None if noted is None else noted.f2bench or Conversations()
        held = read_workbooks(given.f2bench, lenient=given.lenient) if given.f2bench else load()
        size = request.size if then is None else then.size
        gold = gold.first(size.gold)
        plan = ConversationPlan(
            held.first(size.instances),
            load_prompts(),
            in_forms(gold) if settings.judge_spec == CONTROL_JUDGE else gold,
            repeats=size.repeats if then is None else then.repeats,
            reference=settings.scoring == "reference" if then is None else then.reference,
            released=None if given.f2bench_prompts is None else load_released(given.f2bench_prompts),
        )
        return (F2Bench(self, plan, request.judge, settings.seed, given.f2bench, size, settings.judge_spec),)


plugin = F2BenchPlugin()
