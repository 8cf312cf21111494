"""The process that runs the user's own code, started and ended by `fairgate.providers.python.child_process`."""

from __future__ import annotations

import asyncio
import importlib
import io
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from fairgate.core.errors import FairgateError

if TYPE_CHECKING:
    from typing import Any, Protocol

    from fairgate.core.domain import Query, Reply

    class Loaded(Protocol):
        """A model of this process: `places` calls at once are of use, of which the oldest `turns` run; 0: all do.

        `source`: a digest of the code, None where it has none of its own.
        """

        places: int
        turns: int
        source: str | None

        async def ask(self, query: Query) -> Reply:
            """The model's reply to this query."""
            ...


# The error's class, what, where, hint, and how many requests it took.
Told = tuple[str, str, str | None, str | None, int]


def told(error: FairgateError) -> Told:
    """An error as it travels between two processes."""
    kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "fairgate.core.errors")
    return kind, error.what, error.where, error.hint, getattr(error, "attempts", 1)


def main() -> None:
    """Load the model, report success or the error, and answer until the input closes."""
    # Ctrl-C is handled by the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Its output is a pipe, and it is killed in the end: what is not written line by line would be lost.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    link: Connection[Any, Any] = Connection(int(sys.argv[1]))
    try:
        maker, given = link.recv()
    except (EOFError, OSError):
        return
    module, _, name = maker.partition(":")
    try:
        model: Loaded = getattr(importlib.import_module(module), name)(*given)
    except FairgateError as error:
        link.send(told(error))
        return
    link.send((model.places, model.turns, model.source))
    asyncio.run(_serve(model, link))


async def _serve(model: Loaded, link: Connection[Any, Any]) -> None:
    loop = asyncio.get_running_loop()
    asked: asyncio.Queue[tuple[int, Query]] = asyncio.Queue()

    def listen() -> None:
        while True:
            try:
                got = link.recv()
            except (EOFError, OSError):
                os._exit(0)
            loop.call_soon_threadsafe(asked.put_nowait, got)

    async def answer(number: int, query: Query) -> None:
        try:
            link.send((number, await model.ask(query)))
        except FairgateError as error:
            link.send((number, told(error)))

    threading.Thread(target=listen, daemon=True).start()
    answering: set[asyncio.Task[None]] = set()
    while True:
        task = asyncio.create_task(answer(*await asked.get()))
        answering.add(task)
        task.add_done_callback(answering.discard)
