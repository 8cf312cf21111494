"""Spans of requests reach a collector over HTTP, and hold nothing that was sent or received."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.end_to_end.test_openai_chat import KEY
from tests.running import CHECKOUT, environment
from tests.servers.chat import ChatStub, cut, in_order, server_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROMPT = "planted-prompt-3318"
# As a run does it, in a process that ends: the last spans are sent at its exit.
SCRIPT = """
import random, sys
from fairgate.providers.chat.openai import OpenAIChat
from fairgate.providers.endpoint import Server
from fairgate.providers.retries import Retries, Backoff
from tests.end_to_end.test_openai_chat import ask, query

retries = Retries(waits=Backoff(base=0.001), random=random.Random(0))
ask(OpenAIChat("tiny", Server(sys.argv[1], sys.argv[2], retries=retries, timeout=10)), query(sys.argv[3]))
print(*sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""

BATCH = """
import sys
from pathlib import Path
from tests.end_to_end import test_batches
from tests.servers.batches import BatchStub

with BatchStub(key=test_batches.KEY) as stub:
    path = Path(sys.argv[1])
    said = test_batches.ask(test_batches.chat(stub, path), path)
    print(len(test_batches.replies(said)), stub.looks)
"""


class Collector(BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    received: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def collector() -> Iterator[str]:
    Collector.received.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def asked(stub: ChatStub, **env: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", SCRIPT, f"{stub.base_url}?planted=planted-query", KEY, PROMPT],
        cwd=CHECKOUT,
        env=environment({"OTEL_EXPORTER_OTLP_ENDPOINT": "", "FAIRGATE_FAST": "0", **env}),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def received() -> list[Any]:
    """The spans that the collector holds."""
    proto = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    spans = []
    for content in Collector.received:
        request = proto.ExportTraceServiceRequest()
        request.ParseFromString(content)
        [resource] = request.resource_spans
        names = {each.key: each.value.string_value for each in resource.resource.attributes}
        assert names["service.name"] == "fairgate"
        spans += [span for scope in resource.scope_spans for span in scope.spans]
    return spans


@pytest.mark.parametrize("fast", ["0", "1"])
def test_each_request_is_a_span_without_what_was_said(collector: str, fast: str) -> None:
    pytest.importorskip("opentelemetry.sdk")
    reply = "planted-reply-9941"
    with ChatStub(plan=in_order(server_error(503), cut(), None), reply=lambda _: reply) as stub:
        asked(stub, OTEL_EXPORTER_OTLP_ENDPOINT=collector, OTEL_EXPORTER_OTLP_COMPRESSION="none", FAIRGATE_FAST=fast)
        port = stub.port
    spans = received()
    for content in Collector.received:
        for secret in (PROMPT, reply, KEY, "planted-query"):
            assert secret.encode() not in content
    held = [{each.key: each.value for each in span.attributes} for span in spans]
    assert [span.name for span in spans] == ["POST"] * 3
    assert {each["server.address"].string_value for each in held} == {"127.0.0.1"}
    assert {each["server.port"].int_value for each in held} == {port}
    codes = Counter(each["http.response.status_code"].int_value for each in held if "http.response.status_code" in each)
    assert codes[503] == codes[200] == 1
    assert sum("error.type" in each for each in held) == 2
    assert all(span.end_time_unix_nano > span.start_time_unix_nano for span in spans)


def test_a_batch_has_spans_of_its_requests_and_none_of_its_queries(collector: str, tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk")
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", BATCH, str(tmp_path / "ledger.sqlite")],
        cwd=CHECKOUT,
        env=environment({"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answered, looks = map(int, done.stdout.split())
    assert answered == 10
    names = Counter(span.name for span in received())
    # A file and a batch are sent; the batch is looked at until it ends, and its results are fetched.
    assert names["POST"] == 2
    assert names["GET"] == looks + 1


def test_nothing_is_traced_unless_a_collector_is_named() -> None:
    with ChatStub() as stub:
        assert asked(stub).strip() == ""


def test_a_collector_that_was_switched_off_is_sent_nothing(collector: str) -> None:
    with ChatStub() as stub:
        asked(stub, OTEL_EXPORTER_OTLP_ENDPOINT=collector, OTEL_SDK_DISABLED="true")
    assert Collector.received == []
