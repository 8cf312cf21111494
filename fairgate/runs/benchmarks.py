"""The benchmarks of a run: each installed one, bound to the run's options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import Request
from fairgate.benchmarks.registry import registry
from fairgate.typed import Mistyped, edited

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fairgate.benchmarks.base import AnyBenchmark, InterimAnalysis, Replies
    from fairgate.domain import Role, Topic
    from fairgate.runs.note import Look
    from fairgate.runs.past_run import Past
    from fairgate.settings import Settings
    from fairgate.verdicts.thresholds import PlanSize, Thresholds


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

    def looks(self) -> Sequence[InterimAnalysis]:
        """The interim analyses: one benchmark at most has any."""
        return next((found for each in self.all if (found := each.looks())), ())

    def in_rounds(self, topic: Topic) -> bool:
        """Whether a topic's queries are asked in rounds."""
        return self.of(topic).in_rounds(topic)

    def look(self, noted: Look, where: str) -> InterimAnalysis:
        """The interim analysis that a ledger notes. Raises LedgerError where the plan has no such."""
        found = next((each for each in self.looks() if each.number == noted.number), None)
        size = noted.subjective if noted.asked is None else noted.asked
        if found is None or found.asked != size:
            raise edited(Mistyped("the plan has no such interim analysis", "look", f": number {noted.number}"), where)
        return found

    def at(self, look: InterimAnalysis) -> Benchmarks:
        """The same, with what is asked in rounds cut to an interim analysis."""
        return Benchmarks(tuple(each.at(look) if each.looks() else each for each in self.all))


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
