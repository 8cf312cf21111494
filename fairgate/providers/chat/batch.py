"""`--batch`: queries asked through OpenAI's batch format, at half the price and within a day, and never paid twice.

Works with every server that has OpenAI's endpoints for files and batches.

Requests are collected until no new one has come for a moment, and are then sent as one batch. Single queries make one
batch; conversations take one batch a turn. The content of a batch is in the ledger before it is sent, and the batch has
its mark: a run that was killed finds the batch again, in whatever state, and goes on waiting for it.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from fairgate.core.domain import Reply
from fairgate.core.errors import CallFailed, FairgateError, RunStopped
from fairgate.ledger.ledger import Ledger, sample_key
from fairgate.providers.endpoint import Filtered
from fairgate.providers.fields import parsed_json
from fairgate.providers.retries import TransientError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairgate.core.domain import Identity, Query
    from fairgate.providers.chat.openai import OpenAIChat

# The provider's limits of one batch.
MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
LONGEST_FILE = 2**30  # bytes of the replies of one batch; one file is fetched at a time
QUIET = 0.5  # seconds without a new query, after which those that wait are sent
POLL = 30.0  # seconds between two looks at a batch
TRIES = 6  # to make a batch, with a look in between whether it was made after all
PATIENCE = 20  # looks in a row that may fail
PAGES = 50  # of a list of batches, a hundred each
ENDED = ("completed", "failed", "expired", "cancelled")
MARK = "fairgate"


class _Sent:
    """A batch: `id` is ours, `remote` the provider's, None while it is not known whether it has one."""

    def __init__(self, id: str, remote: str | None, keys: frozenset[bytes]) -> None:  # noqa: A002 - its name
        self.id, self.remote, self.keys = id, remote, keys
        self._failures = 0

    def name(self, remote: str, ledger: Ledger) -> None:
        """The provider has it, by this name."""
        self.remote = remote
        ledger.batches.name(self.id, remote)

    def look(self, *, failed: bool) -> bool:
        """A look at it failed, or did not: whether that is borne no longer."""
        self._failures = self._failures + 1 if failed else 0
        return self._failures >= PATIENCE


