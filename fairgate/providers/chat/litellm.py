"""`litellm/PROVIDER/NAME`: whatever else LiteLLM reaches. An extra, imported when it is named and never before."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from fairgate.core.domain import Form, Identity, Reply
from fairgate.core.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.core.redaction import Redaction, of_environment
from fairgate.providers.chat.anthropic import read_message
from fairgate.providers.chat.http_chat import PLAIN, RESPONSE_FORMAT, Body
from fairgate.providers.chat.logprobs import FIELDS as LOGPROBS
from fairgate.providers.chat.logprobs import read_tokens
from fairgate.providers.chat.openai import SCHEMA, read_completion
from fairgate.providers.endpoint import LONGEST, Filtered, with_unread
from fairgate.providers.fields import billed, body_fields, check_fields, count, name, parsed_json, word
from fairgate.providers.http import httpx_bounds
from fairgate.providers.http.addresses import parsed, secrets_of
from fairgate.providers.http.httpx_bounds import bounded
from fairgate.providers.retries import (
    CROWDED,
    LONGEST_MESSAGE,
    ErrorClass,
    ServerError,
    TransientError,
    classify,
    names_field,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fairgate.core.domain import Query, Token
    from fairgate.providers.endpoint import Server
    from fairgate.providers.http.httpx_bounds import Bounds

T = TypeVar("T")
A = TypeVar("A")
Read = Callable[[A, float, int], T | None]
OURS = ("model", "messages", "stream", "system_prompt", "api_key", "api_base", "num_retries", "timeout")
UNBOUNDED = "aiohttp_openai/"  # asks with a client of its own
FILTERED = "ContentPolicyViolationError"
LEFT_AWAY = {
    RESPONSE_FORMAT: "Leave --answer-format away.",
    **dict.fromkeys(LOGPROBS, "Leave --probabilities away; where it gives fewer: --model-arg top_logprobs=5."),
}


@dataclass
class _Answers:
    """What a provider answered (2xx) in one attempt: the tokens that it billed, and the last answer."""

    redaction: Redaction
    tokens: tuple[int, int] = (0, 0)
    last: bytes = b""

    def take(self, content: bytes) -> bytes:
        """What LiteLLM is to read of an answer: no secrets, and of its `usage` no more than numbers."""
        self.last = self.redaction.conceal(content)
        try:
            whole = parsed_json(self.last)
        except ValueError:
            return self.last
        sent, received = billed(whole)
        self.tokens = self.tokens[0] + sent, self.tokens[1] + received
        usage = whole.get("usage") if isinstance(whole, dict) else None
        if not isinstance(whole, dict) or usage is None or (sound := _numbers(usage)) == usage:
            return self.last
        return json.dumps({**whole, "usage": sound}).encode()


class LiteLLMCalls:
    """Calls of LiteLLM's functions for one model. Keys are where LiteLLM looks for them, in the environment.

    `fields` are those that the user set, `by_options` names of others that options of the command line add, `stated`
    what tells replies apart. No redirect is followed, and of no answer are more than `longest` bytes read. Raises
    ConfigError where LiteLLM is not installed, or asks with another client than httpx.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        fields: Mapping[str, object],
        stated: Mapping[str, object],
        by_options: Collection[str] = (),
        longest: int = LONGEST,
    ) -> None:
        base_url = server.address
        self._name, self._base_url, self._fields = name, base_url, fields
        self._removable = {*fields, *by_options}
        address = None if base_url is None else base_url.partition("?")[0].rpartition("@")[2]
        self.identity = Identity("litellm", name, address, stated)
        if name.startswith(UNBOUNDED):
            hint = f"--model openai/{name.removeprefix(UNBOUNDED)}"
            raise ConfigError("LiteLLM holds its answers to no bounds.", where=f"litellm/{name}", hint=hint)
        self._longest = longest
        self._places, self._timeout, self._retries = server.max_in_flight, server.timeout, server.retries
        url = None if base_url is None else parsed(base_url.strip())
        secrets, words = ([], []) if url is None else secrets_of(url)
        self.redaction = Redaction([base_url, *secrets, *of_environment()], words)
        self._library = _loaded()
        self._line: asyncio.Semaphore | None = None

    async def call(self, function: str, read: Read[Any, T], known: Read[bytes, T], **given: object) -> T | Filtered:
        """What `read` makes of the function's result, its latency and the number of the attempt.

        Where LiteLLM cannot read an answer for whatever stands in it beside the reply, `known` is given its bytes.
        """
        number = 0
        unread = [0, 0]  # tokens of answers that could not be read

        async def attempt() -> T | Filtered:
            nonlocal number
            number += 1
            answers = _Answers(self.redaction)
            outcome = await self._attempt(function, read, known, given, number, answers)
            if isinstance(outcome, TransientError):
                unread[:] = map(sum, zip(unread, answers.tokens, strict=True))
            outcome = with_unread(unread, outcome)
            if isinstance(outcome, TransientError | FairgateError):
                raise outcome
            return outcome

        try:
            return await self._retries.run(attempt)
        except TransientError as last:
            tokens = unread[0], unread[1]
            given_up = CallFailed(f"{last}.", where=self.identity.label, attempts=number, tokens=tokens)
        # Raised here, so that nothing of another library's hangs on it as its context.
        raise given_up

    def shown(self, said: object) -> str | None:
        """A text that is not empty, without secrets: a server may say what it was sent."""
        text = word(said)
        return None if text is None else self.redaction.hide(text)

    async def _attempt(
        self,
        function: str,
        read: Read[Any, T],
        known: Read[bytes, T],
        given: Mapping[str, object],
        number: int,
        answers: _Answers,
    ) -> T | Filtered | TransientError | FairgateError:
        """One call, with what was answered to it in `answers`.

        Errors are handed back and not raised: no traceback then holds what was sent.
        """
        if self._line is None:
            self._line = asyncio.Semaphore(self._places)
        sent = {**self._fields, **given, **({} if self._base_url is None else {"api_base": self._base_url})}
        async with self._line:
            began = perf_counter()
            with bounded(self._longest, self._timeout, answers.take) as bounds:
                try:
                    async with asyncio.timeout(self._timeout):
                        said = await getattr(self._library, function)(model=self._name, **sent)
                except TimeoutError:
                    return TransientError("timeout", f"no whole answer within {self._timeout:g} s", crowded=True)
                except Exception as error:  # noqa: BLE001 - whatever the library raises is judged by its status
                    latency = perf_counter() - began
                    judged = self._beyond(bounds) or self._classified(error, latency, number)
                    fixed = bounds.endless or isinstance(judged, Filtered)
                    return judged if fixed else known(answers.last, latency, number) or judged
        latency = perf_counter() - began
        try:
            found = read(said, latency, number)
        except (AttributeError, IndexError, TypeError):
            found = None
        return found or known(answers.last, latency, number) or TransientError("no choices in the answer")

    def _beyond(self, bounds: Bounds) -> TransientError | RunStopped | None:
        if bounds.redirect is not None:
            what = f"the server redirects (HTTP {bounds.redirect}), and redirects are not followed."
            return RunStopped(what, where=self.identity.label, hint="Check the name, and --base-url.")
        return TransientError("endless answer", f"more than {bounds.longest:,} bytes") if bounds.endless else None

    def _classified(self, error: Exception, latency: float, number: int) -> Filtered | TransientError | FairgateError:
        kind, status = type(error).__name__, getattr(error, "status_code", None)
        # Where LiteLLM cannot read an answer, it quotes its own traceback, with the paths of this machine.
        said = self.redaction.show(str(error)).partition("Traceback (most recent call last)")[0].rstrip("\\n ")
        if kind == FILTERED:
            return Filtered.of(said, latency, number)
        if not isinstance(status, int) or status < 400:
            return TransientError(kind, said)
        problem = ServerError(str(error)[:LONGEST_MESSAGE])
        match classify(status, problem, self._removable):
            case ErrorClass.TRANSIENT:
                return TransientError(f"HTTP {status}", said, crowded=status in CROWDED)
            case ErrorClass.FILTERED:
                return Filtered.of(said, latency, number)
            case ErrorClass.REJECTED:
                what = f"the server rejects this query (HTTP {status}: {said})."
                return CallFailed(what, where=self.identity.label, attempts=number)
            case ErrorClass.BAD_FIELD if (field := names_field(problem, self._removable) or "") in LEFT_AWAY:
                what = f"the model does not take the field {field!r} (HTTP {status}: {said})."
                return RunStopped(what, where=self.identity.label, hint=LEFT_AWAY[field])
            case _:
                hint = "Check the name, the provider's key in the environment, and --model-arg."
                return RunStopped(f"{kind} (HTTP {status}: {said}).", where=self.identity.label, hint=hint)


