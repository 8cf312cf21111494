"""The way to a server: through which proxy, and trusting whom; and what the library says where there is none.

Troubles are handed back and not raised here: no frame of a traceback then holds an address, which may hold a secret.
"""

from __future__ import annotations

import ipaddress
import urllib.request
from typing import TYPE_CHECKING

from pyreqwest.exceptions import BuilderError, DetailedPyreqwestError
from pyreqwest.http import Url
from pyreqwest.proxy import ProxyBuilder

from fairgate.errors import ConfigError

if TYPE_CHECKING:
    from pyreqwest.client import Client, ClientBuilder
    from pyreqwest.exceptions import PyreqwestError

CONNECT_TIMEOUT = 15.0  # seconds

# Shorter than the five seconds after which common servers close an idle connection: reused at that moment, it is cut.
KEEP_ALIVE = 4.0


def client_for(url: Url, builder: ClientBuilder) -> Client | ConfigError:
    """The builder's client, for this address and all that share its scheme and its proxy.

    An error for a proxy of the environment that cannot be used, and where this machine trusts nobody.
    """
    proxy, builder = proxy_of(url), builder.no_proxy()
    if isinstance(proxy, ConfigError):
        return proxy
    if proxy is not None:
        builder = builder.proxy(ProxyBuilder.all(proxy))
    if url.scheme == "http" and (proxy is None or proxy.scheme == "http"):
        # No certificate is ever looked at; where the machine has none, the library would not even begin.
        builder = builder.danger_accept_invalid_certs(enable=True)
    try:
        return builder.build()
    except BuilderError as error:
        return ConfigError(
            f"no connection can be made from this machine ({causes(error)[-1]}).",
            where=f"{url.scheme}://{url.host_str}",
            hint="Install its ca-certificates, or let SSL_CERT_FILE name those to trust.",
        )


def proxy_of(url: Url) -> Url | ConfigError | None:
    """The environment's proxy for this address; none for this machine's own servers, whatever the environment says.

    An error for one that cannot be used. Its address is not shown: it may hold a password.
    """
    host = (url.host_str or "").strip("[]")
    if is_here(url) or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named:
        return None
    kind, found, _ = named.partition("://")
    if found and kind not in {"http", "https"}:
        return ConfigError(
            f"the environment names a {kind} proxy; only http and https proxies can be used.",
            where=f"{url.scheme}_proxy",
            hint=f"To do without it: NO_PROXY={host}",
        )
    try:
        return Url(named if found else f"http://{named}")
    except ValueError as error:
        return ConfigError(
            f"the environment names a proxy that has no address ({error}).",
            where=f"{url.scheme}_proxy",
            hint="It looks like http://proxy.example:3128",
        )


def usable(client: Client | ConfigError) -> Client:
    """The client. Raises the error that stands in its place, in a frame that knows no address."""
    if isinstance(client, ConfigError):
        raise client
    return client


def is_here(url: Url) -> bool:
    """Whether an address is this machine's own, by its name or number alone: nothing is looked up."""
    host = (url.host_str or "").strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def causes(error: PyreqwestError) -> list[str]:
    """What the library says of a trouble, the innermost cause last; its kind where it says nothing that may be shown.

    Its own words, which come before any cause, are left out: they hold the address, whole.
    """
    details = error.details["causes"] if isinstance(error, DetailedPyreqwestError) else None
    return [each["message"] for each in (details or ())[1:]] or [type(error).__name__]


def shown(url: Url) -> str:
    """An address without what may be secret in it."""
    bare = url.with_query(None).with_fragment(None)
    # Some kinds of addresses have no user that could be taken away.
    return str(bare.with_username("").with_password(None) if bare.username or bare.password else bare)
