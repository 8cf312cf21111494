"""What transports raise beside httpx2's own errors. Their words are fit to be shown: they hold no address.

httpx2.TransportError
├── ConnectError          nobody is reached; `refused` in its text where the port is closed
│   ├── NameNotResolved
│   └── TLSFailed         a handshake that failed, and will again
│       ├── NotTrusted    the server's certificate
│       ├── CertificateWanted   the client's
│       └── Disagreement  no common version of TLS, or a name that the server does not know
└── ProxyError            the proxy does not let the request through
    └── ProxyRefuses      and will not
"""

from __future__ import annotations

import errno
import os
import re
import ssl

import httpx2

REFUSED = os.strerror(errno.ECONNREFUSED)
LOCKED_OUT = "407"  # said by a proxy that wants a name and a password
NO_HTTP = "the answer is no HTTP"

# OpenSSL's words (uvloop keeps them alone), and those of servers that hang up in TLS 1.2.
_WANTED = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "HANDSHAKE_FAILURE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN")
# Alerts, and OpenSSL's own words, of a handshake that ends likewise each time.
_DISAGREED = (
    "PROTOCOL_VERSION",
    "UNSUPPORTED_PROTOCOL",
    "UNRECOGNIZED_NAME",
    "INSUFFICIENT_SECURITY",
    "DH_KEY_TOO_SMALL",
)
_REASON = re.compile(r"\[SSL: ([A-Z\d_]+)\]|\[SSL\] ([a-z\d ]+)")
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


class NameNotResolved(httpx2.ConnectError):
    """The server's name, or its proxy's, has no address."""


class TLSFailed(httpx2.ConnectError):
    """What is spoken there is no TLS."""


class NotTrusted(TLSFailed):
    """The server's certificate is not trusted; the text says why. `name` where it is another server's."""

    def __init__(self, why: str, *, name: bool = False) -> None:
        super().__init__(why)
        self.name = name


class CertificateWanted(TLSFailed):
    """The server wants a certificate of the client, or does not accept the one that it was shown; the text says how.

    Of a "handshake failure" it is a guess: servers of TLS 1.2 say so, and others that know no common cipher.
    """


class Disagreement(TLSFailed):
    """Server and client have no common version of TLS, or the server does not know the name; the text says which."""


class ProxyRefuses(httpx2.ProxyError):
    """The proxy does not let the request through, however often it is asked; the text says why."""


def of_tls(error: BaseException | None) -> TLSFailed | None:
    """The kind of a TLS error, None for any other error."""
    while error is not None:
        # aiohttp's own error is one of this class too, without its attributes.
        if (why := getattr(error, "verify_message", None)) and isinstance(error, ssl.SSLCertVerificationError):
            # 62 and 64: X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH
            return NotTrusted(why.rstrip("."), name=error.verify_code in {62, 64})
        reason = str(error).upper().replace(" ", "_")
        if "[SSL" in reason and any(each in reason for each in _WANTED):
            return CertificateWanted(_alert_in(str(error)))
        if "[SSL" in reason and any(each in reason for each in _NO_TLS):
            return TLSFailed("what is spoken there is no TLS")
        if "[SSL" in reason and any(each in reason for each in _DISAGREED):
            return Disagreement(_alert_in(str(error)))
        error = error.__cause__ or error.__context__
    return None


def _alert_in(text: str) -> str:
    """OpenSSL's word for what went wrong."""
    found = _REASON.search(text)
    return (found[1] or found[2]).lower().replace("_", " ") if found else "TLS failed"


def said_by(error: OSError) -> str:
    """The operating system's message of an error, without the address."""
    # OpenSSL's errors have numbers of their own.
    if isinstance(error, ssl.SSLError) or "[SSL" in str(error):
        return _alert_in(str(error))
    return os.strerror(error.errno) if error.errno else "connection lost"
