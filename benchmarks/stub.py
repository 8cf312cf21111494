"""A chat server that costs as little as possible: what is measured is the client. Its own process, on its own core.

`python -m benchmarks.stub --latency 0.05 --core 1` prints its base URL; GET /stats tells and forgets what was asked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
import zlib

END = b"\r\n\r\n"


class Asked:
    """How many were asked since the last look, when the first came and when the last was answered (monotonic)."""

    def __init__(self) -> None:
        self.requests = self.open = self.peak = 0
        self.first = self.last = 0.0

    def begin(self) -> None:
        if not self.requests:
            self.first = time.monotonic()
        self.requests += 1
        self.open += 1
        self.peak = max(self.peak, self.open)

    def end(self) -> None:
        self.open -= 1
        self.last = time.monotonic()


class Connection(asyncio.Protocol):
    """HTTP/1.1 with Content-Length, one request after another; nothing else is understood."""

    def __init__(self, server: Server) -> None:
        self._server, self._left = server, b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._left += data
        while (head := self._left.find(END)) >= 0:
            if self._left.startswith(b"GET"):
                self._left = b""
                self._send(self._server.stats())
                return
            start = self._left.lower().find(b"content-length:", 0, head) + len(b"content-length:")
            stop = head + len(END) + int(self._left[start : self._left.find(b"\r", start)])
            if len(self._left) < stop:
                return
            body, self._left = self._left[head + len(END) : stop], self._left[stop:]
            self._server.asked.begin()
            answer = self._server.answers[zlib.crc32(body) & 1]
            if self._server.latency:
                asyncio.get_running_loop().call_later(self._server.latency, self._answer, answer)
            else:
                self._answer(answer)

    def _answer(self, answer: bytes) -> None:
        self._server.asked.end()
        self._send(answer)

    def _send(self, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            self._transport.write(head + body)


class Server:
    """Answers A or B, by what it was asked."""

    def __init__(self, latency: float) -> None:
        self.latency, self.asked = latency, Asked()
        self.answers = [
            json.dumps(
                {
                    "id": "chatcmpl-0",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "stub",
                    "choices": [
                        {
                            "index": 0,
                            "message": {"role": "assistant", "content": f'{{"answer": "{letter}"}}'},
                            "finish_reason": "stop",
                        }
                    ],
                    "usage": {"prompt_tokens": 150, "completion_tokens": 7, "total_tokens": 157},
                    "system_fingerprint": "fp_stub",
                }
            ).encode()
            for letter in "AB"
        ]

    def stats(self) -> bytes:
        told, self.asked = vars(self.asked), Asked()
        return json.dumps(told).encode()


def pin(core: int) -> None:
    """Keep this process to one core, where the machine can."""
    if hasattr(os, "sched_setaffinity") and core in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {core})


async def serve(latency: float) -> None:
    server = Server(latency)
    listening = await asyncio.get_running_loop().create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", flush=True)
    await listening.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stub")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--core", type=int, default=-1)
    given = parser.parse_args()
    pin(given.core)
    asyncio.run(serve(given.latency))


if __name__ == "__main__":
    main()