class LiteLLMChat:
    """A language model that LiteLLM calls: see `LiteLLMCalls`."""

    def __init__(
        self,
        name: str,
        server: Server,
        body: Body = PLAIN,
    ) -> None:
        fields = body_fields(()) if body.fields is None else dict(body.fields)
        check_fields(fields, OURS)
        self._system = [] if body.system_prompt is None else [{"role": "system", "content": body.system_prompt}]
        self._of_choices: dict[str, object] = {RESPONSE_FORMAT: SCHEMA} if body.answer_format else {}
        if body.probabilities:
            self._of_choices |= {key: value for key, value in LOGPROBS.items() if key not in fields}
        self._weighed = body.probabilities
        self._calls = LiteLLMCalls(name, server, fields, body.stated(fields), self._of_choices)
        self._name = name

    def __repr__(self) -> str:
        """As the user named it."""
        return f"LiteLLMChat({self._name!r})"

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._calls.identity

    async def ask(self, query: Query) -> Reply:
        """The model's reply to this query."""
        messages = [*self._system, *({"role": each.role, "content": each.content} for each in query.messages)]
        more = self._of_choices if query.form is Form.CHOICE else {}
        # Repeats are ours: two kinds of them would multiply.
        said = await self._calls.call("acompletion", self._read, self._known, messages=messages, num_retries=0, **more)
        return said.reply if isinstance(said, Filtered) else said

    async def close(self) -> None:
        """Nothing is held."""

    def _read(self, said: Any, latency: float, number: int) -> Reply:
        choice, usage = said.choices[0], getattr(said, "usage", None)
        ended = getattr(choice, "finish_reason", None)
        return Reply(
            text=self._calls.shown(choice.message.content) or "",
            filtered=ended == "content_filter",
            truncated=ended == "length",
            prompt_tokens=count(getattr(usage, "prompt_tokens", None)),
            completion_tokens=count(getattr(usage, "completion_tokens", None)),
            served_model=self._calls.shown(name(getattr(said, "model", None))),
            fingerprint=self._calls.shown(name(getattr(said, "system_fingerprint", None))),
            latency=latency,
            attempts=number,
            tokens=_tokens(choice) if self._weighed else None,
        )

    def _known(self, content: bytes, latency: float, number: int) -> Reply | None:
        """The reply in an answer of OpenAI's or Anthropic's shape, read without LiteLLM."""
        reply = read_completion(content, latency, number, weighed=self._weighed) or read_message(
            content, latency, number
        )
        # What has no text may have it in a call of a tool, by which LiteLLM has some models keep to a form.
        if reply is None or not (reply.text or reply.filtered or reply.truncated):
            return None
        tokens = (reply.tokens or ()) if self._weighed else None
        return self._calls.redaction.clean(replace(reply, tokens=tokens))


