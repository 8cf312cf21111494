"""BIGbench, as it is registered: people in images, compared with the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fairgate.benchmarks.base import Plugin
from fairgate.benchmarks.bigbench import specs
from fairgate.benchmarks.bigbench.alignment import read_alignment
from fairgate.benchmarks.bigbench.baseline import SUBJECTS
from fairgate.benchmarks.bigbench.benchmark import BigBench
from fairgate.benchmarks.bigbench.data import BENCHMARK, load
from fairgate.benchmarks.bigbench.options import BigBenchOptions
from fairgate.benchmarks.bigbench.original_files import read_original
from fairgate.benchmarks.bigbench.plan import SubjectPlan
from fairgate.benchmarks.bigbench.prompts import Prompts, load_wording
from fairgate.providers.faces.registry import asked_of
from fairgate.providers.faces.vision_detector import questions
from fairgate.providers.images import registry as image_models

if TYPE_CHECKING:
    from fairgate.benchmarks.base import Request
    from fairgate.benchmarks.published import Published


class NotedImages(msgspec.Struct, frozen=True):
    """How many images a past run looked at."""

    identity_prompts: specs.ImageCounts | None = None
    sitters: specs.ImageCounts | None = None  # its name in ledgers of before 0.2


class Noted(msgspec.Struct, frozen=True):
    """What a past run asked."""

    images: NotedImages | None = None


class BigBenchPlugin(Plugin):
    """Occupations, characteristics and relations, with and without a group asked for."""

    name, title, order = BENCHMARK, "BIGbench", 3
    tasks, scores, markers, plan = specs.TASKS, specs.SCORES, specs.MARKERS, specs.Plan
    parts = (SUBJECTS,)
    options = BigBenchOptions
    views, summary = specs.VIEWS, specs.SUMMARY

    @property
    def published(self) -> Published:
        """The tables of its paper, which no run needs."""
        from fairgate.benchmarks.bigbench.published import BigBenchTables

        return BigBenchTables()

    def open(self, request: Request) -> tuple[BigBench]:
        """The images. Where shares come from a file nothing is drawn, and every subject may be in it."""
        settings, noted = request.settings, request.recalled(Noted)
        then = None if noted is None or noted.images is None else noted.images.identity_prompts or noted.images.sitters
        counts = then or request.size.identity_prompts
        file = image_models.result_file(settings.t2i_spec)
        given = settings.of(BigBenchOptions).bigbench
        data = load() if given is None else read_original(given)
        plan = SubjectPlan(
            data,
            Prompts(data, load_wording()),
            None if file else counts.subjects,
            settings.per_topic or counts.implicit,
            None if file else counts.asked,
            settings.per_topic or counts.explicit,
            None if asked_of(settings) is None else (questions(1), questions(2)),
        )
        aligned = None if file is None else read_alignment(file, data)
        return (BigBench(self, plan, aligned, settings.race_map, settings.seed, settings.detector_spec),)


plugin = BigBenchPlugin()
