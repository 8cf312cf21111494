"""`openai/NAME`: any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import urllib.request
from collections import Counter
from time import perf_counter
from typing import TYPE_CHECKING

import aiohttp
import httpx
import msgspec
from httpx_aiohttp import AiohttpTransport

from fairgate.domain import Reply
from fairgate.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.models.base import Identity
from fairgate.models.redaction import Redaction
from fairgate.models.retries import Judgement, MayPass, Retries, judge, names_field, read_error, retry_after

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.domain import Query

# Fields that decide how a reply is asked for and read: changed by the user, no reply could be read.
OURS = {"model", "messages", "stream", "system_prompt"}

SECRET = re.compile(
    r"(?:^|[_-])(?:(?:api)?[_-]?key|secret|password|authorization|(?:access|auth)[_-]?token)$", re.IGNORECASE
)

CONNECT_TIMEOUT = 15.0

HOST = re.compile(r"[\w.:-]+")

# Shorter than the five seconds after which common servers close an idle connection: reused at that moment, it is cut.
KEEP_ALIVE = 4.0


def body_fields(model_args: Sequence[str], usual: Mapping[str, object] | None = None) -> dict[str, object]:
    """The body fields beside model and messages: the usual ones, and what each `KEY=VALUE` adds or, empty, removes.

    Values are JSON where they can be read as such, else text.
    """
    fields: dict[str, object] = {"temperature": 0, **(usual or {})}
    for each in model_args:
        key, equals, value = each.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(
                f"{each!r} is not KEY=VALUE.", where="--model-arg", mend="For example: --model-arg max_tokens=64"
            )
        if SECRET.search(key):
            raise ConfigError(
                f"{key!r} looks like a secret, and body fields are kept in the ledger.",
                where="--model-arg",
                mend="Put the key into OPENAI_API_KEY.",
            )
        if not value.strip():
            fields.pop(key, None)
            continue
        try:
            fields[key] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            fields[key] = value
    return fields


class _Message(msgspec.Struct):
    content: object = None
    refusal: object = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: object = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: object = None
    model: object = None
    system_fingerprint: object = None


_completion = msgspec.json.Decoder(_Completion)


class OpenAIChat:
    """A model behind an OpenAI-compatible server, asked over HTTP.

    `parameters` are the body fields beside model and messages (see `body_fields`). At most `max_in_flight` requests
    are under way at once; `timeout` is for one whole request, in seconds, waiting for a free place not included.
    `retries` replaces `attempts` where waits are to be other than usual.

    httpx is the interface, spoken to its transport rather than through its client: the client costs as much again as
    half the request, and logs each address, with a key that stands in its query.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        api_key: str | None = None,
        parameters: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        max_in_flight: int = 16,
        timeout: float = 120.0,
        attempts: int = 6,
        *,
        retries: Retries | None = None,
    ) -> None:
        self._name, self._address = name, ""
        if min(max_in_flight, attempts, timeout) <= 0:
            raise ConfigError("in-flight limit, attempts and timeout are above 0.", where=f"openai/{name}")
        fields = body_fields(()) if parameters is None else dict(parameters)
        for taken in sorted(OURS & fields.keys()):
            other = "Use --system-prompt." if taken == "system_prompt" else "Remove it."
            raise ConfigError(f"{taken!r} is not for the user to set.", where="--model-arg", mend=other)

        url = _parsed(base_url)
        if url is None:
            # The address itself is not shown: it may hold a key.
            mend = "It looks like http://127.0.0.1:8000/v1 (--base-url or OPENAI_BASE_URL)."
            raise ConfigError("this is not the address of a server.", where="--base-url", mend=mend)
        key = api_key.strip() if api_key else None
        if key and not (key.isascii() and key.isprintable()):
            raise ConfigError(
                "the key holds characters that no HTTP header may.", where=f"openai/{name}", mend="Set OPENAI_API_KEY."
            )
        self._address = str(url.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/")
        self._redaction = Redaction(
            [key, url.username, url.password, url.userinfo.decode(), *url.params.values(), url.query.decode()]
        )
        self._url = httpx.URL(f"{self._address}/chat/completions").copy_with(query=url.query or None)
        self._headers = httpx.Headers(
            {
                "Host": self._url.netloc.decode(),
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "Content-Type": "application/json",
                "User-Agent": "fairgate",
            }
        )
        # User info in the address is meant for this server; a key may just lie in the environment.
        if url.userinfo:
            pair = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {pair}"
        elif key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._has_key = "Authorization" in self._headers

        self._fields = fields
        stated = fields if system_prompt is None else {**fields, "system_prompt": system_prompt}
        self._identity = Identity("openai", name, self._address, stated)
        # All but the prompt is the same in every request; what stays comes first, as prefix caches like it.
        system = [{"role": "system", "content": system_prompt}] if system_prompt is not None else []
        head = msgspec.json.encode({"model": name, **fields})[:-1] + b',"messages":'
        self._before = head + msgspec.json.encode(system)[:-1] + (b"," if system else b"")

        self._max_in_flight, self._timeout = max_in_flight, timeout
        self._retries = retries or Retries(attempts)
        self._line: tuple[AiohttpTransport, asyncio.Semaphore] | None = None
        self._reached = False

    def __repr__(self) -> str:
        """Without the key."""
        return f"OpenAIChat({self._name!r}, {self._address!r})"

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._identity

    async def ask(self, query: Query) -> Reply:
        """The model's reply to this query."""
        said = [{"role": each.role, "content": each.content} for each in query.messages]
        body = self._before + msgspec.json.encode(said)[1:] + b"}"
        failures: list[str] = []

        async def attempt() -> Reply:
            outcome = await self._attempt(body, 1 + len(failures))
            if isinstance(outcome, Reply):
                return outcome
            if isinstance(outcome, MayPass):
                failures.append(outcome.kind)
            raise outcome

        try:
            return await self._retries.run(attempt)
        except MayPass as last:
            given_up = self._given_up(failures, last)
        # Raised here, so that nothing of another library's hangs on it as its context.
        raise given_up

    async def close(self) -> None:
        """Give back the connections."""
        line, self._line = self._line, None
        if line is not None:
            await line[0].aclose()

    async def _attempt(self, body: bytes, number: int) -> Reply | MayPass | FairgateError:
        """One request. Troubles are handed back and not raised: no traceback then holds what was sent."""
        if self._line is None:
            self._line = self._open(), asyncio.Semaphore(self._max_in_flight)
        transport, places = self._line
        async with places:
            began = perf_counter()
            answered = await self._exchange(transport, body)
            latency = perf_counter() - began
        if not isinstance(answered, httpx.Response):
            return answered
        self._reached = True
        if 200 <= answered.status_code < 300:
            return self._read(answered, latency, number)
        return self._judged(answered.status_code, answered.content, answered.headers, latency, number)

    async def _exchange(self, transport: AiohttpTransport, body: bytes) -> httpx.Response | MayPass | FairgateError:
        request = httpx.Request(
            "POST",
            self._url,
            headers=self._headers,
            stream=httpx.ByteStream(body),
            extensions={"timeout": {"connect": CONNECT_TIMEOUT}},
        )
        # The transport takes a body that was read; given as `content`, httpx would build all headers anew for it.
        request.read()
        try:
            # Around the whole of it, because the transport's own limit starts anew with every byte of a slow server.
            async with asyncio.timeout(self._timeout):
                response = await transport.handle_async_request(request)
                try:
                    await response.aread()
                finally:
                    await response.aclose()
        except TimeoutError:
            return MayPass("timeout", f"no whole answer within {self._timeout:g} s")
        except (httpx.HTTPError, aiohttp.ClientError, aiohttp.http_exceptions.HttpProcessingError, OSError) as error:
            return self._broken(error)
        return response

    def _broken(self, error: Exception) -> MayPass | FairgateError:
        """What a failed exchange means. Messages are ours: the libraries' show addresses with all that is in them."""
        cause = error.__cause__ if isinstance(error, httpx.HTTPError) and error.__cause__ else error
        if isinstance(cause, aiohttp.ClientConnectorDNSError):
            # A name that was found before is a hiccup of the resolver.
            if self._reached:
                return MayPass("name not resolved", self._url.host)
            return self._stop(f"the name {self._url.host!r} does not resolve.", "Check --base-url or OPENAI_BASE_URL.")
        if isinstance(cause, aiohttp.ClientConnectorCertificateError):
            mend = "Let SSL_CERT_FILE name the certificates to trust, or check --base-url."
            return self._stop("the server's certificate is not trusted.", mend)
        if isinstance(cause, TimeoutError):
            return MayPass("timeout", f"no connection within {CONNECT_TIMEOUT:g} s")
        if isinstance(cause, aiohttp.ClientConnectorError):
            reason = cause.os_error.strerror or type(cause.os_error).__name__
            via = "proxy " if isinstance(cause, aiohttp.ClientProxyConnectionError) else ""
            refused = isinstance(cause.os_error, ConnectionRefusedError)
            kind = f"{via}connection refused" if refused else f"no {via}connection"
            return MayPass(kind, self._redaction.show(reason))
        return MayPass("cut connection", type(cause).__name__)

    def _open(self) -> AiohttpTransport:
        proxy = _proxy(self._url)
        if isinstance(proxy, ConfigError):
            raise proxy
        return AiohttpTransport(
            limits=httpx.Limits(max_connections=self._max_in_flight, keepalive_expiry=KEEP_ALIVE),
            proxy=proxy,
        )

    def _read(self, response: httpx.Response, latency: float, number: int) -> Reply | MayPass | FairgateError:
        content = response.content
        try:
            completion = _completion.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # The standard library reads half an emoji, which servers send that cut a reply in mid-character.
            try:
                completion = msgspec.convert(json.loads(content), _Completion)
            except (ValueError, RecursionError):
                return self._unreadable(response, latency, number)
        if not completion.choices:
            return self._unreadable(response, latency, number)
        message = completion.choices[0].message
        text, refused = _text(message)
        usage = completion.usage if isinstance(completion.usage, dict) else {}
        return Reply(
            text=text,
            filtered=refused or completion.choices[0].finish_reason == "content_filter",
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            served_model=_word(completion.model),
            fingerprint=_word(completion.system_fingerprint),
            latency=latency,
            attempts=number,
        )

    def _unreadable(self, response: httpx.Response, latency: float, number: int) -> Reply | MayPass | FairgateError:
        """Some gateways wrap an error in a 200; all else is a server in disorder, which may pass."""
        try:
            whole = json.loads(response.content)
        except (ValueError, RecursionError):
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind and not kind.endswith("json"):
                said = self._redaction.show(response.content.decode("utf-8", "replace"))
                return MayPass(f"{self._redaction.show(kind)} instead of JSON", said)
            return MayPass("broken JSON", f"{len(response.content)} bytes")
        if isinstance(whole, dict) and isinstance(error := whole.get("error"), dict):
            code = error.get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            return self._judged(status, response.content, response.headers, latency, number)
        return MayPass("no choices in the answer", self._redaction.show(response.content.decode("utf-8", "replace")))

    def _judged(
        self, status: int, content: bytes, headers: httpx.Headers, latency: float, number: int
    ) -> Reply | MayPass | FairgateError:
        error = read_error(content)
        wait = retry_after(headers)
        wait = error.wait if wait is None else wait
        said = self._redaction.show(error.message)
        http = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        match judge(status, error, self._fields.keys(), told_to_wait=wait is not None):
            case Judgement.MAY_PASS:
                asked = f" (asks to wait {wait:g} s)" if wait else ""
                return MayPass(f"HTTP {status}", said + asked, wait=wait)
            case Judgement.FILTERED:
                return Reply("", filtered=True, latency=latency, attempts=number)
            case Judgement.WRONG_KEY if self._has_key:
                return self._stop(f"the server does not accept the key ({http}).", "Set OPENAI_API_KEY.")
            case Judgement.WRONG_KEY:
                return self._stop(f"the server wants a key, and none was given ({http}).", "Set OPENAI_API_KEY.")
            case Judgement.SPENT:
                mend = "Top up, or raise the limit, then run again: what was answered is kept."
                return self._stop(f"the quota is spent ({http}).", mend)
            case Judgement.UNKNOWN_MODEL:
                return self._stop(
                    f"the server has no model {self._name!r} for this key ({http}).", "Check --model openai/NAME."
                )
            case Judgement.WRONG_ADDRESS:
                return self._lost(status, http, headers)
            case Judgement.BAD_FIELD:
                return self._bad_field(names_field(error, self._fields.keys()) or "FIELD", http)
            case Judgement.REJECTED:
                return CallFailed(f"the server rejects this query ({http}).", where=self._where)

    def _lost(self, status: int, http: str, headers: httpx.Headers) -> RunStopped:
        mend = "Check --base-url or OPENAI_BASE_URL; it usually ends in /v1."
        if status >= 400:
            return self._stop(f"no chat completions are served there ({http}).", mend)
        target = headers.get("location", "")
        try:
            aim = httpx.URL(target).copy_with(userinfo=b"", query=None, fragment=None) if target else None
        except httpx.InvalidURL:
            aim = None
        onward = f" to {self._redaction.show(str(aim))}" if aim else ""
        return self._stop(f"the base URL redirects{onward} (HTTP {status}), and redirects are not followed.", mend)

    def _bad_field(self, name: str, http: str) -> RunStopped:
        if name == "messages":
            return self._stop(f"the model does not take these messages ({http}).", "Leave --system-prompt away.")
        shown = self._redaction.show(name)
        what = "a body field" if name == "FIELD" else f"the body field {shown!r}"
        return self._stop(f"the model does not accept {what} ({http}).", f"Remove it: --model-arg {shown}=")

    def _given_up(self, failures: list[str], last: MayPass) -> FairgateError:
        kinds = Counter(failures)
        each = ", ".join(f"{kind} {_times(count)}" for kind, count in kinds.items())
        detail = f", last: {last.detail if len(kinds) == 1 else last}" if last.detail or len(kinds) > 1 else ""
        if last.kind == "name not resolved":
            return self._stop(f"{each}{detail}.", "Check the network.")
        return CallFailed(f"{each}{detail}.", where=self._where)

    @property
    def _where(self) -> str:
        return f"openai/{self._name} at {self._address}"

    def _stop(self, what: str, mend: str) -> RunStopped:
        return RunStopped(what, where=self._where, mend=mend)


def _parsed(base_url: str) -> httpx.URL | None:
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL:
        return None
    usable = url.scheme in {"http", "https"} and HOST.fullmatch(url.raw_host.decode())
    return url if usable else None


def _proxy(url: httpx.URL) -> httpx.Proxy | ConfigError | None:
    """The environment's proxy for this address; none for this machine's own servers, whatever the environment says."""
    if url.host in {"localhost", "::1"} or url.host.startswith("127.") or urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy:
        return None
    kind, found, _ = proxy.partition("://")
    if found and kind not in {"http", "https"}:
        return ConfigError(
            f"the environment names a {kind} proxy; only http and https proxies can be used.",
            where=f"{url.scheme}_proxy",
            mend=f"To do without it: NO_PROXY={url.host}",
        )
    return httpx.Proxy(proxy if found else f"http://{proxy}")


def _text(message: _Message) -> tuple[str, bool]:
    """What the model said, and whether it is a refusal that the server marked as one."""
    if isinstance(message.refusal, str) and message.refusal:
        return _well_formed(message.refusal), True
    content = message.content
    if isinstance(content, str):
        return _well_formed(content), False
    said: list[str] = []
    refused = False
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            said.append(part)
        elif isinstance(part, dict) and part.get("type") in {"text", "output_text", "refusal"}:
            text = part.get("text") or part.get("refusal")
            refused = refused or part["type"] == "refusal"
            said.append(text if isinstance(text, str) else "")
    return _well_formed("".join(said)), refused


def _well_formed(text: str) -> str:
    """Without halves of characters, which no database stores."""
    return text.encode("utf-8", "replace").decode()


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _word(value: object) -> str | None:
    return _well_formed(value) if isinstance(value, str) and value else None


def _times(count: int) -> str:
    words = ("", "once", "twice", "three times", "four times", "five times", "six times")
    return words[count] if count < len(words) else f"{count} times"
