"""Fetches an image from the address that a server gave: an address that nobody here chose, and so not trusted.

Only https is fetched (http on this machine, for a server that runs on it). The address and each redirect may lead to
public addresses alone, or to where the server itself is: it must not be able to have us read what only this network can
reach. A server on this machine may name any first address. No more than `limit` bytes are read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import ConnectError, ConnectTimeoutError, PyreqwestError
from pyreqwest.http import Url

from fairgate.errors import CallFailed
from fairgate.models.connection import CONNECT_TIMEOUT, KEEP_ALIVE, client_for, is_here, proxy_of, usable
from fairgate.models.redaction import Redaction
from fairgate.models.retries import TransientError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyreqwest.client import Client
    from pyreqwest.request import StreamRequest
    from pyreqwest.response import Response

    from fairgate.models.retries import Retries

REDIRECTS = 3
BLOCK = 2**16  # bytes
HEADERS = {"Accept": "image/*", "Accept-Encoding": "identity", "User-Agent": "fairgate"}
MOVED = (301, 302, 303, 307, 308)


class Fetcher:
    """Gets images for one server, which is at `address`."""

    def __init__(self, address: str, *, timeout: float, limit: int, retries: Retries) -> None:
        self._address = address
        self._here, self._origin = is_here(Url(address)), _origin(Url(address))
        self._timeout, self._limit, self._retries = timeout, limit, retries
        self._clients: dict[tuple[str, str | None], Client] = {}

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
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.close()

    async def _followed(self, url: str) -> bytes | None:
        aim = self._first(url)
        for hop in range(REDIRECTS + 1):
            try:
                # Around the whole of it: no other limit holds for the look-up, and for all addresses of a name.
                async with asyncio.timeout(self._timeout), AsyncExitStack() as opened:
                    trusted = hop == 0 and (self._here or _origin(aim) == self._origin)
                    answer = await self._answer(aim, opened, "redirects" if hop else "leads", trusted=trusted)
                    if answer.status in MOVED:
                        aim = self._next(aim, answer)
                        continue
                    if answer.status in (408, 425, 429) or answer.status >= 500:
                        raise TransientError(f"HTTP {answer.status}")
                    if answer.status != 200:
                        raise self._failed(f"the image's address answers with HTTP {answer.status}.")
                    return await self._read(answer)
            except TimeoutError:
                raise TransientError("timeout", f"no whole image within {self._timeout:g} s") from None
            except (PyreqwestError, OSError, UnicodeError) as error:
                raise TransientError("no connection", type(error).__name__) from None
        raise self._failed(f"the image's address redirects more than {REDIRECTS} times.")

    async def _answer(self, aim: Url, opened: AsyncExitStack, how: str, *, trusted: bool) -> Response:
        proxy = proxy_of(aim)
        # A proxy looks names up itself, and may well stand in this network.
        if trusted or proxy is not None:
            way = aim.scheme, None if proxy is None else str(proxy)
            if way not in self._clients:
                self._clients[way] = usable(client_for(aim, self._builder()))
            return await opened.enter_async_context(_asked(self._clients[way], aim))
        # The client looks nothing up: what was looked at is what is connected to, and cannot change between.
        *others, last = await self._public_addresses(aim, how)
        for ip in others:
            with suppress(ConnectError, ConnectTimeoutError):
                return await self._answer_from(ip, aim, opened)
        return await self._answer_from(last, aim, opened)

    async def _answer_from(self, ip: str, aim: Url, opened: AsyncExitStack) -> Response:
        pinned = self._builder().resolve(aim.host_str or "", ip, aim.port_or_known_default or 0)
        client = await opened.enter_async_context(usable(client_for(aim, pinned)))
        return await opened.enter_async_context(_asked(client, aim))

    async def _public_addresses(self, aim: Url, how: str) -> list[str]:
        """What this name stands for; refused where one of them is none of the public internet's."""
        loop, host = asyncio.get_running_loop(), (aim.host_str or "").strip("[]")
        found = await loop.getaddrinfo(host, aim.port_or_known_default, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
        if not all(map(_is_public, addresses)):
            raise self._not_public(aim, how)
        return addresses

    async def _read(self, answer: Response) -> bytes | None:
        content = bytearray()
        while (block := await answer.body_reader.read(BLOCK)) is not None:
            content += block
            if len(content) > self._limit:
                return None
        return bytes(content)

    def _builder(self) -> ClientBuilder:
        return (
            ClientBuilder()
            .default_headers(HEADERS)
            .follow_redirects(enable=False)
            .gzip(enable=False)
            .brotli(enable=False)
            .zstd(enable=False)
            .deflate(enable=False)
            # A request that is cancelled while it waits for an answer goes on in the library until its own limit.
            .timeout(timedelta(seconds=self._timeout))
            .connect_timeout(timedelta(seconds=CONNECT_TIMEOUT))
            .pool_idle_timeout(timedelta(seconds=KEEP_ALIVE))
        )

    def _first(self, url: str) -> Url:
        """The address that the server gave, if it may be fetched."""
        try:
            aim = Url(url)
        except ValueError:
            raise self._unreadable() from None
        if aim.scheme == "http" and self._here and is_here(aim):
            return aim
        own = self._here or _origin(aim) == self._origin
        return self._encrypted(aim) if own else self._public(self._encrypted(aim), "leads")

    def _next(self, aim: Url, answer: Response) -> Url:
        """Where it redirects to, if that may be fetched."""
        try:
            aim = aim.join(answer.get_header("Location") or "")
        except ValueError:
            raise self._unreadable() from None
        return self._public(self._encrypted(aim), "redirects")

    def _public(self, aim: Url, how: str) -> Url:
        if is_here(aim) or not _is_public(aim.host_str or ""):
            raise self._not_public(aim, how)
        return aim

    def _encrypted(self, aim: Url) -> Url:
        if aim.scheme != "https":
            raise self._failed(f"the image's address is {_shown(aim)}, and only https is fetched.")
        return aim

    # The address itself is not shown: those of images hold keys.

    def _not_public(self, aim: Url, how: str) -> CallFailed:
        return self._failed(f"the image's address {how} to {_shown(aim)}, which is not public.")

    def _unreadable(self) -> CallFailed:
        return self._failed("the image's address cannot be read.")

    def _failed(self, what: str) -> CallFailed:
        return CallFailed(what, where=self._address)


def _asked(client: Client, aim: Url) -> StreamRequest:
    # Without that limit the status comes only when a block of the content has come.
    return client.get(aim).streamed_read_buffer_limit(0).build_streamed()


def _is_public(host: str) -> bool:
    """Whether an address is public, in whatever address of the other family it is wrapped.

    A name is looked at when it is resolved.
    """
    try:
        ip = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return True
    wrapped: Sequence[ipaddress.IPv4Address | None] = ()
    if isinstance(ip, ipaddress.IPv6Address):
        nat = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF) if ip in _NAT64 else None
        wrapped = (ip.ipv4_mapped, ip.sixtofour, nat, *(ip.teredo or ()))
    return all(each.is_global and not each.is_multicast for each in (ip, *wrapped) if each is not None)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def _origin(url: Url) -> tuple[str, str | None, int | None]:
    return url.scheme, url.host_str, url.port_or_known_default


def _shown(url: Url) -> str:
    return Redaction().show(f"{url.scheme}://{url.host_str or ''}")
