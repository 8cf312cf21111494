"""A model in a process of its own: however it ends or hangs, the run comes to its verdict."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from dataclasses import replace
from itertools import count
from multiprocessing import Pipe
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from fairgate.core import errors
from fairgate.core.domain import Identity, Reply
from fairgate.core.errors import CallFailed, ConfigError, FairgateError, RunStopped
from fairgate.providers.python.child_output import ChildOutput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection
    from pathlib import Path
    from typing import Any, BinaryIO

    from fairgate.core.domain import Query

START = "from fairgate.providers.python.child_main import main; main()"
LOADING = 3_600.0  # seconds until a model is loaded, fetched from a hub perhaps
SECONDS = 5.0  # for a process that was killed to be gone
LAST_LINES = 1.0  # seconds for what it printed to be shown; a process that it started may hold the pipe for longer


class _Child:
    """One process that has loaded the model. Raises ConfigError where it cannot be loaded."""

    def __init__(
        self, where: str, maker: str, given: tuple[object, ...], environment: Mapping[str, str], output: ChildOutput
    ) -> None:
        self.link, far = Pipe()
        paths = os.pathsep.join(filter(None, [str(each) for each in sys.path]))
        inherited = dict(os.environ)
        if not sys.flags.safe_path:  # it was set for workers; what the user's code starts need not know it
            inherited.pop("PYTHONSAFEPATH", None)
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-P", "-c", START, str(far.fileno())],
            pass_fds=[far.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**inherited, "PYTHONPATH": paths, **environment},
        )
        far.close()
        shown = output.read(cast("BinaryIO", self.process.stdout))
        self._kill = weakref.finalize(self, _killed, self.process, self.link, shown)
        try:
            self.link.send((maker, given))
            ready = self.link.recv() if self.link.poll(LOADING) else None
        except (EOFError, OSError):
            code = self.process.wait()
            self.kill()
            raise ConfigError(f"importing it ended its process (exit {code}).", where=where) from None
        except BaseException:
            self.kill()
            raise
        if ready is None:
            self.kill()
            raise ConfigError(f"it is not loaded after {LOADING / 60:.0f} minutes.", where=where)
        if len(ready) != 3:
            self.kill()
            raise _error(ready)
        self.places, self.turns, self.source = ready

    def kill(self) -> None:
        """End the process, whatever it is doing; an unclosed one ends with the parent."""
        self._kill()


def _killed(process: subprocess.Popen[bytes], link: Connection[Any, Any], shown: threading.Thread) -> None:
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(SECONDS)
    link.close()
    shown.join(LAST_LINES)


def _error(problem: tuple[str, str, str | None, str | None, int]) -> FairgateError:
    kind, what, where, hint, attempts = problem
    if kind == CallFailed.__name__:
        return CallFailed(what, where=where, hint=hint, attempts=attempts)
    made: FairgateError = getattr(errors, kind)(what, where=where, hint=hint)
    return made


class Child:
    """A model that `maker` (`module:callable`) makes of what is `given` to it there, each call of `timeout` seconds.

    A call that takes longer fails, and with it ends the process; what else was under way there is called again in a new
    one. Of a model that answers so many calls at once (`turns`), in batches or one by one, the seconds count from the
    last reply to any of them. Where the code ends its own process, the run stops. The process starts with the first
    call, or by `start` before, with these variables beside those of the environment.
    """

    def __init__(
        self,
        identity: Identity,
        maker: str,
        given: tuple[object, ...],
        timeout: float,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._where, self._timeout = identity.label, timeout
        self._given = (self._where, maker, given, environment, ChildOutput(self._where))
        self._identity, self._numbers = identity, count()
        self._last = 0.0  # when a reply came
        self._waiting: dict[int, tuple[Query, asyncio.Future[Reply]]] = {}
        self._line: asyncio.Semaphore | None = None
        self._restarting: asyncio.Lock | None = None
        self._problem: FairgateError | None = None
        self._listened = False
        self._child: _Child | None = None

    def __repr__(self) -> str:
        """As the user named it."""
        return f"{type(self).__name__}({self._where!r})"

    def start(self) -> None:
        """Load the model now. Raises ConfigError where it cannot be."""
        self._child = _Child(*self._given)

    def _made(self) -> _Child:
        try:
            return _Child(*self._given)
        except FairgateError as problem:
            self._problem = problem  # it would not be loaded for the other calls either
            raise

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of this model."""
        return self._identity

    async def ask(self, query: Query) -> Reply:
        """What the model returns for this query. Nothing is repeated: the code is the user's to make robust."""
        if self._restarting is None:
            self._restarting = asyncio.Lock()
        async with self._restarting:
            child = self._child
            if self._problem is not None:
                raise self._problem
            if child is None:
                child = self._child = await asyncio.to_thread(self._made)
            self._listen(child)
            if self._line is None:
                self._line = asyncio.Semaphore(child.places)
        async with self._line:
            async with self._restarting:  # another may have taken its place since
                child = self._child or child
            if self._problem is not None:
                raise self._problem
            number, reply = next(self._numbers), asyncio.get_running_loop().create_future()
            self._waiting[number] = query, reply
            try:
                self._send(child, number, query)
                return await self._in_time(number, reply, child.turns)
            except TimeoutError:
                self._waiting.pop(number, None)
                await self._restart(child)
            finally:
                self._waiting.pop(number, None)
        raise CallFailed(
            f"timeout: no reply within {self._timeout:g} s.",
            where=self._where,
            hint="Give it longer (--request-timeout), or call it less often at once (--max-in-flight).",
        )

    async def close(self) -> None:
        """End the process."""
        child, self._child, self._listened = self._child, None, False
        self._line = self._restarting = None
        if child is not None:
            await asyncio.to_thread(child.kill)

    async def _in_time(self, number: int, reply: asyncio.Future[Reply], turns: int) -> Reply:
        sent = perf_counter()
        while True:
            since = max(sent, self._last) if turns else sent
            done, _ = await asyncio.wait([reply], timeout=since + self._timeout - perf_counter())
            if done:
                return reply.result()
            if not turns or (self._last <= since and number in sorted(self._waiting)[:turns]):
                raise TimeoutError
            sent = perf_counter() if self._last <= since else sent  # it waits for its turn

    def _send(self, child: _Child, number: int, query: Query) -> None:
        # If it is gone, the reader finds that out.
        with suppress(OSError):
            child.link.send((number, query))

    async def _restart(self, hanging: _Child) -> None:
        if self._restarting is None:
            return
        async with self._restarting:
            # Several calls may have hung in it: the first to be given up has seen to it.
            if self._child is not hanging:
                return
            self._child, self._listened = None, False
            await asyncio.to_thread(hanging.kill)
            child = self._child = await asyncio.to_thread(_Child, *self._given)
            self._listen(child)
            self._last = perf_counter()  # loading it took no time of theirs
            for number, (query, _) in list(self._waiting.items()):
                self._send(child, number, query)

    def _listen(self, child: _Child) -> None:
        if self._listened:
            return
        self._listened = True
        loop = asyncio.get_running_loop()

        def listen(link: Connection[Any, Any]) -> None:
            with suppress(RuntimeError):  # the loop is closed: no caller waits
                try:
                    while True:
                        number, outcome = link.recv()
                        loop.call_soon_threadsafe(self._arrived, number, outcome)
                except (EOFError, OSError, TypeError):  # TypeError: closed under its hands
                    loop.call_soon_threadsafe(self._ended, child)

        threading.Thread(target=listen, args=[child.link], name="fairgate-python", daemon=True).start()

    def _arrived(self, number: int, outcome: Reply | tuple[str, str, str | None, str | None, int]) -> None:
        self._last = perf_counter()
        found = self._waiting.get(number)
        if found is None or found[1].done():
            return
        if isinstance(outcome, Reply):
            found[1].set_result(outcome)
        else:
            found[1].set_exception(_error(outcome))

    def _ended(self, child: _Child) -> None:
        """The code ended its own process: no further call would come back."""
        if child is not self._child:
            return
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(SECONDS)  # it is at its end
        code = child.process.poll()
        how = "" if code is None else f" (signal {-code})" if code < 0 else f" (exit {code})"
        self._problem = RunStopped(
            f"the callable ended its process{how}.",
            where=self._where,
            hint="A model returns a reply, or raises; what was answered is kept.",
        )
        for _, reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(self._problem)


class ChildChat(Child):
    """`python/TARGET` as a model, at most `max_in_flight` calls at once. Raises ConfigError where it cannot be loaded.

    `ledger`: of a text-to-image model, whose images are kept beside it.
    """

    def __init__(
        self, target: str, revision: str | None, max_in_flight: int, timeout: float, ledger: Path | None = None
    ) -> None:
        identity = Identity("python", target, parameters={} if revision is None else {"revision": revision})
        maker = "fairgate.providers.python.chat:PythonChat"
        given: tuple[object, ...] = (target, revision, max_in_flight)
        if ledger is not None:
            maker, given = (
                "fairgate.providers.python.images:image_model",
                (target, str(ledger), revision, max_in_flight),
            )
        super().__init__(identity, maker, given, timeout)
        self.start()
        if revision is None and self._child is not None and self._child.source is not None:
            # Under its name alone, replies of other code would be taken for its own.
            self._identity = replace(identity, parameters={"source": self._child.source})
