"""A plugin for `-p tests.plugin.crash`: the worker that gets the case named in CRASH_IN dies, as of a bug in C."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_runtest_call(item: pytest.Item) -> None:
    if os.environ.get("CRASH_IN") == item.name:
        os._exit(9)
