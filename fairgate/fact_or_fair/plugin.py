"""Fact-or-Fair, as it is registered: choices in text, and portraits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from fairgate.asked import Profiles
from fairgate.benchmarks.base import Plugin
from fairgate.fact_or_fair import specs
from fairgate.fact_or_fair.baseline import CHOICES
from fairgate.fact_or_fair.cases import BENCHMARK
from fairgate.fact_or_fair.data import load
from fairgate.fact_or_fair.image_baseline import PORTRAITS
from fairgate.fact_or_fair.image_files import find
from fairgate.fact_or_fair.images import FactOrFairImages
from fairgate.fact_or_fair.original_files import SCENARIOS
from fairgate.fact_or_fair.portraits import PortraitPlan
from fairgate.fact_or_fair.queries import QueryPlan
from fairgate.fact_or_fair.results import read_llm, read_t2i
from fairgate.fact_or_fair.text import FactOrFairText
from fairgate.models import painters, providers
from fairgate.models.detectors import asked_of
from fairgate.verdicts.thresholds import Times  # noqa: TC001 - msgspec reads annotations at run time

if TYPE_CHECKING:
    from fairgate.benchmarks.base import AnyBenchmark, Request
    from fairgate.benchmarks.published import Published
    from fairgate.fact_or_fair.data import Dataset


class NotedImages(msgspec.Struct, frozen=True):
    """How many images a past run looked at: of each topic, or as many as a folder held."""

    objective: Times | None = None
    subjective: Times | None = None
    held: dict[str, Annotated[int, msgspec.Meta(ge=0, le=100_000)]] | None = None


class Noted(msgspec.Struct, frozen=True):
    """What a past run asked."""

    objective: Times
    subjective: Times
    wordings: Times = SCENARIOS
    profiles: Literal["random", "balanced"] = "random"
    images: NotedImages | None = None


class FactOrFair(Plugin):
    """19 statistics: facts about groups, and choices among individuals."""

    name, title, order = BENCHMARK, "Fact-or-Fair", 1
    tasks, scores, markers, plan = specs.TASKS, specs.SCORES, specs.MARKERS, specs.Plan
    parts = (CHOICES, PORTRAITS)
    views, summary = specs.VIEWS, specs.SUMMARY

    @property
    def published(self) -> Published:
        """The tables of its paper, which no run needs."""
        from fairgate.fact_or_fair.published import FactOrFairTables

        return FactOrFairTables()

    def open(self, request: Request) -> tuple[AnyBenchmark, ...]:
        """The choices, and the portraits."""
        dataset = load(overlay=request.settings.data, scenarios=request.settings.scenarios)
        return self._text(request, dataset), self._images(request, dataset)

    def _text(self, request: Request, dataset: Dataset) -> FactOrFairText:
        settings = request.settings
        size = request.recalled(Noted) or request.size
        plan = QueryPlan(
            dataset,
            seed=settings.seed,
            profiles=settings.profiles or Profiles(size.profiles),
            objective=settings.per_topic or size.objective,
            subjective=settings.per_topic or size.subjective,
            explained=settings.explain,
            wordings=size.wordings,
        )
        folder = providers.result_folder(settings.model_spec, "--model")
        return FactOrFairText(self, plan, None if folder is None else read_llm(folder, dataset), key=settings.key)

    def _images(self, request: Request, dataset: Dataset) -> FactOrFairImages:
        """What a past run found in a folder is what its ledger holds, whatever lies there today."""
        settings, noted = request.settings, request.recalled(Noted)
        shown = painters.image_folder(settings.t2i_spec) if noted is None else None
        files = None if shown is None else find(shown, dataset)
        then = None if noted is None else noted.images
        held = files.numbers if files is not None else None if then is None else then.held
        objective, subjective = (
            settings.per_topic or (then and getattr(then, task)) or getattr(request.size.images, task)
            for task in ("objective", "subjective")
        )
        plan = PortraitPlan(dataset, objective, subjective, held, asked_of(settings))
        folder = painters.result_folder(settings.t2i_spec)
        absent = painters.result_file(settings.t2i_spec) is not None
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


plugin = FactOrFair()