class BatchChat:
    """An OpenAI-compatible model, asked in batches. The ledger is that into which the replies go."""

    def __init__(self, chat: OpenAIChat, ledger: Path, *, quiet: float = QUIET, poll: float = POLL) -> None:
        self._chat, self._path = chat, ledger
        self._quiet, self._poll = quiet, poll
        self._waiting: dict[bytes, asyncio.Future[Reply]] = {}
        self._queries: dict[bytes, Query] = {}
        self._new: set[bytes] = set()
        self._sent: list[_Sent] = []
        self._keeping: asyncio.Task[None] | None = None
        self._ledger: Ledger | None = None
        self._problem: FairgateError | None = None
        self._refused: FairgateError | None = None

    def __repr__(self) -> str:
        """As that of the model behind it."""
        return f"BatchChat({self._chat!r})"

    @property
    def identity(self) -> Identity:
        """That of the model: a reply is the same however it was asked for."""
        return self._chat.identity

    async def ask(self, query: Query) -> Reply:
        """The model's reply to this query, when its batch is done."""
        if self._problem is not None:
            raise self._problem
        if self._keeping is None:
            self._ledger = Ledger(self._path, make=False)
            self._sent = [_Sent(*each) for each in self._ledger.batches.of(self.identity)]
            self._keeping = asyncio.create_task(self._keep(self._ledger))
        key = sample_key(self.identity, query)
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[key], self._queries[key] = reply, query
        if not any(key in each.keys for each in self._sent):
            self._new.add(key)
        try:
            return await reply
        finally:
            del self._waiting[key], self._queries[key]
            self._new.discard(key)

    async def close(self) -> None:
        """Give everything back; batches that are not done go on, and the next run fetches them."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            with ledger:
                ledger.batches.settle()
        await self._chat.close()

    async def _keep(self, ledger: Ledger) -> None:
        """Send and fetch, for as long as anybody asks."""
        loop = asyncio.get_running_loop()
        seen, looked = 0, -self._poll
        try:
            while True:
                await asyncio.sleep(self._quiet)
                # What was fetched in the last turn is stored by now.
                ledger.batches.settle()
                if self._refused is not None and not self._sent:
                    return self._end(self._refused)
                waiting = len(self._new)
                if waiting and waiting == seen and self._refused is None:
                    try:
                        await self._send(ledger)
                    except FairgateError as problem:
                        # What is in other batches is paid for: it is fetched before the run ends.
                        self._refused = problem
                    waiting = 0
                seen = waiting
                if self._sent and loop.time() - looked >= self._poll:
                    looked = loop.time()
                    for sent in list(self._sent):
                        await self._look(sent, ledger)
        except FairgateError as problem:
            self._end(problem)
        except Exception as error:  # noqa: BLE001 - no caller may wait for a finished task
            self._end(RunStopped(f"the batches broke: {type(error).__name__}: {error}."))

    def _end(self, problem: FairgateError) -> None:
        self._problem = problem
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(problem)

    # Sending

    async def _send(self, ledger: Ledger) -> None:
        asked = {key: self._chat.body(self._queries[key]) for key in sorted(self._new)}
        self._new.clear()
        for part in _parts(asked):
            sent = _Sent(uuid.uuid4().hex, None, frozenset(part))
            # Before anything is sent: whatever happens from here on, the next run looks for it.
            ledger.batches.plan(sent.id, self.identity, part)
            self._sent.append(sent)
            lines = b"".join(_line(key, asked[key]) for key in part)
            try:
                file = await self._call("POST", "files", *_upload(lines))
            except FairgateError as problem:
                # No batch can be made of it: who asks directly now pays for nothing twice.
                ledger.batches.drop(sent.keys)
                self._sent.remove(sent)
                if not isinstance(problem, CallFailed):
                    raise
                what = f"the batch's file of {len(part):,} queries was not taken: {problem.what}"
                raise RunStopped(what, where=problem.where, hint="Ask directly: without --batch.") from None
            sent.name(await self._made(sent.id, self._id(file)), ledger)

    async def _made(self, mark: str, file: str) -> str:
        """The new batch's id. A request that failed may still have made one: it is looked for before the next try."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {MARK: mark},
        }
        for attempt in range(TRIES):
            try:
                made = await self._call("POST", "batches", msgspec.json.encode(body), attempts=1)
                return self._id(made)
            except CallFailed as failure:
                if attempt == TRIES - 1:
                    raise RunStopped(failure.what, where=failure.where, hint="Nothing was paid for.") from None
            await asyncio.sleep(self._quiet * 2**attempt)
            if (found := await self._found(mark, file)) is not None:
                return found
        raise AssertionError("unreachable")

    async def _found(self, mark: str, file: str | None = None) -> str | None:
        """The batch with this mark, or of this file, as not every server keeps marks; None where there is none."""
        after = ""
        for _ in range(PAGES):
            page = await self._call("GET", f"batches?limit=100{after}")
            listed = page.get("data")
            held = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
            for each in held:
                marked = each.get("metadata")
                known = isinstance(marked, dict) and marked.get(MARK) == mark
                if known or (file is not None and each.get("input_file_id") == file):
                    return self._id(each)
            if not held or not page.get("has_more"):
                return None
            after = f"&after={quote(self._id(held[-1]), safe='')}"
        return None

    # Fetching

    async def _look(self, sent: _Sent, ledger: Ledger) -> None:
        try:
            if sent.remote is None and (remote := await self._found(sent.id)) is not None:
                sent.name(remote, ledger)
            if sent.remote is None:
                # The run that planned it died before it was made.
                self._forget(sent, ledger)
                return
            batch = await self._call("GET", f"batches/{quote(sent.remote, safe='')}")
            if batch.get("status") in ENDED:
                await self._fetch(sent, batch, ledger)
            sent.look(failed=False)
        except CallFailed as failure:
            # A provider that is away for a while keeps the batch.
            if sent.look(failed=True):
                hint = "The batch goes on; run again, and its replies are fetched."
                raise RunStopped(failure.what, where=failure.where, hint=hint) from None

    def _forget(self, sent: _Sent, ledger: Ledger) -> None:
        """Send again what was waited for and never sent."""
        self._sent.remove(sent)
        ledger.batches.drop(sent.keys)
        self._new |= sent.keys & self._waiting.keys()

    async def _fetch(self, sent: _Sent, batch: dict[str, Any], ledger: Ledger) -> None:
        outcomes: dict[bytes, Reply | FairgateError] = {}
        for name in ("output_file_id", "error_file_id"):
            if batch.get(name):
                content = await self._chat.endpoint.call(
                    "GET", f"files/{quote(str(batch[name]), safe='')}/content", _whole, longest=LONGEST_FILE
                )
                if isinstance(content, bytes):
                    outcomes.update(self._outcomes(content))
        self._sent.remove(sent)
        status = batch["status"]
        refused = None
        if status == "failed" and not outcomes:
            said = _complaints(batch.get("errors"))
            hint = "Mend it, or ask directly: without --batch."
            refused = RunStopped(
                f"the batch was refused: {self._show(said)}", where=self._chat.identity.label, hint=hint
            )
        lost = CallFailed(f"its batch ended ({status}) without a reply to it.", where=self._chat.identity.label)
        failed = [key for key in sent.keys if not isinstance(outcomes.get(key), Reply)]
        ledger.batches.drop(failed)
        # Replies first: they are stored before an error ends the run.
        for key in sorted(sent.keys & self._waiting.keys(), key=lambda key: not isinstance(outcomes.get(key), Reply)):
            outcome, reply = outcomes.get(key, refused or lost), self._waiting[key]
            if reply.done():
                continue
            if isinstance(outcome, Reply):
                reply.set_result(outcome)
            else:
                reply.set_exception(outcome)

    def _outcomes(self, content: bytes) -> Iterator[tuple[bytes, Reply | FairgateError]]:
        for line in content.splitlines():
            try:
                said: Any = parsed_json(line)
                yield bytes.fromhex(said["custom_id"]), self._outcome(said)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                # A line that cannot be read is one that is missing.
                continue

    def _outcome(self, said: dict[str, Any]) -> Reply | FairgateError:
        response = said.get("response") or {}
        status, body = response.get("status_code"), response.get("body")
        if status is None:
            error = said.get("error") or {}
            what = self._show(f"{error.get('code')}: {error.get('message')}")
            return CallFailed(f"the batch has no reply to it ({what}).", where=self._chat.identity.label)
        content = json.dumps(body).encode()  # with halves of characters, as they are read
        if 200 <= status < 300:
            reply = self._chat.read(content, 0.0, 1)
            reply = reply and self._chat.endpoint.redaction.clean(reply)
            return reply or CallFailed("no choices in the answer.", where=self._chat.identity.label)
        judged = self._chat.endpoint.classified(status, content, {}, 0.0, 1)
        if isinstance(judged, Filtered):
            return Reply("", filtered=True)
        return (
            CallFailed(f"{judged}.", where=self._chat.identity.label) if isinstance(judged, TransientError) else judged
        )

    def _id(self, answer: dict[str, Any]) -> str:
        found = answer.get("id")
        if not isinstance(found, str) or not found:
            raise CallFailed("the answer names no id.", where=self._chat.identity.label)
        return found

    def _show(self, text: str) -> str:
        return self._chat.endpoint.redaction.show(text)

    async def _call(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json", attempts: int = 0
    ) -> dict[str, Any]:
        answered = await self._chat.endpoint.call(method, path, _object, body, kind, attempts)
        if isinstance(answered, Filtered):
            raise CallFailed(f"the server's filter refused {path}.", where=self._chat.identity.label)
        return answered


