"""Fact-or-Fair, as it is registered: choices in text, and portraits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from fairgate.benchmarks.base import InterimAnalysis, Plugin
from fairgate.benchmarks.fact_or_fair import specs
from fairgate.benchmarks.fact_or_fair.baseline import CHOICES
from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.image_baseline import PORTRAITS
from fairgate.benchmarks.fact_or_fair.image_files import find
from fairgate.benchmarks.fact_or_fair.images import FactOrFairImages
from fairgate.benchmarks.fact_or_fair.options import Ages, FactOrFairOptions, Profiles
from fairgate.benchmarks.fact_or_fair.original_files import SCENARIOS
from fairgate.benchmarks.fact_or_fair.portraits import PortraitPlan
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.results import read_llm, read_t2i
from fairgate.benchmarks.fact_or_fair.text import FactOrFairText, stratum_of
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.limits import Maybe, Times  # noqa: TC001 - msgspec reads annotations at run time
from fairgate.providers.chat import registry as providers
from fairgate.providers.faces.registry import asked_of
from fairgate.providers.fields import samples_anew
from fairgate.providers.images import registry as image_models

if TYPE_CHECKING:
    from fairgate.benchmarks.base import AnyBenchmark, Request
    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.published import Published


class NotedPortraits(msgspec.Struct, frozen=True):
    """How many images a past run looked at: of each topic, or as many as a folder held."""

    objective: Times | None = None
    subjective: Times | None = None
    held: dict[str, Annotated[int, msgspec.Meta(ge=0, le=100_000)]] | None = None


class NotedLook(msgspec.Struct, frozen=True):
    """The one interim analysis of a run of 0.2 or before: how many of its `whole` queries a scenario it asked."""

    number: Times
    asked: Times | None = None
    subjective: Times | None = None
    share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0


class Noted(msgspec.Struct, frozen=True):
    """What a past run asked."""

    objective: Maybe
    subjective: Times
    wordings: Times = SCENARIOS
    contexts: tuple[Context, ...] | None = None
    profiles: Literal["random", "balanced"] = "random"
    orders: Literal["random", "balanced"] = "random"
    ages: Literal["range", "one"] = "range"
    images: NotedPortraits | None = None
    look: NotedLook | None = None


class FactOrFair(Plugin):
    """19 statistics: facts about groups, and choices among individuals."""

    name, title, order = BENCHMARK, "Fact-or-Fair", 1
    tasks, scores, markers = specs.TASKS, specs.SCORES, specs.MARKERS
    plan, cases = specs.Plan, specs.CaseMargins
    parts, options = (CHOICES, PORTRAITS), FactOrFairOptions
    views, summary = specs.VIEWS, specs.SUMMARY

    @property
    def published(self) -> Published:
        """The tables of its paper, which no run needs."""
        from fairgate.benchmarks.fact_or_fair.published import FactOrFairTables

        return FactOrFairTables()

    def open(self, request: Request) -> tuple[AnyBenchmark, ...]:
        """The choices, and the portraits."""
        given = request.settings.of(FactOrFairOptions)
        dataset = load(overlay=given.data, scenarios=given.scenarios)
        return self._text(request, dataset), self._images(request, dataset)

    def _text(self, request: Request, dataset: Dataset) -> FactOrFairText:
        settings = request.settings
        given = settings.of(FactOrFairOptions)
        noted = request.recalled(Noted)
        size = noted or request.size
        plan = QueryPlan(
            dataset,
            seed=settings.seed,
            profiles=given.profiles or Profiles(size.profiles),
            ages=given.ages or Ages(size.ages),
            objective=size.objective and (settings.per_topic or size.objective),
            subjective=settings.per_topic or size.subjective,
            explained=settings.explain,
            wordings=size.wordings,
            draws=samples_anew(settings.model_args),
            balanced=size.orders == "balanced",
            contexts=None if size.contexts is None else frozenset(size.contexts),
        )
        folder = providers.result_folder(settings.model_spec, "--model")
        found = FactOrFairText(self, plan, None if folder is None else read_llm(folder, dataset), key=settings.key)
        return found if noted is None or noted.look is None else found.at(_of_scenarios(noted.look, plan))

    def _images(self, request: Request, dataset: Dataset) -> FactOrFairImages:
        """What a past run found in a folder is what its ledger holds, whatever lies there today."""
        settings, noted = request.settings, request.recalled(Noted)
        shown = image_models.image_folder(settings.t2i_spec) if noted is None else None
        files = None if shown is None else find(shown, dataset)
        then = None if noted is None else noted.images
        held = files.numbers if files is not None else None if then is None else then.held
        objective, subjective = (
            settings.per_topic or (then and getattr(then, task)) or getattr(request.size.images, task)
            for task in ("objective", "subjective")
        )
        plan = PortraitPlan(dataset, objective, subjective, held, asked_of(settings))
        folder = image_models.result_folder(settings.t2i_spec)
        absent = image_models.result_file(settings.t2i_spec) is not None
        read = None if folder is None else read_t2i(folder, dataset)
        return FactOrFairImages(
            self,
            plan,
            read,
            settings.race_map,
            files,
            absent=absent,
            detector=settings.detector_spec,
            key=settings.key,
        )


def _of_scenarios(look: NotedLook, plan: QueryPlan) -> dict[str, InterimAnalysis]:
    """By stratum what runs asked that counted queries a scenario, and looked at subjective ones alone."""
    scenarios = plan.wordings or SCENARIOS
    asked = (look.asked or look.subjective or plan.subjective) * scenarios
    found = InterimAnalysis(asked, plan.subjective * scenarios, look.share, look.share)
    return {stratum_of(Task.SUBJECTIVE, context): found for context in Context}


plugin = FactOrFair()
