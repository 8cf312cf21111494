"""Weights over HTTP: checked, recorded, held against what was pulled first. What goes wrong leaves nothing behind."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING

import onnx
import pytest

from fairgate.cli.main import main
from fairgate.core.errors import FairgateError
from fairgate.core.files import LOCK
from fairgate.providers.faces import download, toy_graphs
from fairgate.providers.faces.download import Puller, package_address
from fairgate.providers.faces.factory import make
from fairgate.providers.faces.weights import Network, WeightsFolder, default_folder, kind
from fairgate.providers.images.portraits import draw, shown
from tests.running import CHECKOUT
from tests.servers.images import At, ImageStub
from tests.unit.test_face_detection import constant_graph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCRFD = (toy_graphs.FOLDER / "detection" / "scrfd.onnx").read_bytes()
KEY = "s3cret"
FAIRFACE = (toy_graphs.FOLDER / "fairface" / "fairface.onnx").read_bytes()


def package(path: Path, **more: bytes) -> bytes:
    genderage = constant_graph(path / "genderage.onnx", [1, 3, 96, 96], [0.1, 0.9, 0.34]).read_bytes()
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        files = {"buffalo_l/det_10g.onnx": SCRFD, "buffalo_l/genderage.onnx": genderage, "../evil.onnx": b"x"} | more
        for name, content in files.items():
            packed.writestr(name, content)
    return file.getvalue()


@contextmanager
def serving(pages: dict[str, bytes | str]) -> Iterator[str]:
    """A server of these pages: a text is where it redirects to; pages whose name says so are cut in the middle,
    or want the cookie that comes with each redirect.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            if page is None or ("cookie" in self.path and self.headers["Cookie"] != "met=1"):
                self.send_error(404)
            elif isinstance(page, str):
                self.send_response(302)
                self.send_header("Location", page)
                self.send_header("Set-Cookie", "met=1; Path=/")
                self.end_headers()
            else:
                self.send_response(200)
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page[: len(page) // 2] if "cut" in self.path else page)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def test_pulled_weights_read_faces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way of a user: pull, look, read a face with the real detector's name."""
    weights = tmp_path / "weights"
    pages: dict[str, bytes | str] = {"/p.zip": package(tmp_path), "/f.onnx": FAIRFACE, "/moved": "/p.zip"}
    with serving(pages) as url:
        code = main(
            [
                *("weights", "pull", "--weights", str(weights)),
                *("--url", f"{url}/moved", "--fairface-url", f"{url}/f.onnx?key=s3cret"),
            ]
        )
    told = capsys.readouterr().out
    assert code == 0
    assert "non-commercial research purposes only" in told
    assert "CC BY 4.0" in told
    assert sorted(path.relative_to(weights).as_posix() for path in weights.rglob("*") if path.is_file()) == [
        *(LOCK, "detection/det_10g.onnx", "fairface/f.onnx", "genderage/genderage.onnx", "sums.json")
    ]
    recorded = (weights / "sums.json").read_text(encoding="utf-8")
    assert "s3cret" not in recorded + told
    assert json.loads(recorded)["fairface/f.onnx"]["from"] == f"{url}/f.onnx"

    chance = Random(1)  # noqa: S311
    drawn = shown({}, {}, chance)
    portrait = draw([drawn], (512, 512), chance)
    (face,) = make("faces/fairface", weights=weights).read(portrait).faces
    assert face.race[drawn["race"]] > 0.9
    (other,) = make("faces/insightface", weights=weights).read(portrait).faces
    assert (other.gender, other.race) == ({"Male": 1.0}, {})

    assert main(["weights", "show", "--weights", str(weights)]) == 0
    assert "not there" not in capsys.readouterr().out


def test_what_changed_is_not_used(tmp_path: Path) -> None:
    folder = WeightsFolder(tmp_path / "weights")
    source = tmp_path / "fairface.onnx"
    source.write_bytes(FAIRFACE)
    kept = Puller(folder).add(kind("fairface"), source)
    kept.path.write_bytes(FAIRFACE + b"\0")
    with pytest.raises(FairgateError, match="when it was pulled"):
        folder.network("fairface")


def test_a_network_in_two_files_is_not_used(tmp_path: Path) -> None:
    folder = WeightsFolder(tmp_path / "weights")
    place = folder.path / "fairface" / "f.onnx"
    place.parent.mkdir(parents=True)
    onnx.save(onnx.load_from_string(FAIRFACE), place, save_as_external_data=True, location="f.data", size_threshold=0)
    with pytest.raises(FairgateError, match=r"f\.onnx: a part of its weights lies in another file"):
        folder.network("fairface")
    # Fields come in any order.
    plain = b"\n\x08location\x12\x06f.data"
    assert plain in place.read_bytes()
    place.write_bytes(place.read_bytes().replace(plain, b"\x12\x06f.data\n\x08location"))
    with pytest.raises(FairgateError, match=r"f\.onnx: a part of its weights lies in another file"):
        folder.network("fairface")


def test_a_network_that_only_has_the_word_for_it_is_used(tmp_path: Path) -> None:
    graph = onnx.load_from_string(FAIRFACE)
    graph.graph.doc_string = "location"
    folder = WeightsFolder(tmp_path / "weights")
    place = folder.path / "fairface" / "f.onnx"
    place.parent.mkdir(parents=True)
    onnx.save(graph, place)
    assert folder.network("fairface").path == place


def test_a_network_that_nobody_pulled_is_not_removed(tmp_path: Path) -> None:
    folder, source = WeightsFolder(tmp_path / "weights"), tmp_path / "fairface.onnx"
    source.write_bytes(FAIRFACE)
    mine = folder.path / "fairface" / "mine.onnx"
    mine.parent.mkdir(parents=True)
    mine.write_text("weeks of training")
    with pytest.raises(FairgateError, match=r"mine\.onnx lies there, which was not pulled"):
        Puller(folder, replace=True).add(kind("fairface"), source)
    assert folder.files("fairface") == [mine]


@pytest.mark.parametrize("sha256", ["x", None])
def test_weights_behind_a_link_are_neither_removed_nor_written(tmp_path: Path, sha256: str | None) -> None:
    folder, source, models = WeightsFolder(tmp_path / "weights"), tmp_path / "fairface.onnx", tmp_path / "models"
    source.write_bytes(FAIRFACE)
    models.mkdir()
    (models / "mine.onnx").write_text("weeks of training")
    folder.path.mkdir()
    place = folder.path / "fairface"
    place.symlink_to(models)
    (folder.path / "sums.json").write_text(json.dumps({"fairface/mine.onnx": {"sha256": sha256}}))
    with pytest.raises(FairgateError, match="fairface is a link, which is not followed"):
        Puller(folder, replace=True).add(kind("fairface"), source)
    place.unlink()
    models.rename(place)
    with pytest.raises(FairgateError, match=r"mine\.onnx lies there, which was not pulled"):
        Puller(folder, replace=True).add(kind("fairface"), source)
    assert (place / "mine.onnx").read_text() == "weeks of training"


def listing(files: int, *, long_form: bool) -> bytes:
    """An archive that lists so many files, all without content."""
    entry = b"PK\1\2" + struct.pack("<4B4HL2L5H2L", 20, 0, 20, *[0] * 8, 1, *[0] * 6) + b"a"
    end = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1) if long_form else b""
    size = len(entry) * files
    return entry * files + end + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, files % 2**16, files % 2**16, size, 0, 0)


