"""httpx2's transport over aiohttp: the one in use by default (docs/throughput.md has what others cost)."""

from __future__ import annotations

import asyncio
import io
import socket
from typing import TYPE_CHECKING

import aiohttp
import httpx2
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from fairgate.providers.http.errors import LOCKED_OUT, NO_HTTP, NameNotResolved, ProxyRefuses, of_tls, said_by

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from aiohttp.connector import Connection
    from aiohttp.http import RawResponseMessage

# Shorter than the five seconds after which common servers close an idle connection: reused at that moment, it is cut.
KEEP_ALIVE = 4.0
# aiohttp warns of longer bodies that are not sent in pieces.
LONG_BODY = 2**20
# As long as other clients take it: gateways add policies and cookies of more than aiohttp's 8 kB.
LONGEST_HEADER = 2**16  # bytes
GRACE = 0.1  # seconds
MOST_INTERIM = 20  # answers of 1xx before the one that counts


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Sends requests to servers, through `proxy` if there is one; https is trusted by `trust`.

    `pinned` is the one IP address that any name stands for: nothing is looked up. `connect` and `idle` are the longest
    waits for a connection and for the next bytes, in seconds.
    """

    def __init__(
        self,
        *,
        trust: ssl.SSLContext | None = None,
        proxy: httpx2.URL | None = None,
        pinned: str | None = None,
        connect: float | None = None,
        idle: float | None = None,
    ) -> None:
        self._trust, self._pinned = trust, pinned
        self._proxy = None if proxy is None else URL(str(proxy), encoded=True)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect, sock_connect=connect, sock_read=idle)
        self._session: aiohttp.ClientSession | None = None
        self._url = "", URL()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, as soon as its headers are there."""
        if self._session is None:
            self._session = self._opened()
        address, content = str(request.url), request.content
        if self._url[0] != address:
            self._url = address, URL(address, encoded=True)
        try:
            answer = await self._session.request(
                request.method,
                self._url[1],
                headers=[(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers.raw],
                data=content if len(content) < LONG_BODY else io.BytesIO(content),
                proxy=self._proxy,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            problem = _translated(error)
        else:
            return httpx2.Response(answer.status, headers=list(answer.raw_headers), stream=_Body(answer))
        # Raised here, so that no error of the library's, which holds the request, hangs on it as its context.
        raise problem

    async def aclose(self) -> None:
        """Give back the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            if self._trust is not None:
                # Encrypted connections take leave of their servers; a loop that ends before would warn of each.
                await asyncio.sleep(GRACE)

    def _opened(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=True if self._trust is None else self._trust,
            limit=0,
            keepalive_timeout=KEEP_ALIVE,
            resolver=aiohttp.ThreadedResolver() if self._pinned is None else _Pinned(self._pinned),
        )
        return aiohttp.ClientSession(
            connector=connector,
            response_class=_Answer,
            timeout=self._timeout,
            auto_decompress=False,
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )


class _Answer(aiohttp.ClientResponse):
    """A response. aiohttp drops interim ones before it without end, and takes memory for each."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read up to the end of the headers."""
        protocol, left = connection.protocol, 1 + MOST_INTERIM
        assert protocol is not None  # noqa: S101 - of an open connection
        read = protocol.read

        async def counted() -> tuple[RawResponseMessage, aiohttp.StreamReader]:
            nonlocal left
            left -= 1
            if left < 0:
                raise aiohttp.http_exceptions.BadHttpMessage("interim answers without end")
            return await read()

        protocol.read = counted  # type: ignore[method-assign] # of this connection, while it is begun
        try:
            return await super().start(connection)
        finally:
            del protocol.read


class _Body(httpx2.AsyncByteStream):
    """A response's content, in the pieces in which it comes."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = self._answer.content.readany
        while True:
            try:
                block = await read()
            except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
                problem = _translated(error)
            else:
                if not block:
                    return
                yield block
                continue
            raise problem

    async def aclose(self) -> None:
        # What was not read is not waited for.
        self._answer.close()


class _Pinned(AbstractResolver):
    """One IP address for every name."""

    def __init__(self, ip: str) -> None:
        self._ip = ip

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - a wish of aiohttp's
    ) -> list[ResolveResult]:
        """That address."""
        kind = socket.AF_INET6 if ":" in self._ip else socket.AF_INET
        number = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [ResolveResult(hostname=host, host=self._ip, port=port, family=kind, proto=0, flags=number)]

    async def close(self) -> None:
        """Nothing is held."""


def _translated(error: Exception) -> httpx2.TransportError:
    """httpx2's error for one of aiohttp's."""
    tls = of_tls(error)
    if tls is not None:
        return tls
    match error:
        case aiohttp.ClientHttpProxyError(status=407):
            return httpx2.ProxyError(LOCKED_OUT)
        case aiohttp.ClientHttpProxyError():
            kind = ProxyRefuses if 300 <= error.status < 500 else httpx2.ProxyError
            return kind(f"the proxy answers with HTTP {error.status}")
        case aiohttp.ClientConnectorDNSError():
            return NameNotResolved("the name does not resolve")
        case aiohttp.ClientConnectorError():
            said = said_by(error.os_error)
            # Reset in mid-handshake, a connection was there.
            cut = isinstance(error.os_error, ConnectionResetError | BrokenPipeError)
            return httpx2.ReadError(said) if cut else httpx2.ConnectError(said)
        case aiohttp.ConnectionTimeoutError():
            return httpx2.ConnectTimeout("no connection")
        case asyncio.TimeoutError():
            return httpx2.ReadTimeout("nothing came")
        case aiohttp.ServerDisconnectedError():
            return httpx2.RemoteProtocolError("the server hung up without an answer")
        case aiohttp.ClientPayloadError():
            return httpx2.RemoteProtocolError("the answer is not whole")
        case aiohttp.ClientResponseError() | ValueError():
            return httpx2.RemoteProtocolError(NO_HTTP)
        case OSError():
            return httpx2.ReadError(said_by(error))
    return httpx2.ReadError(type(error).__name__)
