"""`fairgate faces`: the same readings here and on a Ray cluster, of which a node may die."""

from __future__ import annotations

import socket
import sqlite3
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.benchmarks.bigbench.topics import SubjectTopic, Task
from fairgate.benchmarks.fact_or_fair.cases import image_topic
from fairgate.benchmarks.fact_or_fair.topics import Level
from fairgate.benchmarks.fact_or_fair.topics import Task as OwnTask
from fairgate.cli.main import main
from fairgate.core.domain import Form, Identity, Query, Reply, Role
from fairgate.ledger.images import ImageStore, said
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.samples import read
from fairgate.providers.faces import bulk
from fairgate.providers.faces.factory import make
from fairgate.providers.images import portraits
from fairgate.replies.labels import label_map

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

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
        (root / f"{number:03}.png").write_bytes(portraits.draw(people, (256, 256), chance))
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
        pending = bulk.images_in(folder, names, store, ledger, detector.identity, bulk.Lost())
        kept = bulk.keep(ledger, "first", detector.identity, bulk.here(detector, store, pending, bulk.Lost(), 8))
        assert [next(kept), next(kept)] == [8, 8]
    detector.close()
    assert len(readings(path)) == 16
    assert main(["faces", str(folder), "--detector", DETECTOR, "--ledger", str(path)]) == 0
    assert readings(path) == readings(alone)


def test_images_that_are_gone_are_named_and_hold_up_no_other(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a ledger, images beside it that were lost or changed; of a folder, files that cannot be read."""
    path, image_model = tmp_path / "ledger.sqlite", Identity("python", "painter")
    store = ImageStore(path)
    digests = [store.add(each.read_bytes()) for each in sorted(folder.glob("00*.png"))]
    topics = (
        SubjectTopic("bigbench", Task.IMPLICIT, "dancer"),
        image_topic(OwnTask.SUBJECTIVE, "crime-rate", Level.HIGH),
    )
    with Ledger(path) as ledger:
        for index, digest in enumerate(digests):
            # Images of any benchmark are read, whatever its tasks are.
            topic = topics[index % 2]
            query = Query(topic, index, "a prompt", step="image", to=Role.IMAGE_MODEL, form=Form.IMAGE)
            ledger.add("run", image_model, query, reply := Reply(said(digest)), read(query, reply))
    store.path(digests[0]).unlink()
    store.path(digests[4]).chmod(0o600)
    store.path(digests[4]).write_bytes(b"another")
    assert main(["faces", str(path), "--detector", DETECTOR, "--batch", "3"]) == 7
    told = capsys.readouterr().err
    assert f"{len(digests) - 2} images read" in told
    assert "2 could not be read from the disk" in told
    assert any(str(store.path(digests[number])) in told for number in (0, 4))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.png").symlink_to(folder / "001.png")
    (tmp_path / "files" / "b.png").write_bytes((folder / "002.png").read_bytes())
    assert main(["faces", str(tmp_path / "files"), "--detector", DETECTOR]) == 7
    told = capsys.readouterr().err
    assert "1 image read" in told
    assert "a.png: it is a link, which is not followed" in told


def test_an_address_at_which_no_cluster_answers_is_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="ray is not installed (pip install 'fairgate[ray]')")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        assert main(["faces", str(tmp_path), "--detector", DETECTOR, "--ray", address]) == 7
    assert f"--ray {address}: no Ray cluster answers" in capsys.readouterr().err


def test_a_vision_model_reads_for_a_run_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faces", str(tmp_path), "--detector", "openai/eyes"]) == 4
    assert "vision models work only in `fairgate run`" in capsys.readouterr().err


def test_what_is_no_ledger_and_no_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faces", str(tmp_path / "nothing")]) == 4
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
        pending = bulk.images_in(folder, names, store, ledger, detector.identity, bulk.Lost())
        # The fourth finds no processor: nothing is given to it, and nothing waits for it.
        done = bulk.on_ray(bulk.Maker(DETECTOR), store, pending, cluster.address, bulk.Lost(), batch=2, actors=4)
        counts = []
        for count in bulk.keep(ledger, "run", detector.identity, done):
            counts.append(count)
            if len(counts) == 3:
                cluster.remove_node(victim, allow_graceful=False)
    detector.close()
    assert sum(counts) == IMAGES
    assert readings(path) == readings(alone)


@pytest.mark.filterwarnings("default")
def test_an_actor_imports_nothing_of_the_current_folder(
    cluster: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy", "msgspec"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__)\n")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "faces.sqlite"
    with Ledger(path) as ledger:
        names, store = sorted(folder.glob("*.png"))[:4], ImageStore(path)
        detector = make(DETECTOR)
        pending = bulk.images_in(folder, names, store, ledger, detector.identity, bulk.Lost())
        done = bulk.on_ray(bulk.Maker(DETECTOR), store, pending, cluster.address, bulk.Lost(), batch=2, actors=1)
        assert sum(bulk.keep(ledger, "run", detector.identity, done)) == 4
    detector.close()
    assert not (tmp_path / "ran").exists()
