"""pytest's cache below the current folder: used where pytest wrote it, refused where it leads elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fairgate.case_cache import CACHE, cache_of
from fairgate.core.errors import ConfigError
from tests.unit.test_launch import fairgate

ENTRIES = CACHE / "v" / "cache"
RUN = ("run", "-q", "-k", "crime and base", "--model=control/oracle")


def test_what_pytest_wrote_is_used(tmp_path: Path) -> None:
    assert cache_of(tmp_path) == tmp_path / CACHE
    for _ in range(2):
        code, said = fairgate(tmp_path, *RUN)
        assert code != 4, said
    assert len(json.loads((tmp_path / ENTRIES / "nodeids").read_text())) > 1


@pytest.mark.parametrize("place", [".fairgate", CACHE, CACHE / "v", ENTRIES, ENTRIES / "nodeids", CACHE / ".gitignore"])
def test_a_link_is_refused_and_what_it_leads_to_is_left(tmp_path: Path, place: str) -> None:
    here, victim = tmp_path / "here", tmp_path / "victim"
    aim = here / place
    aim.parent.mkdir(parents=True)
    if aim.suffix or aim.name == "nodeids":
        victim.write_text("precious")
    else:
        victim.mkdir()
    aim.symlink_to(victim)
    code, said = fairgate(here, *RUN)
    assert (code, "is a link" in said, aim.name in said) == (4, True, True)
    assert list(victim.iterdir()) == [] if victim.is_dir() else victim.read_text() == "precious"


def test_another_files_second_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / ENTRIES).mkdir(parents=True)
    (tmp_path / "victim").write_text("{}")
    os.link(tmp_path / "victim", tmp_path / ENTRIES / "lastfailed")
    with pytest.raises(ConfigError, match="no file of its own"):
        cache_of(tmp_path)


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ENTRIES).mkdir(parents=True)
    os.mkfifo(tmp_path / ENTRIES / "lastfailed")
    with pytest.raises(ConfigError, match="no file of its own"):
        cache_of(tmp_path)


def test_folders_in_folders_are_named_and_not_gone_into_for_ever(tmp_path: Path) -> None:
    place = tmp_path / CACHE
    place.mkdir(parents=True)
    for _ in range(30):
        (place / "d").mkdir()
        os.chdir(place)
        place = Path("d")
    os.chdir(tmp_path)
    with pytest.raises(ConfigError, match="it is nothing that pytest writes there"):
        cache_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("lastfailed", "[1]"), ("lastfailed", '"x"'), ("nodeids", "5"), ("nodeids", "[{}]"), ("nodeids", "[" * 100_000)],
)
def test_what_pytest_cannot_have_written_is_named(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / ENTRIES).mkdir(parents=True)
    (tmp_path / ENTRIES / name).write_text(content)
    with pytest.raises(ConfigError, match=f"{name}: it is nothing that pytest writes there. Remove the folder"):
        cache_of(tmp_path)
