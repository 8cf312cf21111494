"""Bounds of what httpx is answered, on behalf of a library that asks with it: LiteLLM.

Its clients follow redirects, with headers that hold keys, and unpack answers whole, however long they are.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

from fairgate.providers.http.transports import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OF_THE_WAY = (b"content-encoding", b"content-length", b"transfer-encoding")


@dataclass
class Bounds:
    """Of one call: answers of `longest` bytes at most when unpacked, until `ends` (of the monotonic clock, seconds).

    `mend` gives what the library reads of an answer (2xx) in place of its content.
    `redirect` is the status of a redirect that was not followed, `endless` tells that an answer was broken off. The
    library's own errors say nothing of either.
    """

    longest: int
    ends: float
    mend: Callable[[bytes], bytes]
    redirect: int | None = None
    endless: bool = False

    def breaks_off(self, redirect: int | None = None) -> None:
        """Tell that an answer was a redirect of this status, or else one without end."""
        self.redirect, self.endless = redirect, redirect is None


_BOUNDS: ContextVar[Bounds | None] = ContextVar("_BOUNDS", default=None)


@contextmanager
def bounded(longest: int, seconds: float, mend: Callable[[bytes], bytes]) -> Iterator[Bounds]:
    """Hold to bounds what is asked by httpx in this context, and in threads and tasks that it begins."""
    bounds = Bounds(longest, time.monotonic() + seconds, mend)
    token = _BOUNDS.set(bounds)
    try:
        yield bounds
    finally:
        _BOUNDS.reset(token)


def install() -> None:
    """Have the clients of httpx, where it is installed, look for the bounds of the context. Once is enough."""
    if importlib.util.find_spec("httpx") is None:
        return
    httpx: Any = importlib.import_module("httpx")
    for client, made in ((httpx.AsyncClient, _async_send), (httpx.Client, _send)):
        if not hasattr(client.send, "bounded"):
            client.send = made(httpx, client.send)
            client.send.bounded = True


def _async_send(httpx: Any, plain: Any) -> Any:
    @functools.wraps(plain)
    async def send(client: Any, request: Any, **given: Any) -> Any:
        bounds = _BOUNDS.get()
        if bounds is None:
            return await plain(client, request, **given)
        answer = await plain(client, _asked(request), **given | {"stream": True, "follow_redirects": False})
        try:
            _look_at(httpx, bounds, answer)
            content = bytearray()
            async for block in answer.aiter_raw():
                content += block
                if len(content) > bounds.longest:
                    break
        finally:
            await answer.aclose()
        made = await asyncio.to_thread(_read, httpx, bounds, answer, content)
        # The library keeps errors, and with them what their frames hold.
        content.clear()
        if isinstance(made, Exception):
            raise made
        return made

    return send


def _send(httpx: Any, plain: Any) -> Any:
    @functools.wraps(plain)
    def send(client: Any, request: Any, **given: Any) -> Any:
        bounds = _BOUNDS.get()
        if bounds is None:
            return plain(client, request, **given)
        answer = plain(client, _asked(request), **given | {"stream": True, "follow_redirects": False})
        try:
            _look_at(httpx, bounds, answer)
            content = bytearray()
            for block in answer.iter_raw():
                content += block
                if len(content) > bounds.longest:
                    break
                if time.monotonic() > bounds.ends:
                    raise httpx.ReadTimeout("no whole answer in time", request=request)
        finally:
            answer.close()
        made = _read(httpx, bounds, answer, content)
        content.clear()
        if isinstance(made, Exception):
            raise made
        return made

    return send


def _asked(request: Any) -> Any:
    request.headers["Accept-Encoding"] = "identity"
    return request


def _look_at(httpx: Any, bounds: Bounds, answer: Any) -> None:
    if 300 <= answer.status_code < 400:
        bounds.breaks_off(answer.status_code)
        raise httpx.TooManyRedirects("redirects are not followed", request=answer.request)


def _read(httpx: Any, bounds: Bounds, answer: Any, content: bytearray) -> Any:
    """The answer with its content, or httpx's DecodingError where it is too long, or cannot be unpacked."""
    try:
        whole = unpacked(content, answer.headers.get("content-encoding", ""), bounds.longest)
    except httpx2.DecodingError as error:
        return httpx.DecodingError(str(error), request=answer.request)
    if len(whole) > bounds.longest:
        bounds.breaks_off()
        return httpx.DecodingError(f"more than {bounds.longest:,} bytes", request=answer.request)
    if answer.is_success:
        whole = bounds.mend(whole)
    kept = [(name, value) for name, value in answer.headers.raw if name.lower() not in _OF_THE_WAY]
    made = httpx.Response(answer.status_code, headers=kept, content=whole, request=answer.request)
    made.elapsed, made.history = answer.elapsed, answer.history
    return made
