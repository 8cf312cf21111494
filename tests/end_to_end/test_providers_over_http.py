"""Every provider of docs/models.md: the request that goes out, to a fake server that speaks the documented protocol."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from fairgate.benchmarks.fact_or_fair.topics import Level, StatisticTopic, Task
from fairgate.core.domain import Choice, Form, Modality, Query, Role
from fairgate.core.errors import ConfigError, RunStopped
from fairgate.ledger.images import ImageStore
from fairgate.providers.chat import registry
from fairgate.providers.faces.registry import make_detector
from tests.running import CHECKOUT
from tests.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairgate.core.domain import Reply

KEY = "planted-key-9951"
TOPIC = StatisticTopic("fact-or-fair", Modality.TEXT, Task.OBJECTIVE, "s", Level.HIGH)
QUERY = Query(TOPIC, 0, "Who?\nA. one\nB. two", (Choice("A", "one", {}), Choice("B", "two", {})))
COMPLETION = {
    "model": "served",
    "choices": [{"message": {"role": "assistant", "content": '{"answer": "A"}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15},
}
MESSAGE = {
    "model": "served",
    "content": [{"type": "thinking", "thinking": "B?"}, {"type": "text", "text": '{"answer": "A"}'}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 6},
}


class Recorder(BaseHTTPRequestHandler):
    """Notes what it is sent, and answers as OpenAI's or Anthropic's API does."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[tuple[str, dict[str, str], dict[str, Any]]]]
    status = 200

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        said = MESSAGE if self.path.endswith("/messages") else COMPLETION
        if self.status != 200:
            said = {"error": {"message": "Invalid parameter", "param": "response_format", "code": "unknown_parameter"}}
        sent = json.dumps(said).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    handler = type("Handler", (Recorder,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
        yield running
        running.shutdown()


def ask(tmp_path: Path, *given: str, query: Query = QUERY) -> Reply:
    settings = settings_of(tmp_path, *given)

    async def no_wait(_: float, __: object) -> None:
        """As a run waits, without the time."""

    async def once() -> Reply:
        model = registry.make(settings, (), no_wait)
        try:
            return await model.ask(query)
        finally:
            await model.close()

    return asyncio.run(once())


# Provider, what is given beside the server's root, the variable of the key, and what the request must be.
PROVIDERS: dict[str, tuple[str, str, str, str, tuple[str, str]]] = {
    "OpenAI": ("openai/gpt-4o-mini", "/v1", "OPENAI_API_KEY", "/v1/chat/completions", ("authorization", "Bearer ")),
    "Anthropic": ("anthropic/claude", "", "ANTHROPIC_API_KEY", "/v1/messages", ("x-api-key", "")),
    "Azure OpenAI, v1": (
        "azure/my-gpt", "", "AZURE_OPENAI_API_KEY", "/openai/v1/chat/completions", ("api-key", ""),
    ),
    "Azure OpenAI, api-version": (
        "azure/my-gpt", "?api-version=2024-10-21", "AZURE_OPENAI_API_KEY",
        "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21", ("api-key", ""),
    ),
    "Gemini": (
        "openai/gemini-2.5-flash", "/v1beta/openai", "OPENAI_API_KEY", "/v1beta/openai/chat/completions",
        ("authorization", "Bearer "),
    ),
    "Mistral": ("openai/mistral-small", "/v1", "OPENAI_API_KEY", "/v1/chat/completions", ("authorization", "Bearer ")),
    "OpenRouter": (
        "openai/vendor/llama-3", "/api/v1", "OPENAI_API_KEY", "/api/v1/chat/completions", ("authorization", "Bearer "),
    ),
    "Ollama": ("openai/llama3", "/v1", "", "/v1/chat/completions", ("authorization", "")),
    "vLLM": ("openai/org/model", "/v1", "", "/v1/chat/completions", ("authorization", "")),
    "llama.cpp": ("openai/any", "/v1", "", "/v1/chat/completions", ("authorization", "")),
}  # fmt: skip


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "AZURE_OPENAI"):
        for rest in ("_API_KEY", "_BASE_URL", "_ENDPOINT"):
            monkeypatch.delenv(name + rest, raising=False)
    monkeypatch.delenv("OPENAI_API_VERSION", raising=False)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.usefixtures("each_transport")
def test_the_request_is_the_one_that_the_provider_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ThreadingHTTPServer, name: str
) -> None:
    spec, below, variable, path, (header, scheme) = PROVIDERS[name]
    if variable:
        monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("TEAM_KEY", "planted-team")
    root = f"http://127.0.0.1:{server.server_port}{below}"
    given = (f"--model={spec}", f"--base-url={root}", "--model-arg=reasoning_effort=low", "--model-arg=temperature=")
    reply = ask(tmp_path, *given, "--header=X-Team=$TEAM_KEY", "--header=X-Title=fairgate")
    [(asked, sent, body)] = server.RequestHandlerClass.asked  # type: ignore[attr-defined]
    assert asked == path
    assert sent.get(header) == (f"{scheme}{KEY}" if variable else None)
    assert (sent["x-team"], sent["x-title"], sent["content-type"]) == ("planted-team", "fairgate", "application/json")
    others = {"authorization", "api-key", "x-api-key"} - {header}
    assert not others & set(sent)
    assert body["model"] == spec.partition("/")[2]
    assert body["messages"] == [{"role": "user", "content": QUERY.prompt}]
    assert body["reasoning_effort"] == "low"
    assert "temperature" not in body
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ('{"answer": "A"}', 9, 6)


