"""Ways in which a server, its encryption, or a proxy before it fails.

`tests/end_to_end/test_every_fault.py` holds both transports to what each must lead to, and
`python -m benchmarks.fault_table` prints what they led to.
"""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.servers.faults import Ends, Fault, Talk, completion, head, well

if TYPE_CHECKING:
    from collections.abc import Callable

    import trustme


def _sends(*parts: bytes, stays: bool = False) -> Callable[[Talk], object]:
    def act(talk: Talk) -> bool:
        talk.send(*parts)
        return stays

    return act


def _drips(first: bytes, again: Callable[[int], bytes]) -> Callable[[Talk], object]:
    def act(talk: Talk) -> None:
        talk.send(first)
        talk.drip(again(number) for number in range(10**9))

    return act


def _says(
    status: int | str, body: bytes | str | object, *more: str, kind: str = "application/json"
) -> Callable[[Talk], object]:
    """A whole answer; what is no bytes is sent as JSON."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _sends(head(status, len(sent), *more, kind=kind), sent, stays=True)


def _error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, "type": None, "param": None, "code": None, **more}}


def _then_reset(*parts: bytes) -> Callable[[Talk], object]:
    def act(talk: Talk) -> None:
        talk.send(*parts)
        talk.reset()

    return act


def _whole(make: Callable[[bytes], tuple[bytes, ...]], *, stays: bool = False) -> Callable[[Talk], object]:
    """The completion, in another form."""

    def act(talk: Talk) -> bool:
        talk.send(*make(talk.completion))
        return stays

    return act


def _chunked(body: bytes, size: int = 7) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


def _in_utf_16(body: bytes) -> tuple[bytes, ...]:
    other = body.decode().encode("utf-16")
    return head(200, len(other)), other


def _beside_bytes(body: bytes) -> tuple[bytes, ...]:
    other = body.rstrip()[:-1] + b',"x":"\xe9\xff"}'
    return head(200, len(other)), other


CHUNKED = ("Transfer-Encoding: chunked",)
HALF = b'{"choices":[{"message":{"content":"A'
CUT, BROKEN = "cut connection", "broken JSON"


def _closes_when_used_again(talk: Talk) -> bool:
    return talk.number == 0 and well(talk)


def _resets_when_used_again(talk: Talk) -> bool:
    if talk.number == 0:
        return well(talk)
    talk.reset()
    return False


def _refused_by_rst(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _goes(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def _reads_and_goes(talk: Talk) -> None:
    del talk


def _in_pieces(talk: Talk) -> bool:
    """One byte at a time, all of it."""
    body = talk.completion
    answer = head(200, len(body)) + body
    for start in range(0, len(answer), 8):
        talk.send(answer[start : start + 8])
        talk.over.wait(0.001)
    return True


def _then(act: Callable[[Talk], object]) -> Callable[[Talk], object]:
    """A good answer, and then that."""

    def both(talk: Talk) -> object:
        well(talk)
        return act(talk)

    return both


STRAY = completion("stray")


def _group(name: str, *faults: Fault) -> tuple[Fault, ...]:
    return tuple(replace(each, group=name) for each in faults)


def _fault(name: str, act: Callable[[Talk], object], ends: Ends, says: str = "", **more: object) -> Fault:
    return Fault("", name, act, ends, says, **more)  # type: ignore[arg-type] # filled in by name


TAKEN, REPEATED, FAILED, FILTERED, STOPPED = Ends

CONNECTIONS = _group(
    "connections",
    _fault("closed before the request is read", well, REPEATED, CUT, greet=_goes),
    _fault("reset before the request is read", well, REPEATED, CUT, greet=_refused_by_rst),
    _fault("closed without an answer", _reads_and_goes, REPEATED, CUT),
    _fault("reset without an answer", Talk.reset, REPEATED, CUT),
    _fault("half-closed without an answer", Talk.finish, REPEATED, CUT),
    _fault("no answer, for ever", Talk.silence, REPEATED, "timeout", timeout=0.2),
    _fault("half-closed after a whole answer", _then(Talk.finish), TAKEN, always=False),
    _fault("closed after a whole answer, with keep-alive", _then(_reads_and_goes), TAKEN, always=False),
    _fault("kept connection closed when it is used again", _closes_when_used_again, REPEATED, always=False),
    _fault("kept connection reset when it is used again", _resets_when_used_again, REPEATED, always=False),
    _fault("IPv6 address", well, TAKEN, host="[::1]"),
)

HEADERS = _group(
    "status line and headers",
    _fault("cut in the status line", _sends(b"HTTP/1.1 20"), REPEATED, CUT),
    _fault("cut in the headers", _sends(b"HTTP/1.1 200 OK\r\nContent-Ty"), REPEATED, CUT),
    _fault("reset in the headers", _then_reset(b"HTTP/1.1 200 OK\r\nContent-Ty"), REPEATED, CUT),
    _fault(
        "headers drip for ever",
        _drips(b"HTTP/1.1 200 OK\r\n", lambda n: b"X-%d: y\r\n" % n),
        REPEATED,
        "timeout",
        timeout=0.3,
    ),
    _fault("no HTTP", _sends(b"SSH-2.0-OpenSSH_9.9\r\n"), REPEATED, "broken answer"),
    _fault("JSON without a status line", _whole(lambda body: (body,)), REPEATED, "broken answer"),
    _fault("status 99", _says("099", {}), REPEATED),
    _fault("status 1000", _says("1000", {}), REPEATED, "broken answer"),
    _fault("HTTP/9.9", _sends(b"HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"), REPEATED, "broken answer"),
    _fault("HTTP/1.0, no length", _whole(lambda body: (b"HTTP/1.0 200 OK\r\n\r\n", body)), TAKEN),
    _fault(
        "HTTP/1.0, keep-alive",
        _whole(
            lambda body: (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n" % len(body), body),
            stays=True,
        ),
        TAKEN,
    ),
    _fault(
        "bare line feeds",
        _whole(lambda body: (b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % len(body), body), stays=True),
        TAKEN,
    ),
    _fault(
        "header of 10 kB", _whole(lambda body: (head(200, len(body), f"X: {'y' * 10_000}"), body), stays=True), TAKEN
    ),
    _fault(
        "header of 1 MB",
        _whole(lambda body: (head(200, len(body), f"X: {'y' * 2**20}"), body)),
        REPEATED,
        "broken answer",
    ),
    _fault(
        "100,000 headers",
        _whole(lambda body: (head(200, len(body), *[f"X-{n}: y" for n in range(100_000)]), body)),
        REPEATED,
        "broken answer",
    ),
    _fault(
        "header that is no text",
        _whole(lambda body: (head(200, len(body), "X-Odd: \xff\xfe"), body), stays=True),
        TAKEN,
    ),
    _fault(
        "header with a NUL",
        _whole(lambda body: (head(200, len(body), "X-Odd: a\0b"), body)),
        REPEATED,
        "broken answer",
    ),
    _fault(
        "header without a colon",
        _whole(lambda body: (head(200, len(body), "what is this"), body)),
        REPEATED,
        "broken answer",
    ),
    _fault(
        "two lengths that differ",
        _whole(lambda body: (head(200, len(body), "Content-Length: 3"), body)),
        REPEATED,
        "broken answer",
    ),
    _fault("negative length", _sends(head(200, "-5"), HALF), REPEATED, "broken answer"),
    _fault("length that is no number", _sends(head(200, "NaN"), HALF), REPEATED, "broken answer"),
    _fault(
        "100 Continue before the answer",
        _whole(lambda body: (b"HTTP/1.1 100 Continue\r\n\r\n", head(200, len(body)), body), stays=True),
        TAKEN,
    ),
    _fault(
        "103 Early Hints, three times",
        _whole(lambda body: (b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n" * 3, head(200, len(body)), body), stays=True),
        TAKEN,
    ),
    _fault(
        "100 Continue without end",
        _drips(b"", lambda _: b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        REPEATED,
        "broken answer",
        fast_says="timeout",
        timeout=0.3,
    ),
    _fault(
        "101 Switching Protocols",
        _sends(b"HTTP/1.1 101 Switch\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"),
        REPEATED,
        "",
    ),
)

BODIES = _group(
    "bodies",
    _fault("length too long, then closed", _whole(lambda body: (head(200, len(body) + 9), body)), REPEATED, CUT),
    _fault("length too short", _whole(lambda body: (head(200, 20), body)), REPEATED),
    _fault(
        "a second answer that nobody asked for",
        _whole(lambda body: (head(200, len(body)), body, head(200, len(STRAY)), STRAY), stays=True),
        TAKEN,
    ),
    _fault("reset in the body", _then_reset(head(200, 1000), HALF), REPEATED, CUT),
    _fault("body drips for ever", _drips(head(200, 10**6), lambda _: b" "), REPEATED, "timeout", timeout=0.3),
    _fault("in small pieces, whole in time", _in_pieces, TAKEN),
    _fault("body without end", _drips(head(200, None), lambda _: b" " * 2**22), REPEATED, "endless answer"),
    _fault("no length, closed in mid-JSON", _sends(head(200, None), HALF), REPEATED, BROKEN),
    _fault(
        "chunks, whole",
        _whole(lambda body: (head(200, None, *CHUNKED), _chunked(body), b"0\r\n\r\n"), stays=True),
        TAKEN,
    ),
    _fault(
        "chunks with trailers",
        _whole(lambda body: (head(200, None, *CHUNKED), _chunked(body), b"0\r\nX-T: y\r\n\r\n"), stays=True),
        TAKEN,
    ),
    _fault("chunk that is cut", _sends(head(200, None, *CHUNKED), b"ff\r\n", HALF), REPEATED, CUT),
    _fault("last chunk missing", _whole(lambda body: (head(200, None, *CHUNKED), _chunked(body))), REPEATED, CUT),
    _fault("chunk size that is none", _sends(head(200, None, *CHUNKED), b"zz\r\n", HALF), REPEATED, "broken answer"),
    _fault(
        "chunk of 2^64 bytes",
        _sends(head(200, None, *CHUNKED), b"ffffffffffffffff\r\n", HALF),
        REPEATED,
        CUT,
    ),
    _fault(
        "chunks and a length",
        _whole(lambda body: (head(200, 3, *CHUNKED), _chunked(body), b"0\r\n\r\n"), stays=True),
        REPEATED,
        "broken answer",
        fast=TAKEN,
    ),
    _fault(
        "gzip, unasked",
        _whole(
            lambda body: (head(200, len(gzip.compress(body)), "Content-Encoding: gzip"), gzip.compress(body)),
            stays=True,
        ),
        TAKEN,
    ),
    _fault("gzip bomb", _says(200, gzip.compress(bytes(2**25)), "Content-Encoding: gzip"), REPEATED, "endless answer"),
    _fault("gzip that is none", _says(200, b"not gzip", "Content-Encoding: gzip"), REPEATED, "broken answer"),
    _fault(
        "gzip that is cut",
        _whole(lambda body: (head(200, 20, "Content-Encoding: gzip"), gzip.compress(body)[:20])),
        REPEATED,
        BROKEN,
    ),
    _fault("an unknown encoding", _says(200, b"\x0b\x02\x80", "Content-Encoding: br"), REPEATED, BROKEN),
    _fault("204", _sends(head(204, None), stays=True), REPEATED, BROKEN),
    _fault("205", _sends(head(205, 0), stays=True), REPEATED, BROKEN),
    _fault("206 with half of it", _says(206, HALF, "Content-Range: bytes 0-35/900"), REPEATED, BROKEN),
    _fault("empty", _says(200, b""), REPEATED, BROKEN),
    _fault("bytes that are no UTF-8 beside the text", _whole(_beside_bytes, stays=True), TAKEN),
    _fault("UTF-16", _whole(_in_utf_16), REPEATED, BROKEN),
    _fault("half of the JSON", _says(200, HALF), REPEATED, BROKEN),
    _fault("JSON twice", _says(200, completion("A") * 2), REPEATED, BROKEN),
    _fault("null", _says(200, b"null"), REPEATED, "no choices"),
    _fault("a list", _says(200, b"[]"), REPEATED, "no choices"),
    _fault("lists in lists, 100,000 deep", _says(200, b"[" * 100_000), REPEATED, BROKEN),
    _fault("objects in objects, 100,000 deep", _says(200, b'{"error":' * 100_000), REPEATED, BROKEN),
    _fault("a number of a million digits", _says(200, b'{"choices": ' + b"9" * 10**6 + b"}"), REPEATED, ""),
    _fault("no choices", _says(200, {"choices": []}), REPEATED, "no choices"),
    _fault("a choice without a message", _says(200, {"choices": [{"message": None}]}), REPEATED, "no choices"),
    _fault("HTML", _says(200, b"<html>Please log in</html>", kind="text/html"), REPEATED, "text/html instead of JSON"),
    _fault(
        "a stream of events",
        _whole(lambda body: (head(200, None, kind="text/event-stream"), b"data: ", body, b"\n\n")),
        REPEATED,
        "text/event-stream instead of JSON",
    ),
    _fault(
        "200 with a spent quota", _says(200, _error("No more", code="insufficient_quota")), STOPPED, "quota is spent"
    ),
    _fault("200 with an error 502", _says(200, _error("Upstream", code=502)), REPEATED, "HTTP 502"),
    _fault("200 with an error 401", _says(200, _error("Who?", code=401)), STOPPED, "does not accept the key"),
    _fault("200 with an error in words", _says(200, {"error": "overloaded"}), REPEATED, "overloaded"),
)


def _redirect(status: int, location: str | None) -> Callable[[Talk], object]:
    def act(talk: Talk) -> bool:
        lines = [] if location is None else [f"Location: {location}"]
        talk.send(head(status, 0, *lines))
        return True

    return act


REDIRECTS = _group(
    "redirects",
    *[
        _fault(f"{status} to itself", _redirect(status, "/v1/chat/completions"), STOPPED, "redirects")
        for status in (301, 302, 303, 307, 308)
    ],
    _fault(
        "307 to another host",
        _redirect(307, "https://sso.invalid/login"),
        STOPPED,
        r"redirects to https://sso.invalid/login",
    ),
    _fault("302 from one scheme to another", _redirect(302, "ftp://127.0.0.1/x"), STOPPED, "redirects"),
    _fault("302 to nowhere", _redirect(302, None), STOPPED, "redirects"),
    _fault("302 to what is no address", _redirect(302, "http://[::1"), STOPPED, "redirects"),
    _fault("300", _says(300, b""), STOPPED, "redirects"),
    _fault("304", _sends(head(304, None), stays=True), STOPPED, "redirects"),
)


def _status(status: int, ends: Ends, said: str = "", **more: object) -> Fault:
    return _fault(str(status), _says(status, _error("It is so")), ends, said or f"HTTP {status}", **more)


STATUSES = _group(
    "statuses",
    _status(400, FAILED),
    _status(401, STOPPED, "does not accept the key"),
    _status(402, STOPPED, "quota is spent"),
    _status(403, STOPPED, "does not accept the key"),
    _status(404, STOPPED, "is not served there"),
    _status(405, STOPPED, "is not served there"),
    _status(406, FAILED),
    _status(407, STOPPED, "proxy wants a name and a password"),
    _status(408, REPEATED),
    _status(409, REPEATED),
    _status(410, STOPPED, "is not served there"),
    _status(411, FAILED),
    _status(413, FAILED),
    _status(414, FAILED),
    _status(415, FAILED),
    _status(418, FAILED),
    _status(421, FAILED),
    _status(422, FAILED),
    _status(423, FAILED),
    _status(424, FAILED),
    _status(425, REPEATED),
    _status(426, FAILED),
    _status(428, FAILED),
    _status(429, REPEATED),
    _status(431, FAILED),
    _status(451, FAILED),
    _status(499, FAILED),
    *[
        _status(status, REPEATED)
        for status in (500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 522, 524, 525, 529, 530, 599)
    ],
    _fault("999", _says(999, _error("It is so")), REPEATED, ""),
    _fault("400 by a content filter", _says(400, _error("No", code="content_filter")), FILTERED),
    _fault("400 for a field", _says(400, _error("No", param="temperature")), STOPPED, "--model-arg temperature="),
    _fault(
        "400, prompt too long", _says(400, _error("No", code="context_length_exceeded")), FAILED, "rejects this query"
    ),
    _fault(
        "404, unknown model",
        _says(404, _error("The model `tiny` does not exist", code="model_not_found")),
        STOPPED,
        "has no model 'tiny'",
    ),
    _fault("429, spent quota", _says(429, _error("No more", code="insufficient_quota")), STOPPED, "quota is spent"),
    _fault("500 with HTML", _says(500, b"<h1>Oops</h1>", kind="text/html"), REPEATED, "HTTP 500"),
    _fault("500 with 100,000 lists", _says(500, b"[" * 100_000), REPEATED, "HTTP 500"),
)


def _wait(value: str, name: str = "Retry-After") -> Fault:
    return _fault(f"429, {name}: {value}", _says(429, _error("Slowly"), f"{name}: {value}"), REPEATED, "HTTP 429")


WAITS = _group(
    "Retry-After",
    *map(
        _wait, ("0", "0.05", "1e3", "-5", "NaN", "inf", "soon", "99999999999999999999", "Thu, 01 Jan 1970 00:00:00 GMT")
    ),
    *map(_wait, ("Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 99 Foo 2026 99:99:99", "\xb2", "0x10", "1,5", "")),
    _wait("50", "Retry-After-Ms"),
    _wait("-inf", "Retry-After-Ms"),
    _fault(
        "429, Retry-After twice",
        _says(429, _error("Slowly"), "Retry-After: 1", "Retry-After: 7200"),
        REPEATED,
        "HTTP 429",
    ),
    _fault(
        "503, Retry-After: 7200", _says(503, _error("Slowly"), "Retry-After: 7200"), REPEATED, "asks to wait 7200 s"
    ),
)


def _answers(*parts: bytes) -> Callable[[socket.socket], None]:
    """Reads once before each of these; then the connection is closed."""

    def greet(connection: socket.socket) -> None:
        for part in parts:
            connection.recv(2**16)
            connection.sendall(part)

    return greet


def _waits(connection: socket.socket) -> None:
    """Reads until the client is gone."""
    while connection.recv(2**16):
        pass


def _resets(connection: socket.socket) -> None:
    connection.recv(2**16)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _alert(number: int) -> Callable[[socket.socket], None]:
    """A TLS server that does not want this handshake, and says why."""
    return _answers(bytes([21, 3, 3, 0, 2, 2, number]))


def _handshake(name: str, greet: Callable[[socket.socket], None], ends: Ends, says: str, **more: object) -> Fault:
    return _fault(name, well, ends, says, greet=greet, encrypted=True, now_and_then=False, **more)


def _certificate(name: str, says: str, *names: str, trusted: bool = True, **more: object) -> Fault:
    """A server with a certificate for these names."""

    def tls(authority: trustme.CA) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*(names or ("127.0.0.1",)), **more).configure_cert(context)  # type: ignore[arg-type]
        return context

    return replace(_fault(name, well, STOPPED, says, now_and_then=False), tls=tls, trusted=trusted)


def _unknown_name(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    context.sni_callback = lambda *_: ssl.AlertDescription.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
    return context


PAST = datetime(2020, 1, 1, tzinfo=UTC)

ENCRYPTION = _group(
    "TLS",
    _certificate("certificate of an unknown authority", "not trusted", trusted=False),
    _certificate("certificate that has expired", "expired", not_before=PAST, not_after=PAST + timedelta(days=1)),
    _certificate("certificate that is not valid yet", "not yet valid", not_before=datetime(2120, 1, 1, tzinfo=UTC)),
    _certificate("certificate for another name", "another name", "other.example"),
    _fault(
        "server does not know the name (SNI)",
        well,
        STOPPED,
        "refuses the TLS handshake",
        host="localhost",
        tls=_unknown_name,
        now_and_then=False,
    ),
    _handshake("no common version", _alert(70), STOPPED, "refuses the TLS handshake"),
    _handshake("no common cipher", _alert(40), STOPPED, "or another cipher"),
    _handshake("internal error of the server", _alert(80), REPEATED, "internal error"),
    _handshake("closed in the handshake", _answers(b""), REPEATED, CUT),
    _handshake("reset in the handshake", _resets, REPEATED, CUT),
    _handshake("plain HTTP", _answers(b"HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n"), STOPPED, "no TLS"),
    _handshake("no word in the handshake", _waits, REPEATED, "timeout", timeout=0.3),
)


def _way(
    variable: str, name: str, greet: Callable[[socket.socket], None], ends: Ends, says: str, **more: object
) -> Fault:
    encrypted = variable == "https_proxy"
    named = f"{variable}: {name}"
    given = {"variable": variable, "encrypted": encrypted, "now_and_then": False, "host": "far-away.invalid"}
    return _fault(named, well, ends, says, greet=greet, **given, **more)


def _refuses(status: int) -> Callable[[socket.socket], None]:
    return _answers(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)


SOCKS = "ALL_PROXY"
WANTS_PASSWORD = b"\5\2"


def _socks(code: int) -> Callable[[socket.socket], None]:
    """A SOCKS5 proxy that lets the client sign in, and answers so to its wish."""
    return _answers(WANTS_PASSWORD, b"\1\0", bytes([5, code, 0, 1, 0, 0, 0, 0, 0, 0]))


PROXIES = _group(
    "proxies",
    *[
        _way(each, "407", _refuses(407), STOPPED, "wants a name and a password")
        for each in ("http_proxy", "https_proxy")
    ],
    *[_way(each, "403", _refuses(403), STOPPED, "403") for each in ("http_proxy", "https_proxy")],
    *[_way(each, "502", _refuses(502), REPEATED, "502") for each in ("http_proxy", "https_proxy")],
    *[_way(each, "hangs up", _answers(b""), REPEATED, CUT) for each in ("http_proxy", "https_proxy")],
    *[
        _way(each, "speaks no HTTP", _answers(b"SSH-2.0-OpenSSH_9.9\r\n"), REPEATED, "broken")
        for each in ("http_proxy", "https_proxy")
    ],
    *[_way(each, "no word", _waits, REPEATED, "timeout", timeout=0.3) for each in ("http_proxy", "https_proxy")],
    _way(SOCKS, "hangs up", _answers(b""), REPEATED, "no SOCKS5"),
    _way(SOCKS, "speaks no SOCKS", _answers(b"HTTP/1.1 400 Bad\r\n\r\n"), REPEATED, "no SOCKS5"),
    _way(SOCKS, "takes no way to sign in", _answers(b"\5\xff"), STOPPED, "wants a name and a password"),
    _way(SOCKS, "takes no password", _answers(WANTS_PASSWORD, b"\1\1"), STOPPED, "wants a name and a password"),
    _way(SOCKS, "answers 1, general failure", _socks(1), REPEATED, "General SOCKS server failure"),
    _way(SOCKS, "answers 2, not allowed", _socks(2), STOPPED, "not allowed by ruleset"),
    _way(SOCKS, "answers 4, host unreachable", _socks(4), REPEATED, "Host unreachable"),
    _way(SOCKS, "answers 5, connection refused", _socks(5), REPEATED, "Connection refused"),
    _way(SOCKS, "no word", _waits, REPEATED, "timeout", timeout=0.3),
)

FAULTS = ENCRYPTION + PROXIES + CONNECTIONS + HEADERS + BODIES + REDIRECTS + STATUSES + WAITS
