"""A pytest plugin of the command and its workers: cases are those of the suite, and nothing else is collected.

`tests_bench/…` names cases, wherever the suite is installed; without such a path, all of them are collected. pytest
alone tells paths from the values of options, and would import `conftest.py` of the paths, or of the current folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fairgate.core.layout import CASES, suite


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Put the suite in the place of `tests_bench`, and of no path at all. Raises UsageError for any other path."""
    known, cases = early_config.known_args_namespace, suite() / CASES
    if not known.file_or_dir:
        # Before the user's options, of which the last may take a value that is left out.
        args.insert(0, str(cases))
    places = {each: str(cases.parent / each) for each in known.file_or_dir if _names_cases(each)}
    args[:] = [places.get(each, each) for each in args]
    known.file_or_dir = [places.get(each, each) for each in known.file_or_dir] or [str(cases)]
    for each in known.file_or_dir:
        if not Path(each.partition("::")[0]).resolve().is_relative_to(cases.resolve()):
            raise pytest.UsageError(f"fairgate run: {each} is no case of fairgate. Cases are {CASES}/….")


def _names_cases(argument: str) -> bool:
    return argument == CASES or argument.startswith((f"{CASES}/", f"{CASES}::"))
