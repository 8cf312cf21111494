"""Callables of the user that take a list of prompts, or few calls at once."""

from __future__ import annotations

import asyncio
import sys
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

import fairgate
from fairgate.core.domain import Message, Reply
from fairgate.core.errors import CallFailed, ConfigError, RunStopped
from fairgate.ledger.images import ImageStore, hash_in
from fairgate.providers.python.batching import CallBatches
from fairgate.providers.python.chat import PythonChat
from fairgate.providers.python.child_process import ChildChat
from fairgate.providers.python.images import PythonImageModel
from tests.builders import query

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = type(sys)("mine_batched")
    monkeypatch.setitem(sys.modules, "mine_batched", module)
    return module


def ask(model: Any, *prompts: str) -> list[Any]:
    async def all_of_them() -> list[Any]:
        try:
            asked = (model.ask(replace(query(), prompt=prompt)) for prompt in prompts)
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def test_prompts_come_together_and_each_has_its_own_reply(mine: Any) -> None:
    sizes: list[int] = []

    @fairgate.batched(4)
    def answer(prompts: list[str]) -> list[str]:
        sizes.append(len(prompts))
        return [prompt.upper() for prompt in prompts]

    mine.answer = answer
    replies = ask(PythonChat("mine_batched:answer"), *"abcdefghij")
    assert [reply.text for reply in replies] == list("ABCDEFGHIJ")
    assert sizes == [4, 4, 2]


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_calls_run_at_once_than_declared(mine: Any, most: int) -> None:
    running, seen, lock = 0, 0, threading.Lock()
    together = threading.Barrier(most)

    def answer(prompt: str) -> str:
        nonlocal running, seen
        with lock:
            running += 1
            seen = max(seen, running)
        together.wait(30)  # so many are there at once: fewer would break it
        with lock:
            running -= 1
        return prompt

    answer.max_in_flight = most  # type: ignore[attr-defined]
    mine.answer = answer
    model = PythonChat("mine_batched:answer")
    assert (model.places, model.turns) == (most, most)
    assert [reply.text for reply in ask(model, *"abcd")] == list("abcd")
    assert seen == most


def test_one_bad_prompt_costs_no_other_its_reply(mine: Any) -> None:
    @fairgate.batched(8)
    def answer(prompts: list[str]) -> list[str]:
        if "bad" in prompts:
            raise ValueError("no licence")
        return prompts

    mine.answer = answer
    replies = ask(PythonChat("mine_batched:answer"), "a", "b", "bad", "c", "d")
    assert [reply.text if isinstance(reply, Reply) else type(reply) for reply in replies] == [
        *("a", "b", CallFailed, "c", "d")
    ]
    assert "ValueError: no licence" in str(replies[2])


@pytest.mark.parametrize("returned", ["one text", ["too", "many"], None])
def test_what_is_no_list_of_as_many_replies_is_a_failure_that_says_so(mine: Any, returned: object) -> None:
    mine.answer = fairgate.batched(4)(lambda _: returned)
    for reply in ask(PythonChat("mine_batched:answer"), "a", "b", "c"):
        assert isinstance(reply, CallFailed)
        assert "not a list of 3 replies" in str(reply)


def test_a_batch_that_stops_the_run_stops_it(mine: Any) -> None:
    def answer(_: list[str]) -> list[str]:
        raise RunStopped("the licence ran out.")

    mine.answer = fairgate.batched(4)(answer)
    assert {type(reply) for reply in ask(PythonChat("mine_batched:answer"), "a", "b")} == {RunStopped}


def test_a_batch_that_the_memory_does_not_hold_is_halved_for_good() -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    sizes: list[int] = []

    def run(asked: Sequence[int]) -> Sequence[int]:
        sizes.append(len(asked))
        if len(asked) > 3:
            raise OutOfMemoryError("CUDA out of memory")
        return [number * 2 for number in asked]

    async def all_of_them() -> list[object]:
        batches = CallBatches(run, 12)
        try:
            return list(await asyncio.gather(*(batches.ask(number) for number in range(24))))
        finally:
            await batches.close()

    assert asyncio.run(all_of_them()) == [number * 2 for number in range(24)]
    assert sizes == [12, 6, 3, 3, 6, 3, 3, 3, 3, 3, 3]


