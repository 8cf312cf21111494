"""The transport for a server, by its address and the environment.

Requests go to a transport itself and not through httpx2's client, which writes each address, with whatever secrets it
holds, to the log, and takes as long as the transport. Errors are handed back and not raised: no frame of a traceback
then holds an address.
"""

from __future__ import annotations

import importlib.util
import os
import zlib
from typing import TYPE_CHECKING

import httpx2

from fairgate.core.errors import ConfigError
from fairgate.providers.http import trust
from fairgate.providers.http.proxies import SOCKS, proxy_of
from fairgate.providers.http.traces import traced

if TYPE_CHECKING:
    import ssl

CONNECT_TIMEOUT = 15.0  # seconds
FAST = "FAIRGATE_FAST"


def is_fast() -> bool:
    """Whether the extra `fast` is installed, and FAIRGATE_FAST is not 0."""
    return os.environ.get(FAST, "1") != "0" and importlib.util.find_spec("pyreqwest") is not None


def load() -> None:
    """Import what carries requests, in the caller's thread.

    Imported first in a thread that ends, such as a sampler's, pyreqwest crashes the process when it is used again.
    """
    if is_fast():
        from fairgate.providers.http import fast  # noqa: F401


def transport_to(url: httpx2.URL, *, total: float) -> httpx2.AsyncBaseTransport | ConfigError:
    """The transport to the user's own server: through the environment's proxy, with the user's client certificate.

    `total` is the longest wait for a whole answer, in seconds, which the caller enforces. Requests are traced
    where OpenTelemetry is asked for.
    """
    made = _to_own(url, total)
    return made if isinstance(made, ConfigError) else traced(made)


def _to_own(url: httpx2.URL, total: float) -> httpx2.AsyncBaseTransport | ConfigError:
    proxy, connect = proxy_of(url), min(CONNECT_TIMEOUT, total)
    if isinstance(proxy, ConfigError):
        return proxy
    encrypted = url.scheme == "https"
    if is_fast() and proxy is None and (trust.is_usual() or not encrypted):
        from fairgate.providers.http.fast import FastTransport

        return FastTransport(connect=connect, total=total, encrypted=encrypted)
    return _made(url, proxy, client=True, connect=connect, idle=None)


def transport_to_others(
    url: httpx2.URL, *, pinned: str | None = None, idle: float | None = None
) -> httpx2.AsyncBaseTransport | ConfigError:
    """The transport to a server that the user did not choose: no client certificate is shown to it.

    `pinned` is the IP address that the name stands for, so that nothing is looked up; a proxy then has no say.
    """
    proxy = None if pinned is not None else proxy_of(url)
    if isinstance(proxy, ConfigError):
        return proxy
    return _made(url, proxy, client=False, connect=CONNECT_TIMEOUT, idle=idle, pinned=pinned)


def _made(
    url: httpx2.URL,
    proxy: httpx2.URL | None,
    *,
    client: bool,
    connect: float,
    idle: float | None,
    pinned: str | None = None,
) -> httpx2.AsyncBaseTransport | ConfigError:
    # Where no certificate is ever looked at, none need be on the machine.
    encrypted = url.scheme == "https" or (proxy is not None and proxy.scheme == "https")
    trusted = trust.context(client=client) if encrypted else None
    if isinstance(trusted, ConfigError):
        return trusted
    if proxy is not None and proxy.scheme in SOCKS:
        return _through_socks(url, proxy, trusted, connect)
    from fairgate.providers.http.aiohttp_transport import AiohttpTransport

    return AiohttpTransport(trust=trusted, proxy=proxy, pinned=pinned, connect=connect, idle=idle)


def _through_socks(
    url: httpx2.URL, proxy: httpx2.URL, trusted: ssl.SSLContext | None, connect: float
) -> httpx2.AsyncBaseTransport | ConfigError:
    if importlib.util.find_spec("socksio") is None:
        return ConfigError(
            f"the environment names a {proxy.scheme} proxy, and the package for it is not installed.",
            where=f"{url.scheme}_proxy",
            hint=f"pip install 'fairgate[socks]'. To do without the proxy: NO_PROXY={url.host}",
        )
    from fairgate.providers.http.socks_transport import SocksTransport

    return SocksTransport(proxy, trusted, connect)


def usable(transport: httpx2.AsyncBaseTransport | ConfigError) -> httpx2.AsyncBaseTransport:
    """The transport. Raises the error that stands in its place, in a frame that knows no address."""
    if isinstance(transport, ConfigError):
        raise transport
    return transport


async def content_of(response: httpx2.Response, limit: int) -> bytes:
    """The content of a response, one byte more than the limit at most; unpacked where the server packed it unasked."""
    content = bytearray()
    assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - a transport's own
    async for block in response.stream:
        content += block
        if len(content) > limit:
            break
    return unpacked(content, response.headers.get("content-encoding", ""), limit)


def unpacked(content: bytes | bytearray, encoding: str, limit: int) -> bytes:
    """What a server packed, one byte more than the limit at most. Raises DecodingError for what is not so packed."""
    packed = encoding.strip().lower()
    if packed not in {"gzip", "x-gzip", "deflate"}:
        return bytes(content[: limit + 1])
    try:
        # 47: gzip or zlib, whichever it is.
        return zlib.decompressobj(47).decompress(content, limit + 1)
    except zlib.error:
        raise httpx2.DecodingError(f"{packed} that cannot be unpacked") from None
