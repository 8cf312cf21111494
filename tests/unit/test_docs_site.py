"""The site of docs/: what mkdocs does to its pages, and that each page is in the navigation."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fairgate.benchmarks.registry import registry
from tests.running import CHECKOUT, environment
from tests.servers.fault_list import FAULTS

if TYPE_CHECKING:
    from pathlib import Path


def rendered(markdown: str) -> str:
    found = importlib.util.spec_from_file_location("hooks", CHECKOUT / "docs" / "hooks.py")
    assert found is not None
    assert found.loader is not None
    hooks = importlib.util.module_from_spec(found)
    found.loader.exec_module(hooks)
    return str(hooks.on_page_markdown(markdown))


def test_the_reference_lists_each_option_once() -> None:
    page = rendered((CHECKOUT / "docs" / "options.md").read_text(encoding="utf-8"))
    listed = re.findall(r"^\| `(--[a-z0-9-]+)", page, re.MULTILINE)
    assert sorted(listed) == sorted(each.flag for each in registry().options)
    assert "<!--" not in page


def test_the_table_of_faults_lists_each_fault() -> None:
    page = (CHECKOUT / "docs" / "faults.md").read_text(encoding="utf-8").partition("## By kind of fault")[2]
    listed = Counter(re.sub("`", "", name) for name in re.findall(r"^\| (.+?) \| (?:asked again|answered, asked once|"
                     r"sample failed|counted as refused|run stopped) \|", page, re.MULTILINE))  # fmt: skip
    assert listed == Counter(each.name for each in FAULTS)


def test_a_file_of_the_repository_is_named_and_not_linked() -> None:
    assert rendered("[`data`](../data) [the sources](../data/SOURCES.md#top) [l](limits.md)") == (
        "`data` the sources (`data/SOURCES.md`) [l](limits.md)"
    )


def test_every_page_is_in_the_navigation() -> None:
    def pages(entries: list[Any]) -> list[str]:
        found = [value for entry in entries for value in entry.values()]
        return [page for value in found for page in (pages(value) if isinstance(value, list) else [value])]

    named = pages(yaml.safe_load((CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert sorted(named) == sorted(path.name for path in (CHECKOUT / "docs").glob("*.md"))


@pytest.mark.slow
def test_the_site_is_built_strictly(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path],
        cwd=CHECKOUT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Nothing is loaded from another host.
    for page in tmp_path.rglob("*.html"):
        assert not re.findall(r'<(?:script|img)[^>]+src="http|<link[^>]+stylesheet[^>]+http', page.read_text())
