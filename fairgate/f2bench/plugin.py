"""F²Bench, as it is registered: open answers that a judge reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fairgate.benchmarks.base import Plugin
from fairgate.f2bench import specs
from fairgate.f2bench.baseline import CONVERSATIONS
from fairgate.f2bench.benchmark import F2Bench
from fairgate.f2bench.cases import BENCHMARK
from fairgate.f2bench.data import load, read_workbooks
from fairgate.f2bench.forms import in_forms
from fairgate.f2bench.gold import load_gold
from fairgate.f2bench.plan import Plan
from fairgate.f2bench.prompts import load_prompts
from fairgate.models.base import CONTROL_JUDGE
from fairgate.verdicts.thresholds import Times  # noqa: TC001 - msgspec reads annotations at run time

if TYPE_CHECKING:
    from fairgate.benchmarks.base import Request
    from fairgate.benchmarks.published import Published


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
    parts = (CONVERSATIONS,)
    views, summary = specs.VIEWS, specs.SUMMARY

    @property
    def published(self) -> Published:
        """The tables of its paper, which no run needs."""
        from fairgate.f2bench.published import F2BenchTables

        return F2BenchTables()

    def open(self, request: Request) -> tuple[F2Bench]:
        """The conversations."""
        settings, gold = request.settings, load_gold()
        noted = request.recalled(Noted)
        then = None if noted is None else noted.f2bench or Conversations()
        held = read_workbooks(settings.f2bench, lenient=settings.lenient) if settings.f2bench else load()
        size = request.size if then is None else then.size
        gold = gold.first(size.gold)
        plan = Plan(
            held.first(size.instances),
            load_prompts(),
            in_forms(gold) if settings.judge_spec == CONTROL_JUDGE else gold,
            repeats=size.repeats if then is None else then.repeats,
            reference=settings.scoring == "reference" if then is None else then.reference,
        )
        return (F2Bench(self, plan, request.judge, settings.seed, settings.f2bench, size, settings.judge_spec),)


plugin = F2BenchPlugin()
