"""`--t2i-model openai/NAME` against a server of images: what it sends, refuses, points to, and gets wrong."""

from __future__ import annotations

import asyncio
import base64
import random
from typing import TYPE_CHECKING

import aiohttp.resolver
import msgspec
import pytest

from fairgate.domain import Form, Level, Modality, Query, Reply, Role, Task, Topic
from fairgate.errors import CallFailed, ConfigError, RunStopped
from fairgate.models import fetching, openai_images
from fairgate.models.openai_images import OpenAIImages
from fairgate.models.retries import Retries, Waits
from fairgate.store.images import ImageStore, hash_in
from tests.servers.chat import (
    Fault,
    content_filter,
    error,
    every_time,
    in_order,
    server_error,
    unknown_model,
    wrong_key,
)
from tests.servers.images import At, ImageStub

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = Topic("b", Modality.IMAGE, Task.OBJECTIVE, "s", Level.HIGH)
PICTURE = b"\x89PNG\r\n\x1a\n" + b"not really"
QUERY = Query(TOPIC, 0, "Paint.", step="image", to=Role.PAINTER, form=Form.IMAGE)


def painter(stub: ImageStub, store: Path, **fields: object) -> OpenAIImages:
    async def no_wait(_: float, __: bool) -> None:
        pass

    retries = Retries(3, Waits(), random.Random(0), no_wait)  # noqa: S311 - spreads waits that are none
    return OpenAIImages("brush", stub.base_url, ImageStore(store), "planted-key-123", fields, 4, 5.0, retries=retries)


def ask(stub: ImageStub, store: Path, **fields: object) -> Reply:
    async def once() -> Reply:
        model = painter(stub, store, **fields)
        try:
            return await model.ask(QUERY)
        finally:
            await model.close()

    return asyncio.run(once())


def kept(store: Path, reply: Reply) -> bytes:
    digest = hash_in(reply.text)
    assert digest is not None
    return ImageStore(store).read(digest)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def one(_: str, __: int) -> bytes:
    return PICTURE


@pytest.mark.parametrize("by_url", [False, True])
def test_an_image_comes_in_the_answer_or_from_its_address(store: Path, by_url: bool) -> None:
    with ImageStub(paint=one, by_url=by_url) as stub:
        reply = ask(stub, store, size="512x512", quality="low")
        assert kept(store, reply) == PICTURE
        assert msgspec.json.decode(stub.last_body) == {
            "model": "brush", "n": 1, "size": "512x512", "quality": "low", "prompt": "Paint.",
        }  # fmt: skip
        assert stub.last_headers["Authorization"] == "Bearer planted-key-123"
        assert len(stub.fetched) == by_url
    assert (reply.filtered, reply.prompt_tokens, reply.attempts) == (False, 7, 1)


def test_base64_may_come_as_a_data_address_and_what_is_none_is_kept_as_it_is(store: Path) -> None:
    with ImageStub(paint=one) as stub:
        encoded = base64.b64encode(PICTURE).decode()
        for data in ({"url": f"data:image/png;base64,{encoded}"}, {"b64_json": f"data:image/png;base64,{encoded}"}):
            stub.raw = {"data": [data]}
            assert kept(store, ask(stub, store)) == PICTURE
        stub.raw = {"data": [{"b64_json": "no base64 a"}]}
        assert kept(store, ask(stub, store)) == b"no base64 a"


@pytest.mark.parametrize(
    "fault",
    [
        content_filter(),
        error("moderation", 400, "Your request was rejected by the safety system.", code="moderation_blocked"),
        error("policy", 400, "Not allowed by our safety system.", code="content_policy_violation"),
    ],
    ids=lambda fault: fault.name,
)
def test_the_content_filter_is_a_refusal(store: Path, fault: Fault) -> None:
    with ImageStub(paint=one, plan=every_time(fault)) as stub:
        reply = ask(stub, store)
        assert (reply.filtered, hash_in(reply.text), stub.requests) == (True, None, 1)


