"""An OpenAI-compatible server of images that counts what it is asked and fails as it is told.

In a test: with ImageStub(draw=…) as stub: ... stub.base_url ...
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from tests.servers.chat import ChatStub, Fault

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

PATH = "/v1/images/generations"
FILES = "/files/"


@dataclass(frozen=True)
class At:
    """What a GET of a file answers, where it is more than bytes: a redirect, a status, a slow or endless body.

    `endless` sends the body for ever, with `pause` seconds between two times.
    """

    status: int = 200
    location: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    endless: bool = False
    pause: float = 0.0


class ImageStub(ChatStub):
    """The server. `draw` makes the bytes for a prompt and a number that grows; `by_url` answers with an address.

    `files` answer to GET, by name; what was drawn is added to them. `fetched` counts their requests, `left` those
    whose client left before the end; `file_headers` are those of the last.
    """

    path = PATH

    def __init__(
        self,
        *,
        draw: Callable[[str, int], bytes],
        by_url: bool = False,
        plan: Callable[[str], Fault | None] | None = None,
        latency: float = 0.0,
        url: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(plan=plan, latency=latency, tls=tls)
        self.draw, self.by_url, self.url = draw, by_url, url
        self.files: dict[str, bytes | At] = {}
        self.fetched: list[str] = []
        self.left: list[str] = []
        self.file_headers: Mapping[str, str] = {}

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET" and request.path.startswith(FILES):
            return await self._file(request)
        if request.method != "POST" or request.path != self.path:
            return self._other(request)
        self.requests += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            body = await request.read()
            self.last_body, self.last_headers = body, request.headers
            prompt = str(msgspec.json.decode(body)["prompt"])
            if self.latency:
                await asyncio.sleep(self.latency)
            await self._held()
            fault = self.plan(prompt) if self.plan else None
            if fault is not None:
                self.faults[fault.name] += 1
                with contextlib.suppress(ConnectionError):
                    return await self._fail(request, fault)
                return web.Response()
            self.answered += 1
            self.prompts.append(prompt)
            return web.Response(body=self._image(prompt), content_type="application/json")
        finally:
            self.in_flight -= 1

    def _image(self, prompt: str) -> bytes:
        content = self.draw(prompt, self.answered)
        shown: dict[str, object] = {"b64_json": base64.b64encode(content).decode()}
        if self.by_url:
            name = f"{self.answered}.png"
            self.files[name] = content
            shown = {"url": self.url or f"{self.root}{FILES}{name}?sig=planted-secret"}
        return msgspec.json.encode(self.raw or {"created": 0, "data": [shown], "usage": {"input_tokens": 7}})

    async def _file(self, request: web.BaseRequest) -> web.StreamResponse:
        name = request.path.removeprefix(FILES)
        self.fetched.append(name)
        self.file_headers = request.headers
        found = self.files.get(name, At(404))
        if isinstance(found, bytes):
            return web.Response(body=found, content_type="image/png")
        if not found.endless:
            headers = {"Location": found.location} if found.location else {}
            return web.Response(status=found.status, body=found.body, headers={**headers, **found.headers})
        stream = web.StreamResponse()
        await stream.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await stream.write(found.body or b"x" * 2**16)
                await asyncio.sleep(found.pause)
        self.left.append(name)
        return stream
