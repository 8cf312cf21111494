"""A chat server that also works off batches, as OpenAI's API does: files, batches, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from collections.abc import Callable

API = re.compile(r"(?:/openai)?/v1/(files|batches)(?:/([\w-]+))?(/content)?")


class BatchStub(ChatStub):
    """`paid` counts the prompts that a batch answered, `sizes` the requests of each batch.

    `hold`: batches stay in progress. `rejects` says of a prompt whether its line is an error. `ends` is the status that
    batches end with: of an expired one every second line was answered. `lose` makes so many batches without saying so.
    `markless` forgets marks. `counts`: batches say how many of their requests were answered. `too_large` refuses every
    file, `most_files` those after so many. `spelt` is how an answer or a file goes out, `errors` what is wrong with a
    batch that failed. `gate` is a gateway before the server: it is given each request and its answer, and says what
    goes out. `paths` are what was asked for.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.hold = False
        self.rejects: Callable[[str], bool] = lambda _: False
        self.ends = "completed"
        self.lose = self.fail_polls = 0
        self.too_large = self.markless = False
        self.counts = True
        self.most_files: int | None = None
        self.errors: object = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
        self.spelt: Callable[[bytes], bytes] = bytes
        self.gate: Callable[[web.BaseRequest, web.StreamResponse], web.StreamResponse] = lambda _, answer: answer
        self.paths: list[str] = []
        self.paid: Counter[str] = Counter()
        self.sizes: list[int] = []
        self.looks = 0
        self.batches: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.paths.append(request.raw_path)
        found = API.fullmatch(request.path)
        if found is None:
            return await super()._handle(request)
        self.in_flight += 1
        try:
            body = await request.content.read()  # a whole plan has more than the 1 MiB that `read` takes
            self.last_headers = request.headers
            refusal = self._refusal(request, self.model or "")
            if refusal is not None:
                return await self._fail(request, refusal)
            kind, name, content = found.groups()
            if kind == "files":
                return self.gate(request, self._file(request, body, name, content))
            return self.gate(request, await self._batch(request, body, name))
        finally:
            self.in_flight -= 1

    def _file(self, request: web.BaseRequest, body: bytes, name: str | None, content: str | None) -> web.Response:
        if request.method == "POST":
            if self.too_large or (self.most_files is not None and len(self.files) >= self.most_files):
                return web.Response(status=413, text="Request Entity Too Large")
            lines = body.partition(b"application/jsonl\r\n\r\n")[2].rpartition(b"\r\n--")[0]
            assert b'name="purpose"\r\n\r\nbatch' in body
            return self._json(self._kept(lines))
        assert content
        if name not in self.files:
            return web.Response(status=404, text="no such file")
        return web.Response(body=self.spelt(self.files[name]), content_type="application/octet-stream")

    def _kept(self, content: bytes) -> dict[str, Any]:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return {"id": name, "object": "file", "purpose": "batch"}

    async def _batch(self, request: web.BaseRequest, body: bytes, name: str | None) -> web.StreamResponse:
        if request.method == "POST":
            asked = msgspec.json.decode(body)
            assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
            name = f"batch_{len(self.batches)}"
            self.batches[name] = {"id": name, "status": "in_progress", **asked}
            if self.markless:
                self.batches[name]["metadata"] = None
            self.sizes.append(len(self.files[asked["input_file_id"]].splitlines()))
            if self.lose:
                self.lose -= 1
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()
        elif name is None:
            # Two to a page, the newest first.
            names = sorted(self.batches, key=lambda each: int(each[6:]), reverse=True)
            start = names.index(request.query["after"]) + 1 if "after" in request.query else 0
            page = names[start : start + 2]
            more = bool(names[start + 2 :])
            return self._json({"object": "list", "data": [self.batches[each] for each in page], "has_more": more})
        elif name not in self.batches:
            return web.Response(status=404, text="no such batch")
        else:
            self.looks += 1
            if self.fail_polls:
                self.fail_polls -= 1
                return web.Response(status=503)
            if not self.hold and self.batches[name]["status"] == "in_progress":
                self._work_off(self.batches[name])
        await asyncio.sleep(0)
        return self._json(self.batches[name])

    def _work_off(self, batch: dict[str, Any]) -> None:
        batch["status"] = self.ends
        if self.ends == "failed":
            batch["errors"] = self.errors
            return
        answered, refused = [], []
        for number, line in enumerate(self.files[batch["input_file_id"]].splitlines()):
            asked = msgspec.json.decode(line)
            assert (asked["method"], asked["url"]) == ("POST", "/v1/chat/completions")
            prompt = asked["body"]["messages"][-1]["content"]
            if self.ends == "expired" and number % 2:
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                refused.append({"custom_id": asked["custom_id"], "response": None, "error": error})
            elif self.rejects(prompt):
                body = {"error": {"message": "Too long", "code": "context_length_exceeded", "param": "messages"}}
                response = {"status_code": 400, "request_id": "r", "body": body}
                refused.append({"custom_id": asked["custom_id"], "response": response, "error": None})
            else:
                self.paid[prompt] += 1
                whole = msgspec.json.decode(self._answer(asked["body"]["model"], prompt))
                response = {"status_code": 200, "request_id": "r", "body": whole}
                answered.append({"id": "x", "custom_id": asked["custom_id"], "response": response, "error": None})
        if self.counts:
            batch["request_counts"] = {"completed": len(answered), "failed": len(refused)}
        for field, lines in (("output_file_id", answered), ("error_file_id", refused)):
            batch[field] = self._kept(b"\n".join(map(msgspec.json.encode, lines)))["id"] if lines else None

    def _json(self, shown: object) -> web.Response:
        return web.Response(body=self.spelt(msgspec.json.encode(shown)), content_type="application/json")