def _tokens(choice: Any) -> tuple[Token, ...]:
    """The tokens of a reply with their probabilities; empty where the provider gives none."""
    given: Any = getattr(choice, "logprobs", None)
    # LiteLLM makes a model of pydantic of them, and of some providers hands on what they sent.
    return read_tokens(given.model_dump() if hasattr(given, "model_dump") else given)


def _numbers(usage: object) -> dict[str, object]:
    """The counts of tokens among what a server says was used, and those of their parts."""
    said = usage if isinstance(usage, dict) else {}
    parts = {key: _numbers(value) if key.endswith("_details") else count(value) for key, value in said.items()}
    return {key: value for key, value in parts.items() if value is not None}


def _loaded() -> Any:
    # It would fetch a price list from the network at its import.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # It would read a file `.env` of a folder above it: addresses to which keys go, and keys that nothing would hide.
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    try:
        library: Any = importlib.import_module("litellm")
    except ImportError:
        raise ConfigError(
            "LiteLLM is not installed.", where="litellm/NAME", hint="pip install 'fairgate[litellm]'"
        ) from None
    httpx_bounds.install()
    # aiohttp, which it would ask with, keeps interim answers without end.
    library.disable_aiohttp_transport = True
    library.telemetry = False
    library.suppress_debug_info = True
    return library
