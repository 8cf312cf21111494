"""The environment's proxies: http_proxy, https_proxy, all_proxy, and no_proxy with names, ports and networks."""

from __future__ import annotations

import ipaddress
import urllib.request

import httpx2

from fairgate.core.errors import ConfigError
from fairgate.providers.http.addresses import ip_of, is_here, parsed, port_of

SOCKS = ("socks5", "socks5h")


def proxy_of(url: httpx2.URL) -> httpx2.URL | ConfigError | None:
    """The environment's proxy for this address; none for this machine's own servers, whatever the environment says.

    An error for one that cannot be used. Its address is not shown: it may hold a password.
    """
    if is_here(url):
        return None
    proxies = urllib.request.getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named or _is_bypassed(url, proxies.get("no", "")):
        return None
    kind, found, _ = named.partition("://")
    if found and kind not in {"http", "https", *SOCKS}:
        return ConfigError(
            f"the environment names a {kind} proxy; only http, https and socks5 proxies can be used.",
            where=f"{url.scheme}_proxy",
            hint=f"To do without it: NO_PROXY={url.host}",
        )
    proxy = parsed(named if found else f"http://{named}")
    if proxy is None and found and kind in SOCKS:
        proxy = _with_port(named)
    return proxy or ConfigError(
        "the environment names a proxy whose address cannot be read.",
        where=f"{url.scheme}_proxy",
        hint="It looks like http://proxy.example:3128",
    )


def _with_port(named: str) -> httpx2.URL | None:
    """A SOCKS proxy's address, at SOCKS's own port."""
    try:
        url = httpx2.URL(named)
        return parsed(str(url.copy_with(port=1080))) if url.port is None else None
    except httpx2.InvalidURL:
        return None


def _is_bypassed(url: httpx2.URL, exceptions: str) -> bool:
    ip = ip_of(url.host)
    host = f"[{url.host}]" if ip is not None and ip.version == 6 else url.host
    # With its port, which an exception may name.
    if urllib.request.proxy_bypass(f"{host}:{port_of(url)}") or urllib.request.proxy_bypass(url.host):
        return True
    return ip is not None and any(ip in network for network in _networks(exceptions))


def _networks(exceptions: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    found = []
    for each in exceptions.split(","):
        try:
            found.append(ipaddress.ip_network(each.strip().strip("[]"), strict=False))
        except ValueError:
            continue
    return found
