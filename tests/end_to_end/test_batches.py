"""Queries asked in batches: each is paid for once, whatever dies, is lost or ends early."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from fairgate.core.domain import Reply
from fairgate.core.errors import CallFailed, FairgateError, RunStopped
from fairgate.ledger.ledger import Ledger, sample_key
from fairgate.ledger.samples import read
from fairgate.providers.chat import batch, batch_format
from fairgate.providers.chat.batch import BatchChat
from fairgate.providers.chat.openai import OpenAIChat
from fairgate.providers.endpoint import LONGEST, Server
from fairgate.providers.retries import Backoff, Retries
from tests.builders import query
from tests.running import PATIENCE, bench, finished, started, stored
from tests.servers.batches import BatchStub
from tests.servers.chat import ChatStub
from tests.servers.words import judges, speaks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Gate = Callable[[web.BaseRequest, web.StreamResponse], web.StreamResponse]

pytestmark = pytest.mark.slow

KEY = "planted-batch-key-44f1"
QUERIES = [query(index, prompt=f"{index}?\nA. one\nB. two") for index in range(10)]


@pytest.fixture
def stub() -> Iterator[BatchStub]:
    with BatchStub(key=KEY) as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def chat(stub: BatchStub, path: Path, key: str = KEY) -> BatchChat:
    asked = OpenAIChat("tiny", Server(stub.base_url, key, retries=Retries(attempts=2, waits=Backoff(base=0.001))))
    return BatchChat(asked, path, quiet=0.02, poll=0.02)


def answers(**given: object) -> web.Response:
    return web.Response(**{"content_type": "application/json", **given})  # type: ignore[arg-type] # as aiohttp takes them


def downloads(change: Callable[[bytes], web.Response | None], times: int) -> Gate:
    """A gateway that lets so many downloads through as `change` says."""
    left = iter(range(times))

    def gate(request: web.BaseRequest, answer: web.StreamResponse) -> web.StreamResponse:
        if not request.path.endswith("/content") or next(left, None) is None:
            return answer
        assert isinstance(answer, web.Response)
        assert isinstance(answer.body, bytes)
        return change(answer.body) or answer

    return gate


def ask(model: BatchChat, path: Path, until: Callable[[], bool] = lambda: False) -> list[Reply | BaseException]:
    """What the sampler does: ask what the ledger does not hold, store what is answered; `until` stops it early."""

    async def one(ledger: Ledger, index: int) -> Reply:
        asked = QUERIES[index]
        held = ledger.reply(model.identity, asked)
        if held is not None:
            return held
        reply = await model.ask(asked)
        ledger.add("r", model.identity, asked, reply, read(asked, reply))
        return reply

    async def all_of_them() -> list[Reply | BaseException]:
        with Ledger(path) as ledger:
            tasks = [asyncio.create_task(one(ledger, index)) for index in range(len(QUERIES))]
            try:
                end = time.monotonic() + PATIENCE
                while not (all(task.done() for task in tasks) or until()) and time.monotonic() < end:  # noqa: ASYNC110 - a server's counter sets no event
                    await asyncio.sleep(0.01)
                for task in tasks:
                    task.cancel()
                return list(await asyncio.gather(*tasks, return_exceptions=True))
            finally:
                await model.close()

    return asyncio.run(all_of_them())


def left(path: Path, model: BatchChat) -> int:
    with Ledger(path) as ledger:
        return sum(len(keys) for _, _, keys in ledger.batches.of(model.identity))


def replies(said: Sequence[Reply | BaseException]) -> list[str]:
    return [each.text for each in said if isinstance(each, Reply)]


def test_all_that_wait_make_one_batch(stub: BatchStub, path: Path) -> None:
    said = ask(chat(stub, path), path)
    assert replies(said) == [stub.reply(each.prompt) for each in QUERIES]
    assert [each.prompt_tokens for each in said if isinstance(each, Reply)] == [4] * 10
    assert (stub.sizes, stub.requests) == ([10], 0)
    assert stub.last_headers["Authorization"] == f"Bearer {KEY}"
    assert stored(path) == 10
    assert left(path, chat(stub, path)) == 0
    assert KEY.encode() not in path.read_bytes()


def test_a_run_that_was_killed_waits_on_for_the_same_batch(stub: BatchStub, path: Path) -> None:
    stub.hold = True
    said = ask(chat(stub, path), path, until=lambda: stub.looks > 1)
    assert (replies(said), len(stub.batches), left(path, chat(stub, path))) == ([], 1, 10)
    stub.hold = False
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]
    assert set(stub.paid.values()) == {1}
    assert left(path, chat(stub, path)) == 0


def test_a_part_that_was_stored_before_the_death_is_not_asked_again(stub: BatchStub, path: Path) -> None:
    stub.hold = True
    model = chat(stub, path)
    ask(model, path, until=lambda: stub.looks > 1)
    with Ledger(path) as ledger:
        reply = Reply("A")
        ledger.add("r", model.identity, QUERIES[0], reply, read(QUERIES[0], reply))
    stub.hold = False
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]


def test_a_batch_that_was_made_without_a_word_is_found_by_its_mark(stub: BatchStub, path: Path) -> None:
    stub.lose = 1
    stub.batches = {f"batch_{n}": {"id": f"batch_{n}", "status": "completed", "metadata": None} for n in range(5)}
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]
    assert set(stub.paid.values()) == {1}


def test_a_batch_that_was_planned_and_never_made_is_made_anew(stub: BatchStub, path: Path) -> None:
    model = chat(stub, path)
    with Ledger(path) as ledger:
        ledger.batches.plan("never", model.identity, [sample_key(model.identity, each) for each in QUERIES[:4]])
    assert len(replies(ask(model, path))) == 10
    assert sum(stub.sizes) == 10
    assert set(stub.paid.values()) == {1}


def test_rejected_lines_are_failures_and_the_rest_is_kept(stub: BatchStub, path: Path) -> None:
    stub.rejects = lambda prompt: prompt.startswith(("3", "7"))
    said = ask(chat(stub, path), path)
    assert len(replies(said)) == 8
    for index in (3, 7):
        assert isinstance(said[index], CallFailed)
        assert "rejects this query (HTTP 400: Too long)" in str(said[index])
    assert left(path, chat(stub, path)) == 0
    stub.rejects = lambda _: False
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10, 2]


def test_half_a_character_does_not_lose_the_reply(stub: BatchStub, path: Path) -> None:
    stub.reply = lambda _: '{"answer": "A"} HALF'
    stub.spelt = lambda content: content.replace(b"HALF", b"\\ud83d")
    assert replies(ask(chat(stub, path), path)) == ['{"answer": "A"} ?'] * 10


def test_lines_without_a_choice_count_as_billed(stub: BatchStub, path: Path) -> None:
    body = {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 5000}}

    def emptied(content: bytes) -> web.Response:
        lines = [json.loads(line) for line in content.splitlines()]
        said = [json.dumps({**line, "response": {"status_code": 200, "body": body}}) for line in lines]
        return web.Response(text="\n".join(said))

    stub.gate = downloads(emptied, 1)
    for failure in ask(chat(stub, path), path):
        assert isinstance(failure, CallFailed)
        assert failure.tokens == (1000, 5000)


def test_an_answer_in_another_encoding_brings_no_key_into_message_or_ledger(stub: BatchStub, path: Path) -> None:
    stub.spelt = lambda content: content.decode().replace("batch_0", KEY).encode("utf-16")
    said = ask(chat(stub, path), path)
    assert all(isinstance(each, FairgateError) for each in said)
    assert KEY not in str(said)
    assert not [each for each in path.parent.iterdir() if KEY.encode() in each.read_bytes()]


def test_only_a_file_of_replies_may_be_longer_than_an_answer(stub: BatchStub, path: Path) -> None:
    stub.spelt = lambda content: content + b" " * (LONGEST if b"custom_id" in content else 0)
    assert len(replies(ask(chat(stub, path), path))) == 10
    stub.spelt = lambda content: content + b" " * LONGEST
    said = ask(chat(stub, path.with_name("other.sqlite")), path.with_name("other.sqlite"))
    assert all(isinstance(each, FairgateError) and "endless answer" in str(each) for each in said)


def test_of_an_expired_batch_is_kept_what_was_answered(stub: BatchStub, path: Path) -> None:
    stub.ends = "expired"
    said = ask(chat(stub, path), path)
    failed = [each for each in said if isinstance(each, CallFailed)]
    assert (len(replies(said)), len(failed)) == (5, 5)
    assert "batch_expired" in str(failed[0])
    stub.ends = "completed"
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10, 5]
    assert set(stub.paid.values()) == {1}


def test_a_batch_that_the_provider_refuses_ends_the_run_with_its_words(stub: BatchStub, path: Path) -> None:
    stub.ends = "failed"
    said = ask(chat(stub, path), path)
    assert all(isinstance(each, RunStopped) for each in said)
    assert "Enqueued token limit reached" in str(said[0])
    assert "without --batch" in str(said[0])
    assert left(path, chat(stub, path)) == 0


@pytest.mark.parametrize(
    "errors",
    [
        {"data": None, "message": "quota"},
        [{"message": "quota"}],
        {"data": ["quota"]},
        "quota",
        {"data": "quota"},
        None,
        7,
    ],
)
def test_a_batch_that_failed_waits_for_nothing_however_its_server_says_why(
    stub: BatchStub, path: Path, errors: object
) -> None:
    stub.ends, stub.errors = "failed", errors
    said = str(ask(chat(stub, path), path)[0])
    assert "the batch was refused: " in said
    assert "quota" in said or errors in (None, 7)
    assert left(path, chat(stub, path)) == 0


@pytest.mark.parametrize("odd", [b"null", b"7", b"{}", b'"../x\\n?"'])
def test_an_odd_name_of_a_batch_or_a_file_is_one_clear_error(stub: BatchStub, path: Path, odd: bytes) -> None:
    stub.spelt = lambda content: re.sub(rb'"(?:file-|batch_)\d+"', lambda _: odd, content)
    for problem in ask(chat(stub, path), path):
        assert isinstance(problem, FairgateError)
        assert "the batches broke" not in str(problem)


def test_a_provider_that_is_away_for_a_while_is_waited_for(stub: BatchStub, path: Path) -> None:
    stub.fail_polls = 7
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]


def test_a_wrong_key_ends_the_run_before_anything_is_paid(stub: BatchStub, path: Path) -> None:
    said = ask(chat(stub, path, key="another-key-77aa"), path)
    assert all(isinstance(each, FairgateError) for each in said)
    assert "does not accept the key" in str(said[0])
    assert "another-key-77aa" not in str(said)
    assert stub.sizes == []
    assert left(path, chat(stub, path)) == 0


def test_a_file_that_the_provider_does_not_take_ends_the_run_and_waits_for_nothing(stub: BatchStub, path: Path) -> None:
    stub.too_large = True
    said = ask(chat(stub, path), path)
    assert all(isinstance(each, RunStopped) for each in said)
    assert "the batch's file of 10 queries was not taken" in str(said[0])
    assert "413" in str(said[0])
    assert left(path, chat(stub, path)) == 0


def test_where_a_later_batch_is_refused_the_first_is_fetched_and_nothing_waits(
    stub: BatchStub, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_format, "MOST_REQUESTS", 4)
    stub.most_files = 1
    said = ask(chat(stub, path), path)
    assert len(replies(said)) == 4
    stopped = [each for each in said if isinstance(each, RunStopped)]
    assert len(stopped) == 6
    assert "was not taken" in str(stopped[0])
    assert (stub.sizes, set(stub.paid.values())) == ([4], {1})
    assert left(path, chat(stub, path)) == 0


def test_more_than_a_batch_may_hold_makes_several(stub: BatchStub, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_format, "MOST_REQUESTS", 4)
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [4, 4, 2]
    monkeypatch.setattr(batch_format, "MOST_BYTES", 1)
    assert [len(part) for part in batch_format.parts({b"1": b"{}", b"2": b"{}"})] == [1, 1]


def test_kill_9_while_the_batch_is_worked_off(tmp_path: Path, stub: BatchStub, path: Path) -> None:
    given = ("--model=openai/tiny", f"--base-url={stub.base_url}", "-p", "no:xdist", "-k", "crime and base")
    env = {"OPENAI_API_KEY": KEY}
    batched = (*given, "--batch", "--batch-poll=0.1")
    stub.hold = True
    with started(tmp_path, *batched, env=env) as process:
        end = time.monotonic() + PATIENCE
        while stub.looks < 3:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        finished(process, tmp_path)
    direct = bench(tmp_path / "direct", *given, f"--ledger={path}", env=env)
    assert direct.code == 4, direct.output
    assert "12 samples of openai/tiny are in a batch" in " ".join(direct.output.split())
    stub.hold = False
    run = bench(tmp_path, *batched, env=env)
    assert run.code == 0, run.output
    assert stub.sizes == [12]
    assert set(stub.paid.values()) == {1}
    assert run.summary["calls"]["asked"] == 12
    assert stub.answered == 0


def test_whoever_works_with_workers_sends_all_queries_as_one_batch(tmp_path: Path) -> None:
    with BatchStub() as stub:
        given = (f"--base-url={stub.base_url}", "--per-topic=2", "--batch", "--batch-poll=0.1", "-n", "2")
        run = bench(tmp_path, "--model=openai/tiny", *given)
    calls = run.summary["calls"]
    assert (calls["asked"], calls["missing"], calls["failed"]) == (calls["planned"], 0, 0), run.output
    assert stub.sizes == [calls["planned"]]
    assert sum(stub.paid.values()) == calls["planned"]


def test_conversations_go_in_rounds(tmp_path: Path) -> None:
    """The gold set and each turn make one batch, whatever the number of dialogues."""
    with BatchStub(reply=speaks) as model, BatchStub(reply=judges) as judge:
        run = bench(
            tmp_path,
            *("--model=openai/tiny", f"--base-url={model.base_url}", "--batch", "--batch-poll=0.1"),
            *("--judge=openai/wise", f"--judge-base-url={judge.base_url}"),
            *("-p", "no:xdist", "-k", "dialogue and gender"),
        )
    calls = run.summary["calls"]
    assert calls["failed"] == calls["missing"] == 0, run.output
    assert sum(model.sizes) + sum(judge.sizes) == calls["asked"]
    # Four dialogues of six questions each; a loaded machine may let one of them fall behind.
    assert 6 <= len(model.sizes) <= 12
    assert sum(model.sizes) == 24
    assert model.answered == judge.answered == 0


def test_another_servers_batches_are_found_again_though_it_keeps_no_marks(stub: BatchStub, path: Path) -> None:
    """Below another address, by the file that the batch is of."""
    stub.path = "/openai/v1/chat/completions"
    stub.markless, stub.lose = True, 1
    asked = OpenAIChat("tiny", Server(f"http://127.0.0.1:{stub.port}/openai/v1", KEY, retries=Retries(attempts=1)))
    model = BatchChat(asked, path, quiet=0.02, poll=0.02)
    assert all(isinstance(reply, Reply) for reply in ask(model, path))
    assert len(stub.batches) == 1
    assert set(stub.paid.values()) == {1}


def test_a_server_without_batches_says_so_and_is_paid_for_nothing(path: Path) -> None:
    with ChatStub() as plain:
        asked = OpenAIChat("tiny", Server(plain.base_url, KEY, retries=Retries(attempts=1)))
        replies = ask(BatchChat(asked, path, quiet=0.02, poll=0.02), path)
        assert plain.answered == 0
    assert all("files is not served there" in str(reply) and "without --batch" in str(reply) for reply in replies)


FORBIDDEN = "Blocked by the company's content filtering policy."
FOREIGN = json.dumps({"custom_id": "00" * 32, "response": {"status_code": 200, "body": {"choices": []}}}).encode()
NO_FILE: list[tuple[str, Callable[[bytes], web.Response | None]]] = [
    ("filter", lambda _: web.Response(status=403, text=FORBIDDEN)),
    ("page", lambda _: web.Response(text="<html>Maintenance</html>", content_type="text/html")),
    ("empty", lambda _: web.Response(body=b"")),
    ("json", lambda _: web.Response(text="{}")),
    ("gone", lambda _: web.Response(status=404, text="no such file")),
    ("forbidden", lambda _: web.Response(status=403, text="not from here")),
    ("another's", lambda _: web.Response(body=FOREIGN)),
    ("cut", lambda whole: web.Response(body=whole[: len(whole) // 2])),
    ("mangled", lambda whole: web.Response(body=whole.replace(b'"response"', b'"blocked"'))),
]
counted = pytest.mark.parametrize("counts", [True, False], ids=["counted", "uncounted"])
each_answer = pytest.mark.parametrize("answer", [each for _, each in NO_FILE], ids=[name for name, _ in NO_FILE])


@counted
@each_answer
def test_a_paid_batch_is_kept_whatever_is_answered_to_the_download(
    stub: BatchStub,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[bytes], web.Response | None],
    counts: bool,
) -> None:
    stub.counts = counts
    monkeypatch.setattr(batch, "PATIENCE", 3)
    stub.gate = downloads(answer, 1000)
    said = ask(chat(stub, path), path)
    lost = [each for each in said if not isinstance(each, Reply)]
    assert lost
    for problem in lost:
        assert isinstance(problem, FairgateError)
        assert "stays in the ledger: run again with --batch" in str(problem)
        assert "ask directly" not in str(problem)
    assert left(path, chat(stub, path)) == len(lost)
    stub.gate = lambda _, through: through
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]
    assert set(stub.paid.values()) == {1}
    assert left(path, chat(stub, path)) == 0


@counted
@each_answer
def test_a_download_that_goes_wrong_for_a_while_is_repeated_in_the_same_run(
    stub: BatchStub, path: Path, answer: Callable[[bytes], web.Response | None], counts: bool
) -> None:
    stub.counts = counts
    stub.gate = downloads(answer, 3)
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]
    assert left(path, chat(stub, path)) == 0


@counted
@pytest.mark.parametrize("errors", ["none", 7, {"id": "none"}, "../files/file-0", "x" * 2**20])
def test_a_file_of_errors_that_is_not_there_loses_no_reply(
    stub: BatchStub, path: Path, errors: object, counts: bool
) -> None:
    stub.counts = counts
    stub.rejects = lambda prompt: prompt.startswith("3")
    stub.spelt = lambda content: _changed(content, error_file_id=errors)
    said = ask(chat(stub, path), path)
    assert len(replies(said)) == stored(path) == 9
    assert isinstance(said[3], CallFailed)
    assert "ended (completed) without a reply" in str(said[3])
    assert left(path, chat(stub, path)) == 0


def _changed(content: bytes, **fields: object) -> bytes:
    """An answer about a batch that has ended, with other fields; all else as it is."""
    whole = json.loads(content) if content.startswith(b'{"id":"batch_') else {}
    ended = whole.get("status") not in (None, "in_progress")
    return json.dumps({**whole, **fields}).encode() if ended else content


@pytest.mark.parametrize(
    "fields",
    [
        {"output_file_id": None},
        {"output_file_id": 7},
        {"output_file_id": ["file-1"]},
        {"output_file_id": "../batches"},
        {"output_file_id": "file-0"},  # that of the requests
        {"output_file_id": None, "status": "failed", "request_counts": {"completed": 10}},
        {"output_file_id": None, "status": "expired", "request_counts": {"total": 10, "completed": 4, "failed": 6}},
        {"output_file_id": None, "error_file_id": "none", "request_counts": None},
        {"status": None},
        {"status": {}},
    ],
)
def test_a_paid_batch_is_kept_whatever_its_state_says(
    stub: BatchStub, path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object]
) -> None:
    monkeypatch.setattr(batch, "PATIENCE", 3)
    stub.spelt = lambda content: _changed(content, **fields)
    said = ask(chat(stub, path), path)
    assert replies(said) == []
    assert "stays in the ledger" in str(said[0])
    assert left(path, chat(stub, path)) == 10
    stub.spelt = bytes
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]


@pytest.mark.parametrize(
    "listed",
    [
        {"text": '{"data": null}'},
        {"text": '{"data": "none"}'},
        {"text": '{"data": [7]}'},
        {"text": '{"id": "list"}'},
        {"text": '{"data": [{"id": "batch_9"}], "has_more": true}'},
        {"text": '{"data": [{"id": "../9"}], "has_more": true}'},
        {"text": "<html>Maintenance</html>", "content_type": "text/html"},
        {"text": FORBIDDEN, "status": 403},
        {"text": "not found", "status": 404},
    ],
)
def test_a_batch_that_was_made_is_looked_for_until_a_list_can_be_read(
    stub: BatchStub, path: Path, monkeypatch: pytest.MonkeyPatch, listed: dict[str, object]
) -> None:
    """On a server that keeps no marks: the next run finds it by its file."""
    monkeypatch.setattr(batch, "PATIENCE", 3)
    stub.markless, stub.lose = True, 1
    stub.gate = lambda request, answer: (
        answers(**listed) if request.method == "GET" and request.path.endswith("/batches") else answer
    )
    said = ask(chat(stub, path), path)
    assert "stays in the ledger" in str(said[0])
    assert left(path, chat(stub, path)) == 10
    stub.gate = lambda _, answer: answer
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]
    assert set(stub.paid.values()) == {1}


def test_a_batch_that_is_gone_keeps_no_other_from_being_fetched(
    stub: BatchStub, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_format, "MOST_REQUESTS", 4)
    stub.hold = True
    ask(chat(stub, path), path, until=lambda: stub.looks > 3)
    stub.hold = False
    del stub.batches["batch_0"]
    said = ask(chat(stub, path), path)
    assert len(replies(said)) == 6
    assert "batches/batch_0 is not served there" in str(said)
    assert "prune --batches" in str(said)
    assert "ask directly" not in str(said)
    assert (stub.sizes, left(path, chat(stub, path))) == ([4, 4, 2], 4)


def test_what_is_asked_after_its_batch_was_fetched_is_not_paid_again(stub: BatchStub, path: Path) -> None:
    stub.hold = True
    ask(chat(stub, path), path, until=lambda: stub.looks > 1)
    stub.hold = False

    async def one_after_another() -> list[Reply]:
        model = chat(stub, path)
        try:
            return [await model.ask(each) for each in QUERIES]
        finally:
            await model.close()

    assert len(asyncio.run(one_after_another())) == 10
    assert stub.sizes == [10]
    assert set(stub.paid.values()) == {1}


SECRETS = [base64.b64encode(f"({KEY})".encode()).decode().strip("="), KEY.upper()]


@pytest.mark.parametrize(
    "name", ["..", ".", "../files", "a/b", "a%2fb", "a?b=c", "a#b", "a b", "a\nb", "a\r\nb", "é", "x" * 1001, *SECRETS]
)
@pytest.mark.parametrize("which", ["file-0", "batch_0", "file-1"])
def test_no_name_of_a_batch_or_a_file_leads_elsewhere_or_is_kept_with_the_key(
    stub: BatchStub, path: Path, monkeypatch: pytest.MonkeyPatch, name: str, which: str
) -> None:
    monkeypatch.setattr(batch, "PATIENCE", 2)
    monkeypatch.setattr(batch, "TRIES", 1)
    stub.spelt = lambda content: content.replace(f'"{which}"'.encode(), json.dumps(name).encode())
    said = ask(chat(stub, path), path)
    assert all(
        (isinstance(each, FairgateError) and "which is no id" in str(each)) or "the key" in str(each) for each in said
    )
    known = r"/v1/(files(/file-\d/content)?|batches(\?limit=100|/batch_\d)?)"
    assert not [each for each in stub.paths if not re.fullmatch(known, each)]
    for secret in (KEY, *SECRETS):
        assert secret not in str(said)
        assert not [each for each in path.parent.iterdir() if secret.encode() in each.read_bytes()]


def test_batches_are_listed_behind_a_gateway_whose_address_has_a_query(stub: BatchStub, path: Path) -> None:
    stub.lose = 1
    asked = OpenAIChat("tiny", Server(f"{stub.base_url}?tenant=one", KEY, retries=Retries(attempts=1)))
    assert len(replies(ask(BatchChat(asked, path, quiet=0.02, poll=0.02), path))) == 10
    assert "/v1/batches?limit=100&tenant=one" in stub.paths
    assert stub.sizes == [10]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b'"status_code":200,', b""),
        lambda content: content.replace(b'"status_code":200,', b'"status_code":"200",'),
        lambda content: content.replace(b'"error":null', b'"error":"none"'),
        lambda content: content + b"\n" + re.sub(rb'"response":.*?,"error":null', b'"error":"late"', content),
        lambda content: content.replace(b"\n", b"\r\n\r\n \n") + b"\n\n",
    ],
)
def test_no_odd_field_of_a_line_loses_its_reply(stub: BatchStub, path: Path, change: Callable[[bytes], bytes]) -> None:
    stub.spelt = lambda content: change(content) if b'"custom_id"' in content else content
    assert len(replies(ask(chat(stub, path), path))) == 10
    assert stub.sizes == [10]
