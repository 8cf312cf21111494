"""What reads faces, whatever stands behind it, and how the sampler asks it."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from fairgate.core.domain import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.core.domain import Identity, Query
    from fairgate.ledger.images import ImageStore
    from fairgate.replies.faces import Reading

TOGETHER = 8  # images in one call, where that many wait


class FaceDetector(Protocol):
    """Reads faces from image files. Threads may call at once.

    A bad image is a reading with a problem, never an error. Raises FairgateError where weights or packages lack.
    """

    @property
    def identity(self) -> Identity:
        """What the ledger's key holds of it: other weights are another detector."""
        ...

    @property
    def runs_on(self) -> str:
        """`CUDA` or `CPU`."""
        ...

    def read(self, content: bytes) -> Reading:
        """All faces of one image file."""
        ...

    def read_all(self, contents: Sequence[bytes]) -> list[Reading]:
        """All faces of each of these image files, their attributes in as few calls as can be."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class DetectorModel:
    """A detector as the sampler asks it: for the images of a query, in threads beside the event loop.

    The libraries that do the work release the interpreter's lock, so one thread a processor keeps them all busy. Images
    that come while all threads are at work wait, and are then read together.
    """

    def __init__(self, detector: FaceDetector, store: ImageStore, threads: int | None = None) -> None:
        self._detector, self._store = detector, store
        self._most = threads or _processors()
        self._waiting: deque[tuple[str, asyncio.Future[Reply]]] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._working = 0

    @property
    def identity(self) -> Identity:
        """The detector's."""
        return self._detector.identity

    async def ask(self, query: Query) -> Reply:
        """The reading of the query's image, as JSON; `served_model` says where it was read, `CPU` or `CUDA`."""
        (digest,) = query.images
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((digest, reply))
        if self._working < self._most:
            self._working += 1
            task = asyncio.create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await reply

    async def _work(self) -> None:
        try:
            while self._waiting:
                taken = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
                # Nobody waits any longer for what was cancelled.
                await self._answer([each for each in taken if not each[1].done()])
        finally:
            # At once, and not when the task is found to have ended: who asks in between would wait forever.
            self._working -= 1

    async def _answer(self, asked: Sequence[tuple[str, asyncio.Future[Reply]]]) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="fairgate-faces")
        digests = [digest for digest, _ in asked]
        try:
            replies = await asyncio.get_running_loop().run_in_executor(self._pool, self._read, digests)
        except Exception as error:  # noqa: BLE001 - passed to the caller
            for _, reply in asked:
                if not reply.done():
                    reply.set_exception(error)
            return
        for (_, reply), said in zip(asked, replies, strict=True):
            if not reply.done():
                reply.set_result(said)

    def _read(self, digests: Sequence[str]) -> list[Reply]:
        began = perf_counter()
        readings = self._detector.read_all([self._store.read(digest) for digest in digests])
        latency = (perf_counter() - began) / max(1, len(digests))
        return [Reply(reading.to_json(), served_model=self._detector.runs_on, latency=latency) for reading in readings]

    async def close(self) -> None:
        """Give back threads and detector."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        self._detector.close()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
