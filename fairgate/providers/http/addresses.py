"""Addresses of servers, parsed strictly: what two parsers read differently, one checks and the other connects to."""

from __future__ import annotations

import ipaddress
import re
from typing import TypeAlias

import httpx2

from fairgate.core.redaction import is_secret

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z\d_-]+(?:\.[a-z\d_-]+)*\.?")
_NUMBER = re.compile(r"\d+|0x[\da-f]*")


def parsed(text: str) -> httpx2.URL | None:
    """The absolute address in this text; None where its host or port is none.

    Numbers that only some resolvers take for an address (0x7f.1, 2130706433) are none.
    """
    try:
        url = httpx2.URL(text)
        _ = url.host  # decoded when it is read
    except (httpx2.InvalidURL, UnicodeError):
        return None
    host = url.raw_host.decode("ascii")
    known = ip_of(host) is not None or (
        _NAME.fullmatch(host) and not _NUMBER.fullmatch(host.rstrip(".").split(".")[-1])
    )
    return url if url.scheme and known and 0 < port_of(url) < 2**16 else None


def joined(url: httpx2.URL, location: str) -> httpx2.URL | None:
    """Where a redirect leads; None where it cannot be read."""
    try:
        return parsed(str(url.join(location))) if location.isascii() else None
    except httpx2.InvalidURL:
        return None


def port_of(url: httpx2.URL) -> int:
    """The port, the scheme's own where none is named; -1 where neither is known."""
    return DEFAULT_PORTS.get(url.scheme, -1) if url.port is None else url.port


def ip_of(host: str) -> IPAddress | None:
    """The number that a host is, None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_here(url: httpx2.URL) -> bool:
    """Whether an address is this machine's own, by its name or number alone: nothing is looked up."""
    ip = ip_of(url.host)
    if ip is not None:
        return ip.is_loopback
    host = url.host.rstrip(".")
    return host == "localhost" or host.endswith(".localhost")


def secrets_of(url: httpx2.URL) -> tuple[list[str], list[str]]:
    """What of an address is secret, and what is hidden in what is shown alone.

    The password, alone and with its user, as it is written and as it is sent; each value of the query, and the query.
    """
    # A plain word in the query is a setting, such as `preview`, unless it is called a secret.
    pairs = url.params.multi_items()
    words = [value for name, value in pairs if value.isalpha() and not is_secret(name)]
    secrets = [value for _, value in pairs if value not in words]
    secrets += [url.query.decode("ascii"), url.userinfo.decode("ascii")]
    if url.password:
        secrets += [url.password, f"{url.username}:{url.password}"]
    return secrets, [url.username, *words]


def shown(url: httpx2.URL) -> str:
    """An address without what may be secret in it: user, query, fragment."""
    return str(url.copy_with(query=None, fragment=None, userinfo=b""))