@pytest.mark.parametrize(("files", "long_form"), [(30_000, False), (10, True)])
def test_a_package_that_lists_more_files_than_any_is_not_listed(tmp_path: Path, files: int, long_form: bool) -> None:
    told = pytest.raises(FairgateError, match="its list of files has more than 1,048,576 bytes")
    with serving({"/p.zip": listing(files, long_form=long_form)}) as url, told:
        Puller(WeightsFolder(tmp_path)).pull_package(f"{url}/p.zip")


@pytest.mark.parametrize("shape", [None, [], [0]], ids=["no shape", "one number", "no number"])
@pytest.mark.parametrize("name", ["fairface", "genderage", "detection"])
def test_a_graph_without_the_shapes_of_its_kind_is_named_and_not_kept(
    tmp_path: Path, name: str, shape: list[int] | None
) -> None:
    entry, end = (onnx.helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, shape) for each in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [entry], [end])
    opset = [onnx.helper.make_opsetid("", 17)]
    source = tmp_path / "shapeless.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), source)
    folder = WeightsFolder(tmp_path / "weights")
    with pytest.raises(FairgateError, match=r"shapeless\.onnx"):
        Puller(folder).add(kind(name), source)
    assert folder.files(name) == []


def test_other_content_than_was_pulled_first_wants_a_word(tmp_path: Path) -> None:
    folder, source, other = WeightsFolder(tmp_path / "weights"), tmp_path / "fairface.onnx", tmp_path / "three.onnx"
    source.write_bytes(FAIRFACE)
    other.write_bytes(toy_graphs.attributes_graph(outputs=3).SerializeToString())
    first = Puller(folder).add(kind("fairface"), source)
    assert Puller(folder).add(kind("fairface"), source) == first
    with pytest.raises(FairgateError, match="--replace"):
        Puller(folder).add(kind("fairface"), other)
    assert folder.network("fairface") == first
    second = Puller(folder, replace=True).add(kind("fairface"), other)
    assert folder.network("fairface") == second != first