def _parts(asked: dict[bytes, bytes]) -> Iterator[list[bytes]]:
    """The keys, in parts that one batch may hold."""
    part: list[bytes] = []
    size = 0
    for key, body in asked.items():
        line = len(_line(key, body))
        if part and (len(part) == MOST_REQUESTS or size + line > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(key)
        size += line
    if part:
        yield part


def _line(key: bytes, body: bytes) -> bytes:
    head = f'{{"custom_id":"{key.hex()}","method":"POST","url":"/v1/chat/completions","body":'
    return head.encode() + body + b"}\n"


def _upload(lines: bytes) -> tuple[bytes, str]:
    """A form with the file in it, and its content type."""
    fence = uuid.uuid4().hex
    head = (
        f'--{fence}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{fence}\r\nContent-Disposition: form-data; name="file"; filename="fairgate.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return head.encode() + lines + f"\r\n--{fence}--\r\n".encode(), f"multipart/form-data; boundary={fence}"


def _complaints(errors: object) -> str:
    """Why a batch failed, in whatever shape its server says so."""
    listed = (errors.get("data") or errors) if isinstance(errors, dict) else errors
    each = listed if isinstance(listed, list) else [listed]
    said = [str(one.get("message") if isinstance(one, dict) else one) for one in each if one]
    return "; ".join(said) or "no reason was given"


def _object(content: bytes, _latency: float, _number: int) -> dict[str, Any] | None:
    try:
        said = parsed_json(content)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and ("id" in said or "data" in said) else None


def _whole(content: bytes, _latency: float, _number: int) -> bytes:
    return content
