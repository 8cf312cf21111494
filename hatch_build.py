"""Puts the suite into the wheel, inside the package, and into the sdist; an editable installation finds it in the
checkout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# By name: whatever else lies in a checkout, ledgers, reports and keys among it, is not to be published.
SUITE = (
    *("conftest.py", "pytest.ini", "thresholds.toml", "thresholds-published.toml"),
    *("fixtures/**/*.py", "tests_bench/**/*.py"),
    *("data/SOURCES.md", "data/f2bench/SOURCES.md", "data/published/SOURCES.md"),
    *("data/bigbench/*.csv", "data/fact_or_fair/*.csv", "data/published/*.csv"),
    *("data/f2bench/*.json", "data/fact_or_fair/*.json", "data/fact_or_fair/names.txt"),
    *(f"data/{each}/*.toml" for each in ("bigbench", "explain", "f2bench", "faces", "fact_or_fair", "replies")),
    "data/faces/control/**/*.onnx",
)


class SuiteHook(BuildHookInterface[Any]):
    """Lays the suite where `fairgate.core.layout.suite` looks for it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the suite to the files of a wheel or an sdist."""
        if version == "editable":
            return
        inside = "" if self.target_name == "sdist" else "fairgate/_suite/"
        root = Path(self.root)
        _check_links(root)
        names = [path.relative_to(root).as_posix() for pattern in SUITE for path in root.glob(pattern)]
        build_data["force_include"] |= {each: f"{inside}{each}" for each in names}


def _check_links(root: Path) -> None:
    """Raise ValueError for a link in a folder of which files are published: it brings whatever it leads to."""
    places = [path for path in root.iterdir() if path.is_file()]
    for name in (".ci", "fairgate", "fixtures", "tests_bench", "data", "tests", "benchmarks", "examples", "docs"):
        places += [root / name, *(root / name).rglob("*")]
    for path in places:
        if path.is_symlink():
            raise ValueError(f"{path}: it is a link, and what it leads to is not to be published. Remove it.")
