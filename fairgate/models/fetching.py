"""Fetches an image from the address that a server gave: an address that nobody here chose, and so not trusted.

Only https is fetched (http on this machine, for a server that runs on it). A redirect may lead to public addresses
alone: a server must not be able to have us read what only this network can reach. No more than `limit` bytes are read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx
from aiohttp.resolver import ThreadedResolver

from fairgate.errors import CallFailed, ConfigError
from fairgate.models.endpoint import CONNECT_TIMEOUT, proxy_of
from fairgate.models.redaction import Redaction
from fairgate.models.retries import MayPass

if TYPE_CHECKING:
    from fairgate.models.retries import Retries

REDIRECTS = 3
BLOCK = 2**16  # bytes
HEADERS = {"Accept": "image/*", "Accept-Encoding": "identity", "User-Agent": "fairgate"}
MOVED = (301, 302, 303, 307, 308)


class Fetcher:
    """Gets images for one server, which is at `address`."""

    def __init__(self, address: str, *, timeout: float, limit: int, retries: Retries) -> None:
        self._address = address
        self._here = _on_this_machine(httpx.URL(address).host)
        self._timeout, self._limit, self._retries = timeout, limit, retries
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def get(self, url: str) -> bytes | None:
        """The bytes behind this address, None where they are more than the limit. Raises CallFailed."""

        async def attempt() -> bytes | None:
            return await self._followed(url)

        try:
            return await self._retries.run(attempt)
        except MayPass as last:
            said = str(last)
        # Raised here, so that nothing of another library's hangs on it as its context.
        raise self._failed(f"the image could not be fetched: {said}.")

    async def close(self) -> None:
        """Give back the connections."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    async def _followed(self, url: str) -> bytes | None:
        aim = self._allowed(url, redirected=False)
        for hop in range(REDIRECTS + 1):
            proxy = _proxy(aim)
            try:
                # Around the whole of it: a slow server may send a byte now and then for ever.
                async with (
                    asyncio.timeout(self._timeout),
                    # A proxy looks names up itself, and may well stand in this network.
                    self._session(public=hop > 0 and proxy is None).get(
                        str(aim), allow_redirects=False, proxy=proxy, headers=HEADERS
                    ) as answer,
                ):
                    if answer.status in MOVED:
                        aim = self._allowed(str(aim.join(answer.headers.get("Location", ""))), redirected=True)
                        continue
                    if answer.status in (408, 425, 429) or answer.status >= 500:
                        raise MayPass(f"HTTP {answer.status}")
                    if answer.status != 200:
                        raise self._failed(f"the image's address answers with HTTP {answer.status}.")
                    return await self._read(answer)
            except TimeoutError:
                raise MayPass("timeout", f"no whole image within {self._timeout:g} s") from None
            except _PrivateAddress as private:
                raise self._failed(f"the image's address redirects to {private}, which is not public.") from None
            except (aiohttp.ClientError, OSError) as error:
                if isinstance(error.__cause__, _PrivateAddress):
                    raise self._failed("the image's address redirects to one that is not public.") from None
                raise MayPass("no connection", type(error).__name__) from None
        raise self._failed(f"the image's address redirects more than {REDIRECTS} times.")

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes | None:
        content = bytearray()
        async for block in answer.content.iter_chunked(BLOCK):
            content += block
            if len(content) > self._limit:
                return None
        return bytes(content)

    def _session(self, *, public: bool) -> aiohttp.ClientSession:
        if public not in self._sessions:
            # What the name stands for is looked at by the very look-up that connects, so that it cannot change between.
            connector = aiohttp.TCPConnector(resolver=_PublicAddresses()) if public else aiohttp.TCPConnector()
            self._sessions[public] = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_TIMEOUT),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._sessions[public]

    def _allowed(self, url: str, *, redirected: bool) -> httpx.URL:
        """The address, if it may be fetched. The address itself is not shown: those of images hold keys."""
        try:
            aim = httpx.URL(url)
        except httpx.InvalidURL:
            raise self._failed("the image's address cannot be read.") from None
        local = aim.scheme == "http" and self._here and _on_this_machine(aim.host)
        if local and not redirected:
            return aim
        if aim.scheme != "https" or not aim.host:
            raise self._failed(f"the image's address is {_shown(aim)}, and only https is fetched.")
        if redirected and (_on_this_machine(aim.host) or not _is_public(aim.host)):
            raise self._failed(f"the image's address redirects to {_shown(aim)}, which is not public.")
        return aim

    def _failed(self, what: str) -> CallFailed:
        return CallFailed(what, where=self._address)


class _PrivateAddress(OSError):
    """A name that stands for an address of this network."""


class _PublicAddresses(ThreadedResolver):
    """Resolves names to public addresses alone."""

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[Any]:
        """As asked for; raises where an address is none of the public internet's."""
        found = await super().resolve(host, port, family)
        if not all(_is_public(each["host"]) for each in found):
            raise _PrivateAddress(Redaction().show(host))
        return list(found)


def _is_public(host: str) -> bool:
    """Whether an address is public; a name is looked at when it is resolved."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        return True


def _on_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _proxy(url: httpx.URL) -> str | None:
    found = proxy_of(url.scheme, url.host)
    if isinstance(found, ConfigError):
        raise found
    return found


def _shown(url: httpx.URL) -> str:
    return Redaction().show(f"{url.scheme}://{url.host}")
