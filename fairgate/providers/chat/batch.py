"""`--batch`: queries asked through OpenAI's batch format, at half the price and within a day, and never paid twice.

Works with every server that has OpenAI's endpoints for files and batches.

Requests are collected until no new one has come for a moment, and are then sent as one batch. Single queries make one
batch; conversations take one batch a turn. The content of a batch is in the ledger before it is sent, and the batch has
its mark: a run that was killed finds the batch again, in whatever state, and goes on waiting for it.

A batch leaves the ledger when its replies are stored, when its server says that the rest of it was not answered, or
when a list of the server's batches lacks it. Any other answer is a look that failed, and the batch is looked for again.
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
from fairgate.core.redaction import EXAMINED
from fairgate.ledger.ledger import Ledger, sample_key
from fairgate.providers.chat import batch_format
from fairgate.providers.endpoint import Filtered
from fairgate.providers.fields import billed, parsed_json
from fairgate.providers.retries import TransientError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from fairgate.core.domain import Identity, Query
    from fairgate.providers.chat.openai import OpenAIChat

LONGEST_FILE = 2**30  # bytes of the replies of one batch; one file is fetched at a time
QUIET = 0.5  # seconds without a new query, after which those that wait are sent
POLL = 30.0  # seconds between two looks at a batch
TRIES = 6  # to make a batch, with a look after each whether it was made after all
PATIENCE = 20  # looks in a row that may fail
PAGES = 50  # of a list of batches, a hundred each
PAGE = 100
ENDED = ("completed", "failed", "expired", "cancelled")
MARK = "fairgate"
INPUT = "input/"  # before the name of a batch's file, which stands in the ledger until the batch has a name
DIRECTLY = "Where the server has no batches: ask directly, without --batch."
KEPT = (
    "The batch stays in the ledger: run again with --batch, and its replies are fetched. Where they are lost for good, "
    "`fairgate ledger … prune --batches` forgets it, and it is paid for again."
)

Outcome = Reply | FairgateError


class _Sent:
    """A batch: `id` is ours, `remote` the provider's, None while it is not known whether it has one.

    `file` is the provider's name of its requests, None while unknown; `keys` are the samples without an outcome.
    """

    def __init__(self, id: str, remote: str | None, keys: frozenset[bytes]) -> None:  # noqa: A002 - its name
        named = remote if isinstance(remote, str) else None
        uploaded = named is not None and named.startswith(INPUT)
        self.id, self.keys = id, keys
        self.file = named.removeprefix(INPUT) if named and uploaded else None
        self.remote = None if uploaded else named
        self.known = False  # the provider answered for it in this run
        self.whole = False  # its file of replies was read, every line of it
        self.read: set[bytes] = set()  # keys of lines in its files, whosever
        self.fetched = False  # an outcome came
        self._failures = 0

    def upload(self, file: str, ledger: Ledger) -> None:
        """The provider has its requests, by this name."""
        self.file = file
        ledger.batches.name(self.id, f"{INPUT}{file}")

    def name(self, remote: str, ledger: Ledger) -> None:
        """The provider has it, by this name."""
        self.remote = remote
        ledger.batches.name(self.id, remote)
        self.see()

    def see(self) -> None:
        """The provider answered for it."""
        self.known = True

    def take(self, read: Collection[bytes], *, whole: bool) -> frozenset[bytes]:
        """One of its files has an outcome of these samples; `whole`: it is that of the replies, and was read whole.

        Those samples of the batch that had no outcome before.
        """
        ours = self.keys.intersection(read)
        self.keys -= ours
        self.read.update(read)
        self.fetched = self.fetched or bool(ours)
        self.whole = self.whole or (whole and bool(ours))
        return ours

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
        # Of samples that nobody waited for when their batch was fetched, or given up.
        self._known: dict[bytes, Outcome] = {}
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
        known = self._known.get(key)
        if isinstance(known, FairgateError):
            raise known
        if known is not None:
            return known
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
                if self._refused is not None and all(each.keys.isdisjoint(self._waiting) for each in self._sent):
                    return self._end(self._refused)
                waiting = len(self._new)
                if waiting and waiting == seen and self._refused is None:
                    try:
                        await self._send(ledger)
                    except FairgateError as problem:
                        # What is in other batches is paid for: it is fetched before the run ends.
                        self._refused = _with_hint(problem)
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
        for part in batch_format.parts(asked):
            sent = _Sent(uuid.uuid4().hex, None, frozenset(part))
            # Before anything is sent: whatever happens from here on, the next run looks for it.
            ledger.batches.plan(sent.id, self.identity, part)
            self._sent.append(sent)
            lines = b"".join(batch_format.line(key, asked[key]) for key in part)
            try:
                file = self._id((await self._call("POST", "files", *batch_format.upload(lines))).get("id"))
            except FairgateError as problem:
                # No batch can be made of it: who asks directly now pays for nothing twice.
                ledger.batches.drop(sent.keys)
                self._sent.remove(sent)
                if not isinstance(problem, CallFailed):
                    raise
                what = f"the batch's file of {len(part):,} queries was not taken: {problem.what}"
                raise RunStopped(what, where=problem.where, hint="Ask directly: without --batch.") from None
            sent.upload(file, ledger)
            sent.name(await self._made(sent.id, file), ledger)

    async def _made(self, mark: str, file: str) -> str:
        """The new batch's id. A request that failed may still have made one: it is looked for after each try."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {MARK: mark},
        }
        said = ""
        for attempt in range(TRIES):
            try:
                made = await self._call("POST", "batches", msgspec.json.encode(body), attempts=1)
                return self._id(made.get("id"))
            except CallFailed as failure:
                said = failure.what
            await asyncio.sleep(self._quiet * 2**attempt)
            if (found := await self._found(mark, file)) is not None:
                return found
        hint = "The server's list of batches lacks it: run again, or ask directly, without --batch."
        raise RunStopped(f"no batch was made: {said}", where=self._chat.identity.label, hint=hint)

    async def _found(self, mark: str, file: str | None) -> str | None:
        """The batch with this mark, or of this file, as not every server keeps marks; None where the server lists
        its batches, and it is not among them. Raises CallFailed where the list cannot be read to its end.
        """
        after: str | None = None
        for _ in range(PAGES):
            onward = "" if after is None else f"&after={quote(after, safe='')}"
            page = await self._call("GET", f"batches?limit={PAGE}{onward}")
            listed = page.get("data")
            if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
                raise self._failed("the answer is no list of batches.")
            for each in listed:
                marked = each.get("metadata")
                known = isinstance(marked, dict) and marked.get(MARK) == mark
                if known or (file is not None and each.get("input_file_id") == file):
                    return self._id(each.get("id"))
            more = page.get("has_more")
            if not listed or not (more if isinstance(more, bool) else len(listed) >= PAGE):
                return None
            before, after = after, self._id(listed[-1].get("id"))
            if before == after:
                raise self._failed("the list of batches has the same page again and again.")
        raise self._failed(f"it is not known whether the batch was made: it is not among the newest {PAGES * PAGE:,}.")

    # Fetching

    async def _look(self, sent: _Sent, ledger: Ledger) -> None:
        try:
            await self._look_once(sent, ledger)
        except (CallFailed, RunStopped) as failure:
            # A provider that is away for a while keeps the batch. What was never answered in this run is refused.
            refused = isinstance(failure, RunStopped) and not sent.known
            if sent.look(failed=True) or refused:
                self._give_up(sent, failure)
        else:
            sent.look(failed=False)

    async def _look_once(self, sent: _Sent, ledger: Ledger) -> None:
        if sent.remote is None:
            found = await self._found(sent.id, sent.file)
            if found is None:
                # The run that planned it died before it was made.
                return self._forget(sent, ledger)
            sent.name(found, ledger)
        batch = await self._call("GET", f"batches/{quote(self._id(sent.remote), safe='')}")
        sent.see()
        status = batch.get("status")
        if not isinstance(status, str):
            raise self._failed("the answer does not say how far the batch is.")
        if status.lower() in ENDED:
            await self._fetch(sent, status.lower(), batch, ledger)
        return None

    def _forget(self, sent: _Sent, ledger: Ledger) -> None:
        """Send again what was waited for and never sent."""
        self._sent.remove(sent)
        ledger.batches.drop(sent.keys)
        self._new |= sent.keys & self._waiting.keys()

    def _give_up(self, sent: _Sent, failure: FairgateError) -> None:
        """Look for it no more in this run. The ledger keeps it: nobody pays for it again, and the next run looks."""
        self._sent.remove(sent)
        hint = f"{failure.hint} {KEPT}" if failure.hint else KEPT
        waiting = sent.keys & self._waiting.keys()
        if waiting and not sent.fetched:
            # What is in other batches is paid for, too: it is fetched before the run ends.
            self._refused = RunStopped(failure.what, where=failure.where, hint=hint)
            return
        lost = CallFailed(failure.what, where=failure.where, hint=hint)
        self._known.update(dict.fromkeys(sent.keys, lost))
        for key in waiting:
            self._hand_on(key, lost)

    async def _fetch(self, sent: _Sent, status: str, batch: dict[str, Any], ledger: Ledger) -> None:
        """Take what its files hold; whatever is left of it then was not answered, or the look failed."""
        output, errors = batch.get("output_file_id"), batch.get("error_file_id")
        if output:
            await self._take(sent, output, ledger, replies=True)
        said = ""
        if errors and sent.keys:
            try:
                await self._take(sent, errors, ledger, replies=False)
            except (CallFailed, RunStopped) as failure:
                # It says why requests failed, which nobody paid for.
                said = f" Its file of errors: {failure.what}"
        told = batch_format.completed(batch)
        # Where the server counts no replies, its file of errors is what tells of the others.
        explained = status != "completed" or bool(output and said)
        missing = told > len(sent.read) if told is not None else not explained
        unread = bool(output) and not sent.whole
        if sent.keys and (missing or unread):
            which = f"{len(sent.keys):,} of its replies" if sent.fetched else "its replies"
            where = "the files that it names lack them" if output or errors else "it names no file of replies"
            raise self._failed(f"the batch has ended ({status}), and {which} cannot be read: {where}.{said}")
        self._sent.remove(sent)
        ledger.batches.drop(sent.keys)
        outcome: FairgateError = self._failed(f"its batch ended ({status}) without a reply to it.{said}")
        if status == "failed" and not sent.fetched:
            why = self._show(batch_format.complaints(batch.get("errors")))
            hint = "Fix it, or ask directly: without --batch."
            outcome = RunStopped(f"the batch was refused: {why}", where=self._chat.identity.label, hint=hint)
        for key in sent.keys & self._waiting.keys():
            self._hand_on(key, outcome)

    async def _take(self, sent: _Sent, file: object, ledger: Ledger, *, replies: bool) -> None:
        """Hand on what a file of the batch holds: that of its replies, or that of its errors."""
        path = f"files/{quote(self._id(file), safe='')}/content"
        content = await self._chat.endpoint.call("GET", path, _whole, longest=LONGEST_FILE)
        if isinstance(content, Filtered):
            raise self._failed(f"the server's filter refused {self._show(path)} ({content.said}).")
        outcomes, whole = self._outcomes(content)
        ours = sent.take(outcomes, whole=whole and replies)
        if not sent.fetched:
            begin = self._show(content[: 2 * EXAMINED].decode("utf-8", "replace")) or "it is empty"
            raise self._failed(f"{self._show(path)} holds no reply to the batch: {begin}.")
        ledger.batches.drop([key for key in ours if not isinstance(outcomes[key], Reply)])
        # Replies first: they are stored before an error ends the run.
        for key in sorted(ours, key=lambda key: not isinstance(outcomes[key], Reply)):
            self._hand_on(key, outcomes[key])

    def _hand_on(self, key: bytes, outcome: Outcome) -> None:
        reply = self._waiting.get(key)
        if reply is None and isinstance(outcome, Reply):
            self._known[key] = outcome
        if reply is None or reply.done():
            return
        if isinstance(outcome, Reply):
            reply.set_result(outcome)
        else:
            reply.set_exception(outcome)

    def _outcomes(self, content: bytes) -> tuple[Mapping[bytes, Outcome], bool]:
        """What a file says of each sample, and whether all of it could be read."""
        found: dict[bytes, Outcome] = {}
        whole = True
        for line in batch_format.read_lines(content):
            try:
                key, outcome = (b"", None) if line is None else (line[0], self._outcome(line[1]))
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                outcome = None
            if outcome is None:
                # A line that cannot be read is one that is missing.
                whole = False
            elif not isinstance(found.get(key), Reply):
                found[key] = outcome
        return found, whole

    def _outcome(self, said: dict[str, Any]) -> Outcome | None:
        """What a line says: a reply, or why there is none; None where it says neither."""
        response = said.get("response") or {}
        status, body = response.get("status_code"), response.get("body")
        content = json.dumps(body).encode()  # with halves of characters, as they are read
        if not isinstance(status, int) or status < 400:
            reply = self._chat.read(content, 0.0, 1) if isinstance(body, dict) else None
            if reply is not None:
                return self._chat.endpoint.redaction.clean(reply)
            if isinstance(body, dict) and status is not None:
                return CallFailed("no choices in the answer.", where=self._chat.identity.label, tokens=billed(body))
            error = said.get("error")
            if not error:
                return None
            known = error if isinstance(error, dict) else {"message": error}
            what = self._show(": ".join(str(known[each]) for each in ("code", "message") if each in known))
            return self._failed(f"the batch has no reply to it ({what}).")
        judged = self._chat.endpoint.classified(status, content, {}, 0.0, 1)
        if isinstance(judged, Filtered):
            return judged.reply
        return self._failed(f"{judged}.") if isinstance(judged, TransientError) else judged

    def _id(self, found: object) -> str:
        """A server's name of a batch or a file, as it is kept and put into an address. Raises CallFailed."""
        if not isinstance(found, str) or not batch_format.is_id(found):
            raise self._failed(f"the server names a batch or a file {self._show(repr(found))}, which is no id.")
        if self._chat.endpoint.redaction.hide(found) != found:
            raise self._failed("the server's name of a batch or a file holds the key.")
        return found

    def _failed(self, what: str) -> CallFailed:
        return CallFailed(what, where=self._chat.identity.label)

    def _show(self, text: str) -> str:
        return self._chat.endpoint.redaction.show(text)

    async def _call(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json", attempts: int = 0
    ) -> dict[str, Any]:
        answered = await self._chat.endpoint.call(method, path, _object, body, kind, attempts)
        if isinstance(answered, Filtered):
            raise self._failed(f"the server's filter refused {self._show(path)} ({answered.said}).")
        return answered


def _with_hint(problem: FairgateError) -> FairgateError:
    bare = isinstance(problem, RunStopped) and not problem.hint
    return RunStopped(problem.what, where=problem.where, hint=DIRECTLY) if bare else problem


def _object(content: bytes, _latency: float, _number: int) -> dict[str, Any] | None:
    try:
        said = parsed_json(content)
    except ValueError:
        return None
    return said if isinstance(said, dict) and ("id" in said or "data" in said) else None


def _whole(content: bytes, _latency: float, _number: int) -> bytes:
    return content
