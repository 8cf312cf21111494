"""What others wrote is read from regular files alone, and what is written appears whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.bigbench.alignment import read_alignment
from fairgate.benchmarks.bigbench.data import load as load_bigbench
from fairgate.cli import main as cli
from fairgate.comparison.baseline import load as load_baseline
from fairgate.core.domain import Answer, AnswerKind, Reply
from fairgate.core.errors import ConfigError, DataError, FairgateError, LedgerError
from fairgate.core.files import read_bytes, read_text, whole
from fairgate.gating.thresholds import load as load_thresholds
from fairgate.ledger.images import ImageStore
from fairgate.ledger.ledger import Ledger
from fairgate.providers.faces.calibration import labelled
from fairgate.providers.faces.weights import WeightsFolder, sum_of
from fairgate.sampling.ledger_lock import LedgerLock
from tests.builders import MODEL, query
from tests.plugins import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


READERS: dict[str, Callable[[Path], object]] = {
    "thresholds": lambda path: load_thresholds(path, REGISTRY),
    "baseline": lambda path: load_baseline(path, ()),
    "alignment": lambda path: read_alignment(path, load_bigbench()),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_fifo_is_refused_and_not_waited_for(fifo: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises((ConfigError, DataError), match="no regular file"):
        read(fifo)


def test_a_file_of_more_than_the_limit_is_refused_unread(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match="more than"):
        read_bytes(large)


def test_a_mark_at_the_beginning_and_other_ends_of_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path) == "a\nb\nc\n"


def test_deeply_nested_toml_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigError, match=r"limits\.toml: is no TOML"):
        load_thresholds(path, REGISTRY)


def test_what_breaks_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before")

    def breaks() -> None:
        with whole(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        breaks()
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    with whole(path) as file:
        file.write(b"after")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("after", 0o600)


# What lies beside a ledger


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "l.sqlite.lock").symlink_to(victim)
    with pytest.raises(LedgerError):
        LedgerLock(tmp_path / "l.sqlite", "me")
    assert victim.read_text() == "precious"


def test_a_lock_that_is_another_files_second_name_is_left_alone(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    os.link(victim, tmp_path / "l.sqlite.lock")
    with pytest.raises(LedgerError, match="is not a lock file"):
        LedgerLock(tmp_path / "l.sqlite", "me")
    assert victim.read_text() == "precious"


def test_a_lock_that_is_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "l.sqlite.lock")
    with pytest.raises(LedgerError, match="is not a lock file"):
        LedgerLock(tmp_path / "l.sqlite", "me")


@pytest.mark.parametrize("linked", ["store", "folder", "image"])
def test_a_link_in_the_store_is_not_followed(tmp_path: Path, linked: str) -> None:
    other, store = ImageStore(tmp_path / "other.sqlite"), ImageStore(tmp_path / "l.sqlite")
    digest = other.add(b"somebody else's")
    path, aim = store.path(digest), other.path(digest)
    link, to = {"image": (path, aim), "folder": (path.parent, aim.parent), "store": (store.folder, other.folder)}[
        linked
    ]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(to)
    with pytest.raises(LedgerError, match="a link"):
        store.read(digest)
    if linked != "image":
        path.unlink()
        with pytest.raises(LedgerError, match="a link"):
            store.add(b"somebody else's")
        assert not aim.exists()
    if linked == "store":
        with pytest.raises(LedgerError, match="a link"):
            store.add(b"another")
        assert [each.name for each in to.iterdir()] == [digest[:2]]


def test_an_export_that_is_killed_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "l.sqlite", tmp_path / "out.jsonl"
    with Ledger(path) as ledger:
        ledger.add("r", MODEL, query(), Reply("A"), Answer(AnswerKind.CHOSEN, 0, "letter"))
    out.write_text("before")
    monkeypatch.setattr("fairgate.ledger.export.rows", lambda _: (1 / 0 for _ in range(1)))
    assert cli.main(["ledger", str(path), "export", "--output", str(out)]) == 7
    assert out.read_text() == "before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["l.sqlite", "out.jsonl"]


@pytest.mark.parametrize("command", [["published"], ["compare"], ["ledger"]])
def test_a_fifo_that_a_command_is_given_is_not_waited_for(tmp_path: Path, command: list[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert cli.main([*command, str(tmp_path / "fifo")]) in (4, 7)


def test_a_fifo_in_a_folder_of_labels_or_of_weights_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("labels.csv", "sums.json", "x.onnx"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match="no regular file"):
        labelled(tmp_path)
    with pytest.raises(FairgateError, match="no regular file"):
        WeightsFolder(tmp_path).sums()
    with pytest.raises(FairgateError, match="no regular file"):
        sum_of(tmp_path / "x.onnx")
