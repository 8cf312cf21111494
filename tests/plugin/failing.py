"""A plugin that fails the first case after its samples are there."""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    raise AssertionError(f"{item.name} fails for a test's sake")
