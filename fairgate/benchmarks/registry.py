"""The benchmarks that are installed, found by the entry point `fairgate.benchmarks`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import Plugin
from fairgate.core.errors import PluginError
from fairgate.core.redaction import Redaction, of_environment
from fairgate.options.option import declared
from fairgate.options.table import OptionTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fairgate.benchmarks.scores import Score, TaskSpec

GROUP = "fairgate.benchmarks"
MADE = "installed.test_installed"  # the module of all test functions that are made


@dataclass(frozen=True)
class Registry:
    """All benchmarks, in the order of reports."""

    plugins: tuple[Plugin, ...]

    @cached_property
    def scores(self) -> Mapping[str, tuple[Score, ...]]:
        """The specifications by name: a name that two benchmarks use has several."""
        found: dict[str, tuple[Score, ...]] = {}
        for plugin in self.plugins:
            for score in plugin.scores:
                found[score.name] = (*found.get(score.name, ()), score)
        return found

    @cached_property
    def tasks(self) -> Mapping[tuple[str, str], tuple[Plugin, TaskSpec]]:
        """Every task by (modality, name), with its benchmark."""
        return {(task.modality, task.name): (plugin, task) for plugin in self.plugins for task in plugin.tasks}

    def title(self, benchmark: str) -> str:
        """The title of a benchmark by its name; the name where it is not installed."""
        return next((each.title for each in self.plugins if each.name == benchmark), benchmark)

    @cached_property
    def options(self) -> OptionTable:
        """The options of a run, with those of the benchmarks."""
        return OptionTable(tuple(each.options for each in self.plugins if each.options is not None))

    @property
    def markers(self) -> dict[str, str]:
        """What `-m` can select, with a description."""
        return {name: about for plugin in self.plugins for name, about in plugin.markers.items()}

    @property
    def tests(self) -> Mapping[str, str]:
        """The test functions that are made for cases, without their `test_`, with what each claims."""
        return {name: claim for plugin in self.plugins for name, claim in plugin.tests.items()}

    def test_module(self, benchmark: str, test: str) -> str:
        """The module of a test function, below `tests_bench`: `BENCHMARK.test_TEST`, or that of those that are made."""
        return MADE if test in self.tests else f"{benchmark.replace('-', '_')}.test_{test}"

    def score(self, name: str, modality: str, task: str) -> Score | None:
        """The specification of a score in a task; None for the names that are no scores of their own (rates)."""
        plain = name.partition("@")[0]
        return next((each for each in self.scores.get(plain, ()) if (modality, task) in each.tasks), None)


@lru_cache(maxsize=1)
def registry() -> Registry:
    """The installed benchmarks. Raises PluginError, naming the package, for one that cannot be loaded."""
    return Registry(tuple(_load()))


def _load() -> Iterator[Plugin]:
    named: dict[str, Plugin] = {}
    for point in entry_points(group=GROUP):
        package = point.dist.name if point.dist is not None else point.value
        try:
            loaded = point.load()
        except Exception as error:
            raise PluginError(
                f"the benchmark {point.name!r} cannot be loaded: {type(error).__name__}: "
                f"{Redaction(of_environment()).show(str(error))}.",
                where=f"package {package}, entry point {point.value}",
                hint="Update or uninstall the package.",
            ) from error
        if not isinstance(loaded, Plugin):
            raise PluginError(
                f"the benchmark {point.name!r} is {type(loaded).__name__}, not a fairgate.benchmarks.base.Plugin.",
                where=f"package {package}, entry point {point.value}",
                hint="docs/benchmarks.md says what a benchmark provides.",
            )
        if loaded.name in named:
            raise PluginError(
                f"two installed benchmarks are named {loaded.name!r}.",
                where=f"package {package}, entry point {point.value}",
                hint="Uninstall one of them.",
            )
        for other in named.values():
            if twice := _declared(loaded) & _declared(other):
                raise PluginError(
                    f"the benchmarks {other.name!r} and {loaded.name!r} both have {min(twice)}.",
                    where=f"package {package}, entry point {point.value}",
                    hint="Uninstall one of them.",
                )
        named[loaded.name] = loaded
    yield from sorted(named.values(), key=lambda plugin: (plugin.order, plugin.name))


def _declared(plugin: Plugin) -> frozenset[str]:
    """The names that no two benchmarks can share, in words: limits and test functions are found by them alone."""
    tasks = (f"the {task.modality} task {task.name!r}" for task in plugin.tasks)
    options = () if plugin.options is None else declared(plugin.options)
    return frozenset(
        (
            *tasks,
            *(f"the test function {name!r}" for name in plugin.tests),
            *(f"the option {flag}" for each in options for flag in each.flags),
        )
    )
