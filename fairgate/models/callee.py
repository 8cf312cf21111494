"""The process in which the user's own code runs, started by `fairgate.models.child`, and ended with it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.errors import FairgateError
from fairgate.models.python import PythonChat
from fairgate.models.python_painter import PythonPainter
from fairgate.store.images import ImageStore

if TYPE_CHECKING:
    from typing import Any

    from fairgate.domain import Query

# The error's class, what, where, mend, and how many requests it took.
Told = tuple[str, str, str | None, str | None, int]


def told(error: FairgateError) -> Told:
    """An error as it travels between two processes."""
    kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "fairgate.errors")
    return kind, error.what, error.where, error.hint, getattr(error, "attempts", 1)


def main() -> None:
    """Load the callable, say whether that went well, and answer until nobody asks any more."""
    # Ctrl-C is for whoever started this process, and ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link: Connection[Any, Any] = Connection(int(sys.argv[1]))
    try:
        target, revision, places, ledger = link.recv()
    except (EOFError, OSError):
        return
    try:
        store = None if ledger is None else ImageStore(Path(ledger))
        model = (
            PythonChat(target, revision, places) if store is None else PythonPainter(target, store, revision, places)
        )
    except FairgateError as error:
        link.send(told(error))
        return
    link.send(None)
    asyncio.run(_serve(model, link))


async def _serve(model: PythonChat, link: Connection[Any, Any]) -> None:
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
