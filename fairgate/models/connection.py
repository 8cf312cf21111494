"""The way to a server: through which proxy, and trusting whom.

Troubles are handed back and not raised here: no frame of a traceback then holds an address, which may hold a secret.
"""

from __future__ import annotations

import urllib.request
from typing import TYPE_CHECKING

from pyreqwest.exceptions import BuilderError
from pyreqwest.http import Url
from pyreqwest.proxy import ProxyBuilder

from fairgate.errors import ConfigError

if TYPE_CHECKING:
    from pyreqwest.client import Client, ClientBuilder

CONNECT_TIMEOUT = 15.0  # seconds

# Shorter than the five seconds after which common servers close an idle connection: reused at that moment, it is cut.
KEEP_ALIVE = 4.0


def client_for(url: Url, builder: ClientBuilder) -> Client | ConfigError:
    """The builder's client, for the server at this address and no other.

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
        causes = error.details["causes"] or [{"message": type(error).__name__}]
        return ConfigError(
            f"no connection can be made from this machine ({causes[-1]['message']}).",
            where=f"{url.scheme}://{url.host_str}",
            mend="Install its ca-certificates, or let SSL_CERT_FILE name those to trust.",
        )


def proxy_of(url: Url) -> Url | ConfigError | None:
    """The environment's proxy for this address; none for this machine's own servers, whatever the environment says.

    An error for one that cannot be used. Its address is not shown: it may hold a password.
    """
    host = (url.host_str or "").strip("[]")
    if host in {"localhost", "::1"} or host.startswith("127.") or urllib.request.proxy_bypass(host):
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
            mend=f"To do without it: NO_PROXY={host}",
        )
    try:
        return Url(named if found else f"http://{named}")
    except ValueError as error:
        return ConfigError(
            f"the environment names a proxy that has no address ({error}).",
            where=f"{url.scheme}_proxy",
            mend="It looks like http://proxy.example:3128",
        )


def shown(url: Url) -> str:
    """An address without what may be secret in it."""
    bare = url.with_query(None).with_fragment(None)
    # Some kinds of addresses have no user that could be taken away.
    return str(bare.with_username("").with_password(None) if bare.username or bare.password else bare)
