"""`--t2i-model openai/NAME` against a server of images: what it sends, refuses, points to, and gets wrong."""

from __future__ import annotations

import asyncio
import base64
import gzip
import random
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import trustme

from fairgate.benchmarks.fact_or_fair.topics import Level, StatisticTopic, Task
from fairgate.core.domain import Form, Modality, Query, Reply, Role
from fairgate.core.errors import CallFailed, ConfigError, RunStopped
from fairgate.core.redaction import Redaction
from fairgate.ledger.images import ImageStore, hash_in
from fairgate.providers import image_download
from fairgate.providers.endpoint import Server
from fairgate.providers.images import openai as openai_images
from fairgate.providers.images.openai import OpenAIImages
from fairgate.providers.retries import Backoff, Retries, TransientError
from tests.servers.chat import (
    Fault,
    content_filter,
    error,
    every_time,
    in_order,
    server_error,
    unknown_model,
    wrong_key,
)
from tests.servers.images import At, ImageStub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("each_transport")

TOPIC = StatisticTopic("b", Modality.IMAGE, Task.OBJECTIVE, "s", Level.HIGH)
PICTURE = b"\x89PNG\r\n\x1a\n" + b"not really"
KEY = "planted-key-123"
QUERY = Query(TOPIC, 0, "Paint.", step="image", to=Role.IMAGE_MODEL, form=Form.IMAGE)


def image_model(stub: ImageStub, store: Path, **fields: object) -> OpenAIImages:
    async def no_wait(_: float, __: TransientError) -> None:
        pass

    retries = Retries(3, Backoff(), random.Random(0), no_wait)  # noqa: S311 - spreads waits that are none
    server = Server(stub.base_url, KEY, timeout=5.0, retries=retries)
    return OpenAIImages("brush", server, ImageStore(store), fields)


def ask(stub: ImageStub, store: Path, **fields: object) -> Reply:
    async def once() -> Reply:
        model = image_model(stub, store, **fields)
        try:
            return await model.ask(QUERY)
        finally:
            await model.close()

    return asyncio.run(once())


def kept(store: Path, reply: Reply) -> bytes:
    digest = hash_in(reply.text)
    assert digest is not None
    return ImageStore(store).read(digest)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def one(_: str, __: int) -> bytes:
    return PICTURE


USAGE = b'"usage":{"input_tokens":0,"output_tokens":1000}'
UNREAD = Fault("unread", body=b'{"data":[],' + USAGE + b"}")


def test_answers_without_an_image_that_are_billed_are_counted(store: Path) -> None:
    drawn = Fault("drawn", body=b'{"data":[{"b64_json":"QUJD"}],' + USAGE + b"}")
    with ImageStub(draw=one, plan=in_order(UNREAD, UNREAD, drawn)) as stub:
        assert ask(stub, store).completion_tokens == 3000
        filtered = error("f", 400, "x", code="content_policy_violation")
        stub.plan = in_order(UNREAD, filtered)
        reply = ask(stub, store)
        assert (reply.filtered, reply.completion_tokens) == (True, 1000)
        for last, tokens in ((UNREAD, 3000), (error("r", 400, "no such prompt"), 2000)):
            stub.plan = in_order(UNREAD, UNREAD, last)
            with pytest.raises(CallFailed) as failed:
                ask(stub, store)
            assert failed.value.tokens == (0, tokens)


def test_an_image_that_cannot_be_fetched_counts_as_billed(store: Path) -> None:
    named = Fault("named", body=b'{"data":[{"url":"http://127.0.0.1:9/a"}],' + USAGE + b"}")
    with ImageStub(draw=one, plan=in_order(UNREAD, named)) as stub, pytest.raises(CallFailed) as failed:
        ask(stub, store)
    assert failed.value.tokens == (0, 2000)


def test_half_a_character_beside_an_image_does_not_lose_it(store: Path) -> None:
    body = b'{"data":[{"b64_json":"%s","revised_prompt":"A nurse \\ud83d"}]}' % base64.b64encode(PICTURE)
    with ImageStub(draw=one, plan=in_order(Fault("half", body=body))) as stub:
        reply = ask(stub, store)
        assert (kept(store, reply), stub.requests) == (PICTURE, 1)


@pytest.mark.parametrize("by_url", [False, True])
def test_an_image_comes_in_the_answer_or_from_its_address(store: Path, by_url: bool) -> None:
    with ImageStub(draw=one, by_url=by_url) as stub:
        reply = ask(stub, store, size="512x512", quality="low")
        assert kept(store, reply) == PICTURE
        assert msgspec.json.decode(stub.last_body) == {
            "model": "brush", "n": 1, "size": "512x512", "quality": "low", "prompt": "Paint.",
        }  # fmt: skip
        assert stub.last_headers["Authorization"] == "Bearer planted-key-123"
        assert len(stub.fetched) == by_url
    assert (reply.filtered, reply.prompt_tokens, reply.attempts) == (False, 7, 1)


