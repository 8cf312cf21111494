"""httpx2's own transport, for SOCKS proxies. An extra: `fairgate[socks]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
from socksio.exceptions import SOCKSError

from fairgate.providers.http.aiohttp_transport import KEEP_ALIVE
from fairgate.providers.http.errors import LOCKED_OUT, ProxyRefuses, of_tls

if TYPE_CHECKING:
    import ssl

NOT_SIGNED_IN = ("NO ACCEPTABLE METHODS", "Invalid username/password")
NOT_ALLOWED = "not allowed by ruleset"


class SocksTransport(httpx2.AsyncBaseTransport):
    """Sends requests through a SOCKS proxy, which looks names up itself."""

    def __init__(self, proxy: httpx2.URL, trusted: ssl.SSLContext | None, connect: float) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEP_ALIVE)
        self._timeout = httpx2.Timeout(None, connect=connect).as_dict()
        self._inner = httpx2.AsyncHTTPTransport(verify=trusted or False, proxy=httpx2.Proxy(proxy), limits=limits)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, as soon as its headers are there."""
        request.extensions = {**request.extensions, "timeout": self._timeout}
        problem: httpx2.TransportError
        try:
            return await self._inner.handle_async_request(request)
        except httpx2.ProxyError as error:
            problem = _of_proxy(str(error))
        except httpx2.TransportError as error:
            problem = of_tls(error) or type(error)(str(error) or type(error).__name__)
        except (SOCKSError, AssertionError):
            problem = httpx2.ProxyError("what the proxy speaks is no SOCKS5")
        raise problem

    async def aclose(self) -> None:
        """Give back the connections."""
        await self._inner.aclose()


def _of_proxy(said: str) -> httpx2.ProxyError:
    """What a proxy's refusal means."""
    if any(each in said for each in NOT_SIGNED_IN):
        return httpx2.ProxyError(LOCKED_OUT)
    why = said.removeprefix("Proxy Server could not connect: ").rstrip(".")
    return ProxyRefuses(why) if NOT_ALLOWED in why else httpx2.ProxyError(why)
