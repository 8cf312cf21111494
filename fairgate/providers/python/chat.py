"""`python/pkg.module:callable`: the user's own code, in this process."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from fairgate.core.domain import Identity, Reply
from fairgate.core.errors import CallFailed, ConfigError, FairgateError, did_you_mean
from fairgate.core.redaction import Redaction, of_environment
from fairgate.providers.python.batching import CallBatches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairgate.core.domain import Query

LOOK = "It is looked up from the current directory and on PYTHONPATH."


def revision(model_args: Sequence[str]) -> str | None:
    """The `revision` among `KEY=VALUE` arguments, the only one that a callable takes."""
    found: str | None = None
    for each in model_args:
        key, equals, value = each.partition("=")
        if key.strip() != "revision" or not equals:
            raise ConfigError(
                f"{each!r} is not an argument of a callable.",
                where="--model-arg",
                hint="Write revision=TEXT; it tells the replies of one state of the code from another's.",
            )
        found = value.strip() or None
    return found


class PythonChat:
    """A callable from prompt to reply, `call` or else what `target` names, imported once.

    In a conversation it is given the list of messages instead,

    [{"role": "user", "content": "…"}, {"role": "assistant", …}, …], as OpenAI's libraries take them.

    Plain functions run in at most `max_in_flight` threads; coroutine functions, and objects whose `__call__` is one,
    in the event loop, as many at once. `revision` tells the replies of one state of the code from another's.

    The callable can declare by attributes, or by `fairgate.batched`, that fewer calls of it may run at once
    (`max_in_flight`), and that it takes a list of at most `batch` prompts and returns a list of as many replies. Of a
    pipeline of diffusers, whose scheduler holds the state of one call, one call runs at once whatever it declares.
    """

    def __init__(
        self,
        target: str,
        revision: str | None = None,
        max_in_flight: int = 16,
        call: Callable[..., object] | None = None,
    ) -> None:
        if max_in_flight < 1:
            raise ConfigError("the in-flight limit is 1 or more.", where=f"python/{target}")
        self._target, self._max_in_flight = target, max_in_flight
        self._call = _load(target) if call is None else call
        self._awaits = _is_async(self._call)
        batch, fewest = self._declared("batch"), self._declared("max_in_flight")
        if _is_pipeline(self._call):
            fewest = 1
        self.turns = 0 if batch is None and fewest is None else (batch or 1) * (fewest or 1)
        if batch is None and fewest is not None:
            self._max_in_flight = min(max_in_flight, fewest)
        self._batches = None if batch is None else CallBatches(self._together, batch, fewest or 1)
        self._identity = Identity("python", target, parameters={} if revision is None else {"revision": revision})
        self._threads: ThreadPoolExecutor | None = None
        self._places: asyncio.Semaphore | None = None

    def __repr__(self) -> str:
        """As the user named it."""
        return f"PythonChat({self._target!r})"

    @property
    def places(self) -> int:
        """How many calls at once are of use."""
        return self._max_in_flight

    @property
    def source(self) -> str | None:
        """16 hexadecimal digits of the source of the named module, and of the one that defines the callable.

        None where neither has a file. What these import is not looked at: `revision` says that it changed.
        """
        names = dict.fromkeys((self._target.partition(":")[0], getattr(self._call, "__module__", None)))
        files = [getattr(sys.modules.get(name or ""), "__file__", None) for name in names]
        found = hashlib.sha256()
        read = 0
        for file in filter(None, files):
            with suppress(OSError):
                found.update(Path(file).read_bytes())
                read += 1
        return found.hexdigest()[:16] if read else None

    def _declared(self, name: str) -> int | None:
        value = getattr(self._call, name, None)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return value
        raise ConfigError(
            f"its attribute {name} is {value!r}.", where=f"python/{self._target}", hint="Declare 1 or more, or none."
        )

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._identity

    async def ask(self, query: Query) -> Reply:
        """What the callable returns for this prompt. Nothing is repeated: the code is the user's to make robust."""
        asked: str | list[dict[str, str]] = query.prompt
        if query.before:
            asked = [{"role": each.role, "content": each.content} for each in query.messages]
        if self._batches is not None:
            told = await self._batches.ask(asked)
            outcome = self._failed(told) if isinstance(told, BaseException) else told
        elif self._awaits:
            outcome = await self._awaited(asked)
        else:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._max_in_flight, thread_name_prefix="fairgate-python")
            outcome = await asyncio.get_running_loop().run_in_executor(self._threads, self._called, asked)
        if isinstance(outcome, Reply):
            return outcome
        # Raised here and alone: the user's exception may hold what must not be shown.
        raise outcome

    async def close(self) -> None:
        """Give back the threads, when the calls under way have ended."""
        if self._batches is not None:
            await self._batches.close()
        threads, self._threads = self._threads, None
        self._places = None
        if threads is not None:
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    def _together(self, asked: Sequence[str | list[dict[str, str]]]) -> Sequence[Reply | CallFailed]:
        began = perf_counter()
        said = self._call(list(asked))
        if inspect.isawaitable(said):
            said = asyncio.run(_awaited(said))
        several = self._several(said)
        if several is None or len(several) != len(asked):
            found = type(said).__name__ if several is None else f"{len(several)} of them"
            # No half of it is tried again: whose replies they are cannot be told.
            failure = CallFailed(
                f"it returned {found}, not a list of {len(asked)} replies.",
                where=f"python/{self._target}",
                hint="It declares `batch`: return one reply for each prompt, in their order.",
            )
            return [failure for _ in asked]
        latency = perf_counter() - began
        return [self._reply(each, latency) for each in several]

    def _several(self, said: object) -> Sequence[object] | None:
        """The replies that one call of a batch returned; None where they are none."""
        return said if isinstance(said, list | tuple) else None

    def _called(self, asked: str | list[dict[str, str]]) -> Reply | FairgateError:
        began = perf_counter()
        # Handed back and not raised, because a StopIteration raised into a future would leave its caller waiting.
        try:
            said = self._call(asked)
            if inspect.isawaitable(said):
                said = asyncio.run(_awaited(said))
        except BaseException as error:  # noqa: BLE001 (whatever the user's code raises is one failed sample)
            return self._failed(error)
        return self._reply(said, perf_counter() - began)

    async def _awaited(self, asked: str | list[dict[str, str]]) -> Reply | FairgateError:
        if self._places is None:
            self._places = asyncio.Semaphore(self._max_in_flight)
        async with self._places:
            began = perf_counter()
            try:
                said = await _awaited(self._call(asked))
            except (Exception, SystemExit, asyncio.CancelledError) as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                    raise
                return self._failed(error)
            return self._reply(said, perf_counter() - began)

    def _reply(self, said: object, latency: float) -> Reply | CallFailed:
        if not isinstance(said, str):
            return CallFailed(
                f"it returned {type(said).__name__}, not str.", where=f"python/{self._target}", hint="Return the text."
            )
        # Halves of characters go: no database stores them.
        return Reply(said.encode("utf-8", "replace").decode(), latency=latency)

    def _failed(self, error: BaseException) -> FairgateError:
        show = Redaction(of_environment()).show
        if isinstance(error, FairgateError):
            # Ours, or raised by the user's code, whose words may hold what must not be shown.
            what, where, hint = (each and show(each) for each in (error.what, error.where, error.hint))
            if isinstance(error, CallFailed):
                return CallFailed(what or "", where=where, hint=hint, attempts=error.attempts, tokens=error.tokens)
            kinds = (each for each in type(error).__mro__ if each.__module__ == FairgateError.__module__)
            kind: type[FairgateError] = next(kinds)
            return kind(what or "", where=where, hint=hint)
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if len(frames) > 1 else ""
        return CallFailed(f"{type(error).__name__}: {show(_words(error))}{place}", where=f"python/{self._target}")


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is the user's code that makes them
        return "it cannot be put into words"