def test_base64_may_come_as_a_data_address_and_what_is_none_is_kept_as_it_is(store: Path) -> None:
    with ImageStub(draw=one) as stub:
        encoded = base64.b64encode(PICTURE).decode()
        for data in ({"url": f"data:image/png;base64,{encoded}"}, {"b64_json": f"data:image/png;base64,{encoded}"}):
            stub.raw = {"data": [data]}
            assert kept(store, ask(stub, store)) == PICTURE
        stub.raw = {"data": [{"b64_json": "no base64 a"}]}
        assert kept(store, ask(stub, store)) == b"no base64 a"


@pytest.mark.parametrize("by_url", [False, True])
def test_no_image_brings_the_key_into_the_store(store: Path, by_url: bool) -> None:
    with ImageStub(draw=lambda _, __: PICTURE + b"?planted-key-123, as text\xff", by_url=by_url) as stub:
        assert kept(store, ask(stub, store)) == PICTURE + b"?***************, as text\xff"


@pytest.mark.parametrize(
    "fault",
    [
        content_filter(),
        error("moderation", 400, "Your request was rejected by the safety system.", code="moderation_blocked"),
        error("policy", 400, "Not allowed by our safety system.", code="content_policy_violation"),
    ],
    ids=lambda fault: fault.name,
)
def test_the_content_filter_is_a_refusal(store: Path, fault: Fault) -> None:
    with ImageStub(draw=one, plan=every_time(fault)) as stub:
        reply = ask(stub, store)
        assert (reply.filtered, hash_in(reply.text), stub.requests) == (True, None, 1)


def test_what_may_pass_is_asked_again_and_what_may_not_stops_the_run(store: Path) -> None:
    with ImageStub(draw=one, plan=in_order(server_error(), server_error(503))) as stub:
        assert ask(stub, store).attempts == 3
    for fault in (wrong_key(), unknown_model()):
        with ImageStub(draw=one, plan=every_time(fault)) as stub, pytest.raises(RunStopped) as stopped:
            ask(stub, store)
        assert "planted-key" not in str(stopped.value)
    with ImageStub(draw=one) as stub:
        stub.raw = {"data": []}
        with pytest.raises(CallFailed):
            ask(stub, store)


def test_fields_that_decide_what_is_asked_are_not_the_users(store: Path) -> None:
    with ImageStub(draw=one) as stub, pytest.raises(ConfigError, match="'n' is not for the user to set"):
        image_model(stub, store, n=4)


# Addresses


def fetched(stub: ImageStub, store: Path, url: str) -> Reply:
    stub.by_url, stub.url = True, url
    return ask(stub, store)


@pytest.mark.parametrize(
    "url",
    [
        "http://images.example/a.png",
        "ftp://images.example/a.png",
        "file:///etc/passwd",
        "//a",
        "/etc/passwd",
        "http://",
        "https://localhostxn--/a",
    ],
)
def test_only_https_is_fetched_but_for_this_machine(store: Path, url: str) -> None:
    with ImageStub(draw=one) as stub, pytest.raises(CallFailed, match=r"only https is fetched|cannot be read"):
        fetched(stub, store, url)


def gotten(server: str, *urls: str, timeout: float = 20.0) -> list[bytes | None]:
    """What one fetcher for this server gets, without repeats."""

    async def get() -> list[bytes | None]:
        fetcher = image_download.Fetcher(
            server, timeout=timeout, limit=2**20, retries=Retries(1), redaction=Redaction([KEY])
        )
        try:
            return [await fetcher.get(url) for url in urls]
        finally:
            await fetcher.close()

    return asyncio.run(get())


def test_a_server_elsewhere_cannot_have_this_machine_read() -> None:
    with ImageStub(draw=one) as stub:
        stub.files["a"] = PICTURE
        with pytest.raises(CallFailed, match="only https is fetched"):
            gotten("https://images.example/v1", f"http://127.0.0.1:{stub.port}/files/a")
        assert stub.fetched == []


@pytest.mark.parametrize(
    "location",
    ["https://127.0.0.1/a", "https://10.0.0.7/a", "https://[::1]/a", "https://169.254.169.254/latest", "https://localhost/a",
     "http://127.0.0.1:{port}/files/b", "/files/b"],
)  # fmt: skip
def test_a_redirect_leads_to_no_private_address(store: Path, location: str) -> None:
    with ImageStub(draw=one) as stub:
        stub.files = {"a": At(302, location.format(port=stub.port)), "b": PICTURE}
        with pytest.raises(CallFailed, match=r"not public|only https"):
            fetched(stub, store, f"{stub.root}/files/a")
        assert stub.fetched == ["a"]


