"""Proxies and certificates: how a server is reached, and what is said where it is not."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import socket
import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING, ClassVar

import pytest
import trustme
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fairgate.core.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.providers.chat.openai import OpenAIChat
from fairgate.providers.endpoint import Server
from tests.end_to_end.test_openai_chat import KEY, ask, chat, query, retries, shown
from tests.servers.chat import ChatStub, Fault, every_time

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("each_transport", "bare_environment")

PLANTED = "planted-5529"
FAR = "http://far-away.invalid/v1"


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub() as running:
        yield running


def server_tls(authority: trustme.CA, name: str = "127.0.0.1", *, asks_clients: bool = False) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(tls)
    if asks_clients:
        authority.configure_trust(tls)
        tls.verify_mode = ssl.CERT_REQUIRED
    return tls


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    return made


# Certificates


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_an_authority_is_trusted_where_the_user_says_so(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    with ChatStub(tls=server_tls(authority)) as stub:
        with pytest.raises(RunStopped, match=r"certificate is not trusted \(.*let SSL_CERT_FILE"):
            ask(chat(stub))
        assert stub.requests == 0
        monkeypatch.setenv(variable, str(tmp_path / "authority.pem"))
        assert ask(chat(stub))[0].attempts == 1


def self_signed(path: Path) -> ssl.SSLContext:
    """As `openssl req -x509` makes it: a server's own certificate, and an authority's at the same time."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mine")]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret = path.with_suffix(".key")
    form = serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path, secret)
    return tls


def test_a_self_signed_certificate_can_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatStub(tls=self_signed(tmp_path / "own.pem")) as stub:
        with pytest.raises(RunStopped, match=r"not trusted .* SSL_CERT_FILE"):
            ask(chat(stub))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
        assert ask(chat(stub))[0].attempts == 1


