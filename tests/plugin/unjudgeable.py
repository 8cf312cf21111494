"""A plugin for `-p tests.plugin.unjudgeable`: judging ends in what nobody foresaw, in a message of two lines."""

from __future__ import annotations

from typing import NoReturn

import pytest

from fairgate import controller


def _raise(*_: object) -> NoReturn:
    raise ValueError("pvals contains NaNs\n::error::so it is")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    vars(controller)["report_of"] = _raise
