"""Starts the suite through pytest, from any folder: what `fairgate run`, `fairgate gate` and `fairgate.run` share."""

from __future__ import annotations

import difflib
import os
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.case_cache import cache_of
from fairgate.core.layout import CASES, suite

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from types import ModuleType

    import pytest

    from fairgate.core.domain import Role
    from fairgate.reports.report import Report

UNRECOGNIZED = re.compile(r"unrecognized arguments: (?P<option>--[^\s=]+)")
INVALID = re.compile(r"error: (?P<said>argument -.*)")
INSIDE = (
    *("--disable-plugin-autoload", "--assert=plain", "--capture=no"),
    *("-p", "no:cacheprovider", "-p", "no:faulthandler"),
)
CONTROLLER = "fairgate-gatekeeper"
# What an outer pytest, or its user, says by the environment is not meant for a run inside of it.
PLAN = "ALLURE_TESTPLAN_PATH"  # by which allure-pytest leaves cases out, and gates with them
OUTER = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_CURRENT_TEST", PLAN)


@dataclass(eq=False)
class Session:
    """A pytest plugin for a run that a program starts: the callables that it queries, and the report of the run."""

    callables: Mapping[Role, Callable[..., object]] = field(default_factory=dict)
    report: Report | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> Session:
        """The session of this run; an empty one where a command started it."""
        return next((each for each in config.pluginmanager.get_plugins() if isinstance(each, cls)), cls())

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Take the report from the process that judged."""
        controller = config.pluginmanager.get_plugin(CONTROLLER)
        if controller is not None and controller.report is not None:
            self.report = replace(controller.report, unwritten=tuple(controller.unwritten))


def arguments(given: Sequence[str], here: Path) -> list[str]:
    """pytest's arguments for the suite, with the user's own behind them; what is written lies below `here`.

    Root folder, settings and plugin are named, so that pytest derives none of them from paths among the user's options.
    """
    root = suite()
    return [
        *("-c", str(root / "pytest.ini"), f"--rootdir={root}", "-p", "fairgate.placement", "-p", "fairgate.suite"),
        # Not beside the suite, which may be installed in a read-only place.
        *(() if "no:cacheprovider" in given else ("-o", f"cache_dir={cache_of(here)}")),
        *given,
    ]


def _spelling() -> object:
    """A pytest plugin that says in a line which option is wrong, and what was meant, instead of pytest's usage."""
    import pytest

    class Spelling:
        @staticmethod
        @pytest.hookimpl(wrapper=True)
        def pytest_cmdline_parse() -> Generator[None, object, object]:
            try:
                return (yield)
            except pytest.UsageError as error:
                if (said := _said(str(error))) is None:
                    raise
                raise pytest.UsageError(f"fairgate run: {said}") from None

    return Spelling()


def _said(error: str) -> str | None:
    """What pytest's message says of an option, and what to do; None where it is about something else."""
    from fairgate.benchmarks.registry import registry

    if (invalid := INVALID.search(error)) is not None:
        return f"{invalid['said']}. See `fairgate run --help`."
    if (found := UNRECOGNIZED.search(error)) is None:
        return None
    near = difflib.get_close_matches(found["option"], [each.flag for each in registry().options], n=1, cutoff=0.75)
    hint = f"Did you mean {near[0]}?" if near else "See `fairgate run --help` and `pytest --help`."
    return f"unrecognized option {found['option']}. {hint}"


def start(given: Sequence[str], session: Session | None = None) -> int:
    """Run the suite in this process, and return the exit code of the run."""
    import pytest

    if session is None:
        # Workers of pytest-xdist would look for modules in the current folder first.
        os.environ["PYTHONSAFEPATH"] = "1"
        os.environ.pop(PLAN, None)
        return int(pytest.main(arguments(given, Path.cwd()), [_spelling()]))
    with _apart():
        return int(pytest.main(arguments([*INSIDE, *given], Path.cwd()), [session]))


@contextmanager
def by_itself() -> Iterator[None]:
    """Keep from the suite what the environment tells pytest."""
    outer = {name: os.environ.pop(name) for name in OUTER if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(outer)


@contextmanager
def _apart() -> Iterator[None]:
    """Keep the suite apart from the program, which may be a pytest session with modules of the same names."""
    root = suite()
    suites = {"conftest", "fixtures", *(path.stem for path in (root / CASES).rglob("test_*.py"))}
    path, theirs = list(sys.path), _without(suites)
    try:
        with by_itself():
            yield
    finally:
        _without(suites)
        sys.modules.update(theirs)
        sys.path[:] = path


def _without(names: set[str]) -> dict[str, ModuleType]:
    """Take modules of these names, and what lies in them, out of sys.modules, and return them."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names}
