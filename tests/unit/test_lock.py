"""The lock file of development and CI: it holds what pyproject.toml asks for, each file by its hash, and no address."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.running import CHECKOUT

LOCK = (CHECKOUT / "requirements-dev.lock").read_text(encoding="utf-8")
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;]+)(?P<rest>(?:.*\\\n)+.*)", re.MULTILINE)


def test_every_file_is_held_to_a_hash_and_comes_from_no_named_address() -> None:
    entries = [*PINNED.finditer(LOCK)]
    assert len(entries) == len(re.findall(r"^[A-Za-z0-9]", LOCK, re.MULTILINE))
    assert all("--hash=sha256:" in each["rest"] for each in entries)
    assert "://" not in LOCK
    assert "--index-url" not in LOCK


def test_it_fits_what_the_project_asks_for() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [
        *project["dependencies"],
        *(each for name in ("dev", "plots", "f2bench", "images") for each in extras[name]),
    ]
    held: dict[str, list[Version]] = {}
    for each in PINNED.finditer(LOCK):
        held.setdefault(canonicalize_name(each["name"]), []).append(Version(each["version"]))
    for requirement in map(Requirement, asked):
        if requirement.name == "fairgate":
            continue
        versions = held.get(canonicalize_name(requirement.name), [])
        assert versions, requirement
        assert all(requirement.specifier.contains(each) for each in versions), requirement