def test_a_certificate_for_another_name_is_told_from_one_of_a_stranger(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    tls = server_tls(authority, "other.example")
    with (
        ChatStub(tls=tls) as stub,
        pytest.raises(RunStopped, match=r"not trusted .*127\.0\.0\.1.* Check --base-url .* another name"),
    ):
        ask(chat(stub))


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
@pytest.mark.parametrize(
    ("content", "message"),
    [(None, r"cannot be read \(No such file"), ("", "holds no certificates"), ("junk", "holds no certificates.*PEM")],
)
def test_a_file_of_certificates_that_is_none_is_said_to_be(
    tmp_path: Path,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    content: str | None,
    message: str,
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv(variable, str(path))
    with ChatStub(tls=server_tls(authority)) as stub, pytest.raises(ConfigError, match=message) as caught:
        ask(chat(stub))
    assert str(caught.value).startswith(f"{variable}: {path} ")


def test_over_http_alone_no_certificate_is_looked_at(stub: ChatStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/dev/null")
    assert ask(chat(stub))


class Asking(StreamRequestHandler):
    """A server that wants a certificate of its clients, and says so as OpenSSL does; asyncio's cut the connection."""

    tls: ssl.SSLContext

    def handle(self) -> None:
        try:
            with self.tls.wrap_socket(self.connection, server_side=True) as client:
                client.recv(2**16)
                body = b'{"choices": [{"message": {"content": "A"}}]}'
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
        except OSError:
            self.connection.close()


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_certificate_is_shown_to_a_server_that_wants_one(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, newest: ssl.TLSVersion
) -> None:
    tls = server_tls(authority, asks_clients=True)
    tls.maximum_version = newest
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    own = authority.issue_cert("me@example")
    own.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "me.pem"))
    own.private_key_pem.write_to_path(str(tmp_path / "me.key"))
    own.cert_chain_pems[0].write_to_path(str(tmp_path / "me.crt"))
    with answering(type("Server", (Asking,), {"tls": tls})) as port:

        async def asked() -> int:
            model = OpenAIChat("tiny", Server(f"https://127.0.0.1:{port}/v1", KEY, retries=retries()))
            try:
                return (await model.ask(query())).attempts
            finally:
                await model.close()

        def ask_it() -> int:
            # As in a run: asyncio's own loop leaves a connection open whose handshake was refused.
            return uvloop.run(asked())

        # Where the request cannot be written before the server's refusal is read, it is a guess.
        with pytest.raises(FairgateError, match=r"wants a client certificate.*FAIRGATE_CLIENT_CERT name a PEM"):
            ask_it()
        monkeypatch.setenv("FAIRGATE_CLIENT_CERT", str(tmp_path / "me.pem"))
        assert ask_it() == 1
        monkeypatch.setenv("FAIRGATE_CLIENT_CERT", str(tmp_path / "me.crt"))
        with pytest.raises(ConfigError, match=r"FAIRGATE_CLIENT_CERT: .*me.crt holds no .*FAIRGATE_CLIENT_KEY"):
            ask_it()
        monkeypatch.setenv("FAIRGATE_CLIENT_KEY", str(tmp_path / "me.key"))
        assert ask_it() == 1
        monkeypatch.setenv("FAIRGATE_CLIENT_KEY", str(tmp_path / "gone.key"))
        with pytest.raises(ConfigError, match=r"FAIRGATE_CLIENT_KEY: .*gone.key cannot be read"):
            ask_it()


def test_a_server_that_cuts_every_encrypted_connection_may_want_a_certificate(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    tls, said = server_tls(authority, asks_clients=True), r"cut connection six times.*FAIRGATE_CLIENT_CERT"
    with ChatStub(tls=tls) as stub, pytest.raises(CallFailed, match=said):
        ask(chat(stub))


def test_nginx_says_in_words_that_it_wants_a_certificate(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    said = b"<html><title>400 No required SSL certificate was sent</title></html>"
    with ChatStub(tls=server_tls(authority), plan=every_time(Fault("n", 400, said, content_type="text/html"))) as stub:
        with pytest.raises(RunStopped, match=r"wants a client certificate.*FAIRGATE_CLIENT_CERT"):
            ask(chat(stub))
        assert stub.requests == 1


def test_https_where_http_is_spoken_is_said_at_once(stub: ChatStub) -> None:
    with pytest.raises(RunStopped, match=r"what is spoken there is no TLS.*--base-url"):
        ask(chat(stub, address=stub.base_url.replace("http", "https", 1)))


# Proxies


def test_this_machines_servers_are_reached_without_a_proxy(stub: ChatStub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(chat(stub))


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
def test_the_proxy_of_the_environment_is_used_elsewhere(
    stub: ChatStub, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, f"http://me:pass%2Fword@127.0.0.1:{stub.port}")
    [reply] = ask(chat(stub, address=FAR))
    assert reply.attempts == 1
    assert stub.last_headers["Host"] == "far-away.invalid"
    assert stub.last_headers["Proxy-Authorization"] == "Basic bWU6cGFzcy93b3Jk"
    assert stub.last_headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        (f"ftp://me:{PLANTED}@127.0.0.1:9", r"ftp proxy; only http, https and socks5 .*NO_PROXY=far-away.invalid"),
        (f"http://me:{PLANTED}@proxy.invalid:99999", "http_proxy: .*whose address cannot be read"),
        (f"http://me:{PLANTED}@", "http_proxy: .*whose address cannot be read"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(
    stub: ChatStub, monkeypatch: pytest.MonkeyPatch, proxy: str, message: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(ConfigError, match=message) as caught:
        ask(chat(stub, address=FAR))
    assert PLANTED not in shown(caught.value)


@pytest.mark.parametrize(
    ("host", "exceptions", "bypassed"),
    [
        ("far-away.invalid", "far-away.invalid", True),
        ("far-away.invalid", "other.invalid, .invalid", True),
        ("far-away.invalid", "*", True),
        ("far-away.invalid:8000", "far-away.invalid:8000", True),
        ("far-away.invalid:8000", "far-away.invalid", True),
        ("far-away.invalid:8001", "far-away.invalid:8000", False),
        ("notfar-away.invalid", "far-away.invalid", False),
        ("192.0.2.7", "192.0.2.0/24", True),
        ("192.0.2.7:81", "10.0.0.0/8,192.0.2.7/32", True),
        ("192.0.3.7", "192.0.2.0/24", False),
        ("[2001:db8::7]", "2001:db8::/32", True),
        ("[2001:db8::7]", "[2001:db8::7]", True),
        ("[2001:db9::7]", "2001:db8::/32", False),
    ],
)
def test_exceptions_name_hosts_ports_and_networks(
    monkeypatch: pytest.MonkeyPatch, host: str, exceptions: str, bypassed: bool
) -> None:
    import httpx2

    from fairgate.providers.http.proxies import proxy_of

    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", exceptions)
    assert (proxy_of(httpx2.URL(f"http://{host}/v1")) is None) == bypassed


@contextmanager
def answering(kind: type[StreamRequestHandler]) -> Iterator[int]:
    """The port of a server that handles each connection so."""
    with ThreadingTCPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


class Refusing(StreamRequestHandler):
    """A proxy that wants to know who asks, and believes nobody."""

    def handle(self) -> None:
        self.connection.recv(2**16)
        self.wfile.write(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_lets_nobody_through_ends_the_run(
    stub: ChatStub, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    with answering(Refusing) as port:
        monkeypatch.setenv(f"{scheme}_proxy", f"http://me:{PLANTED}@127.0.0.1:{port}")
        with pytest.raises(RunStopped, match=rf"proxy wants.*password.*{scheme}_proxy.*NO_PROXY=far.invalid") as caught:
            ask(chat(stub, address=f"{scheme}://far.invalid/v1"))
    assert PLANTED not in shown(caught.value)


def test_no_proxys_answer_brings_its_password_into_the_ledger(stub: ChatStub, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = base64.b64encode(f"me:{PLANTED}".encode()).decode()
    said = f'{{"choices": [{{"message": {{"content": "{PLANTED} {pair}"}}}}]}}'
    stub.plan = every_time(Fault("echo", 200, said.encode()))
    monkeypatch.setenv("http_proxy", f"http://me:{PLANTED}@127.0.0.1:{stub.port}")
    [reply] = ask(chat(stub, address=FAR))
    assert reply.text == "[hidden] [hidden]"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_cannot_be_found_is_not_taken_for_the_server(
    stub: ChatStub, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv(f"{scheme}_proxy", f"http://me:{PLANTED}@proxy.invalid")
    with pytest.raises(RunStopped, match=rf"the proxy's name does not resolve\. Check {scheme}_proxy") as caught:
        ask(chat(stub, address=f"{scheme}://far.invalid/v1"))
    assert PLANTED not in shown(caught.value)


class Tunnel(StreamRequestHandler):
    """A proxy that connects to `far-away.invalid`, which is a port of this machine."""

    target = 0
    said: ClassVar[list[bytes]]

    def handle(self) -> None:
        self.said.append(self.greeted())
        with socket.create_connection(("127.0.0.1", self.target)) as onward:
            back = threading.Thread(target=pump, args=(onward, self.connection))
            back.start()
            pump(self.connection, onward)
            back.join()

    def greeted(self) -> bytes:
        said = b""
        while not said.endswith(b"\r\n\r\n"):
            said += self.connection.recv(2**16)
        self.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        return said


class Socks(Tunnel):
    """A SOCKS5 proxy that wants a name and a password."""

    def greeted(self) -> bytes:
        assert 2 in self.connection.recv(2**16)[2:]
        self.connection.sendall(b"\5\2")
        credentials: bytes = self.connection.recv(2**16)
        self.connection.sendall(b"\1\0")
        asked: bytes = self.connection.recv(2**16)
        self.connection.sendall(b"\5\0\0\1\0\0\0\0\0\0")
        return credentials + asked


def pump(source: socket.socket, aim: socket.socket) -> None:
    try:
        while block := source.recv(2**16):
            aim.sendall(block)
        aim.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def test_https_goes_through_a_tunnel_in_which_the_proxy_sees_no_key(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with ChatStub(tls=server_tls(authority, "far-away.invalid")) as stub:
        said = list[bytes]()
        way = type("Way", (Tunnel,), {"target": stub.port, "said": said})
        with answering(way) as port:
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
            assert ask(chat(stub, address="https://far-away.invalid/v1"))[0].attempts == 1
    assert said[0].startswith(b"CONNECT far-away.invalid:443 ")
    assert KEY.encode() not in said[0]


@pytest.mark.parametrize("tls", [False, True])
def test_a_socks_proxy_looks_up_the_name(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, tls: bool
) -> None:
    pytest.importorskip("socksio")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with ChatStub(tls=server_tls(authority, "far-away.invalid") if tls else None) as stub:
        said = list[bytes]()
        way = type("Way", (Socks,), {"target": stub.port, "said": said})
        with answering(way) as port:
            monkeypatch.setenv("ALL_PROXY", f"socks5://me:{PLANTED}@127.0.0.1:{port}")
            assert ask(chat(stub, address=f"http{'s' * tls}://far-away.invalid/v1"))[0].attempts == 1
    assert b"far-away.invalid" in said[0]
    assert PLANTED.encode() in said[0]


def test_a_socks_proxy_needs_its_package(stub: ChatStub, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "socksio" else found(name))
    monkeypatch.setenv("http_proxy", f"socks5://me:{PLANTED}@127.0.0.1:9")
    with pytest.raises(ConfigError, match=r"socks5 proxy.*pip install 'fairgate\[socks\]'.*NO_PROXY=far-a") as caught:
        ask(chat(stub, address=FAR))
    assert PLANTED not in shown(caught.value)


def test_what_cannot_be_reached_is_said_once_however_many_ask(stub: ChatStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRGATE_CLIENT_CERT", "/nowhere")
    assert ask(chat(stub)), "a client certificate has no say over http"

    async def both() -> list[object]:
        model = OpenAIChat("m", Server("https://127.0.0.1:1/v1"))
        asked = [model.endpoint.post(b"{}", lambda *_: None) for _ in range(2)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        await model.close()
        return list(found)

    assert all("FAIRGATE_CLIENT_CERT: /nowhere cannot be read" in str(each) for each in asyncio.run(both()))
