"""Certificates: which servers are trusted, and the certificate that is shown to those that want one.

Trusted are the system's authorities, or those in the file that SSL_CERT_FILE or REQUESTS_CA_BUNDLE names (a folder that
OpenSSL has hashed in REQUESTS_CA_BUNDLE or SSL_CERT_DIR). FAIRGATE_CLIENT_CERT names a PEM file with a certificate and
its key, FAIRGATE_CLIENT_KEY a file with the key alone.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import httpx2

from fairgate.core.errors import ConfigError

FILES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
CLIENT_CERT, CLIENT_KEY = "FAIRGATE_CLIENT_CERT", "FAIRGATE_CLIENT_KEY"


def is_usual() -> bool:
    """Whether the environment names no certificates: the system's are trusted, and none is shown."""
    return not any(os.environ.get(each) for each in (*FILES, "SSL_CERT_DIR", CLIENT_CERT))


def context(*, client: bool) -> ssl.SSLContext | ConfigError:
    """Which certificates are trusted. `client`: the user's certificate, for servers that require one.

    An error for a variable of the environment that names no certificates.
    """
    trusted = _trusted()
    if isinstance(trusted, ConfigError) or not client or not (cert := os.environ.get(CLIENT_CERT)):
        return trusted
    key = os.environ.get(CLIENT_KEY)
    for variable, path in ((CLIENT_CERT, cert), (CLIENT_KEY, key)):
        if path and (problem := _unreadable(path)):
            return ConfigError(f"{path} {problem}.", where=variable)
    try:
        # Without the empty password OpenSSL would ask for one at the terminal.
        trusted.load_cert_chain(cert, key, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        why = error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)
        return ConfigError(
            f"{cert} holds no certificate with its unencrypted key ({why}).",
            where=CLIENT_CERT,
            hint=f"Give a PEM file with both, or name the key's own file in {CLIENT_KEY}.",
        )
    return trusted


def _trusted() -> ssl.SSLContext | ConfigError:
    variable = next((each for each in FILES if os.environ.get(each)), None)
    if variable is None:
        return httpx2.create_ssl_context()
    path = os.environ[variable]
    if problem := _unreadable(path):
        return ConfigError(f"{path} {problem}.", where=variable, hint="Name a PEM file with certificates, or unset it.")
    # Without the strict checks of newer Pythons, which many a company's own authority does not pass.
    trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    folder = Path(path).is_dir()
    try:
        trusted.load_verify_locations(None if folder else path, path if folder else None)
    except (ssl.SSLError, OSError):
        return ConfigError(
            f"{path} holds no certificates.",
            where=variable,
            hint="It must be a PEM file: lines of base64 between BEGIN CERTIFICATE and END CERTIFICATE.",
        )
    return trusted


def _unreadable(path: str) -> str | None:
    """Why a file cannot be read, None where it can."""
    if Path(path).is_dir():
        return None
    try:
        with Path(path).open("rb"):
            return None
    except OSError as error:
        return f"cannot be read ({error.strerror})"
