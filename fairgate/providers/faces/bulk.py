"""Reading the faces of many images at once: what is still unread, in batches, here or on a Ray cluster.

A batch is read by `read_batch`, wherever that is. Readings are stored as they come, so that what was read is never read
again, whatever dies.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from fairgate.core.domain import Form, Modality, Query, Reply, Role
from fairgate.core.errors import ConfigError, FairgateError, LedgerError
from fairgate.core.files import read_bytes
from fairgate.ledger.images import ImageLimits, ImageStore, hash_in
from fairgate.ledger.samples import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from fairgate.core.domain import Identity
    from fairgate.ledger.ledger import Ledger
    from fairgate.providers.faces.detector import FaceDetector

BATCH = 32  # images
AHEAD = 2  # batches that wait at each actor, so that none waits for images
PATIENCE = 10.0  # seconds until an address of a cluster answers; Ray itself tries for minutes
PLACED = 600.0  # seconds in which one actor must be placed: clusters that grow take minutes
INSTALL = "Install it with: pip install 'fairgate[ray]'."
FOLDER = "folder/image/implicit"  # of images without a run: ledgers that exist have it in their ids
START = "Start one with: ray start --head."


@dataclass(frozen=True, slots=True)
class Pictured:
    """A topic of images by its id alone: what it is about is of no matter to a detector."""

    id: str
    modality: Modality = Modality.IMAGE

    @property
    def benchmark(self) -> str:
        """The first part of the id."""
        return self.id.split("/", 3)[0]

    @property
    def task(self) -> str:
        """The third part of the id."""
        return self.id.split("/", 3)[2]


@dataclass(frozen=True)
class Maker:
    """How a detector is made, on whatever machine."""

    spec: str
    weights: str | None = None
    arguments: tuple[str, ...] = ()

    def make(self) -> FaceDetector:
        """The detector. Raises FairgateError, with the command to run, where packages or weights lack."""
        from pathlib import Path

        from fairgate.providers.faces import factory

        return factory.make(
            self.spec, weights=None if self.weights is None else Path(self.weights), arguments=self.arguments
        )


def read_batch(detector: FaceDetector, contents: Sequence[bytes]) -> tuple[list[str], float]:
    """The readings of these image files as JSON, and the seconds that each took."""
    began = time.perf_counter()
    readings = [reading.to_json() for reading in detector.read_all(list(contents))]
    return readings, (time.perf_counter() - began) / max(1, len(readings))


def images_of(ledger: Ledger, identity: Identity) -> Iterator[Query]:
    """What a ledger's images still lack of this detector: the queries that a run would ask of it."""
    with ledger.translated():
        rows = ledger.database.execute(
            "SELECT query, reply FROM samples WHERE form = ? ORDER BY key", (Form.IMAGE,)
        ).fetchall()
    for name, said in rows:
        if not (isinstance(name, str) and isinstance(said, str)):
            raise LedgerError("a row of samples holds no text.", where=str(ledger.path), hint="Use a copy of before.")
        digest = hash_in(said)
        topic, _, rest = name.partition("#")
        index = rest.partition("/")[0]
        if digest is not None and index.isdigit():
            query = _looks(Pictured(topic), int(index), digest)
            if not ledger.holds(identity, query):
                yield query


@dataclass
class Lost:
    """Images that could not be read from the disk: they are passed over, and named at the end. `first` says why."""

    count: int = 0
    first: str = field(default="", init=False)

    def add(self, why: str) -> None:
        """One more."""
        self.count += 1
        self.first = self.first or why


def images_in(
    folder: Path, names: Iterable[Path], store: ImageStore, ledger: Ledger, identity: Identity, lost: Lost
) -> Iterator[Query]:
    """The files of a folder that were not read by this detector yet; each is copied beside the ledger.

    Links may lead to what is none of the folder's: they are lost, as what cannot be read is.
    """
    for path in names:
        if path.is_symlink():
            lost.add(f"{path}: it is a link, which is not followed.")
            continue
        try:
            content = read_bytes(path, ImageLimits().content)
        except OSError as error:
            lost.add(f"{path}: cannot be read: {error.strerror}.")
            continue
        digest = store.add(content)
        query = _looks(Pictured(f"{FOLDER}/{path.relative_to(folder).as_posix()}"), 0, digest)
        if not ledger.holds(identity, query):
            yield query


def _looks(topic: Pictured, index: int, digest: str) -> Query:
    """As `fairgate.providers.faces.vision_detector.read_faces` asks a detector."""
    return Query(topic, index, digest, step="faces", to=Role.DETECTOR, form=Form.FACES, images=(digest,))


def keep(
    ledger: Ledger, run: str, identity: Identity, done: Iterable[tuple[Sequence[Query], Sequence[str], float]]
) -> Iterator[int]:
    """Store readings as they come; yields how many each batch had."""
    for queries, readings, seconds in done:
        for query, text in zip(queries, readings, strict=True):
            reply = Reply(text, latency=seconds)
            ledger.add(run, identity, query, reply, read(query, reply))
        yield len(readings)


