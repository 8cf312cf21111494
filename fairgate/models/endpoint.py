"""The address of a server, spoken to over HTTP: requests, repeats, and troubles in words fit to be shown."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import PyreqwestError
from pyreqwest.http import Url

from fairgate.domain import Reply
from fairgate.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.models.connection import CONNECT_TIMEOUT, KEEP_ALIVE, causes, client_for, proxy_of, shown, usable
from fairgate.models.redaction import Redaction, is_secret
from fairgate.models.retries import (
    CROWDED,
    SPENT_CODES,
    Judgement,
    Retries,
    TransientError,
    judge,
    names_field,
    read_error,
    retry_after,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyreqwest.client import Client
    from pyreqwest.response import Response

T = TypeVar("T")
Read = Callable[[bytes, float, int], T | TransientError | FairgateError | None]

JSON = "application/json"
# Bytes of an answer; a server may send one without end. Of files, one is fetched at a time.
LONGEST = 16 * 2**20
LONGEST_FILE = 2**30
HOST = re.compile(r"[\w.-]+|\[[\da-f:.]+\]")

# How the library says these.
NOT_TRUSTED = "invalid peer certificate: "
LOCKED_OUT = "proxy authorization required"
LOCKED = 407  # the same, said by a proxy that is asked over http
OS_ERROR = re.compile(r" \(os error \d+\)$")


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


class Endpoint:
    """One server, and what is asked of it under `path`.

    At most `max_in_flight` requests are under way at once; `timeout` is for one whole request, in seconds, waiting for
    a free place not included. `fields` are the body fields that the user can remove. `version` ends the address,
    whether the user wrote it or not. Of an answer no more than `longest` bytes are read. Raises ConfigError for an
    address or a key that cannot be used.
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
        longest: int = LONGEST,
    ) -> None:
        self._provider, self._name, self.address = provider, name, ""
        if min(max_in_flight, retries.attempts, timeout) <= 0:
            raise ConfigError("in-flight limit, attempts and timeout are above 0.", where=f"{provider.name}/{name}")
        url = _parsed(base_url)
        if url is None:
            # The address itself is not shown: it may hold a key.
            hint = f"It looks like http://127.0.0.1:8000/v1 (--base-url or {provider.address})."
            raise ConfigError("this is not the address of a server.", where="--base-url", hint=hint)
        key = api_key.strip() if api_key else None
        if key and not (key.isascii() and key.isprintable()):
            raise ConfigError(
                "the key holds characters that no HTTP header may.",
                where=f"{provider.name}/{name}",
                hint=f"Set {provider.key}.",
            )
        username, password, query = unquote(url.username), unquote(url.password or ""), url.query_string
        self.address = shown(url).rstrip("/")
        if version and not self.address.endswith(f"/{version}"):
            self.address += f"/{version}"
        userinfo = f"{url.username}:{url.password or ''}" if url.username or url.password else None
        # A plain word in the address is a setting, such as `preview`, unless it is called a secret.
        words = [value for name, value in url.query_pairs if value.isalpha() and not is_secret(name)]
        values = [value for _, value in url.query_pairs if value not in words]
        self.redaction = Redaction([key, password, userinfo, *values, query], [username, *words])
        self._query = query
        self._path, self._url = path, self._at(path)
        self._headers = {
            "Accept": JSON,
            "Accept-Encoding": "identity",
            "User-Agent": "fairgate",
            **provider.headers,
        }
        # User info in the address is meant for this server; a key may just lie in the environment.
        header, scheme = provider.scheme
        if userinfo:
            pair = base64.b64encode(f"{username}:{password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {pair}"
        elif key:
            self._headers[header] = f"{scheme}{key}"
        self._has_key = bool(userinfo or key)

        self._fields = tuple(fields)
        self._max_in_flight, self._timeout, self._retries = max_in_flight, timeout, retries
        self._longest = longest
        self._line: tuple[Client, asyncio.Semaphore] | None = None
        self._reached = False
        self._outage: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint({self._provider.name}/{self._name} at {self.address})"

    def _at(self, path: str) -> Url:
        return Url(f"{self.address}/{path}").with_query_string(self._query)

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
    ) -> T | Filtered:
        """As `post`, elsewhere under this address, with a body of another kind, or tried less often than usual. The
        answer may be a file's content, of 1 GiB at most.
        """
        retries = replace(self._retries, attempts=attempts) if attempts else self._retries
        return await self._repeated(retries, method, path, kind, body, LONGEST_FILE, read)

    async def _repeated(
        self, retries: Retries, method: str, path: str, kind: str, body: bytes, longest: int, read: Read[T]
    ) -> T | Filtered:
        failures: list[str] = []

        async def attempt() -> T | Filtered:
            # No local variable of a frame that raises holds address or headers, which may hold a secret.
            outcome = await self._attempt(method, path, kind, body, longest, 1 + len(failures), read)
            if isinstance(outcome, TransientError):
                failures.append(outcome.kind)
            if isinstance(outcome, TransientError | FairgateError):
                raise outcome
            return outcome

        try:
            return await retries.run(attempt)
        except TransientError as last:
            given_up = self._given_up(failures, last)
        # Raised here, so that nothing of another library's hangs on it as its context.
        raise given_up

    async def close(self) -> None:
        """Give back the connections."""
        line, self._line = self._line, None
        if line is not None:
            await line[0].close()

    async def _attempt(
        self, method: str, path: str, kind: str, body: bytes, longest: int, number: int, read: Read[T]
    ) -> T | Filtered | TransientError | FairgateError:
        """One request. Troubles are handed back and not raised: no traceback then holds what was sent."""
        if self._line is None:
            self._line = self._open(), asyncio.Semaphore(self._max_in_flight)
        client, places = self._line
        async with places:
            began = perf_counter()
            try:
                asked = client.request(method, self._url if path == self._path else self._at(path))
                asked = asked.header("Content-Type", kind).body_bytes(body)
                # In one go: a built request shows its headers, were it a local variable when anything is raised.
                async with asked.build_streamed() as response:
                    # It comes whole, however many pieces it is sent in.
                    sent = bytes(await response.body_reader.read(longest + 1) or b"")
            except PyreqwestError as error:
                return self._broken(error, perf_counter() - began)
            latency = perf_counter() - began
        self._reached = True
        if self._outage is not None:
            # Somebody is there again: whoever waits because nobody was need not wait on.
            self._outage.set_result(None)
            self._outage = None
        if len(sent) > longest:
            return TransientError("endless answer", f"more than {longest:,} bytes")
        content = self.redaction.conceal(sent)
        if 200 <= response.status < 300:
            outcome = read(content, latency, number)
            if isinstance(outcome, Reply):
                # Parts that were sent apart may make a secret when they are joined.
                return self.redaction.clean(outcome)  # type: ignore[return-value] # a Reply is what `read` makes
            return self._unreadable(response, content, latency, number) if outcome is None else outcome
        return self.judged(response.status, content, _headers(response), latency, number)

    def _broken(self, error: PyreqwestError, waited: float) -> TransientError | FairgateError:
        """What a failed exchange means."""
        said = causes(error)
        last, by_proxy = self.redaction.show(said[-1]), proxy_of(self._url) is not None
        if "dns error" in said:
            # A name that was found before is a hiccup of the resolver.
            if self._reached:
                return TransientError("name not resolved", "the proxy's" if by_proxy else self._host)
            if by_proxy:
                return self._stop("the proxy's name does not resolve.", self._check_proxy)
            return self._stop(
                f"the name {self._host!r} does not resolve.", f"Check --base-url or {self._provider.address}."
            )
        if last.endswith(LOCKED_OUT):
            return self._locked_out()
        if last.startswith(NOT_TRUSTED):
            hint = "Let SSL_CERT_FILE name the certificates to trust, or check --base-url."
            return self._stop(f"the server's certificate is not trusted ({last.removeprefix(NOT_TRUSTED)}).", hint)
        if isinstance(error, TimeoutError):
            if waited >= self._timeout:
                return TransientError("timeout", f"no whole answer within {self._timeout:g} s", crowded=True)
            return TransientError("timeout", f"no connection within {CONNECT_TIMEOUT:g} s")
        if "tcp connect error" in said:
            via = "proxy " if by_proxy else ""
            kind = f"{via}connection refused" if "refused" in last else f"no {via}connection"
            self._outage = self._outage or asyncio.get_running_loop().create_future()
            return TransientError(kind, OS_ERROR.sub("", last), over=self._outage)
        return TransientError("cut connection", last)

    def _open(self) -> Client:
        builder = (
            ClientBuilder()
            .default_headers(self._headers)
            .follow_redirects(enable=False)
            .timeout(timedelta(seconds=self._timeout))
            .connect_timeout(timedelta(seconds=min(CONNECT_TIMEOUT, self._timeout)))
            .pool_max_idle_per_host(self._max_in_flight)
            .pool_idle_timeout(timedelta(seconds=KEEP_ALIVE))
        )
        return usable(client_for(self._url, builder))

    @property
    def _host(self) -> str:
        return self._url.host_str or ""

    def _unreadable(
        self, response: Response, content: bytes, latency: float, number: int
    ) -> Filtered | TransientError | FairgateError:
        """Some gateways wrap an error in a 200; all else is a server in disorder, which may pass."""
        headers = _headers(response)
        try:
            whole = json.loads(content)
        except (ValueError, RecursionError):
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
            return self.judged(status, content, headers, latency, number)
        return TransientError("no choices in the answer", self.redaction.show(content.decode("utf-8", "replace")))

    def judged(
        self, status: int, content: bytes, headers: Mapping[str, str], latency: float, number: int
    ) -> Filtered | TransientError | FairgateError:
        """What an answer that is no success means."""
        if status == LOCKED:
            return self._locked_out()
        error = read_error(content)
        wait = retry_after(headers)
        wait = error.wait if wait is None else wait
        said = self.redaction.show(error.message)
        http = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        match judge(status, error, self._fields, told_to_wait=wait is not None):
            case Judgement.MAY_PASS:
                asked = f" (asks to wait {wait:g} s)" if wait else ""
                return TransientError(f"HTTP {status}", said + asked, wait=wait, crowded=status in CROWDED)
            case Judgement.FILTERED:
                return Filtered(said, latency, number)
            case Judgement.WRONG_KEY if self._has_key:
                return self._stop(f"the server does not accept the key ({http}).", f"Set {self._provider.key}.")
            case Judgement.WRONG_KEY:
                return self._stop(f"the server wants a key, and none was given ({http}).", f"Set {self._provider.key}.")
            case Judgement.SPENT:
                hint = "Top up, or raise the limit, then run again: what was answered is kept."
                return self._stop(f"the quota is spent ({http}).", hint)
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

    def _locked_out(self) -> RunStopped:
        return self._stop("the proxy wants a name and a password, and takes none that it was given.", self._check_proxy)

    @property
    def _check_proxy(self) -> str:
        return f"Check {self._url.scheme}_proxy of the environment. To do without it: NO_PROXY={self._host}"

    def _lost(self, status: int, http: str, headers: Mapping[str, str]) -> RunStopped:
        hint = f"Check --base-url or {self._provider.address}; it usually ends in /v1."
        if status >= 400:
            return self._stop(f"{self._path} is not served there ({http}).", hint)
        target = headers.get("location", "")
        try:
            onward = f" to {self.redaction.show(shown(self._url.join(target)))}" if target else ""
        except ValueError:
            onward = ""
        return self._stop(f"the base URL redirects{onward} (HTTP {status}), and redirects are not followed.", hint)

    def _bad_field(self, name: str, http: str) -> RunStopped:
        if name == "messages":
            return self._stop(f"the model does not take these messages ({http}).", "Leave --system-prompt away.")
        shown = self.redaction.show(name)
        what = "a body field" if name == "FIELD" else f"the body field {shown!r}"
        return self._stop(f"the model does not accept {what} ({http}).", f"Remove it: --model-arg {shown}=")

    def _given_up(self, failures: list[str], last: TransientError) -> FairgateError:
        kinds = Counter(failures)
        each = ", ".join(f"{kind} {_times(count)}" for kind, count in kinds.items())
        detail = f", last: {last.detail if len(kinds) == 1 else last}" if last.detail or len(kinds) > 1 else ""
        if last.kind == "name not resolved":
            return self._stop(f"{each}{detail}.", "Check the network.")
        return CallFailed(f"{each}{detail}.", where=self._where, attempts=len(failures))

    @property
    def _where(self) -> str:
        return f"{self._provider.name}/{self._name} at {self.address}"

    def _stop(self, what: str, hint: str) -> RunStopped:
        return RunStopped(what, where=self._where, hint=hint)


def _headers(response: Response) -> dict[str, str]:
    """By names in lower case, without those that are no text."""
    found: dict[str, str] = {}
    for name in response.headers:
        try:
            found[name] = response.headers[name]
        except ValueError:
            continue
    return found


def _parsed(base_url: str) -> Url | None:
    try:
        url = Url(base_url.strip())
    except ValueError:
        return None
    usable = url.scheme in {"http", "https"} and HOST.fullmatch(url.host_str or "")
    return url if usable else None


def _times(count: int) -> str:
    words = ("", "once", "twice", "three times", "four times", "five times", "six times")
    return words[count] if count < len(words) else f"{count} times"
