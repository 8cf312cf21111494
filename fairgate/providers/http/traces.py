"""Spans of requests, for OpenTelemetry: method, host, status and time, and nothing that was sent or received.

Requests are traced where the program has set a tracer provider of its own, or where the environment names a collector
(OTEL_EXPORTER_OTLP_ENDPOINT) and the extra `otel` is installed.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from opentelemetry.trace import Span, Tracer, TracerProvider

COLLECTORS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
NAME = "fairgate"


def traced(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncBaseTransport:
    """The transport with a span around each request; the transport itself where spans are off."""
    tracer = _tracer()
    return transport if tracer is None else TracedTransport(transport, tracer)


def _tracer() -> Tracer | None:
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry import trace

        provider = trace.get_tracer_provider()
        if not isinstance(provider, trace.ProxyTracerProvider):
            return provider.get_tracer(NAME)
    own = _to_collector() if any(map(os.environ.get, COLLECTORS)) else None
    return None if own is None else own.get_tracer(NAME)


@lru_cache(maxsize=1)
def _to_collector() -> TracerProvider | None:
    """A provider that sends spans where the environment says, and the last of them at exit; None without the extra."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        # The variable may be there for other programs of the machine.
        return None
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: NAME}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class TracedTransport(httpx2.AsyncBaseTransport):
    """A transport with a span around each request, from its start to the end of its answer."""

    def __init__(self, transport: httpx2.AsyncBaseTransport, tracer: Tracer) -> None:
        self._transport, self._tracer = transport, tracer

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request."""
        from opentelemetry.trace import SpanKind

        url = request.url
        known = {"http.request.method": request.method, "server.address": url.host}
        span = self._tracer.start_span(request.method, kind=SpanKind.CLIENT, attributes=known)
        if url.port is not None:
            span.set_attribute("server.port", url.port)
        try:
            response = await self._transport.handle_async_request(request)
        except BaseException as error:
            # Its message may name what is secret.
            _end(span, type(error).__name__)
            raise
        span.set_attribute("http.response.status_code", response.status_code)
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - a transport's own
        response.stream = _TracedStream(response.stream, span, response.status_code)
        return response

    async def aclose(self) -> None:
        """Give back the connections."""
        await self._transport.aclose()


class _TracedStream(httpx2.AsyncByteStream):
    """The content of an answer, whose end is the end of the span."""

    def __init__(self, stream: httpx2.AsyncByteStream, span: Span, status: int) -> None:
        self._stream, self._span = stream, span
        self._error = str(status) if status >= 400 else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for block in self._stream:
                yield block
        except Exception as error:
            self._error = type(error).__name__
            raise

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            _end(self._span, self._error)


def _end(span: Span, error: str | None) -> None:
    if error is not None:
        from opentelemetry.trace import StatusCode

        span.set_attribute("error.type", error)
        span.set_status(StatusCode.ERROR)
    span.end()