@pytest.mark.parametrize(
    "url",
    ["https://127.0.0.1:{port}/a", "https://localhost:{port}/a", "https://10.0.0.7/a", "https://[::1]:{port}/a",
     "https://0.0.0.0:{port}/a", "https://[::ffff:127.0.0.1]:{port}/a", "https://[64:ff9b::7f00:1]/a",
     "https://[2002:7f00:1::]/a", "https://[64:ff9b:1::7f00:1]/a", "https://[fec0::2]/a", "https://[::7f00:1]/a",
     "https://[::ffff:0:7f00:1]/a", "https://224.0.0.1/a", "https://169.254.169.254/a", "https://images.invalid/a"],
)  # fmt: skip
def test_a_server_elsewhere_cannot_name_a_private_address(names: Names, url: str) -> None:
    names["images.invalid"] = ["93.184.215.14", "127.0.0.1"]
    with ImageStub(draw=one) as stub, pytest.raises(CallFailed, match="which is not public"):
        gotten("https://api.example/v1", url.format(port=stub.port))
    assert stub.fetched == []


def test_no_address_of_an_image_shows_the_key_as_its_host(store: Path) -> None:
    with ImageStub(draw=one) as stub, pytest.raises(CallFailed, match=r"is http://\[hidden\], and only") as raised:
        fetched(stub, store, f"http://{KEY.upper()}/a")
    assert KEY not in str(raised.value)


def test_the_first_address_that_was_looked_at_is_the_one_connected_to(
    names: Names, elsewhere: ImageStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_download, "_is_public", lambda _: True)
    names["images.invalid"] = ["127.0.0.1"]
    url = f"https://images.invalid:{elsewhere.port}/files/a"
    assert gotten("https://api.example/v1", url) == [PICTURE]
    assert names.looked_up == ["images.invalid"]


@pytest.mark.parametrize("location",
    ["https://[::ffff:10.0.0.7", "https://a:99999/", "/\u00e9", "https://%69mages.invalid/", "https://0x7f.1/",
     "https://2130706433/", "https://127.1/"],
)  # fmt: skip
def test_a_redirect_that_cannot_be_read_is_not_followed(store: Path, location: str) -> None:
    with ImageStub(draw=one) as stub:
        stub.files["a"] = At(302, location)
        with pytest.raises(CallFailed, match="cannot be read"):
            fetched(stub, store, f"{stub.root}/files/a")
        assert stub.fetched == ["a"]


class Names(dict[str, list[str]]):
    """The addresses of names that end in .invalid, and who was looked up."""

    def __init__(self, others: Callable[..., list[Any]]) -> None:
        super().__init__()
        self.others, self.looked_up = others, list[str]()

    def __call__(self, host: str, *given: Any, **more: Any) -> list[Any]:
        """As socket.getaddrinfo."""
        if not host.endswith(".invalid"):
            return self.others(host, *given, **more)
        self.looked_up.append(host)
        return [each for ip in self[host] for each in self.others(ip, *given, **more)]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Names as this process looks them up; the client has a look-up of its own, which finds none that is invalid."""
    monkeypatch.setenv("NO_PROXY", "*")
    names = Names(socket.getaddrinfo)
    monkeypatch.setattr(socket, "getaddrinfo", names)
    return names


@pytest.mark.parametrize("addresses", [["10.0.0.7"], ["93.184.215.14", "10.0.0.7"], ["::ffff:10.0.0.7"], ["::1"]])
def test_a_name_that_stands_for_a_private_address_is_found_out_when_it_is_resolved(
    store: Path, names: Names, addresses: list[str]
) -> None:
    names["images.invalid"] = addresses
    with ImageStub(draw=one) as stub:
        stub.files["a"] = At(302, "https://images.invalid/a")
        with pytest.raises(CallFailed, match=r"redirects to https://images\.invalid, which is not public"):
            fetched(stub, store, f"{stub.root}/files/a")
    assert names.looked_up == ["images.invalid"]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImageStub]:
    """A server that answers as images.invalid, by a certificate that is trusted."""
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("images.invalid").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with ImageStub(draw=one, tls=tls) as stub:
        stub.files["a"] = PICTURE
        yield stub


@pytest.mark.parametrize("host", ["images.invalid", "IMAGES.Invalid"])
def test_the_address_that_was_looked_at_is_the_one_connected_to(
    names: Names, elsewhere: ImageStub, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Nothing but the look-up that was looked at knows where that name leads, and it is asked only once."""
    looked_at: list[str] = []

    def watched(address: str) -> bool:
        looked_at.append(address)
        return True

    monkeypatch.setattr(image_download, "_is_public", watched)
    # Nobody listens at the first and the last.
    addresses = ["::1", "127.0.0.1", "127.0.0.2"]
    names["images.invalid"] = addresses
    with ImageStub(draw=one) as stub:
        stub.files["a"] = At(302, f"https://{host}:{elsewhere.port}/files/a")
        assert gotten(stub.base_url, f"{stub.root}/files/a") == [PICTURE]
    assert (looked_at, names.looked_up) == (["images.invalid", *addresses], ["images.invalid"])
    assert elsewhere.file_headers["Host"] == f"images.invalid:{elsewhere.port}"


