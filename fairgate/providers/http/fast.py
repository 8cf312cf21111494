"""httpx2's transport over pyreqwest (Rust's reqwest): half the CPU time of the default one. An extra: `fairgate[fast]`.

For direct connections, and the system's authorities; all else goes through the default transport.

The library answers from a thread of its own that no call ends. It hands an answer to asyncio's loop by a few lines of
Python, in the midst of which the loop may already go on with the answer. An interpreter that ends at that moment is
aborted (SIGABRT, "PyGILState_Release"): at its exit these lines are waited for.
"""

from __future__ import annotations

import atexit
import re
import sys
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import httpx2
from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import ConnectTimeoutError, DetailedPyreqwestError, PyreqwestError

from fairgate.providers.http.aiohttp_transport import KEEP_ALIVE
from fairgate.providers.http.errors import (
    NO_HTTP,
    REFUSED,
    CertificateWanted,
    Disagreement,
    NameNotResolved,
    NotTrusted,
    TLSFailed,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pyreqwest.client import Client
    from pyreqwest.request import StreamRequest
    from pyreqwest.response import Response

BLOCK = 2**20  # bytes
LAST_LINES = 1.0  # seconds, at most, that an exit waits for them
NOT_TRUSTED = "invalid peer certificate: "
# rustls's words for the server's alerts, and for a server of an age that it does not speak to
ALERT, INCOMPATIBLE = "received fatal alert: ", "peer is incompatible: "
CERTIFICATE_ALERTS = ("CertificateRequired", "BadCertificate", "HandshakeFailure", "UnknownCA", "CertificateUnknown")
DISAGREED = ("ProtocolVersion", "UnrecognizedName", "UnrecognisedName", "InsufficientSecurity", INCOMPATIBLE)
# hyper's words for what it cannot parse
NO_HTTP_WORDS = (
    "invalid HTTP ",
    "invalid content-length ",
    "message head is too large",
    "invalid chunk",
    "Invalid chunk",
)


class FastTransport(httpx2.AsyncBaseTransport):
    """Sends requests to servers. `connect`: the longest wait for a connection; `total`: for a whole answer; seconds.

    `encrypted`: certificates are looked at. Where none is, none need be on the machine.
    """

    def __init__(self, *, connect: float, total: float, encrypted: bool) -> None:
        self._connect, self._total, self._encrypted = connect, total, encrypted
        self._client: Client | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, as soon as its headers are there."""
        try:
            if self._client is None:
                self._client = self._opened()
            # In one go: a built request shows its headers, were it a local variable when anything is raised.
            sent = (
                self._client.request(request.method, str(request.url))
                .headers([(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers.raw])
                .body_bytes(request.content)
                .build_streamed()
            )
            answer = await sent.__aenter__()
        except (PyreqwestError, ValueError) as error:
            problem = _translated(error)
        else:
            return httpx2.Response(answer.status, headers=_headers(answer), stream=_Content(sent, answer))
        # Raised here, so that no error of the library's, which holds the address, hangs on it as its context.
        raise problem

    async def aclose(self) -> None:
        """Give back the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _opened(self) -> Client:
        builder = (
            ClientBuilder()
            .no_proxy()
            .follow_redirects(enable=False)
            .gzip(enable=False)
            .brotli(enable=False)
            .zstd(enable=False)
            .deflate(enable=False)
            .connect_timeout(timedelta(seconds=self._connect))
            # A request that is cancelled while it waits for an answer goes on in the library until this limit.
            .timeout(timedelta(seconds=self._total))
            .pool_idle_timeout(timedelta(seconds=KEEP_ALIVE))
        )
        return builder.danger_accept_invalid_certs(enable=not self._encrypted).build()


class _Content(httpx2.AsyncByteStream):
    """A response's content, in pieces."""

    def __init__(self, sent: StreamRequest, answer: Response) -> None:
        self._sent, self._answer = sent, answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                block = await self._answer.body_reader.read(BLOCK)
            except (PyreqwestError, ValueError) as error:
                problem = _translated(error)
            else:
                if block is None:
                    return
                yield bytes(block)
                continue
            raise problem

    async def aclose(self) -> None:
        await self._sent.__aexit__(None, None, None)


def _headers(answer: Response) -> list[tuple[str, str]]:
    """Without those that are no text."""
    found: list[tuple[str, str]] = []
    for name in answer.headers:
        try:
            found.append((name, answer.headers[name]))
        except ValueError:
            continue
    return found


def _translated(error: Exception) -> httpx2.TransportError:
    """httpx2's error for one of pyreqwest's. Its own words, which come before any cause, hold the address, whole."""
    details = error.details["causes"] if isinstance(error, DetailedPyreqwestError) else None
    causes = [each["message"] for each in (details or ())[1:]]
    last = causes[-1] if causes else type(error).__name__
    if "dns error" in causes:
        return NameNotResolved("the name does not resolve")
    if last.startswith(NOT_TRUSTED):
        why = last.removeprefix(NOT_TRUSTED)
        return NotTrusted(why, name="not valid for name" in why or why.startswith("NotValidForName"))
    if "corrupt message" in last or "InvalidContentType" in last:
        return TLSFailed("what is spoken there is no TLS")
    if last.startswith((ALERT, INCOMPATIBLE)):
        return _of_handshake(last.removeprefix(ALERT))
    if isinstance(error, ConnectTimeoutError):
        return httpx2.ConnectTimeout("no connection")
    if isinstance(error, TimeoutError):
        return httpx2.ReadTimeout("nothing came")
    if "tcp connect error" in causes:
        return httpx2.ConnectError(REFUSED if "refused" in last else last.partition(" (os error")[0])
    if last.startswith(NO_HTTP_WORDS):
        return httpx2.RemoteProtocolError(NO_HTTP)
    return httpx2.ReadError(last.partition(" (os error")[0])


def _of_handshake(why: str) -> httpx2.TransportError:
    """What the server's refusal of a handshake means."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", why).lower()
    if why.startswith(CERTIFICATE_ALERTS):
        return CertificateWanted(words)
    return Disagreement(words) if why.startswith(DISAGREED) else httpx2.ConnectError(words)


def wait_for_last_lines(longest: float = LAST_LINES) -> None:
    """Return once no thread that Python did not start is in the midst of Python code, or after so many seconds."""
    until = time.monotonic() + longest
    while not sys._current_frames().keys() <= {thread.ident for thread in threading.enumerate()}:  # noqa: SLF001 - documented, and the only way
        if time.monotonic() > until:
            return
        time.sleep(0.001)


# Called while other threads can still run Python.
atexit.register(wait_for_last_lines)
