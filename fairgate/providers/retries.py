"""What is worth asking again, what is not, and how long to wait before the next try."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from random import Random
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fairgate.core.redaction import EXAMINED
from fairgate.providers.fields import parsed_json

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

T = TypeVar("T")

LONGEST_WAIT = 100  # characters of a header that says how long to wait
# Characters of an error that are kept: more than are looked at, so that whoever shows it knows that it was cut.
LONGEST_MESSAGE = 2 * EXAMINED


class TransientError(Exception):
    """A request failed in a way that a repetition may fix.

    `kind` is short, and equal for equal causes ("HTTP 503", "cut connection"); `wait` is what the server asked for.
    Both texts are fit to be shown. `crowded`: fewer requests at once might have been answered. `over` is done as soon
    as there is a sign that the problem is over; None where time alone tells. `tokens` are those that are billed for an
    answer that cannot be read.
    """

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        wait: float | None = None,
        crowded: bool = False,
        over: asyncio.Future[None] | None = None,
        tokens: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.tokens = tokens
        self.kind, self.detail, self.wait, self.crowded, self.over = kind, detail, wait, crowded, over


# Statuses by which servers say that they have too much to do.
CROWDED = {429, 503, 529}


class ErrorClass(Enum):
    """What an HTTP status and its body mean for the run."""

    TRANSIENT = auto()
    FILTERED = auto()
    WRONG_KEY = auto()
    SPENT = auto()
    UNKNOWN_MODEL = auto()
    WRONG_ADDRESS = auto()
    BAD_FIELD = auto()
    REJECTED = auto()


@dataclass(frozen=True, slots=True)
class ServerError:
    """A server's error body, in whichever of the usual shapes: OpenAI's, Azure's, vLLM's, FastAPI's, plain text.

    `codes` holds every machine-readable name of the error, in lower case; `param` the body field that it names;
    `wait` the seconds to wait where the body says them.
    """

    message: str
    codes: frozenset[str] = frozenset()
    param: str | None = None
    wait: float | None = None


def read_error(body: bytes) -> ServerError:
    """The error in this body; the body itself is the message where it has no known shape."""
    try:
        whole: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            whole = parsed_json(body)
        except ValueError:
            return ServerError(_text(body))
    if isinstance(whole, list) and whole:
        whole = whole[0]
    error = whole.get("error", whole) if isinstance(whole, dict) else whole
    if isinstance(error, str):
        return ServerError(error[:LONGEST_MESSAGE])
    if not isinstance(error, dict):
        return ServerError(_text(body))

    codes = [error.get(key) for key in ("code", "type", "error_type", "status")]
    param = error.get("param")
    inner = error.get("innererror")
    if isinstance(inner, dict):
        codes.append(inner.get("code"))
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and "flagged_input" in metadata:
        codes.append("flagged_input")
    detail = error.get("detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        # FastAPI repeats the whole input beside this; only what it says about it is the message.
        first = detail[0]
        codes.append(first.get("type"))
        place = first.get("loc")
        if param is None and isinstance(place, list) and len(place) > 1:
            param = place[1]
        detail = f"{param}: {first.get('msg')}"
    message = error.get("message") or detail
    hint = re.search(rb'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"', body)
    return ServerError(
        message[:LONGEST_MESSAGE] if isinstance(message, str) else _text(body),
        frozenset(code.lower() for code in codes if isinstance(code, str)),
        param if isinstance(param, str) else None,
        float(hint[1]) if hint else None,
    )


def _text(body: bytes) -> str:
    return body[: 4 * LONGEST_MESSAGE].decode("utf-8", "replace")[:LONGEST_MESSAGE]


FILTER_CODES = {
    "content_filter",
    "moderation_blocked",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "flagged_input",
}
FILTER_WORDS = re.compile(
    r"content management policy|content[_ ]policy[_ ]violation|content filtering policy"
    r"|rejected (?:by|as a result of) our safety",
    re.IGNORECASE,
)
SPENT_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
SPENT_WORDS = re.compile(
    r"insufficient[_ ](?:quota|balance|credit)|exceeded your current quota|\bbilling\b|credit balance|out of credits",
    re.IGNORECASE,
)
MODEL_CODES = {"model_not_found", "deploymentnotfound", "model_not_available"}
MODEL_WORDS = re.compile(
    r"\bmodel_not_found\b|\bmodel\b[\s\S]{0,100}?"
    r"(?:does not exist|not found|is not (?:a valid|supported|available)|unknown)"
    r"|^model: |\b(?:unknown|invalid|no such) model\b|\bpinned to\b.{1,200}\brequested\b",
    re.IGNORECASE,
)
LOGPROBS = re.compile(r"\blogprobs?\b", re.IGNORECASE)
LENGTH_WORDS = re.compile(r"context[_ ]length|context window|maximum context|prompt is too long", re.IGNORECASE)
FIELD_CODES = ("unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden")


def classify(status: int, error: ServerError, fields: Collection[str], *, told_to_wait: bool = False) -> ErrorClass:
    """What this answer means. `fields` are the body fields that the user can remove.

    Some providers word a limit per minute like a spent quota; `told_to_wait` tells them apart: no server
    asks a client to come back in seconds when the money is gone.
    """
    if status < 300:
        return ErrorClass.TRANSIENT
    if status < 400:
        return ErrorClass.WRONG_ADDRESS
    if status == 402:
        return ErrorClass.SPENT
    if 400 <= status < 500:
        if error.codes & FILTER_CODES or FILTER_WORDS.search(error.message):
            return ErrorClass.FILTERED
        if error.codes & SPENT_CODES:
            return ErrorClass.SPENT
        if status in {400, 403, 429} and not told_to_wait and SPENT_WORDS.search(error.message):
            return ErrorClass.SPENT
    if status in {408, 409, 425, 429} or status >= 500:
        return ErrorClass.TRANSIENT
    if status == 401:
        return ErrorClass.WRONG_KEY
    if error.param == "model" or error.codes & MODEL_CODES:
        return ErrorClass.UNKNOWN_MODEL
    # Whatever the status: some forbid (403) what a model does not give.
    if "logprobs" in fields and LOGPROBS.search(error.message):
        return ErrorClass.BAD_FIELD
    if status not in {403, 404, 405, 410}:
        if "context_length_exceeded" in error.codes or LENGTH_WORDS.search(error.message):
            return ErrorClass.REJECTED
        if names_field(error, fields):
            return ErrorClass.BAD_FIELD
    if MODEL_WORDS.search(error.message):
        return ErrorClass.UNKNOWN_MODEL
    if status == 403:
        return ErrorClass.WRONG_KEY
    return ErrorClass.WRONG_ADDRESS if status in {404, 405, 410} else ErrorClass.REJECTED


def names_field(error: ServerError, fields: Collection[str]) -> str | None:
    """The body field that a server does not accept, if it is one that the user can leave away."""
    head = re.split(r"[.\[]", error.param, maxsplit=1)[0] if error.param else None
    if head in fields:
        return head
    if "logprobs" in fields and LOGPROBS.search(error.message):
        return "logprobs"
    if any(code in error.codes or code in error.message for code in FIELD_CODES):
        named = (each for each in sorted(fields) if re.search(rf"\b{re.escape(each)}\b", error.message))
        return head or next(named, "FIELD")
    for each in sorted(fields):
        # "temperature: must be …", and "`temperature` is deprecated for this model."
        if re.match(rf"{re.escape(each)}: |`{re.escape(each)}`", error.message):
            return each
        if re.search(rf"\b(?:parameter|argument|field|input)s?\b[^.]{{0,80}}\b{re.escape(each)}\b", error.message):
            return each
    return None


SECONDS = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*s?\s*")


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that the server asks to wait: `retry-after-ms`, or `retry-after` in seconds, fractions or as a date.

    A date is measured from the server's own `Date` where it sends one, so that neither clock need be right.
    Keys are lower-case. None where nothing is asked, or nothing readable.
    """
    if found := SECONDS.fullmatch(headers.get("retry-after-ms", "")[:LONGEST_WAIT]):
        return max(0.0, float(found[1]) / 1000)
    value = headers.get("retry-after", "")[:LONGEST_WAIT]
    if found := SECONDS.fullmatch(value):
        return max(0.0, float(found[1]))
    then = _date(value)
    if then is None:
        return None
    here = _date(headers.get("date", "")[:LONGEST_WAIT]) or now or datetime.now(UTC)
    return max(0.0, (then - here).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with full jitter: a random share of `base`, `base`·`factor`, … seconds, at most `longest`.

    What the server asks for comes first, up to `cap`: a run must never freeze on "come back in an hour". The steps
    are steep so that a stray failure costs a fraction of a second and six attempts still outlive a server's restart.
    """

    base: float = 0.25
    factor: float = 3.0
    longest: float = 30.0
    cap: float = 60.0

    def before_next(self, failures: int, asked: float | None, draw: Callable[[], float]) -> float:
        """Seconds to wait after this many failures in a row; `draw` gives numbers in [0, 1)."""
        if not asked:
            return draw() * self._ceiling(failures)
        # A little more than asked, or all who were refused together would come back together.
        patient = asked * (1 + 0.1 * draw())
        return min(self.cap, max(patient, draw() * self._ceiling(failures - 1)))

    def _ceiling(self, failures: int) -> float:
        if failures < 1:
            return 0.0
        # The exponent is bounded because a float overflows long before a patient user's `attempts` does.
        return min(self.longest, self.base * self.factor ** min(failures - 1, 64))


# Backoff so many seconds before a request is repeated, at most; told what became of it.
Aside = Callable[[float, TransientError], Awaitable[None]]


async def _sleep(seconds: float, problem: TransientError) -> None:  # noqa: ARG001
    await asyncio.sleep(seconds)


@dataclass(frozen=True)
class Retries:
    """Repeats what may pass, at most `attempts` times in all; then the last TransientError comes through.

    Between two attempts it waits by `aside`: in a run the scheduler's, so that a waiting request holds no place.
    """

    attempts: int = 6
    waits: Backoff = field(default_factory=Backoff)
    # Jitter only spreads load; no sample depends on it.
    random: Random = field(default_factory=Random, repr=False)
    aside: Aside = field(default=_sleep, repr=False)

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of the first attempt that has one."""
        failures = 0
        while True:
            try:
                result = await attempt()
            except TransientError as last:
                failures += 1
                if failures >= self.attempts:
                    raise
                problem = last
            else:
                _call_off_again()
                return result
            _call_off_again()
            await self.aside(self.waits.before_next(failures, problem.wait, self.random.random), problem)


def _call_off_again() -> None:
    """Call a task off that was called off in the very moment in which its answer came.

    The client then gives the answer, which is kept, and forgets the rest: the task would ask on.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        task.cancel()