def test_a_proxy_is_asked_for_what_is_elsewhere_and_looks_names_up_itself(
    names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY")
    with socket.create_server(("127.0.0.1", 0)) as proxy, ImageStub(draw=one) as stub:
        for scheme in ("http", "https"):
            monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        stub.files["a"] = At(302, "https://images.invalid/b")
        with pytest.raises(CallFailed, match="no whole image within 1 s"):
            gotten(stub.base_url, f"{stub.root}/files/a", timeout=1)
        proxy.settimeout(20)
        asked, _ = proxy.accept()
        with asked:
            assert asked.recv(2**16).startswith(b"CONNECT images.invalid:443 ")
    assert (stub.fetched, names.looked_up) == (["a"], [])


def test_a_server_that_drips_is_left_when_the_time_is_over() -> None:
    with ImageStub(draw=one) as stub:
        stub.files["a"] = At(body=b"x", endless=True, pause=0.02)
        with pytest.raises(CallFailed, match=r"timeout: no whole image within 0\.5 s"):
            gotten(stub.base_url, f"{stub.root}/files/a", timeout=0.5)
        for _ in range(200):
            if stub.left:
                break
            time.sleep(0.05)
        assert stub.left == ["a"]


def test_a_server_that_says_nothing_is_left_when_the_time_is_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        root = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(CallFailed, match=r"timeout: no whole image within 0\.5 s"):
            gotten(root, f"{root}/a", timeout=0.5)
        asked, _ = silent.accept()
        with asked:
            asked.settimeout(20)
            assert asked.recv(2**16).startswith(b"GET /a ")
            assert asked.recv(2**16) == b""


def test_a_name_that_is_looked_up_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()
    names = Names(socket.getaddrinfo)
    names["images.invalid"] = ["127.0.0.1"]

    def slow(host: str, *given: Any, **more: Any) -> list[Any]:
        given_up.wait(20 if host.endswith(".invalid") else 0)
        return names(host, *given, **more)

    async def get(server: str, url: str) -> None:
        fetcher = image_download.Fetcher(server, timeout=0.5, limit=100, retries=Retries(1), redaction=Redaction())
        try:
            await fetcher.get(url)
        finally:
            given_up.set()
            await fetcher.close()

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    monkeypatch.setenv("NO_PROXY", "*")
    with ImageStub(draw=one) as stub:
        stub.files["a"] = At(302, "https://images.invalid/a")
        with pytest.raises(CallFailed, match=r"no whole image within 0\.5 s"):
            asyncio.run(get(stub.base_url, f"{stub.root}/files/a"))


def test_what_comes_is_neither_unpacked_nor_are_cookies_kept() -> None:
    packed = gzip.compress(PICTURE)
    with ImageStub(draw=one) as stub:
        stub.files["a"] = At(body=packed, headers={"Content-Encoding": "gzip", "Set-Cookie": "seen=1; Path=/"})
        url = f"{stub.root}/files/a"
        assert gotten(stub.base_url, url, url) == [packed, packed]
        sent = dict(stub.file_headers)
    assert (sent["Accept"], sent["Accept-Encoding"], sent["User-Agent"]) == ("image/*", "identity", "fairgate")
    assert "Cookie" not in sent


def test_no_more_than_the_limit_is_read(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_images, "LARGEST", 2**20)
    with ImageStub(draw=one) as stub:
        stub.files["a"] = At(endless=True)
        reply = fetched(stub, store, f"{stub.root}/files/a")
    assert (reply.text, hash_in(reply.text)) == ("too-large", None)


def test_an_address_that_fails_is_one_failed_sample_and_its_secret_is_not_told(store: Path) -> None:
    with ImageStub(draw=one) as stub:
        for at, said, times in ((At(404), "HTTP 404", 1), (At(503), "HTTP 503", 3)):
            stub.files, stub.fetched = {"a": at}, []
            with pytest.raises(CallFailed, match=said) as failed:
                fetched(stub, store, f"{stub.root}/files/a?sig=planted-secret")
            assert "planted" not in str(failed.value)
            assert len(stub.fetched) == times
