"""Fetches an image from the address that a server gave: an untrusted address.

Only https is fetched (http on this machine, for a server that runs on it). The address and each redirect may lead to
public addresses alone, or to where the server itself is: it must not be able to have us read what only this network can
reach. A server on this machine may name any first address. No more than `limit` bytes are read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

import httpx2

from fairgate.core.errors import CallFailed
from fairgate.providers.http.addresses import ip_of, is_here, joined, parsed, port_of
from fairgate.providers.http.proxies import proxy_of
from fairgate.providers.http.transports import transport_to_others, usable
from fairgate.providers.retries import TransientError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.core.redaction import Redaction
    from fairgate.providers.retries import Retries

REDIRECTS = 3
HEADERS = {"Accept": "image/*", "Accept-Encoding": "identity", "User-Agent": "fairgate"}
MOVED = (301, 302, 303, 307, 308)


class Fetcher:
    """Gets images for one server, which is at `address`. No error shows what `redaction` hides."""

    def __init__(self, address: str, *, timeout: float, limit: int, retries: Retries, redaction: Redaction) -> None:
        self._address = address
        server = httpx2.URL(address)
        self._here, self._origin = is_here(server), _origin(server)
        self._timeout, self._limit, self._retries = timeout, limit, retries
        self._redaction = redaction
        self._transports: dict[tuple[str, str | None], httpx2.AsyncBaseTransport] = {}

    async def get(self, url: str) -> bytes | None:
        """The bytes behind this address, None where they are more than the limit. Raises CallFailed."""

        async def attempt() -> bytes | None:
            return await self._followed(url)

        try:
            return await self._retries.run(attempt)
        except TransientError as last:
            said = str(last)
        # Raised here, so that nothing of another library's hangs on it as its context.
        raise self._failed(f"the image could not be fetched: {said}.")

    async def close(self) -> None:
        """Give back the connections."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()

    async def _followed(self, url: str) -> bytes | None:
        aim = self._first(url)
        for hop in range(REDIRECTS + 1):
            try:
                # Around the whole of it: no other limit holds for the look-up, and for all addresses of a name.
                async with asyncio.timeout(self._timeout), AsyncExitStack() as opened:
                    trusted = hop == 0 and (self._here or _origin(aim) == self._origin)
                    answer = await self._answer(aim, opened, "redirects" if hop else "leads", trusted=trusted)
                    if answer.status_code in MOVED:
                        aim = self._next(aim, answer)
                        continue
                    if answer.status_code in (408, 425, 429) or answer.status_code >= 500:
                        raise TransientError(f"HTTP {answer.status_code}")
                    if answer.status_code != 200:
                        raise self._failed(f"the image's address answers with HTTP {answer.status_code}.")
                    return await self._read(answer)
            except TimeoutError:
                raise TransientError("timeout", f"no whole image within {self._timeout:g} s") from None
            except (httpx2.TransportError, OSError, UnicodeError) as error:
                raise TransientError("no connection", type(error).__name__) from None
        raise self._failed(f"the image's address redirects more than {REDIRECTS} times.")

    async def _answer(self, aim: httpx2.URL, opened: AsyncExitStack, how: str, *, trusted: bool) -> httpx2.Response:
        proxy = proxy_of(aim)
        # A proxy looks names up itself, and may well stand in this network.
        if trusted or proxy is not None:
            way = aim.scheme, None if proxy is None else str(proxy)
            if way not in self._transports:
                self._transports[way] = usable(transport_to_others(aim))
            return await _asked(self._transports[way], aim, opened)
        # The client looks nothing up: what was looked at is what is connected to, and cannot change between.
        *others, last = await self._public_addresses(aim, how)
        for ip in others:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._answer_from(ip, aim, opened)
        return await self._answer_from(last, aim, opened)

    async def _answer_from(self, ip: str, aim: httpx2.URL, opened: AsyncExitStack) -> httpx2.Response:
        transport = await opened.enter_async_context(usable(transport_to_others(aim, pinned=ip)))
        return await _asked(transport, aim, opened)

    async def _public_addresses(self, aim: httpx2.URL, how: str) -> list[str]:
        """What this name stands for; refused where one of them is none of the public internet's."""
        found = await asyncio.get_running_loop().getaddrinfo(aim.host, port_of(aim), type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
        if not all(map(_is_public, addresses)):
            raise self._not_public(aim, how)
        return addresses

    async def _read(self, answer: httpx2.Response) -> bytes | None:
        content = bytearray()
        async for block in answer.aiter_raw():
            content += block
            if len(content) > self._limit:
                return None
        return bytes(content)

    def _first(self, url: str) -> httpx2.URL:
        """The address that the server gave, if it may be fetched."""
        aim = parsed(url)
        if aim is None:
            raise self._unreadable()
        if aim.scheme == "http" and self._here and is_here(aim):
            return aim
        own = self._here or _origin(aim) == self._origin
        return self._encrypted(aim) if own else self._public(self._encrypted(aim), "leads")

    def _next(self, aim: httpx2.URL, answer: httpx2.Response) -> httpx2.URL:
        """Where it redirects to, if that may be fetched."""
        onward = joined(aim, answer.headers.get("location", ""))
        if onward is None:
            raise self._unreadable()
        return self._public(self._encrypted(onward), "redirects")

    def _public(self, aim: httpx2.URL, how: str) -> httpx2.URL:
        if is_here(aim) or not _is_public(aim.host):
            raise self._not_public(aim, how)
        return aim

    def _encrypted(self, aim: httpx2.URL) -> httpx2.URL:
        if aim.scheme != "https":
            raise self._failed(f"the image's address is {self._shown(aim)}, and only https is fetched.")
        return aim

    # The address itself is not shown: those of images hold keys.

    def _shown(self, url: httpx2.URL) -> str:
        return self._redaction.show(f"{url.scheme}://{url.netloc.decode('ascii').rpartition('@')[2]}")

    def _not_public(self, aim: httpx2.URL, how: str) -> CallFailed:
        return self._failed(f"the image's address {how} to {self._shown(aim)}, which is not public.")

    def _unreadable(self) -> CallFailed:
        return self._failed("the image's address cannot be read.")

    def _failed(self, what: str) -> CallFailed:
        return CallFailed(what, where=self._address)


async def _asked(transport: httpx2.AsyncBaseTransport, aim: httpx2.URL, opened: AsyncExitStack) -> httpx2.Response:
    answer = await transport.handle_async_request(httpx2.Request("GET", aim, headers=HEADERS))
    opened.push_async_callback(answer.aclose)
    return answer


def _is_public(host: str) -> bool:
    """Whether an address is public, in whatever address of the other family it is wrapped.

    A name is looked at when it is resolved.
    """
    ip = ip_of(host.partition("%")[0])
    if ip is None:
        return True
    wrapped: Sequence[ipaddress.IPv4Address | None] = ()
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.is_site_local or ip in _LOCAL_NAT64:
            return False
        inner = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF) if any(ip in each for each in _WRAPPING) else None
        wrapped = (ip.ipv4_mapped, ip.sixtofour, inner, *(ip.teredo or ()))
    return all(each.is_global and not each.is_multicast for each in (ip, *wrapped) if each is not None)


# Networks whose last 32 bits are an address of IPv4: NAT64 (RFC 6052), translated and compatible ones (RFC 7915, 4291).
_WRAPPING = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")))
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")  # RFC 8215


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, port_of(url)
