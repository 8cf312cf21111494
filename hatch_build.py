"""Puts the suite into the wheel, inside the package; an editable installation finds it in the checkout."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SUITE = ("tests_bench", "fixtures", "data", "conftest.py", "pytest.ini", "thresholds.toml", "thresholds-published.toml")


class SuiteHook(BuildHookInterface[Any]):
    """Lays the suite where `fairgate.core.layout.suite` looks for it in an installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the suite to the files of a wheel."""
        if version == "standard":
            build_data["force_include"] |= {each: f"fairgate/_suite/{each}" for each in SUITE}