def test_what_may_pass_is_asked_again_and_what_may_not_stops_the_run(store: Path) -> None:
    with ImageStub(paint=one, plan=in_order(server_error(), server_error(503))) as stub:
        assert ask(stub, store).attempts == 3
    for fault in (wrong_key(), unknown_model()):
        with ImageStub(paint=one, plan=every_time(fault)) as stub, pytest.raises(RunStopped) as stopped:
            ask(stub, store)
        assert "planted-key" not in str(stopped.value)
    with ImageStub(paint=one) as stub:
        stub.raw = {"data": []}
        with pytest.raises(CallFailed):
            ask(stub, store)


def test_fields_that_decide_what_is_asked_are_not_the_users(store: Path) -> None:
    with ImageStub(paint=one) as stub, pytest.raises(ConfigError, match="'n' is not for the user to set"):
        painter(stub, store, n=4)


# Addresses


def fetched(stub: ImageStub, store: Path, url: str) -> Reply:
    stub.by_url, stub.url = True, url
    return ask(stub, store)


@pytest.mark.parametrize(
    "url",
    [
        "http://images.example/a.png",
        "ftp://images.example/a.png",
        "file:///etc/passwd",
        "//a",
        "/etc/passwd",
        "http://",
    ],
)
def test_only_https_is_fetched_but_for_this_machine(store: Path, url: str) -> None:
    with ImageStub(paint=one) as stub, pytest.raises(CallFailed, match=r"only https is fetched|cannot be read"):
        fetched(stub, store, url)


def test_a_server_elsewhere_cannot_have_this_machine_read() -> None:
    async def get() -> bytes | None:
        fetcher = fetching.Fetcher("https://images.example/v1", timeout=5, limit=100, retries=Retries(1))
        return await fetcher.get(f"http://127.0.0.1:{stub.port}/files/a")

    with ImageStub(paint=one) as stub:
        stub.files["a"] = PICTURE
        with pytest.raises(CallFailed, match="only https is fetched"):
            asyncio.run(get())
        assert stub.fetched == []


@pytest.mark.parametrize(
    "location",
    ["https://127.0.0.1/a", "https://10.0.0.7/a", "https://[::1]/a", "https://169.254.169.254/latest", "https://localhost/a",
     "http://127.0.0.1:{port}/files/b", "/files/b"],
)  # fmt: skip
def test_a_redirect_leads_to_no_private_address(store: Path, location: str) -> None:
    with ImageStub(paint=one) as stub:
        stub.files = {"a": At(302, location.format(port=stub.port)), "b": PICTURE}
        with pytest.raises(CallFailed, match=r"not public|only https"):
            fetched(stub, store, f"{stub.root}/files/a")
        assert stub.fetched == ["a"]


def test_a_name_that_stands_for_a_private_address_is_found_out_when_it_is_resolved(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def inside(*_: object, **__: object) -> list[dict[str, object]]:
        return [{"hostname": "images.example", "host": "10.0.0.7", "port": 443, "family": 2, "proto": 6, "flags": 0}]

    monkeypatch.setattr(aiohttp.resolver.ThreadedResolver, "resolve", inside)
    monkeypatch.setenv("NO_PROXY", "*")
    with ImageStub(paint=one) as stub:
        stub.files["a"] = At(302, "https://images.example/a")
        with pytest.raises(CallFailed, match="not public"):
            fetched(stub, store, f"{stub.root}/files/a")


def test_no_more_than_the_limit_is_read(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_images, "LARGEST", 2**20)
    with ImageStub(paint=one) as stub:
        stub.files["a"] = At(endless=True)
        reply = fetched(stub, store, f"{stub.root}/files/a")
    assert (reply.text, hash_in(reply.text)) == ("too-large", None)


def test_an_address_that_fails_is_one_failed_sample_and_its_secret_is_not_told(store: Path) -> None:
    with ImageStub(paint=one) as stub:
        for at, said, times in ((At(404), "HTTP 404", 1), (At(503), "HTTP 503", 3)):
            stub.files, stub.fetched = {"a": at}, []
            with pytest.raises(CallFailed, match=said) as failed:
                fetched(stub, store, f"{stub.root}/files/a?sig=planted-secret")
            assert "planted" not in str(failed.value)
            assert len(stub.fetched) == times
