"""A server of chat completions that speaks HTTP by hand, so that it can break each part of it.

    with FaultServer(FAULT) as server: ... server.base_url ...

The ways to fail stand in `fault_list.py`.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import zlib
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Self

import msgspec
import trustme

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Collection, Iterator

PAUSE = 0.01  # seconds between the pieces of an answer that drips
# Where a fault comes now and then: the places of the requests, or connections, that meet it. With two places, no sample
# meets it in all of its three tries.
NOW_AND_THEN = frozenset({0, 5})


class Ends(Enum):
    """What a fault leads to."""

    TAKEN = "answered, asked once"
    REPEATED = "asked again"
    FAILED = "sample failed"
    FILTERED = "counted as refused"
    STOPPED = "run stopped"


@dataclass(frozen=True)
class Talk:
    """One request on a connection: what a fault may do with it. `number` counts the requests of its connection."""

    connection: socket.socket
    prompt: str
    number: int
    over: threading.Event
    delivered: set[str]

    @property
    def reply(self) -> str:
        return reply_to(self.prompt)

    @property
    def completion(self) -> bytes:
        return completion(self.reply)

    def send(self, *parts: bytes) -> None:
        self.connection.settimeout(30)
        self.connection.sendall(b"".join(parts))

    def drip(self, parts: Iterator[bytes]) -> None:
        """These, one at a time, until they end or the client is gone."""
        for part in parts:
            self.send(part)
            if self.over.wait(PAUSE):
                break

    def reset(self) -> None:
        """Close with a RST in place of a FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def finish(self) -> None:
        """Say that nothing more comes, and listen on."""
        self.connection.shutdown(socket.SHUT_WR)
        self.silence()

    def silence(self) -> None:
        """Say nothing until the client leaves."""
        self.connection.settimeout(0.05)
        while not self.over.is_set():
            try:
                if not self.connection.recv(2**16):
                    return
            except TimeoutError:
                continue


def reply_to(prompt: str) -> str:
    """Another text for each prompt, so that replies cannot change places unseen."""
    return f"A. ({zlib.crc32(prompt.encode()):x})"


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


@dataclass(frozen=True)
class Fault:
    """One way to fail. `act` answers a request; what it returns says whether the connection stays (True).

    `says` is a part of the error of a run that meets nothing else. `greet` comes before the first request of a
    connection. `timeout` of each request, in seconds. `always`: every request may meet it, and the run has one end;
    `now_and_then`: so may single ones. `variable` of the environment names the server as a proxy. `tls` makes it
    encrypt, and `trusted` says that the client trusts its authority; where `greet` does it, `encrypted` stands alone.
    """

    group: str
    name: str
    act: Callable[[Talk], object]
    ends: Ends
    says: str = ""
    fast: Ends | None = None
    fast_says: str | None = None
    timeout: float = 10.0
    greet: Callable[[socket.socket], socket.socket | None] | None = None
    host: str = "127.0.0.1"
    always: bool = True
    now_and_then: bool = True
    variable: str = ""
    encrypted: bool = False
    tls: Callable[[trustme.CA], ssl.SSLContext] | None = None
    trusted: bool = True

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"

    def under(self, transport: str) -> tuple[Ends, str]:
        """How it ends, and what is said, with the transport `default` or `fast`."""
        if transport == "default":
            return self.ends, self.says
        return self.fast or self.ends, self.says if self.fast_says is None else self.fast_says


def well(talk: Talk) -> bool:
    """An answer without any fault."""
    body = talk.completion
    talk.send(head(200, len(body)), body)
    talk.delivered.add(talk.prompt)
    return True


def head(status: int | str, length: int | str | None, *more: str, kind: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Type: {kind}", *more]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class FaultServer:
    """The server. Only the requests, or connections, of these `numbers` meet the fault; None: all of them.

    `asked` are the prompts in the order in which they came, `delivered` those whose answers were whole, `late` those
    that came again after that.
    """

    def __init__(
        self,
        fault: Fault,
        numbers: Collection[int] | None = None,
        authority: trustme.CA | None = None,
        transport: str = "default",
    ) -> None:
        self.fault, self._numbers = fault, numbers
        self._tls = None if fault.tls is None else fault.tls(authority or trustme.CA())
        self._takes = fault.under(transport)[0] in (Ends.TAKEN, Ends.FILTERED)
        self.asked: list[str] = []
        self.late: list[str] = []
        self.delivered: set[str] = set()
        self.connections = self.met = 0
        self._lock, self._over = threading.Lock(), threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        family = socket.AF_INET6 if ":" in fault.host else socket.AF_INET
        address = "::1" if ":" in fault.host else "127.0.0.1"
        self._listener = socket.create_server((address, 0), family=family, backlog=128)
        self.port = int(self._listener.getsockname()[1])

    @property
    def base_url(self) -> str:
        scheme = "https" if self._tls or self.fault.encrypted else "http"
        place = self.fault.host if self.fault.variable else f"{self.fault.host}:{self.port}"
        return f"{scheme}://{place}/v1"

    def __enter__(self) -> Self:
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        # A thread in accept() is woken by this alone.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), f"the server hangs in {self.fault.name}"

    def _begin(self, work: Callable[..., None], *given: object) -> None:
        thread = threading.Thread(target=work, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            number, self.connections = self.connections, self.connections + 1
            self._begin(self._serve, connection, number)

    def _meets(self, number: int) -> bool:
        return self._numbers is None or number in self._numbers

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            with connection:
                connection.settimeout(30)
                if self.fault.greet is not None and self._meets(number):
                    self.met += 1
                    greeted = self.fault.greet(connection)
                    if greeted is None:
                        return
                    connection = greeted
                elif self._tls is not None:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                self._converse(connection)
        except (OSError, ValueError):
            # The client left, as it may.
            return

    def _converse(self, connection: socket.socket) -> None:
        number, received = 0, b""
        while not self._over.is_set():
            connection.settimeout(0.05)
            try:
                block = connection.recv(2**16)
            except TimeoutError:
                continue
            if not block:
                return
            received += block
            while (parted := request_in(received)) is not None:
                body, received = parted
                if not self._answer(Talk(connection, asked_in(body), number, self._over, self.delivered)):
                    connection.close()
                    return
                number += 1

    def _answer(self, talk: Talk) -> object:
        with self._lock:
            place = len(self.asked)
            self.asked.append(talk.prompt)
            if talk.prompt in self.delivered:
                self.late.append(talk.prompt)
            faulty = self.fault.greet is None and self._meets(place)
            self.met += faulty
        stays = (self.fault.act if faulty else well)(talk)
        if faulty and self._takes:
            self.delivered.add(talk.prompt)
        return stays


def request_in(received: bytes) -> tuple[bytes, bytes] | None:
    """The body of the first request, and what follows it; None where it is not whole."""
    header, found, rest = received.partition(b"\r\n\r\n")
    if not found:
        return None
    length = 0
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return (rest[:length], rest[length:]) if len(rest) >= length else None


def asked_in(body: bytes) -> str:
    return str(msgspec.json.decode(body)["messages"][-1]["content"]) if body else ""