def test_two_that_pull_at_once_record_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each writes the record of all: whoever comes in the middle waits."""
    folder, sources = WeightsFolder(tmp_path / "weights"), [tmp_path / "one.onnx", tmp_path / "two.onnx"]
    for source in sources:
        source.write_bytes(FAIRFACE)
    monkeypatch.setattr(download, "_check", lambda *_: None)
    with ThreadPoolExecutor(1) as threads:
        sums = WeightsFolder.sums

        def meanwhile(self: WeightsFolder) -> dict[str, dict[str, object]]:
            monkeypatch.setattr(WeightsFolder, "sums", sums)
            before = sums(self)
            other.append(threads.submit(Puller(folder).add, kind("genderage"), sources[1]))
            wait(other, timeout=0.5)
            return before

        other = list[Future[Network]]()
        monkeypatch.setattr(WeightsFolder, "sums", meanwhile)
        Puller(folder).add(kind("fairface"), sources[0])
        other[0].result(30)
    assert set(folder.sums()) == {"fairface/one.onnx", "genderage/two.onnx"}


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/none.zip", "HTTP 404"),
        ("/cut.zip", "could not be fetched"),
        ("/html.zip", "is no package of models"),
        ("/damaged.zip", "is no package of models"),
        ("/fairface.zip", r"holds 0 files of the form det_\*\.onnx"),
        ("/broken.zip", "insightface does not load this"),
        ("/large.zip", "is larger than"),
        ("/bomb.zip", "unpacks to more than"),
        ("/loop", "redirects more than"),
        ("/away", "only https is"),
        ("/inwards", "only https is"),
        ("/nowhere", "redirects to an address that cannot be read"),
    ],
)
def test_what_goes_wrong_leaves_nothing_behind(tmp_path: Path, path: str, told: str) -> None:
    empty = BytesIO()
    zipfile.ZipFile(empty, "w").close()
    whole = package(tmp_path)
    start = whole.index(b"det_10g.onnx") + len(b"det_10g.onnx")
    pages: dict[str, bytes | str] = {
        "/cut.zip": whole,
        "/damaged.zip": whole[:start] + b"\xff" * 8 + whole[start + 8 :],
        "/html.zip": b"<html>Please stand by</html>",
        "/fairface.zip": empty.getvalue(),
        "/broken.zip": package(tmp_path, **{"buffalo_l/det_10g.onnx": b"no graph"}),
        "/large.zip": bytes(2**20 + 1),
        "/bomb.zip": package(tmp_path, **{"buffalo_l/genderage.onnx": bytes(2**20 + 1)}),
        "/loop": "/loop",
        "/away": "http://example.com/p.zip",
        "/inwards": "http://10.0.0.1/p.zip",
        "/nowhere": "https://a:99999/p.zip",
    }
    folder = WeightsFolder(tmp_path / "weights")
    with serving(pages) as url, pytest.raises(FairgateError, match=told) as failed:
        Puller(folder, largest=2**20).pull_package(f"{url}{path}?key={KEY}")
    assert KEY not in "".join(traceback.format_exception(failed.value))
    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("example.com/p.zip", r"^--url: the address cannot be read.*begins with https://"),
        ("http://example.com/p.zip", r"'http://example\.com/p\.zip' is not fetched: only https is"),
        ("file:///etc/passwd", r"cannot be read.*begins with https://"),
        ("http://127.0.0.1:{closed}/p.zip", r"could not be fetched: Connection refused"),
        ("http://127.0.0.1:{silent}/p.zip", r"could not be fetched: nothing came"),
    ],
)
def test_an_address_that_cannot_be_fetched_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, told: str
) -> None:
    monkeypatch.setattr(download, "IDLE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = {"silent": silent.getsockname()[1], "closed": closed.getsockname()[1]}
        # For a pull that would wait for ever.
        last = threading.Timer(20, silent.close)
        last.start()
        with pytest.raises(FairgateError, match=told) as failed:
            Puller(WeightsFolder(tmp_path)).pull_package(f"{address.format(**ports)}?key={KEY}")
        last.cancel()
    assert KEY not in "".join(traceback.format_exception(failed.value))
    assert list(tmp_path.iterdir()) == []


def test_a_pull_that_drips_for_ever_is_left(tmp_path: Path) -> None:
    with ImageStub(draw=lambda _prompt, _number: b"") as stub:
        stub.files["a"] = At(body=b"x", endless=True, pause=0.02)
        with pytest.raises(FairgateError, match="could not be fetched: it takes longer than 0 minutes"):
            Puller(WeightsFolder(tmp_path), longest=0.5).pull_package(f"{stub.root}/files/a")
    assert list(tmp_path.iterdir()) == []


def test_this_machines_own_servers_are_pulled_from_without_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving({"/f.onnx": FAIRFACE}) as url:
        pulled = Puller(WeightsFolder(tmp_path)).pull(kind("fairface"), f"{url}/f.onnx")
    assert pulled.path.read_bytes() == FAIRFACE


def test_a_cookie_that_comes_with_a_redirect_goes_back(tmp_path: Path) -> None:
    pages: dict[str, bytes | str] = {"/asks": "/wants-cookie.onnx", "/wants-cookie.onnx": FAIRFACE}
    with serving(pages) as url:
        assert Puller(WeightsFolder(tmp_path / "a")).pull(kind("fairface"), f"{url}/asks")
        with pytest.raises(FairgateError, match="HTTP 404"):
            Puller(WeightsFolder(tmp_path / "b")).pull(kind("fairface"), f"{url}/wants-cookie.onnx")


@pytest.mark.slow
def test_a_pull_goes_through_the_environments_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(download, "IDLE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        with pytest.raises(FairgateError, match="could not be fetched"):
            Puller(WeightsFolder(tmp_path)).pull_package("https://weights.invalid/p.zip")
        proxy.settimeout(20)
        asked, _ = proxy.accept()
        with asked:
            assert asked.recv(2**16).startswith(b"CONNECT weights.invalid:443 ")


@pytest.mark.skipif(sys.platform == "win32", reason="no process there can send another Ctrl-C alone")
def test_ctrl_c_ends_a_pull_from_a_server_that_says_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/p.zip"
        command = [sys.executable, "-m", "fairgate", "weights", "pull", "--weights", str(tmp_path), "--url", url]
        with subprocess.Popen(command, cwd=CHECKOUT, stderr=subprocess.PIPE) as pull:  # noqa: S603 - our own command
            silent.settimeout(30)
            asked, _ = silent.accept()
            with asked:
                assert asked.recv(2**16).startswith(b"GET /p.zip ")
                pull.send_signal(signal.SIGINT)
                # Half of what it would wait for the next byte.
                pull.communicate(timeout=download.IDLE / 2)
    assert pull.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_a_given_sum_must_fit(tmp_path: Path) -> None:
    folder = WeightsFolder(tmp_path / "weights")
    with serving({"/f.onnx": FAIRFACE}) as url, pytest.raises(FairgateError, match="Nothing was kept"):
        Puller(folder).pull(kind("fairface"), f"{url}/f.onnx", "0" * 64)
    assert list(folder.path.iterdir()) == []


def test_a_network_is_not_taken_for_another(tmp_path: Path) -> None:
    folder, source = WeightsFolder(tmp_path / "weights"), tmp_path / "scrfd.onnx"
    source.write_bytes(SCRFD)
    with pytest.raises(FairgateError, match="FairFace takes"):
        Puller(folder).add(kind("fairface"), source)
    assert list(folder.path.iterdir()) == []


def test_two_files_of_a_kind_are_a_question(tmp_path: Path) -> None:
    (tmp_path / "fairface").mkdir()
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / "fairface" / name).write_bytes(FAIRFACE)
    with pytest.raises(FairgateError, match=r"a\.onnx and b\.onnx: which"):
        WeightsFolder(tmp_path).network("fairface")


def test_the_address_is_the_one_that_insightface_uses() -> None:
    address = package_address()
    assert address.startswith("https://")
    assert address.endswith("/buffalo_l.zip")


def test_weights_lie_in_the_users_cache_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("FAIRGATE_WEIGHTS", raising=False)
    assert default_folder() == tmp_path / "fairgate" / "weights"
    monkeypatch.setenv("FAIRGATE_WEIGHTS", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"


# The doctor


def test_the_doctor_says_what_to_do_about_each_thing_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--weights", str(tmp_path)]) == 7
    told = capsys.readouterr().out
    assert "ok   the control detector needs no weights, and reads a control's portrait as it was drawn" in told
    assert "ok   onnxruntime's telemetry is off" in told
    assert told.count("FIX  ") == 2
    assert "fairgate weights pull --fairface-url URL" in told


def test_the_doctor_is_content_with_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("detection", "fairface"):
        (tmp_path / name).symlink_to(toy_graphs.FOLDER / name)
    assert main(["doctor", "--weights", str(tmp_path)]) == 0
    assert "FIX" not in capsys.readouterr().out


def test_the_doctor_finds_two_runtimes_in_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `pip install insightface onnxruntime-gpu` leaves: a second distribution beside the first."""
    about = tmp_path / "onnxruntime_gpu-1.31.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: onnxruntime-gpu\nVersion: 1.31.0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["doctor", "--weights", str(tmp_path)]) == 7
    assert "pip uninstall -y onnxruntime onnxruntime-gpu" in capsys.readouterr().out
