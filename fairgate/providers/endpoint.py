"""The address of a server, spoken to over HTTP: requests, repeats, and errors in words fit to be shown."""

from __future__ import annotations

import asyncio
import base64
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import httpx2

from fairgate.core.domain import Reply
from fairgate.core.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.core.redaction import Redaction
from fairgate.providers.fields import billed, parsed_json
from fairgate.providers.headers import Headers
from fairgate.providers.http import trust
from fairgate.providers.http.addresses import is_here, joined, parsed, secrets_of, shown
from fairgate.providers.http.errors import (
    LOCKED_OUT,
    NO_HTTP,
    REFUSED,
    CertificateWanted,
    Disagreement,
    NameNotResolved,
    NotTrusted,
    ProxyRefuses,
    TLSFailed,
)
from fairgate.providers.http.proxies import proxy_of
from fairgate.providers.http.transports import CONNECT_TIMEOUT, content_of, load, transport_to, usable
from fairgate.providers.retries import (
    CROWDED,
    SPENT_CODES,
    ErrorClass,
    Retries,
    TransientError,
    classify,
    names_field,
    read_error,
    retry_after,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

T = TypeVar("T")
Read = Callable[[bytes, float, int], T | TransientError | FairgateError | None]

JSON = "application/json"
# Bytes of an answer; a server may send one without end.
LONGEST = 16 * 2**20
# Tries of a request to this machine on which nothing has ever answered: a server that is not there will not come.
TRIES_HERE = 3
NGINX_WANTS_CERTIFICATE = b"No required SSL certificate was sent"
SHOW_CERTIFICATE = f"Let {trust.CLIENT_CERT} name a PEM file with a certificate and its key."


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


@dataclass(frozen=True)
class Server:
    """A server as its user names it, and how it is asked.

    `address` None is the provider's own. At most `max_in_flight` requests are under way at once; `timeout` is for one
    whole request, in seconds, waiting for a free place not included. `headers` are the user's, and go before our own.
    """

    address: str | None = field(repr=False)
    key: str | None = field(default=None, repr=False)
    headers: Headers = field(default_factory=Headers)
    max_in_flight: int = 16
    timeout: float = 120.0
    retries: Retries = field(default_factory=Retries)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that is more than a reply; `reply` is what is known of it so far."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class Filtered(Answered):
    """The server's content filter refused the request: an answer, not a failure. The reply has no text."""

    said: str

    @classmethod
    def of(cls, said: str, latency: float, attempts: int) -> Filtered:
        """A refusal in these words after so many attempts; `latency` in seconds."""
        return cls(Reply("", filtered=True, latency=latency, attempts=attempts), said)


class Endpoint:
    """One server, and what is asked of it under `path`.

    `fields` are the body fields that the user can remove. `version` ends the address, whether the user wrote it or not.
    Of an answer no more than `longest` bytes are read. Raises ConfigError for an address or a key that cannot be used.
    """

    def __init__(
        self,
        provider: Provider,
        name: str,
        server: Server,
        *,
        path: str,
        version: str = "",
        fields: Collection[str],
        longest: int = LONGEST,
    ) -> None:
        self._provider, self._name, self.address = provider, name, ""
        if min(server.max_in_flight, server.retries.attempts, server.timeout) <= 0:
            raise ConfigError("in-flight limit, attempts and timeout are above 0.", where=f"{provider.name}/{name}")
        url = parsed((server.address or "").strip())
        if url is None or url.scheme not in {"http", "https"}:
            # The address itself is not shown: it may hold a key.
            hint = f"It looks like http://127.0.0.1:8000/v1 (--base-url or {provider.address})."
            raise ConfigError("this is not the address of a server.", where="--base-url", hint=hint)
        key = server.key.strip() if server.key else None
        if key and not (key.isascii() and key.isprintable()):
            raise ConfigError(
                "the key holds characters that no HTTP header may.",
                where=f"{provider.name}/{name}",
                hint=f"Set {provider.key}.",
            )
        username, password, query = url.username, url.password, url.query.decode("ascii")
        self.address = shown(url).rstrip("/")
        if version and not self.address.endswith(f"/{version}"):
            self.address += f"/{version}"
        userinfo = url.userinfo.decode("ascii") or None
        headers = server.headers
        # A proxy is sent a password too, and answers where it does not let a request through.
        through = proxy_of(url)
        proxy = through if isinstance(through, httpx2.URL) else httpx2.URL("")
        (own, words), (of_proxy, others) = secrets_of(url), secrets_of(proxy)
        self.redaction = Redaction([key, *own, *headers.secrets, *of_proxy], [*words, *others])
        self._query = query
        self._path, self._url = path, self._at(path)
        usual = {
            "Accept": JSON,
            "Accept-Encoding": "identity",
            "User-Agent": "fairgate",
            **provider.headers,
        }
        # User info in the address is meant for this server; a key may just lie in the environment.
        header, scheme = provider.scheme
        if userinfo:
            pair = base64.b64encode(f"{username}:{password}".encode()).decode()
            usual["Authorization"] = f"Basic {pair}"
        elif key:
            usual[header] = f"{scheme}{key}"
        # Made once, with what httpx2 would add to each request: making them takes it three times as long as the rest.
        self._headers = httpx2.Headers({"Host": self._url.netloc.decode("ascii"), **headers.over(usual)})
        self._has_key = bool(userinfo or key or headers.secrets)

        self._fields = tuple(fields)
        self._max_in_flight, self._timeout, self._retries = server.max_in_flight, server.timeout, server.retries
        self._longest = longest
        load()
        self._line: tuple[httpx2.AsyncBaseTransport, asyncio.Semaphore] | None = None
        self._reached = False
        self._outage: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint({self._provider.name}/{self._name} at {self.address})"

    def _at(self, path: str) -> httpx2.URL:
        # A gateway's own query stays behind that of the request.
        mark = "" if not self._query else "&" if "?" in path else "?"
        return httpx2.URL(f"{self.address}/{path}{mark}{self._query}")

    async def post(self, body: bytes, read: Read[T]) -> T | Filtered:
        """What `read` makes of the answer to this body: it is given the answer's bytes, the latency and the number of
        the attempt, and gives None for what it cannot read. Raises CallFailed or RunStopped.
        """
        return await self._repeated(self._retries, "POST", self._path, JSON, body, self._longest, read)

    async def call(
        self,
        method: str,
        path: str,
        read: Read[T],
        body: bytes = b"",
        kind: str = JSON,
        attempts: int = 0,
        longest: int = LONGEST,
    ) -> T | Filtered:
        """As `post`, elsewhere under this address, with a body of another kind, tried less often than usual, or for an
        answer of so many bytes at most.
        """
        retries = replace(self._retries, attempts=attempts) if attempts else self._retries
        return await self._repeated(retries, method, path, kind, body, longest, read)

    async def _repeated(
        self, retries: Retries, method: str, path: str, kind: str, body: bytes, longest: int, read: Read[T]
    ) -> T | Filtered:
        failures: list[str] = []
        unread = [0, 0]  # tokens of answers that could not be read

        async def attempt() -> T | Filtered:
            # No local variable of a frame that raises holds address or headers, which may hold a secret.
            outcome = await self._attempt(method, path, kind, body, longest, 1 + len(failures), read)
            if isinstance(outcome, TransientError):
                failures.append(outcome.kind)
                unread[:] = map(sum, zip(unread, outcome.tokens, strict=True))
            outcome = with_unread(unread, outcome)
            if isinstance(outcome, TransientError | FairgateError):
                raise outcome
            return outcome

        try:
            return await retries.run(attempt)
        except TransientError as last:
            given_up = self._given_up(failures, last, (unread[0], unread[1]))
        # Raised here, so that nothing of another library's hangs on it as its context.
        raise given_up

    async def close(self) -> None:
        """Give back the connections."""
        line, self._line = self._line, None
        if line is not None:
            await line[0].aclose()

    async def _attempt(
        self, method: str, path: str, kind: str, body: bytes, longest: int, number: int, read: Read[T]
    ) -> T | Filtered | TransientError | FairgateError:
        """One request. Errors are handed back and not raised: no traceback then holds what was sent."""
        if self._line is None:
            self._line = usable(transport_to(self._url, total=self._timeout)), asyncio.Semaphore(self._max_in_flight)
        transport, places = self._line
        async with places:
            began = perf_counter()
            try:
                async with asyncio.timeout(self._timeout):
                    status, headers, sent = await self._exchanged(transport, method, path, kind, body, longest)
            except TimeoutError:
                return TransientError("timeout", f"no whole answer within {self._timeout:g} s", crowded=True)
            except httpx2.TransportError as error:
                return self._broken(error, number)
            except httpx2.DecodingError as error:
                return TransientError("broken answer", str(error))
            latency = perf_counter() - began
        self._reached = True
        if self._outage is not None:
            # The server answers again: requests that wait for it to come back need not wait longer.
            self._outage.set_result(None)
            self._outage = None
        if len(sent) > longest:
            return TransientError("endless answer", f"more than {longest:,} bytes")
        content = self.redaction.conceal(sent)
        if 200 <= status < 300:
            outcome = read(content, latency, number)
            if isinstance(outcome, Reply):
                # Parts that were sent apart may make a secret when they are joined.
                return self.redaction.clean(outcome)  # type: ignore[return-value] # a Reply is what `read` makes
            return self._unreadable(headers, content, latency, number) if outcome is None else outcome
        return self.classified(status, content, headers, latency, number, path)

    async def _exchanged(
        self, transport: httpx2.AsyncBaseTransport, method: str, path: str, kind: str, body: bytes, longest: int
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and content of the answer. What was sent is a local variable nowhere else."""
        url = self._url if path == self._path else self._at(path)
        request = httpx2.Request(method, url, headers=self._headers, stream=httpx2.ByteStream(body))
        request.headers["Content-Type"] = kind
        if body or method == "POST":
            request.headers["Content-Length"] = str(len(body))
        request.read()
        response = await transport.handle_async_request(request)
        try:
            return response.status_code, response.headers, await content_of(response, longest)
        finally:
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - a transport's own
            await response.stream.aclose()

    def _broken(self, error: httpx2.TransportError, number: int) -> TransientError | FairgateError:
        """What a failed exchange means; `number` counts the tries of its request."""
        said, by_proxy = self.redaction.show(str(error)), proxy_of(self._url) is not None
        match error:
            case NameNotResolved():
                return self._unresolved(by_proxy=by_proxy)
            case httpx2.ProxyError() if said == LOCKED_OUT:
                return self._locked_out()
            case ProxyRefuses():
                return self._stop(f"the proxy does not let this through ({said}).", self._check_proxy)
            case httpx2.ProxyError():
                return TransientError("proxy error", said)
            case NotTrusted() if error.name:
                hint = f"Check --base-url or {self._provider.address}: the certificate is for another name."
                return self._stop(f"the server's certificate is not trusted ({said}).", hint)
            case NotTrusted() if "expired" in said.lower() or "not yet valid" in said or "NotValidYet" in said:
                hint = "Renew it, or check the clock of this machine."
                return self._stop(f"the server's certificate is not trusted ({said}).", hint)
            case NotTrusted():
                hint = "If it is right, let SSL_CERT_FILE name a PEM file with it, or with that of its authority."
                return self._stop(f"the server's certificate is not trusted ({said}).", hint)
            case CertificateWanted():
                return self._certificate_wanted(said)
            case Disagreement():
                return self._stop(f"the server refuses the TLS handshake ({said}).", self._check)
            case TLSFailed():
                return self._stop(f"{said}.", f"Check --base-url or {self._provider.address}: http://, perhaps?")
            case httpx2.ConnectTimeout():
                return TransientError("timeout", f"no connection within {CONNECT_TIMEOUT:g} s")
            case httpx2.TimeoutException():
                return TransientError("timeout", f"no whole answer within {self._timeout:g} s", crowded=True)
            case httpx2.ConnectError():
                if said == REFUSED and number >= TRIES_HERE and not self._reached and is_here(self._url):
                    return self._stop(f"nothing listens there ({said}).", f"Start the server first. {self._check}")
                via = "proxy " if by_proxy else ""
                kind = f"{via}connection refused" if said == REFUSED else f"no {via}connection"
                self._outage = self._outage or asyncio.get_running_loop().create_future()
                return TransientError(kind, "" if said == REFUSED else said, over=self._outage)
            case httpx2.RemoteProtocolError() if said == NO_HTTP:
                return TransientError("broken answer", said)
        return TransientError("cut connection", said)

    @property
    def _check(self) -> str:
        return f"Check --base-url or {self._provider.address}."

    def _certificate_wanted(self, said: str) -> RunStopped:
        which = "another client certificate" if os.environ.get(trust.CLIENT_CERT) else "a client certificate"
        guess = ", or another cipher" if "handshake failure" in said else ""
        return self._stop(f"the server wants {which}{guess} ({said}).", SHOW_CERTIFICATE)

    def _unresolved(self, *, by_proxy: bool) -> TransientError | FairgateError:
        # A name that was found before is a hiccup of the resolver.
        if self._reached:
            return TransientError("name not resolved", "the proxy's" if by_proxy else self._host)
        if by_proxy:
            return self._stop("the proxy's name does not resolve.", self._check_proxy)
        return self._stop(f"the name {self._host!r} does not resolve.", self._check)

    @property
    def _host(self) -> str:
        return self._url.host

    def _unreadable(
        self, headers: Mapping[str, str], content: bytes, latency: float, number: int
    ) -> Filtered | TransientError | FairgateError:
        """Some gateways wrap an error in a 200; all else is a server in disorder, which may pass."""
        try:
            whole = parsed_json(content)
        except ValueError:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind and not kind.endswith("json"):
                said = self.redaction.show(content.decode("utf-8", "replace"))
                return TransientError(f"{self.redaction.show(kind)} instead of JSON", said)
            return TransientError("broken JSON", f"{len(content)} bytes")
        if isinstance(whole, dict) and isinstance(error := whole.get("error"), dict):
            code = error.get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            if not read_error(content).codes.isdisjoint(SPENT_CODES):
                status = 402  # a spent quota does not come back by itself
            return self.classified(status, content, headers, latency, number)
        said = self.redaction.show(content.decode("utf-8", "replace"))
        return TransientError("no choices in the answer", said, tokens=billed(whole))

    def classified(
        self, status: int, content: bytes, headers: Mapping[str, str], latency: float, number: int, path: str = ""
    ) -> Filtered | TransientError | FairgateError:
        """What an answer that is no success means; `path` is what was asked for, where it is not the usual."""
        if str(status) == LOCKED_OUT:
            return self._locked_out()
        if status == 400 and NGINX_WANTS_CERTIFICATE in content:
            return self._certificate_wanted("HTTP 400")
        error = read_error(content)
        wait = retry_after(headers)
        wait = error.wait if wait is None else wait
        said = self.redaction.show(error.message)
        http = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        match classify(status, error, self._fields, told_to_wait=wait is not None):
            case ErrorClass.TRANSIENT:
                asked = f" (asks to wait {wait:g} s)" if wait else ""
                return TransientError(f"HTTP {status}", said + asked, wait=wait, crowded=status in CROWDED)
            case ErrorClass.FILTERED:
                return Filtered.of(said, latency, number)
            case ErrorClass.WRONG_KEY if self._has_key:
                return self._stop(f"the server does not accept the key ({http}).", f"Set {self._provider.key}.")
            case ErrorClass.WRONG_KEY:
                return self._stop(f"the server wants a key, and none was given ({http}).", f"Set {self._provider.key}.")
            case ErrorClass.SPENT:
                hint = "Top up, or raise the limit, then run again: what was answered is kept."
                return self._stop(f"the quota is spent ({http}).", hint)
            case ErrorClass.UNKNOWN_MODEL:
                return self._stop(
                    f"the server has no model {self._name!r} for this key ({http}).",
                    f"Check --model {self._provider.name}/NAME.",
                )
            case ErrorClass.WRONG_ADDRESS:
                return self._lost(status, http, headers, path)
            case ErrorClass.BAD_FIELD:
                return self._bad_field(names_field(error, self._fields) or "FIELD", http)
            case ErrorClass.REJECTED:
                return CallFailed(f"the server rejects this query ({http}).", where=self._where, attempts=number)

    def _locked_out(self) -> RunStopped:
        return self._stop("the proxy wants a name and a password, and takes none that it was given.", self._check_proxy)

    @property
    def _check_proxy(self) -> str:
        return (
            f"Check {self._url.scheme}_proxy and all_proxy of the environment. To do without it: NO_PROXY={self._host}"
        )

    def _lost(self, status: int, http: str, headers: Mapping[str, str], path: str) -> RunStopped:
        hint = f"Check --base-url or {self._provider.address}; it usually ends in /v1."
        if status >= 400 and path and path != self._path:
            what = f"{self.redaction.show(path.partition('?')[0])} is not served there ({http})."
            return self._stop(what, "")
        if status >= 400:
            return self._stop(f"{self._path} is not served there ({http}).", hint)
        target = joined(self._url, headers.get("location", "")) if "location" in headers else None
        onward = f" to {self.redaction.show(shown(target))}" if target is not None else ""
        return self._stop(f"the base URL redirects{onward} (HTTP {status}), and redirects are not followed.", hint)

    def _bad_field(self, name: str, http: str) -> RunStopped:
        if name == "messages":
            return self._stop(f"the model does not take these messages ({http}).", "Leave --system-prompt away.")
        if name == "response_format":
            return self._stop(f"the server keeps no answer to a form ({http}).", "Leave --answer-format away.")
        if name in ("logprobs", "top_logprobs"):
            hint = "Leave --probabilities away; where it gives fewer: --model-arg top_logprobs=5."
            return self._stop(f"the model gives no probabilities, or not so many ({http}).", hint)
        shown = self.redaction.show(name)
        what = "a body field" if name == "FIELD" else f"the body field {shown!r}"
        return self._stop(f"the model does not accept {what} ({http}).", f"Remove it: --model-arg {shown}=")

    def _given_up(self, failures: list[str], last: TransientError, tokens: tuple[int, int]) -> FairgateError:
        kinds = Counter(failures)
        each = ", ".join(f"{kind} {_times(count)}" for kind, count in kinds.items())
        detail = f", last: {last.detail if len(kinds) == 1 else last}" if last.detail or len(kinds) > 1 else ""
        if last.kind == "name not resolved":
            return self._stop(f"{each}{detail}.", "Check the network.")
        what, hint = f"{each}{detail}.", self._fix(last, kinds)
        return CallFailed(what, where=self._where, hint=hint, attempts=len(failures), tokens=tokens)

    def _fix(self, last: TransientError, kinds: Collection[str]) -> str:
        """What may help where repeating did not."""
        if proxy_of(self._url) is not None and not self._reached:
            return f"Is the proxy the right one? {self._check_proxy}"
        # Where a client certificate is wanted, some servers hang up without a word.
        if self._url.scheme == "https" and not self._reached and set(kinds) == {"cut connection"}:
            return f"If the server wants a client certificate: {SHOW_CERTIFICATE}"
        if last.kind == "timeout" and last.crowded:
            return "Allow more time by --request-timeout, or ask for less at once by --max-in-flight."
        if last.crowded:
            return "Ask for less at once by --max-in-flight, or for less a minute by --requests-per-minute."
        return f"Look at the server's log. {self._check}" if self._reached else f"Is the server up? {self._check}"

    @property
    def _where(self) -> str:
        return f"{self._provider.name}/{self._name} at {self.address}"

    def _stop(self, what: str, hint: str) -> RunStopped:
        return RunStopped(what, where=self._where, hint=hint)


def with_unread(unread: Sequence[int], outcome: T) -> T:
    """What came of a request, with what was billed for the answers before it, too, none of which could be read."""
    if any(unread):
        if isinstance(outcome, CallFailed):
            outcome.billed((unread[0], unread[1]))
        if isinstance(outcome, Answered):
            return replace(outcome, reply=with_unread(unread, outcome.reply))
        if isinstance(outcome, Reply):
            sent, received = outcome.prompt_tokens or 0, outcome.completion_tokens or 0
            return replace(outcome, prompt_tokens=sent + unread[0], completion_tokens=received + unread[1])
    return outcome


def _times(count: int) -> str:
    words = ("", "once", "twice", "three times", "four times", "five times", "six times")
    return words[count] if count < len(words) else f"{count} times"