def here(
    detector: FaceDetector, store: ImageStore, pending: Iterable[Query], lost: Lost, batch: int = BATCH
) -> Iterator[tuple[Sequence[Query], Sequence[str], float]]:
    """Batches read in this process, one after the other."""
    for queries, contents in _loaded(pending, store, lost, batch):
        yield queries, *read_batch(detector, contents)


def on_ray(
    maker: Maker,
    store: ImageStore,
    pending: Iterable[Query],
    address: str,
    lost: Lost,
    batch: int = BATCH,
    actors: int | None = None,
) -> Iterator[tuple[Sequence[Query], Sequence[str], float]]:
    """Batches read on a Ray cluster, in any order: one actor a processor, or a GPU where the nodes have any.

    An actor holds the detector's sessions. Images are sent along, so that nodes need no folder in common. What an actor
    that died had in hand is read by another. Raises FairgateError where none is left, no cluster answers, or Ray is not
    installed.
    """
    try:
        import ray
    except ImportError as error:
        raise ConfigError("ray is not installed.", where="--ray", hint=INSTALL) from error
    _reached(address)
    # Actors look for modules in the folder in which Ray was reached, which may be anybody's: here, an empty one.
    with tempfile.TemporaryDirectory(prefix="fairgate-", ignore_cleanup_errors=True) as empty:
        try:
            with chdir(empty):
                ray.init(address=address, ignore_reinit_error=True, log_to_driver=False, logging_level="warning")
        except (OSError, RuntimeError, ValueError) as error:
            raise FairgateError(f"no Ray cluster answers: {error}.", where=f"--ray {address}", hint=START) from error
        yield from _by_actors(ray, maker, store, pending, address, lost, batch, actors)


def _by_actors(
    ray: Any,
    maker: Maker,
    store: ImageStore,
    pending: Iterable[Query],
    address: str,
    lost: Lost,
    batch: int,
    actors: int | None,
) -> Iterator[tuple[Sequence[Query], Sequence[str], float]]:
    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0))
    many = actors or gpus or max(1, int(resources.get("CPU", 1)))
    reader = ray.remote(num_cpus=0 if gpus else 1, num_gpus=1 if gpus else 0)(_Reader)
    readers = {number: reader.remote(maker) for number in range(many)}
    # Only placed actors get images: on a shared cluster some may never be placed.
    starting = {each.ready.remote(): number for number, each in readers.items()}
    held: dict[Any, tuple[int, Sequence[Query]]] = {}
    left, again = _loaded(pending, store, lost, batch), list[Sequence[Query]]()
    # Idle actors: they take over the batch of an actor that fails.
    idle = list[int]()

    def give(number: int) -> None:
        taken = next(_loaded(again.pop(), store, lost, batch) if again else left, None)
        if taken:
            queries, contents = taken
            held[readers[number].read.remote(contents)] = number, queries
        elif number not in idle:
            idle.append(number)

    try:
        while held or (starting and not idle):
            done, _ = ray.wait([*held, *starting], num_returns=1, timeout=PLACED)
            if not done:
                if held:
                    continue
                raise FairgateError(
                    f"no actor was placed within {PLACED / 60:g} minutes.",
                    where=f"--ray {address}",
                    hint="`ray status` says what the cluster is busy with.",
                )
            (ready,) = done
            new = ready in starting
            number, queries = (starting.pop(ready), ()) if new else held.pop(ready)
            try:
                found = ray.get(ready)
            except ray.exceptions.RayActorError as error:
                readers.pop(number, None)
                starting = {ref: of for ref, of in starting.items() if of != number}
                idle = [each for each in idle if each != number]
                if queries:
                    again.append(queries)
                if not readers:
                    raise FairgateError(
                        f"no actor is left: {error}.", where=address, hint="Start it again: what was read is kept."
                    ) from None
                if again and idle:
                    give(idle.pop())
                continue
            if not new:
                yield queries, *found
            if number in readers:
                for _ in range(AHEAD if new else 1):
                    give(number)
    finally:
        for each in readers.values():
            ray.kill(each)
        ray.shutdown()


class _Reader:
    """A detector on some node."""

    def __init__(self, maker: Maker) -> None:
        self._detector = maker.make()

    def ready(self) -> None:
        """Returns as soon as the actor is placed, and its detector made."""

    def read(self, contents: Sequence[bytes]) -> tuple[list[str], float]:
        """As `read_batch`."""
        return read_batch(self._detector, contents)


def _loaded(
    pending: Iterable[Query], store: ImageStore, lost: Lost, size: int
) -> Iterator[tuple[list[Query], list[bytes]]]:
    """Batches with their images; one that is gone, or is no longer what it was, holds up no other."""

    def images() -> Iterator[tuple[Query, bytes]]:
        for query in pending:
            try:
                content = store.read(query.prompt)
            except LedgerError as error:
                lost.add(str(error))
                continue
            yield query, content

    there = images()
    while taken := list(islice(there, size)):
        yield [query for query, _ in taken], [content for _, content in taken]


def _reached(address: str) -> None:
    """Raises ConfigError where HOST:PORT does not answer. Ray finds `auto`, and what else it knows, by itself."""
    import socket

    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise FairgateError(f"no Ray cluster answers: {error}.", where=f"--ray {address}", hint=START) from error
