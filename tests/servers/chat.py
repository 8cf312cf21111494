"""An OpenAI-compatible chat server that counts what it is asked and fails as it is told.

In a test:                  with ChatStub(plan=in_order(server_error(), cut())) as stub: ... stub.base_url ...
As a process of its own:    python -m tests.servers.chat --port 8000 --latency 0.05 --fault 429 --share 0.1
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import math
import random
import re
import threading
import time
import zlib
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec
from aiohttp import web

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine, Mapping
    from concurrent.futures import Future

PATH = "/v1/chat/completions"
PATIENCE = 120.0  # seconds until a request counts as hanging
LETTERED = re.compile(r"^\W{0,2}([A-Z])[.):]", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """One way to fail. In `body`, `{authorization}` and `{url}` stand for what the client sent.

    `torn` closes the connection in the middle of the body, `cut` before anything is sent; `drip` sends a byte at a
    time and never ends.
    """

    name: str
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    manner: Literal["whole", "cut", "torn", "drip"] = "whole"


def error(
    name: str,
    status: int,
    message: str,
    *,
    headers: Mapping[str, str] | None = None,
    **more: object,
) -> Fault:
    body = msgspec.json.encode({"error": {"message": message, "type": None, "param": None, "code": None, **more}})
    return Fault(name, status, body, headers or {})


def rate_limited(retry_after: str | None = None, milliseconds: str | None = None) -> Fault:
    asked = {"Retry-After": retry_after, "Retry-After-Ms": milliseconds}
    headers = {key: value for key, value in asked.items() if value is not None}
    return error("429", 429, "Rate limit reached for requests", headers=headers, code="rate_limit_exceeded")


def server_error(status: int = 500) -> Fault:
    return error(str(status), status, "The server had an error while processing your request")


def cut() -> Fault:
    return Fault("cut", manner="cut")


def torn() -> Fault:
    return Fault("torn", body=b'{"choices":[{"message":{"content":"{\\"answer', manner="torn")


def half_written() -> Fault:
    return Fault("half-written", body=b'{"choices":[{"message":{"content":"{\\"answer')


def slow_loris() -> Fault:
    return Fault("slow-loris", body=b" ", manner="drip")


def wrong_content_type() -> Fault:
    return Fault("content-type", body=b"<html>Please stand by</html>", content_type="text/html")


def no_choices() -> Fault:
    return Fault("no-choices", body=b'{"object":"chat.completion","choices":[]}')


def wrong_key() -> Fault:
    return error("wrong-key", 401, "Incorrect API key provided: {authorization}", code="invalid_api_key")


def unknown_model(name: str = "nobody") -> Fault:
    return error("unknown-model", 404, f"The model `{name}` does not exist", code="model_not_found")


def insufficient_quota() -> Fault:
    message = "You exceeded your current quota, please check your plan and billing details."
    return error("quota", 429, message, code="insufficient_quota", type="insufficient_quota")


def content_filter() -> Fault:
    inner = {"code": "ResponsibleAIPolicyViolation"}
    return error("content-filter", 400, "The prompt was filtered.", code="content_filter", innererror=inner)


def redirect(location: str = "https://sso.invalid/login?key=") -> Fault:
    return Fault("redirect", 302, headers={"Location": location})


FAULTS: dict[str, Callable[[], Fault]] = {
    "429": rate_limited,
    "500": server_error,
    "503": lambda: server_error(503),
    "cut": cut,
    "torn": torn,
    "half-written": half_written,
    "slow-loris": slow_loris,
    "content-type": wrong_content_type,
    "no-choices": no_choices,
    "wrong-key": wrong_key,
    "unknown-model": unknown_model,
    "quota": insufficient_quota,
    "content-filter": content_filter,
    "redirect": redirect,
}


def in_order(*faults: Fault | None) -> Callable[[str], Fault | None]:
    """These, one for each request, None being an answer; then answers only."""
    left = deque(faults)
    return lambda _: left.popleft() if left else None


def every_time(fault: Fault) -> Callable[[str], Fault | None]:
    return lambda _: fault


def now_and_then(fault: Fault, share: float, seed: int = 0) -> Callable[[str], Fault | None]:
    """This share of requests, at random, the same in each run that asks one after the other."""
    draw = random.Random(seed)  # noqa: S311
    return lambda _: fault if draw.random() < share else None


def answer_by_prompt(prompt: str) -> str:
    """One of the letters that the prompt offers, always the same for the same prompt."""
    letters = LETTERED.findall(prompt) or ["A"]
    return f'{{"answer": "{letters[zlib.crc32(prompt.encode()) % len(letters)]}"}}'


class _Said(msgspec.Struct):
    role: str
    content: str | list[dict[str, Any]]

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "".join(part["text"] for part in self.content if part["type"] == "text")

    @property
    def shown(self) -> list[bytes]:
        """The images that are shown, as data URLs say them."""
        parts = [] if isinstance(self.content, str) else self.content
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return [base64.b64decode(url.partition(";base64,")[2], validate=True) for url in urls]


class _Asked(msgspec.Struct):
    model: str
    messages: list[_Said]
    logprobs: object = None


_asked = msgspec.json.Decoder(_Asked)


class ChatStub:
    """The server. Everything that it counts is an attribute; `reply`, `plan`, `latency`, `most` may be set at any time.

    After `most` answers it lets everybody wait until it is raised. `remember` keeps every prompt that was answered, in
    order; without it memory stays flat. `shown` are the images of the prompt that is being answered, `weighed` whether
    it asks for probabilities: it is given `logprobs(prompt, reply)`.
    """

    path = PATH

    def __init__(
        self,
        *,
        reply: Callable[[str], str] = answer_by_prompt,
        plan: Callable[[str], Fault | None] | None = None,
        latency: float = 0.0,
        key: str | None = None,
        model: str | None = None,
        fingerprint: str | None = "fp_stub",
        remember: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.reply, self.plan, self.latency = reply, plan, latency
        self.most = math.inf
        self.key, self.model, self.fingerprint, self.remember = key, model, fingerprint, remember
        self.tls = tls
        self.shown: list[bytes] = []
        self.weighed = False
        self.raw: dict[str, object] | None = None
        self.logprobs: Callable[[str, str], object] = lambda _prompt, _reply: None
        self.requests = self.answered = self.in_flight = self.peak = 0
        self.faults: Counter[str] = Counter()
        self.prompts: list[str] = []
        self.last_body: bytes = b""
        self.last_headers: Mapping[str, str] = {}
        self.last_url = ""
        self.port = 0
        self._runner: web.ServerRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict[str, object]:
        return {
            "requests": self.requests,
            "answered": self.answered,
            "in_flight": self.in_flight,
            "peak": self.peak,
            "faults": dict(self.faults),
            "distinct_prompts": len(set(self.prompts)),
        }

    async def start(self, port: int | None = None) -> None:
        """Listen on this port, or the one held before, or any free one."""
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port if port is None else port, backlog=2048, ssl_context=self.tls)
        await site.start()
        self._runner = runner
        self.port = int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Close the door, and cut every connection."""
        runner, self._runner = self._runner, None
        if runner is not None:
            server = runner.server
            held = [] if server is None else [each.transport for each in server.connections]
            await runner.cleanup()
            # TLS says goodbye, and waits for the client's, where a connection is closed only.
            for transport in held:
                if transport is not None:
                    transport.abort()
            # Connections that were being accepted while the door closed are made only now, and lost a turn after.
            for _ in range(10):
                await asyncio.sleep(0.001)
                if server is not None:
                    for each in server.connections:
                        if each.transport is not None:
                            each.transport.abort()
                    await server.shutdown(0)

    def restart(self, closed_for: float = 0.0) -> None:
        """From another thread: away, and back on the same port."""
        self._wait_for(self.stop())
        time.sleep(closed_for)
        self._wait_for(self.start())

    def let_go(self) -> None:
        """Answer all who wait, whether they are still there or not, and return when nobody is left."""
        self.most = math.inf
        end = time.monotonic() + PATIENCE
        while self.in_flight:
            assert time.monotonic() < end, "the server hangs"
            time.sleep(0.01)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat-stub", daemon=True)
        self._thread.start()
        self._wait_for(self.start())
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is None or self._thread is None:
            return
        self._wait_for(self.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _wait_for(self, work: Coroutine[Any, Any, None]) -> None:
        if self._loop is None:
            work.close()
            return
        done: Future[None] = asyncio.run_coroutine_threadsafe(work, self._loop)
        done.result(30)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "POST" or request.path != self.path:
            return self._other(request)
        self.requests += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            body = await request.read()
            self.last_body, self.last_headers, self.last_url = body, request.headers, str(request.url)
            asked = _asked.decode(body)
            if self.latency:
                await asyncio.sleep(self.latency)
            await self._held()
            prompt = asked.messages[-1].text
            fault = self._refusal(request, asked.model) or (self.plan(prompt) if self.plan else None)
            if fault is not None:
                self.faults[fault.name] += 1
                # A client that has had enough and hangs up is no error of this server's.
                with contextlib.suppress(ConnectionError):
                    return await self._fail(request, fault)
                return web.Response()
            self.answered += 1
            if self.remember:
                self.prompts.append(prompt)
            self.shown, self.weighed = asked.messages[-1].shown, bool(asked.logprobs)
            return web.Response(body=self._answer(asked.model, prompt), content_type="application/json")
        finally:
            self.in_flight -= 1

    async def _held(self) -> None:
        while self.answered >= self.most:  # noqa: ASYNC110 - raised by another thread, which no Event allows
            await asyncio.sleep(0.01)

    def _refusal(self, request: web.BaseRequest, model: str) -> Fault | None:
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return wrong_key()
        return unknown_model(model) if self.model is not None and model != self.model else None

    def _answer(self, model: str, prompt: str) -> bytes:
        """`raw` replaces the whole body's fields, for replies of unusual shape."""
        text = self.reply(prompt)
        choice: dict[str, object] = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        if self.weighed:
            choice["logprobs"] = self.logprobs(prompt, text)
        whole: dict[str, object] = {
            "id": "chatcmpl-stub",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [choice],
            "usage": {
                "prompt_tokens": len(prompt) // 4,
                "completion_tokens": len(text) // 4,
                "total_tokens": len(prompt) // 4 + len(text) // 4,
            },
            "system_fingerprint": self.fingerprint,
        }
        return msgspec.json.encode(whole | self.raw if self.raw else whole)

    async def _fail(self, request: web.BaseRequest, fault: Fault) -> web.StreamResponse:
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
        body = fault.body.replace(b"{authorization}", sent).replace(b"{url}", str(request.url).encode())
        if fault.manner == "whole":
            return web.Response(
                status=fault.status, body=body, headers=dict(fault.headers), content_type=fault.content_type
            )
        if fault.manner == "cut":
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        stream = web.StreamResponse(status=fault.status, headers=dict(fault.headers))
        stream.content_type = fault.content_type
        stream.content_length = len(body) + 1_000_000
        await stream.prepare(request)
        await stream.write(body)
        while fault.manner == "drip":
            await asyncio.sleep(0.01)
            await stream.write(b" ")
        if request.transport is not None:
            request.transport.close()
        return stream

    def _other(self, request: web.BaseRequest) -> web.Response:
        """`/stats` and `/prompts` are for whoever runs this as a process of its own."""
        status = 404
        shown: object = {"detail": "Not Found"}
        if request.method == "GET" and request.path == "/stats":
            status, shown = 200, self.stats()
        elif request.method == "GET" and request.path == "/prompts":
            status, shown = 200, self.prompts
        return web.Response(status=status, body=msgspec.json.encode(shown), content_type="application/json")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.chat")
    parser.add_argument("--port", type=int, default=0, help="default: any free one, which is printed")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--fault", choices=sorted(FAULTS))
    parser.add_argument("--share", type=float, default=1.0, help="of requests that get the fault")
    parser.add_argument("--retry-after", help="of fault 429")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--key", help="the only one that is accepted")
    parser.add_argument("--model", help="the only one that is served")
    parser.add_argument("--forget", action="store_true", help="keep no prompts: for long measurements")
    given = parser.parse_args()
    plan = None
    if given.fault:
        fault = rate_limited(given.retry_after) if given.fault == "429" else FAULTS[given.fault]()
        plan = now_and_then(fault, given.share, given.seed)
    stub = ChatStub(plan=plan, latency=given.latency, key=given.key, model=given.model, remember=not given.forget)

    async def serve() -> None:
        await stub.start(given.port)
        print(stub.base_url, flush=True)
        await asyncio.Event().wait()

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        print(msgspec.json.encode(stub.stats()).decode(), flush=True)


if __name__ == "__main__":
    main()
