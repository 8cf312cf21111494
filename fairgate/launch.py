"""Starts pytest again with unmistakable options, so that it does not look for its configuration beside a ledger.

pytest chooses its root folder before any plugin has told it which options there are, and takes whatever existing path
stands behind an option that it does not know, as in `--ledger /tmp/ledger.sqlite`, for a test. It then never finds this
checkout's pytest.ini. Written as `--ledger=/tmp/ledger.sqlite`, a value cannot be mistaken.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Self

import pytest

from fairgate.runs import options
from fairgate.settings import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

ALLURE = "--alluredir"


def joined(arguments: Sequence[str], options: frozenset[str]) -> list[str]:
    """The arguments with each option's value joined to it: `--model`, `x` becomes `--model=x`."""
    found: list[str] = []
    left = iter(arguments)
    for argument in left:
        value = next(left, None) if argument in options else None
        found.append(argument if value is None else f"{argument}={value}")
    return found


# Outermost, because pytest's own wrapper takes hold of the output, which the new process is to inherit.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Run the same command with joined options, where it was started in this checkout without."""
    _start_again(early_config)
    return (yield)


def _start_again(early_config: pytest.Config) -> None:
    given = list(early_config.invocation_params.args)
    unmistakable = joined(given, frozenset({*_Names.of_our_options(), ALLURE}))
    here = early_config.invocation_params.dir.resolve()
    lost = early_config.inipath is None
    if not here.is_relative_to(CHECKOUT) or unmistakable == given:
        return
    if sys.orig_argv[-len(given) :] != given:
        # Called from a program: there is no command to run again.
        if lost:
            raise pytest.UsageError(f"Write each option and its value as one: {' '.join(unmistakable)}")
        return
    # Also where nothing is lost yet: a ledger that this run makes would mislead its own workers.
    os.execv(sys.executable, [*sys.orig_argv[: -len(given)], *unmistakable])  # noqa: S606 - the command that runs now


class _Names(list[str]):
    """Stands in for pytest's parser, and keeps the names of the options that take a value."""

    @classmethod
    def of_our_options(cls) -> Self:
        names = cls()
        options.add_options(names)  # type: ignore[arg-type] # it has the two methods that are called
        return names

    def getgroup(self, *_: str) -> Self:
        return self

    def addoption(self, name: str, **about: Any) -> None:
        if about.get("action") != "store_true":  # a flag has no value: what stands behind it is its own
            self.append(name)
