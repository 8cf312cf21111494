"""`litellm/PROVIDER/NAME`: whatever else LiteLLM reaches. An extra, imported when it is named and never before."""

from __future__ import annotations

import asyncio
import importlib
import os
from time import perf_counter
from typing import TYPE_CHECKING, Any

from fairgate.domain import Identity, Reply
from fairgate.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.models.fields import body_fields, check_fields, count, word
from fairgate.models.redaction import Redaction, is_secret
from fairgate.models.retries import CROWDED, Judgement, Retries, ServerError, TransientError, judge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.domain import Query

OURS = ("model", "messages", "stream", "system_prompt", "api_key", "api_base", "num_retries", "timeout")
FILTERED = "ContentPolicyViolationError"


class LiteLLMChat:
    """A model that LiteLLM calls. Keys are where LiteLLM looks for them, in the environment.

    `base_url` goes before the provider's own address. At most `max_in_flight` calls are under way, each for at most
    `timeout` seconds. Raises ConfigError where LiteLLM is not installed.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None,
        parameters: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        max_in_flight: int = 16,
        timeout: float = 120.0,
        *,
        retries: Retries | None = None,
    ) -> None:
        self._name, self._base_url = name, base_url
        self._fields = body_fields(()) if parameters is None else dict(parameters)
        check_fields(self._fields, OURS)
        self._system = [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
        stated = self._fields if system_prompt is None else {**self._fields, "system_prompt": system_prompt}
        address = None if base_url is None else base_url.partition("?")[0].rpartition("@")[2]
        self._identity = Identity("litellm", name, address, stated)
        self._places, self._timeout = max_in_flight, timeout
        self._retries = retries or Retries()
        self._redaction = Redaction([base_url, *(value for key, value in os.environ.items() if is_secret(key))])
        self._library = _loaded()
        self._line: asyncio.Semaphore | None = None

    def __repr__(self) -> str:
        """As the user named it."""
        return f"LiteLLMChat({self._name!r})"

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._identity

    async def ask(self, query: Query) -> Reply:
        """The model's reply to this query."""
        messages = [*self._system, *({"role": each.role, "content": each.content} for each in query.messages)]
        number = 0

        async def attempt() -> Reply:
            nonlocal number
            number += 1
            outcome = await self._attempt(messages, number)
            if isinstance(outcome, Reply):
                return outcome
            raise outcome

        try:
            return await self._retries.run(attempt)
        except TransientError as last:
            given_up = CallFailed(f"{last}.", where=self._identity.label, attempts=number)
        # Raised here, so that nothing of another library's hangs on it as its context.
        raise given_up

    async def close(self) -> None:
        """Nothing is held."""

    async def _attempt(self, messages: list[dict[str, str]], number: int) -> Reply | TransientError | FairgateError:
        """One call. Troubles are handed back and not raised: no traceback then holds what was sent."""
        if self._line is None:
            self._line = asyncio.Semaphore(self._places)
        given = {**self._fields, **({} if self._base_url is None else {"api_base": self._base_url})}
        async with self._line:
            began = perf_counter()
            try:
                async with asyncio.timeout(self._timeout):
                    # Repeats are ours: two kinds of them would multiply.
                    said = await self._library.acompletion(model=self._name, messages=messages, num_retries=0, **given)
            except TimeoutError:
                return TransientError("timeout", f"no whole answer within {self._timeout:g} s", crowded=True)
            except Exception as error:  # noqa: BLE001 - whatever the library raises is judged by its status
                return self._judged(error, perf_counter() - began, number)
        return self._read(said, perf_counter() - began, number)

    def _read(self, said: Any, latency: float, number: int) -> Reply | TransientError:
        try:
            choice = said.choices[0]
            text = choice.message.content
        except (AttributeError, IndexError, TypeError):
            return TransientError("no choices in the answer")
        usage = getattr(said, "usage", None)
        return Reply(
            text=self._shown(text) or "",
            filtered=getattr(choice, "finish_reason", None) == "content_filter",
            prompt_tokens=count(getattr(usage, "prompt_tokens", None)),
            completion_tokens=count(getattr(usage, "completion_tokens", None)),
            served_model=self._shown(getattr(said, "model", None)),
            fingerprint=self._shown(getattr(said, "system_fingerprint", None)),
            latency=latency,
            attempts=number,
        )

    def _shown(self, said: object) -> str | None:
        """A text that is not empty, without secrets: a server may say what it was sent."""
        text = word(said)
        return None if text is None else self._redaction.hide(text)

    def _judged(self, error: Exception, latency: float, number: int) -> Reply | TransientError | FairgateError:
        kind, status = type(error).__name__, getattr(error, "status_code", None)
        said = self._redaction.show(str(error))
        if kind == FILTERED:
            return Reply("", filtered=True, latency=latency, attempts=number)
        if not isinstance(status, int) or status < 400:
            return TransientError(kind, said)
        match judge(status, ServerError(str(error)), self._fields):
            case Judgement.MAY_PASS:
                return TransientError(f"HTTP {status}", said, crowded=status in CROWDED)
            case Judgement.FILTERED:
                return Reply("", filtered=True, latency=latency, attempts=number)
            case Judgement.REJECTED:
                what = f"the server rejects this query (HTTP {status}: {said})."
                return CallFailed(what, where=self._identity.label, attempts=number)
            case _:
                hint = "Check the name, the provider's key in the environment, and --model-arg."
                return RunStopped(f"{kind} (HTTP {status}: {said}).", where=self._identity.label, hint=hint)


def _loaded() -> Any:
    # It would fetch a price list from the network at its import.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        library: Any = importlib.import_module("litellm")
    except ImportError:
        raise ConfigError(
            "LiteLLM is not installed.", where="litellm/NAME", hint="pip install 'fairgate[litellm]'"
        ) from None
    library.telemetry = False
    library.suppress_debug_info = True
    return library
