"""Where the suite and its data lie: in a checkout beside the package, in an installation inside it."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def suite(package: Path = PACKAGE) -> Path:
    """The folder of tests_bench, fixtures, data, limits, conftest.py and pytest.ini that belong to a package."""
    inside = package / "_suite"
    return inside if inside.is_dir() else package.parent


CASES = "tests_bench"
SUITE = suite()
DATA = SUITE / "data"
THRESHOLDS = SUITE / "thresholds.toml"
