"""`python -m fairgate faces`: the same readings here and on a Ray cluster, of which a node may die."""

from __future__ import annotations

import sqlite3
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.cli import main
from fairgate.faces import bulk
from fairgate.faces.detectors import make
from fairgate.faces.labels import label_map
from fairgate.models import portraits
from fairgate.store.images import ImageStore
from fairgate.store.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMAGES = 48
DETECTOR = "control/fairface"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Painted people, one file that is no image, and one that is none of ours."""
    root = tmp_path_factory.mktemp("images")
    maps = {each: label_map("bigbench", each) for each in ("gender", "race", "age")}
    for number in range(IMAGES - 1):
        chance = Random(number)  # noqa: S311 - draws people, guards nothing
        people = [portraits.shown({}, maps, chance) for _ in range(number % 3)]
        (root / f"{number:03}.png").write_bytes(portraits.paint(people, (256, 256), chance))
    (root / "broken.png").write_bytes(b"no image")
    (root / "notes.txt").write_text("no image either")
    return root


def readings(ledger: Path) -> dict[str, str]:
    with sqlite3.connect(ledger) as database:
        return dict(database.execute("SELECT query, reply FROM samples"))


@pytest.fixture(scope="module")
def alone(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    ledger = tmp_path_factory.mktemp("alone") / "faces.sqlite"
    assert main(["faces", str(folder), "--detector", DETECTOR, "--ledger", str(ledger), "--batch", "8"]) == 0
    return ledger


def test_a_folder_is_read_once(alone: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = readings(alone)
    assert len(found) == IMAGES
    assert '"problem":"not-an-image"' in found["folder/image/implicit/broken.png#0/faces"]
    assert found["folder/image/implicit/002.png#0/faces"].count('"box"') == 2
    assert main(["faces", str(folder), "--detector", DETECTOR, "--ledger", str(alone)]) == 0
    assert capsys.readouterr().out.startswith("0 images read")


def test_a_stopped_reading_goes_on_where_it_was(folder: Path, tmp_path: Path, alone: Path) -> None:
    detector, path = make(DETECTOR), tmp_path / "faces.sqlite"
    names, store = sorted(folder.glob("*.png")), ImageStore(path)
    with Ledger(path) as ledger:
        pending = bulk.images_in(folder, names, store, ledger, detector.identity)
        kept = bulk.keep(ledger, "first", detector.identity, bulk.here(detector, store, pending, 8))
        assert [next(kept), next(kept)] == [8, 8]
    detector.close()
    assert len(readings(path)) == 16
    assert main(["faces", str(folder), "--detector", DETECTOR, "--ledger", str(path)]) == 0
    assert readings(path) == readings(alone)


def test_what_is_no_ledger_and_no_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faces", str(tmp_path / "nothing")]) == 7
    assert "no such ledger or folder" in capsys.readouterr().err


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Three nodes of one processor each, on this machine."""
    pytest.importorskip("ray", reason="ray is not installed (pip install 'fairgate[ray]')")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    nodes = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False},
    )
    for _ in range(2):
        nodes.add_node(num_cpus=1, object_store_memory=80_000_000)
    nodes.wait_for_nodes()
    try:
        yield nodes
    finally:
        nodes.shutdown()


@pytest.mark.filterwarnings("default")
def test_a_cluster_reads_the_same_and_a_killed_node_loses_nothing(
    cluster: Any, folder: Path, alone: Path, tmp_path: Path
) -> None:
    detector, path = make(DETECTOR), tmp_path / "faces.sqlite"
    names, store = sorted(folder.glob("*.png")), ImageStore(path)
    victim = next(iter(cluster.worker_nodes))
    with Ledger(path) as ledger:
        pending = bulk.images_in(folder, names, store, ledger, detector.identity)
        done = bulk.on_ray(bulk.Maker(DETECTOR), store, pending, cluster.address, batch=2)
        counts = []
        for count in bulk.keep(ledger, "run", detector.identity, done):
            counts.append(count)
            if len(counts) == 3:
                cluster.remove_node(victim, allow_graceful=False)
    detector.close()
    assert sum(counts) == IMAGES
    assert readings(path) == readings(alone)
