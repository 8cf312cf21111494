"""`litellm/NAME` as image model: with a stand-in for the library, and with LiteLLM itself where it is installed."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.benchmarks.fact_or_fair.topics import Level, StatisticTopic, Task
from fairgate.core.domain import Form, Modality, Query, Role
from fairgate.core.errors import CallFailed, ConfigError, RunStopped
from fairgate.ledger.images import ImageStore, hash_in
from fairgate.providers.endpoint import Server
from fairgate.providers.images.litellm import LiteLLMImages
from fairgate.providers.retries import Backoff, Retries
from tests.servers.chat import Fault, error, every_time, in_order, server_error, wrong_key
from tests.servers.images import ImageStub

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.core.domain import Reply

PICTURE = b"\x89PNG\r\n\x1a\n" + b"not really"
TOPIC = StatisticTopic("b", Modality.IMAGE, Task.OBJECTIVE, "s", Level.HIGH)
QUERY = Query(TOPIC, 0, "Paint.", step="image", to=Role.IMAGE_MODEL, form=Form.IMAGE)


def ask(store: Path, base_url: str | None, name: str = "stability/brush", **fields: object) -> Reply:
    async def once() -> Reply:
        retries = Retries(3, Backoff(base=0.001))
        model = LiteLLMImages(name, Server(base_url, retries=retries), ImageStore(store), fields)
        try:
            return await model.ask(QUERY)
        finally:
            await model.close()

    return asyncio.run(once())


def kept(store: Path, reply: Reply) -> bytes:
    digest = hash_in(reply.text)
    assert digest is not None
    return ImageStore(store).read(digest)


class Library:
    """Stands in for LiteLLM."""

    def __init__(self, image: object) -> None:
        self.image = image
        self.given: list[dict[str, Any]] = []

    async def aimage_generation(self, **given: Any) -> object:
        self.given.append(given)
        return SimpleNamespace(data=[self.image], usage=SimpleNamespace(input_tokens=7, output_tokens=9))


def test_the_call_is_the_librarys_image_call_and_its_image_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(SimpleNamespace(b64_json=base64.b64encode(PICTURE).decode(), url=None))
    monkeypatch.setitem(sys.modules, "litellm", library)
    reply = ask(tmp_path / "l.sqlite", None, size="512x512")
    assert kept(tmp_path / "l.sqlite", reply) == PICTURE
    assert library.given == [{"model": "stability/brush", "prompt": "Paint.", "n": 1, "size": "512x512"}]
    assert (reply.prompt_tokens, reply.completion_tokens, reply.attempts) == (7, 9, 1)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/a", "https://127.0.0.1:9/a", "file:///etc/passwd"])
def test_an_image_is_fetched_from_public_addresses_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    library = Library(SimpleNamespace(b64_json=None, url=url))
    monkeypatch.setitem(sys.modules, "litellm", library)
    with pytest.raises(CallFailed, match=r"only https|not public|cannot be read"):
        ask(tmp_path / "l.sqlite", None)


def test_an_answer_without_an_image_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(SimpleNamespace(b64_json=None, url=None))
    monkeypatch.setitem(sys.modules, "litellm", library)
    with pytest.raises(CallFailed):
        ask(tmp_path / "l.sqlite", None)
    assert len(library.given) == 3


def test_fields_that_decide_what_is_asked_are_not_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", Library(None))
    with pytest.raises(ConfigError, match="'n' is not for the user to set"):
        ask(tmp_path / "l.sqlite", None, n=4)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="the extra litellm is not installed")
def test_litellm_itself_asks_a_server_of_openais_images_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-123")
    store = tmp_path / "l.sqlite"
    with ImageStub(draw=lambda *_: PICTURE, plan=in_order(server_error())) as stub:
        reply = ask(store, stub.base_url, "openai/dall-e-3", size="1024x1024")
        assert kept(store, reply) == PICTURE
        assert stub.requests == 2
        refusal = "Your request was rejected as a result of our safety system."
        stub.plan = every_time(error("filter", 400, refusal, code="content_policy_violation"))
        assert ask(store, stub.base_url, "openai/dall-e-3").filtered
        stub.plan = every_time(wrong_key())
        with pytest.raises(RunStopped, match="HTTP 401") as stopped:
            ask(store, stub.base_url, "openai/dall-e-3")
        assert "planted" not in str(stopped.value)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="the extra litellm is not installed")
def test_nothing_odd_beside_an_image_loses_it_to_litellm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-123")
    store = tmp_path / "l.sqlite"
    image = b'"b64_json":"%s"' % base64.b64encode(PICTURE)
    odd = [b"null", b"7", b"-1", b"NaN", b"1e400", b'""', b'"\\ud83d"', b'"a\nb"', b"[]", b"{}", b'[{"a":1}]']
    fields = (b"created", b"usage", b"background", b"size", b"quality", b"output_format")
    with ImageStub(draw=lambda *_: PICTURE) as stub:
        for each in odd:
            bodies = [b'{"data":[{%s,"revised_prompt":%s}]}' % (image, each)]
            bodies += [b'{"data":[{%s}],"%s":%s}' % (image, field, each) for field in fields]
            for body in bodies:
                stub.plan = in_order(Fault("odd", body=body))
                before = stub.requests
                assert kept(store, ask(store, stub.base_url, "openai/gpt-image-1")) == PICTURE, body
                assert stub.requests == before + 1, body
