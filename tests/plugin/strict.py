"""A plugin for `-p tests.plugin.strict`: all warnings are errors, but for those that pytest.ini names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.getini("filterwarnings").insert(0, "error")