async def _awaited(said: object) -> object:
    return await said if inspect.isawaitable(said) else said


def _is_pipeline(call: object) -> bool:
    return any(each.__module__.partition(".")[0] == "diffusers" for each in type(call).__mro__)


def _is_async(call: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004


def _load(target: str) -> Callable[..., object]:
    where = f"python/{target}"
    module_name, colon, path = target.partition(":")
    if not colon or not path or not all(part.isidentifier() for part in [*module_name.split("."), *path.split(".")]):
        raise ConfigError(
            f"{target!r} does not name a callable.", where=where, hint="Write it as python/pkg.module:callable."
        )
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise ConfigError(f"there is no module {error.name!r}.", where=where, hint=LOOK) from None
        problem = str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's module raises
        problem = f"{type(error).__name__}: {error}"
    else:
        return _reached(found, module_name, path, where)
    # Raised here and alone: the user's exception may hold what must not be shown.
    said = Redaction(of_environment()).show(problem)
    raise ConfigError(f"importing {module_name} failed: {said}.", where=where)


def _reached(found: object, module_name: str, path: str, where: str) -> Callable[..., object]:
    reached = module_name
    for part in path.split("."):
        if not hasattr(found, part):
            names = [name for name in dir(found) if not name.startswith("_")]
            raise ConfigError(f"{reached} has no {part!r}.", where=where, hint=did_you_mean(part, names))
        found, reached = getattr(found, part), f"{reached}.{part}"
    if isinstance(found, type):
        hint = "Name an instance of it, or a function."
        raise ConfigError(f"{path} is a class: calling it makes no reply.", where=where, hint=hint)
    if not callable(found):
        raise ConfigError(f"{path} is {type(found).__name__}, which cannot be called.", where=where)
    return found
