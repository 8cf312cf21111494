"""Options -> the four benchmarks of a run, each by the plan that it is asked by, or with what stands in for a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.bigbench import data as bigbench_data
from fairgate.bigbench.alignment import read_alignment
from fairgate.bigbench.benchmark import BigBench
from fairgate.bigbench.cases import SitterCase
from fairgate.bigbench.original import read_original
from fairgate.bigbench.plan import SitterPlan
from fairgate.bigbench.prompts import Prompts, load_wording
from fairgate.domain import Role
from fairgate.f2bench import data as f2bench_data
from fairgate.f2bench.benchmark import F2Bench
from fairgate.f2bench.cases import ThemeCase
from fairgate.f2bench.forms import in_forms
from fairgate.f2bench.gold import load_gold
from fairgate.f2bench.plan import Plan
from fairgate.f2bench.prompts import load_prompts
from fairgate.faces.asking import questions
from fairgate.fact_or_fair.cases import Case
from fairgate.fact_or_fair.data import load as load_dataset
from fairgate.fact_or_fair.images import FactOrFairImages
from fairgate.fact_or_fair.portraits import PortraitPlan
from fairgate.fact_or_fair.queries import QueryPlan
from fairgate.fact_or_fair.results import read_llm, read_t2i
from fairgate.fact_or_fair.text import FactOrFairText
from fairgate.models import painters, providers
from fairgate.models.base import CONTROL_JUDGE
from fairgate.models.detectors import asked_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fairgate.benchmark import AnyBenchmark
    from fairgate.domain import AnyTopic
    from fairgate.fact_or_fair.data import Dataset
    from fairgate.models.image_folder import ImageFiles
    from fairgate.runs.past import Past
    from fairgate.runs.settings import Settings
    from fairgate.verdicts.thresholds import PlanSize, Thresholds

AnyCase = Case | ThemeCase | SitterCase


@dataclass(frozen=True, eq=False)
class Benchmarks:
    """All of them; `files` are the images of a folder that stands in for a painter."""

    text: FactOrFairText
    images: FactOrFairImages
    f2bench: F2Bench
    bigbench: BigBench
    files: ImageFiles | None

    @property
    def all(self) -> tuple[AnyBenchmark, ...]:
        """In the order of reports."""
        return self.text, self.images, self.f2bench, self.bigbench

    def of(self, topic: AnyTopic) -> AnyBenchmark:
        """Whose topic it is."""
        return self._named[topic.benchmark, topic.modality]

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], AnyBenchmark]:
        return {(each.name, each.modality): each for each in self.all}

    def versions(self, roles: Collection[Role]) -> dict[str, object]:
        """What decides the prompts of whoever is asked, beside the plan, by name."""
        painted = self.bigbench.versions if Role.PAINTER in roles else {}
        judged = self.f2bench.versions if Role.JUDGE in roles else {}
        return {**self.text.versions, **painted, **judged}

    @property
    def attributes(self) -> list[str]:
        """All that any of them looks at."""
        known = [each.name for each in self.text.dataset.attributes]
        return list(dict.fromkeys(known + [each.name for each in self.bigbench.data.attributes]))


def benchmarks_of(settings: Settings, thresholds: Thresholds, size: PlanSize, past: Past | None) -> Benchmarks:
    """What the options ask for. Raises FairgateError where data, a folder or a file is not as it must be."""
    dataset = load_dataset(overlay=settings.data, scenarios=settings.scenarios)
    plan = QueryPlan(
        dataset,
        seed=settings.seed,
        profiles=settings.profiles,
        objective=settings.per_topic or size.objective,
        subjective=settings.per_topic or size.subjective,
        explained=settings.explain,
        wordings=size.wordings,
    )
    text = providers.result_folder(settings.model_spec, "--model")
    files = painters.image_files(settings, dataset) if past is None else None
    held = files.numbers if files is not None else None if past is None else past.held
    bigbench = _bigbench(settings, size)
    images = _images(settings, size, dataset, held)
    return Benchmarks(
        FactOrFairText(plan, None if text is None else read_llm(text, dataset)),
        images,
        F2Bench(_f2bench(settings, size, past), thresholds.judge, settings.seed),
        bigbench,
        files,
    )


def _images(settings: Settings, size: PlanSize, dataset: Dataset, held: Mapping[str, int] | None) -> FactOrFairImages:
    """What a past run found in a folder (`held`) is what its ledger holds, whatever lies there today."""
    plan = PortraitPlan(
        dataset,
        settings.per_topic or size.images.objective,
        settings.per_topic or size.images.subjective,
        held,
        asked_of(settings),
    )
    folder = painters.result_folder(settings.t2i_spec)
    return FactOrFairImages(plan, None if folder is None else read_t2i(folder, dataset), settings.race_map)


def _bigbench(settings: Settings, size: PlanSize) -> BigBench:
    """Where shares come from a file nothing is painted, and every sitter may be in it."""
    sitters, file = size.sitters, painters.alignment_file(settings.t2i_spec)
    data = read_original(settings.bigbench) if settings.bigbench else bigbench_data.load()
    plan = SitterPlan(
        data,
        Prompts(data, load_wording()),
        None if file else sitters.subjects,
        settings.per_topic or sitters.implicit,
        None if file else sitters.asked,
        settings.per_topic or sitters.explicit,
        None if asked_of(settings) is None else (questions(1), questions(2)),
    )
    aligned = None if file is None else read_alignment(file, data)
    return BigBench(plan, aligned, settings.race_map, settings.seed)


def _f2bench(settings: Settings, size: PlanSize, past: Past | None) -> Plan:
    gold = load_gold()
    return Plan(
        f2bench_data.read_workbooks(settings.f2bench, lenient=settings.lenient)
        if settings.f2bench
        else f2bench_data.load(),
        load_prompts(),
        in_forms(gold) if settings.judge_spec == CONTROL_JUDGE else gold,
        repeats=size.repeats,
        reference=settings.scoring == "reference" if past is None else past.reference,
    )
