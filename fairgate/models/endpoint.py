"""The address of a server, spoken to over HTTP: requests, repeats, and troubles in words fit to be shown."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from fairgate.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.models.redaction import Redaction
from fairgate.models.retries import CROWDED, Judgement, MayPass, Retries, judge, names_field, read_error, retry_after

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

T = TypeVar("T")
Read = Callable[[bytes, float, int], T | MayPass | FairgateError | None]

JSON = "application/json"
CONNECT_TIMEOUT = 15.0

HOST = re.compile(r"[\w.:-]+")

# Shorter than the five seconds after which common servers close an idle connection: reused at that moment, it is cut.
KEEP_ALIVE = 4.0


@dataclass(frozen=True, slots=True)
class Provider:
    """What tells one provider's door from another's.

    `key` and `address` name the variables of the environment that messages speak of; `scheme` is the header that
    carries the key, and what stands before it; `headers` go with every request.
    """

    name: str
    key: str
    address: str
    scheme: tuple[str, str] = ("Authorization", "Bearer ")
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filtered:
    """The server's content filter refused the request: an answer, not a failure. `latency` in seconds."""

    said: str
    latency: float
    attempts: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came back over HTTP, whole."""

    status: int
    headers: httpx.Headers
    content: bytes


class Endpoint:
    """One server, and what is asked of it under `path`.

    At most `max_in_flight` requests are under way at once; `timeout` is for one whole request, in seconds, waiting for
    a free place not included. `fields` are the body fields that the user can remove. `version` ends the address,
    whether the user wrote it or not. Raises ConfigError for an address or a key that cannot be used.

    httpx is the interface, spoken to its transport rather than through its client: the client costs as much again as
    half the request, and logs each address, with a key that stands in its query.
    """

    def __init__(
        self,
        provider: Provider,
        name: str,
        base_url: str,
        api_key: str | None,
        *,
        path: str,
        version: str = "",
        fields: Collection[str],
        max_in_flight: int,
        timeout: float,
        retries: Retries,
    ) -> None:
        self._provider, self._name, self.address = provider, name, ""
        if min(max_in_flight, retries.attempts, timeout) <= 0:
            raise ConfigError("in-flight limit, attempts and timeout are above 0.", where=f"{provider.name}/{name}")
        url = _parsed(base_url)
        if url is None:
            # The address itself is not shown: it may hold a key.
            mend = f"It looks like http://127.0.0.1:8000/v1 (--base-url or {provider.address})."
            raise ConfigError("this is not the address of a server.", where="--base-url", mend=mend)
        key = api_key.strip() if api_key else None
        if key and not (key.isascii() and key.isprintable()):
            raise ConfigError(
                "the key holds characters that no HTTP header may.",
                where=f"{provider.name}/{name}",
                mend=f"Set {provider.key}.",
            )
        self.address = str(url.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/")
        if version and not self.address.endswith(f"/{version}"):
            self.address += f"/{version}"
        self.redaction = Redaction(
            [key, url.username, url.password, url.userinfo.decode(), *url.params.values(), url.query.decode()]
        )
        self._query = url.query or None
        self._path, self._url = path, self._at(path)
        self._headers = httpx.Headers(
            {
                "Host": self._url.netloc.decode(),
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "Content-Type": JSON,
                "User-Agent": "fairgate",
                **provider.headers,
            }
        )
        # User info in the address is meant for this server; a key may just lie in the environment.
        header, scheme = provider.scheme
        if url.userinfo:
            pair = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {pair}"
        elif key:
            self._headers[header] = f"{scheme}{key}"
        self._has_key = bool(url.userinfo or key)

        self._fields = tuple(fields)
        self._max_in_flight, self._timeout, self._retries = max_in_flight, timeout, retries
        self._line: tuple[AiohttpTransport, asyncio.Semaphore] | None = None
        self._reached = False

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint({self._provider.name}/{self._name} at {self.address})"

    def _at(self, path: str) -> httpx.URL:
        return httpx.URL(f"{self.address}/{path}").copy_with(query=self._query)

    async def post(self, body: bytes, read: Read[T]) -> T | Filtered:
        """What `read` makes of the answer to this body: it is given the answer's bytes, the latency and the number of
        the attempt, and gives None for what it cannot read. Raises CallFailed or RunStopped.
        """
        return await self._repeated(self._retries, "POST", self._path, JSON, body, read)

    async def call(
        self,
        method: str,
        path: str,
        read: Read[T],
        body: bytes = b"",
        kind: str = JSON,
        attempts: int = 0,
    ) -> T | Filtered:
        """As `post`, elsewhere under this address, with a body of another kind, or tried less often than usual."""
        retries = replace(self._retries, attempts=attempts) if attempts else self._retries
        return await self._repeated(retries, method, path, kind, body, read)

    def _request(self, method: str, path: str, kind: str, body: bytes) -> httpx.Request:
        return httpx.Request(
            method,
            self._url if path == self._path else self._at(path),
            headers=self._headers if kind == JSON else httpx.Headers({**self._headers, "Content-Type": kind}),
            stream=httpx.ByteStream(body),
            extensions={"timeout": {"connect": CONNECT_TIMEOUT}},
        )

    async def _repeated(
        self, retries: Retries, method: str, path: str, kind: str, body: bytes, read: Read[T]
    ) -> T | Filtered:
        failures: list[str] = []

        async def attempt() -> T | Filtered:
            # No local variable of a frame that raises holds address or headers, which may hold a secret.
            outcome = await self._attempt(self._request(method, path, kind, body), 1 + len(failures), read)
            if isinstance(outcome, MayPass):
                failures.append(outcome.kind)
            if isinstance(outcome, MayPass | FairgateError):
                raise outcome
            return outcome

        try:
            return await retries.run(attempt)
        except MayPass as last:
            given_up = self._given_up(failures, last)
        # Raised here, so that nothing of another library's hangs on it as its context.
        raise given_up

    async def close(self) -> None:
        """Give back the connections."""
        line, self._line = self._line, None
        if line is not None:
            await line[0].aclose()

    async def _attempt(
        self, request: httpx.Request, number: int, read: Read[T]
    ) -> T | Filtered | MayPass | FairgateError:
        """One request. Troubles are handed back and not raised: no traceback then holds what was sent."""
        if self._line is None:
            self._line = self._open(), asyncio.Semaphore(self._max_in_flight)
        transport, places = self._line
        async with places:
            began = perf_counter()
            answered = await self._exchange(transport, request)
            latency = perf_counter() - began
        if not isinstance(answered, _Answer):
            return answered
        self._reached = True
        content = self.redaction.conceal(answered.content)
        if content is not answered.content:
            answered = replace(answered, content=content)
        if 200 <= answered.status < 300:
            outcome = read(answered.content, latency, number)
            return self._unreadable(answered, latency, number) if outcome is None else outcome
        return self.judged(answered.status, answered.content, answered.headers, latency, number)

    async def _exchange(self, transport: AiohttpTransport, request: httpx.Request) -> _Answer | MayPass | FairgateError:
        # The transport takes a body that was read; given as `content`, httpx would build all headers anew for it.
        request.read()
        try:
            # Around the whole of it, because the transport's own limit starts anew with every byte of a slow server.
            async with asyncio.timeout(self._timeout):
                response = await transport.handle_async_request(request)
                try:
                    return _Answer(response.status_code, response.headers, await _content(response))
                finally:
                    await response.aclose()
        except TimeoutError:
            return MayPass("timeout", f"no whole answer within {self._timeout:g} s", crowded=True)
        except (httpx.HTTPError, aiohttp.ClientError, aiohttp.http_exceptions.HttpProcessingError, OSError) as error:
            return self._broken(error)

    def _broken(self, error: Exception) -> MayPass | FairgateError:
        """What a failed exchange means. Messages are ours: the libraries' show addresses with all that is in them."""
        cause = error.__cause__ if isinstance(error, httpx.HTTPError) and error.__cause__ else error
        if isinstance(cause, aiohttp.ClientConnectorDNSError):
            # A name that was found before is a hiccup of the resolver.
            if self._reached:
                return MayPass("name not resolved", self._url.host)
            return self._stop(
                f"the name {self._url.host!r} does not resolve.", f"Check --base-url or {self._provider.address}."
            )
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
            return MayPass(kind, self.redaction.show(reason))
        return MayPass("cut connection", type(cause).__name__)

    def _open(self) -> AiohttpTransport:
        proxy = proxy_of(self._url)
        if isinstance(proxy, ConfigError):
            raise proxy
        return AiohttpTransport(
            limits=httpx.Limits(max_connections=self._max_in_flight, keepalive_expiry=KEEP_ALIVE),
            proxy=proxy,
        )

    def _unreadable(self, response: _Answer, latency: float, number: int) -> Filtered | MayPass | FairgateError:
        """Some gateways wrap an error in a 200; all else is a server in disorder, which may pass."""
        try:
            whole = json.loads(response.content)
        except (ValueError, RecursionError):
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind and not kind.endswith("json"):
                said = self.redaction.show(response.content.decode("utf-8", "replace"))
                return MayPass(f"{self.redaction.show(kind)} instead of JSON", said)
            return MayPass("broken JSON", f"{len(response.content)} bytes")
        if isinstance(whole, dict) and isinstance(error := whole.get("error"), dict):
            code = error.get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            return self.judged(status, response.content, response.headers, latency, number)
        return MayPass("no choices in the answer", self.redaction.show(response.content.decode("utf-8", "replace")))

    def judged(
        self, status: int, content: bytes, headers: httpx.Headers, latency: float, number: int
    ) -> Filtered | MayPass | FairgateError:
        """What an answer that is no success means."""
        error = read_error(content)
        wait = retry_after(headers)
        wait = error.wait if wait is None else wait
        said = self.redaction.show(error.message)
        http = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        match judge(status, error, self._fields, told_to_wait=wait is not None):
            case Judgement.MAY_PASS:
                asked = f" (asks to wait {wait:g} s)" if wait else ""
                return MayPass(f"HTTP {status}", said + asked, wait=wait, crowded=status in CROWDED)
            case Judgement.FILTERED:
                return Filtered(said, latency, number)
            case Judgement.WRONG_KEY if self._has_key:
                return self._stop(f"the server does not accept the key ({http}).", f"Set {self._provider.key}.")
            case Judgement.WRONG_KEY:
                return self._stop(f"the server wants a key, and none was given ({http}).", f"Set {self._provider.key}.")
            case Judgement.SPENT:
                mend = "Top up, or raise the limit, then run again: what was answered is kept."
                return self._stop(f"the quota is spent ({http}).", mend)
            case Judgement.UNKNOWN_MODEL:
                return self._stop(
                    f"the server has no model {self._name!r} for this key ({http}).",
                    f"Check --model {self._provider.name}/NAME.",
                )
            case Judgement.WRONG_ADDRESS:
                return self._lost(status, http, headers)
            case Judgement.BAD_FIELD:
                return self._bad_field(names_field(error, self._fields) or "FIELD", http)
            case Judgement.REJECTED:
                return CallFailed(f"the server rejects this query ({http}).", where=self._where, attempts=number)

    def _lost(self, status: int, http: str, headers: httpx.Headers) -> RunStopped:
        mend = f"Check --base-url or {self._provider.address}; it usually ends in /v1."
        if status >= 400:
            return self._stop(f"{self._path} is not served there ({http}).", mend)
        target = headers.get("location", "")
        try:
            aim = httpx.URL(target).copy_with(userinfo=b"", query=None, fragment=None) if target else None
        except httpx.InvalidURL:
            aim = None
        onward = f" to {self.redaction.show(str(aim))}" if aim else ""
        return self._stop(f"the base URL redirects{onward} (HTTP {status}), and redirects are not followed.", mend)

    def _bad_field(self, name: str, http: str) -> RunStopped:
        if name == "messages":
            return self._stop(f"the model does not take these messages ({http}).", "Leave --system-prompt away.")
        shown = self.redaction.show(name)
        what = "a body field" if name == "FIELD" else f"the body field {shown!r}"
        return self._stop(f"the model does not accept {what} ({http}).", f"Remove it: --model-arg {shown}=")

    def _given_up(self, failures: list[str], last: MayPass) -> FairgateError:
        kinds = Counter(failures)
        each = ", ".join(f"{kind} {_times(count)}" for kind, count in kinds.items())
        detail = f", last: {last.detail if len(kinds) == 1 else last}" if last.detail or len(kinds) > 1 else ""
        if last.kind == "name not resolved":
            return self._stop(f"{each}{detail}.", "Check the network.")
        return CallFailed(f"{each}{detail}.", where=self._where, attempts=len(failures))

    @property
    def _where(self) -> str:
        return f"{self._provider.name}/{self._name} at {self.address}"

    def _stop(self, what: str, mend: str) -> RunStopped:
        return RunStopped(what, where=self._where, mend=mend)


async def _content(response: httpx.Response) -> bytes:
    if "content-encoding" in response.headers or not isinstance(response.stream, httpx.AsyncByteStream):
        return await response.aread()
    # httpx counts and decodes what it reads, which costs as much again as reading it.
    return b"".join([chunk async for chunk in response.stream])


def _parsed(base_url: str) -> httpx.URL | None:
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL:
        return None
    usable = url.scheme in {"http", "https"} and HOST.fullmatch(url.raw_host.decode())
    return url if usable else None


def proxy_of(url: httpx.URL) -> httpx.Proxy | ConfigError | None:
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


def _times(count: int) -> str:
    words = ("", "once", "twice", "three times", "four times", "five times", "six times")
    return words[count] if count < len(words) else f"{count} times"