def test_every_provider_that_is_documented_was_asked_here() -> None:
    table = (CHECKOUT / "docs" / "models.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*(.+?)\*\*.*\| fake \|$", table, re.MULTILINE)
    assert set(rows) == {name.partition(",")[0] for name in PROVIDERS}


def test_a_header_of_the_user_stands_in_the_place_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ThreadingHTTPServer
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-other")
    monkeypatch.setenv("GATEWAY", f"Token {KEY}")
    here = f"--base-url=http://127.0.0.1:{server.server_port}/v1"
    ask(tmp_path, "--model=openai/m", here, "--header=authorization=$GATEWAY")
    [(_, sent, _)] = server.RequestHandlerClass.asked  # type: ignore[attr-defined]
    assert sent["authorization"] == f"Token {KEY}"


def test_the_models_headers_go_to_no_other_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ThreadingHTTPServer
) -> None:
    monkeypatch.setenv("MINE", KEY)
    given = ("--model=openai/m", "--base-url=http://127.0.0.1:9/v1", "--header=api-key=$MINE")
    here = f"--judge-base-url=http://127.0.0.1:{server.server_port}/v1"

    async def both() -> None:
        for provider in ("openai", "anthropic"):
            settings = settings_of(tmp_path, *given, f"--judge={provider}/j", here)
            judge = registry.make_judge(settings, (), lambda *_: asyncio.sleep(0))
            await judge.ask(QUERY)
            await judge.close()

    asyncio.run(both())
    assert len(server.RequestHandlerClass.asked) == 2  # type: ignore[attr-defined]
    for _, sent, _ in server.RequestHandlerClass.asked:  # type: ignore[attr-defined]
        assert "api-key" not in sent


def test_azure_needs_an_address(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"azure/d has no address.*AZURE_OPENAI_ENDPOINT"):
        ask(tmp_path, "--model=azure/d")


@pytest.mark.parametrize("spec", ["openai/m", "azure/m"])
def test_choices_are_kept_to_a_form_where_that_is_asked_for_and_nothing_else_is(
    tmp_path: Path, server: ThreadingHTTPServer, spec: str
) -> None:
    given = (f"--model={spec}", f"--base-url=http://127.0.0.1:{server.server_port}/v1")
    ask(tmp_path, *given, "--answer-format=json_schema")
    ask(tmp_path, *given, "--answer-format=json_schema", query=Query(TOPIC, 1, "Tell me.", form=Form.TEXT))
    ask(tmp_path, *given)
    bodies = [body for _, _, body in server.RequestHandlerClass.asked]  # type: ignore[attr-defined]
    [schema] = [body["response_format"] for body in bodies if "response_format" in body]
    assert bodies[0]["response_format"] == schema
    assert schema["json_schema"]["schema"]["required"] == ["answer"]
    identities = [
        registry.make(
            settings_of(tmp_path, *given, f"--answer-format={form}"), (), lambda *_: asyncio.sleep(0)
        ).identity
        for form in ("text", "json_schema")
    ]
    assert identities[0] != identities[1]


def test_a_server_that_knows_no_form_says_which_option_to_leave_away(
    tmp_path: Path, server: ThreadingHTTPServer
) -> None:
    server.RequestHandlerClass.status = 400  # type: ignore[attr-defined]
    here = f"--base-url=http://127.0.0.1:{server.server_port}/v1"
    with pytest.raises(RunStopped, match="Leave --answer-format away"):
        ask(tmp_path, "--model=openai/m", here, "--answer-format=json_schema")
    with pytest.raises(ConfigError, match=r"anthropic/m cannot be asked to keep to a form"):
        ask(tmp_path, "--model=anthropic/m", "--answer-format=json_schema")


def test_the_answer_format_leaves_no_place_for_reasons(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--answer-format: cannot be used with --explain"):
        settings_of(tmp_path, "--answer-format=json_schema", "--explain")


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_vision_model_of_either_api_is_shown_the_image(
    tmp_path: Path, server: ThreadingHTTPServer, provider: str
) -> None:
    pytest.importorskip("PIL")
    from random import Random

    from fairgate.providers.images.portraits import draw

    content = draw(({"gender": "Female", "race": "White", "age": "30-39"},), (64, 64), Random(1))  # noqa: S311
    store = ImageStore(tmp_path / "ledger.sqlite")
    query = Query(TOPIC, 0, "Who is it?", images=(store.add(content),), to=Role.DETECTOR, form=Form.PERSON)
    url = f"--detector-base-url=http://127.0.0.1:{server.server_port}/v1"
    settings = settings_of(tmp_path, "--t2i-model=openai/brush", f"--detector={provider}/eyes", url)

    async def look() -> None:
        detector = make_detector(settings, store, lambda *_: asyncio.sleep(0))
        await detector.ask(query)
        await detector.close()

    asyncio.run(look())
    [(_, _, body)] = server.RequestHandlerClass.asked  # type: ignore[attr-defined]
    parts = {part["type"]: part for part in body["messages"][0]["content"]}
    assert parts["text"]["text"] == "Who is it?"
    if provider == "openai":
        assert parts["image_url"]["image_url"]["url"].startswith("data:image/png;base64,")
    else:
        assert parts["image"]["source"].keys() == {"type", "media_type", "data"}
        assert parts["image"]["source"]["media_type"] == "image/png"
