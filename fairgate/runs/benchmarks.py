"""The benchmarks of a run: each installed one, bound to the run's options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import InterimAnalysis, Request
from fairgate.benchmarks.registry import registry
from fairgate.core.typed import Mistyped, edited

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.benchmarks.case import Replies
    from fairgate.core.domain import Role, Topic
    from fairgate.gating.thresholds import PlanSize, Thresholds
    from fairgate.ledger.samples import Sample
    from fairgate.options.settings import Settings
    from fairgate.runs.manifest_reader import Look
    from fairgate.runs.past_run import Past


@dataclass(frozen=True, eq=False)
class Benchmarks:
    """All of them, in the order of reports; one that has two modalities is two."""

    all: tuple[AnyBenchmark, ...]

    def of(self, topic: Topic) -> AnyBenchmark:
        """The benchmark of a topic."""
        return self._named[topic.benchmark, topic.modality]

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], AnyBenchmark]:
        return {(each.name, each.modality): each for each in self.all}

    @property
    def data_version(self) -> str:
        """The version of the data, as the first of them has it."""
        return self.all[0].data_version

    @property
    def profiles(self) -> str:
        """How the people in the prompts were drawn."""
        noted = (each.note().get("profiles") for each in self.all)
        return next((each for each in noted if each is not None), "")

    def versions(self, roles: Collection[Role]) -> dict[str, object]:
        """The versions that decide the prompts to these roles, by name."""
        asked = (each for each in self.all if each.roles <= set(roles))
        return {name: version for each in asked for name, version in each.versions.items()}

    @property
    def attributes(self) -> list[str]:
        """The attributes that any of them has scores by."""
        return list(dict.fromkeys(name for each in self.all for name in each.attributes))

    def unfit(self, reply: Replies) -> str | None:
        """Why the judge failed its gold set, None where it passed or was not asked."""
        return next((why for each in self.all if (why := each.unfit(reply)) is not None), None)

    def stratum(self, topic: Topic) -> str | None:
        """The name of the topics that are asked in the same rounds; None for one that is asked at once."""
        return self.of(topic).stratum(topic)

    def looks(self, stratum: str) -> Sequence[InterimAnalysis]:
        """The interim analyses of a stratum; empty where there is no such."""
        return next((found for each in self.all if (found := each.looks(stratum))), ())

    @property
    def settled(self) -> dict[str, InterimAnalysis]:
        """By stratum the last interim analysis; empty of a run that asked its whole plan at once."""
        return {stratum: look for each in self.all for stratum, look in each.settled.items()}

    def noted(self, looks: Mapping[str, Look], where: str) -> Benchmarks:
        """The same, cut to what a ledger notes. Raises LedgerError where the plan has no such interim analyses."""
        found: dict[str, InterimAnalysis] = {}
        for stratum, noted in looks.items():
            of_plan = [each for each in self.looks(stratum) if each.whole == noted.whole and noted.asked <= each.whole]
            if not of_plan:
                what = "the plan has no such interim analysis"
                raise edited(Mistyped(what, f"looks.{stratum}", f". It is after {noted.asked}"), where)
            found[stratum] = InterimAnalysis(noted.asked, noted.whole, noted.share, noted.level or noted.share)
        return self.at(found)

    def counting(self) -> tuple[Benchmarks, Callable[[Sample], None]]:
        """The same for the process that samples, and what is called with each answer as it comes."""
        made = [each.counting() for each in self.all]
        benchmarks = Benchmarks(tuple(each for each, _ in made))
        counts = {(each.name, each.modality): count for each, count in made}

        def counted(sample: Sample) -> None:
            counts[sample.query.topic.benchmark, sample.query.topic.modality](sample)

        return benchmarks, counted

    def at(self, looks: Mapping[str, InterimAnalysis]) -> Benchmarks:
        """The same, with what is asked in rounds cut to interim analyses, by stratum."""
        return Benchmarks(tuple(each.at(looks) for each in self.all)) if looks else self


def benchmarks_of(settings: Settings, thresholds: Thresholds, size: PlanSize, past: Past | None) -> Benchmarks:
    """What the options ask for. Raises FairgateError where data, a folder or a file is not as it must be."""
    noted = None if past is None else past.about
    return Benchmarks(
        tuple(
            benchmark
            for plugin in registry().plugins
            for benchmark in plugin.open(Request(settings, size.size(plugin.name), thresholds.judge, noted))
        )
    )