def batches_of(size: int, callers: int, back_after: float) -> list[int]:
    """The sizes of the batches in which each of these callers is answered three times, back so many seconds later."""
    sizes: list[int] = []
    slow = threading.Event()

    def run(asked: Sequence[int]) -> Sequence[int]:
        sizes.append(len(asked))
        slow.wait(0.3)  # nobody sets it
        return asked

    async def all_of_them() -> None:
        batches = CallBatches(run, size)

        async def caller(number: int) -> None:
            for _ in range(3):
                await batches.ask(number)
                await asyncio.sleep(back_after * number / callers)

        try:
            await asyncio.gather(*(caller(number) for number in range(callers)))
        finally:
            await batches.close()

    asyncio.run(all_of_them())
    return sizes


def test_a_batch_waits_for_the_callers_of_the_one_before_a_tenth_of_its_time() -> None:
    """They come back one after another: their replies are stored first."""
    assert batches_of(8, 8, back_after=0.015) == [8, 8, 8]
    assert batches_of(16, 3, back_after=0.015) == [3, 3, 3], "nobody else is waited for"


def test_a_call_that_comes_when_the_last_one_is_done_is_answered() -> None:
    async def one_after_another() -> list[object]:
        batches: CallBatches[int, int] = CallBatches(lambda asked: asked, 1)
        try:
            first = await batches.ask(1)
            return [first, await asyncio.wait_for(asyncio.create_task(batches.ask(2)), 10)]
        finally:
            await batches.close()

    assert asyncio.run(one_after_another()) == [1, 2]


def test_a_conversation_is_one_of_the_prompts(mine: Any) -> None:
    mine.answer = fairgate.batched(4)(lambda asked: [each[-1]["content"] for each in asked])
    model = PythonChat("mine_batched:answer")

    async def said() -> Reply:
        try:
            return await model.ask(replace(query(), prompt="three", before=(Message("user", "one"),)))
        finally:
            await model.close()

    assert asyncio.run(said()).text == "three"


@pytest.mark.parametrize(("name", "value"), [("batch", 0), ("batch", "8"), ("max_in_flight", -1), ("batch", True)])
def test_a_declaration_that_cannot_be_used_is_an_error(mine: Any, name: str, value: object) -> None:
    mine.answer = lambda _: ""
    setattr(mine.answer, name, value)
    with pytest.raises(ConfigError, match=f"its attribute {name}"):
        PythonChat("mine_batched:answer")


@dataclass
class Made:
    """As a pipeline of diffusers returns its images, the second one hidden by its safety checker."""

    images: list[bytes]
    nsfw_content_detected: list[bool]


@fairgate.batched(3)
def draw(prompts: list[str]) -> Made:
    return Made([prompt.encode() for prompt in prompts], [False, True, False])


def test_a_pipelines_images_belong_to_their_prompts(mine: Any, tmp_path: Any) -> None:
    mine.draw = draw
    store = ImageStore(tmp_path / "l.sqlite")
    first, second, third = ask(PythonImageModel("mine_batched:draw", store), "a", "b", "c")
    assert [store.read(hash_in(each.text) or "") for each in (first, third)] == [b"a", b"c"]
    assert second.filtered


SLOW = """
import time, fairgate

@fairgate.batched(1)
def answer(prompts):
    time.sleep(600 if prompts == ["hang"] else 0.5)
    return prompts
"""


def queued(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, *prompts: str) -> list[Any]:
    (tmp_path / "slow_batched.py").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    return ask(ChildChat("slow_batched:answer", None, 16, 2.0), *prompts)


def test_calls_that_wait_for_their_turn_are_not_late_while_others_are_answered(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = [str(number) for number in range(8)]  # four seconds in all, two allowed
    assert [reply.text for reply in queued(tmp_path, monkeypatch, *prompts)] == prompts


def test_a_batch_that_hangs_fails_by_the_time(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, hung, last = queued(tmp_path, monkeypatch, "a", "hang", "b")
    assert (first.text, last.text) == ("a", "b"), "what waited for its turn is answered after it"
    assert isinstance(hung, CallFailed)
    assert "timeout" in str(hung)
