"""`folder/DIR` as a text-to-image model: images that exist, by topic. Which layouts there are is each benchmark's.

Each file is one image of its topic, in the order of its name. Which files there are is looked at once, and what is in
them only when they are read; links and hidden files are left out.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairgate.benchmarks.image_files import ImageFiles
from fairgate.core.domain import Identity, Reply
from fairgate.core.errors import CallFailed
from fairgate.core.files import read_bytes
from fairgate.ledger.images import ImageLimits, said

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fairgate.core.domain import Query
    from fairgate.ledger.images import ImageStore


def merged(held: Sequence[ImageFiles]) -> ImageFiles:
    """The files of all benchmarks that have any: one folder, and one model. `held` has one or more."""
    first = held[0]
    return ImageFiles(first.root, first.model, {topic: paths for each in held for topic, paths in each.files.items()})


def folders(place: Path) -> tuple[str, ...]:
    """The names of the folders in a place, sorted; empty where it is none."""
    if not place.is_dir():
        return ()
    return tuple(sorted(path.name for path in place.iterdir() if path.is_dir() and not path.name.startswith(".")))


def images(home: Path) -> tuple[Path, ...]:
    """The files of a folder in the order of their names, `image_10` after `image_9`; empty where it is none."""
    found = [path for path in home.iterdir() if _is_image(path)] if home.is_dir() else []
    return tuple(sorted(found, key=_natural))


def _is_image(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.name.startswith(".")


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", path.name)]


@dataclass
class FolderImageModel:
    """A folder of images, as a text-to-image model: it gives the topic's files in their order."""

    held: ImageFiles
    store: ImageStore
    identity: Identity = field(init=False)

    def __post_init__(self) -> None:
        self.identity = Identity("folder", self.held.model, parameters={"files": self.held.state})

    async def ask(self, query: Query) -> Reply:
        """The image of this index, copied into the store."""
        return await asyncio.to_thread(self._taken, query)

    async def close(self) -> None:
        """Nothing is held."""

    def _taken(self, query: Query) -> Reply:
        topic = query.topic
        paths = self.held.files.get(topic, ())
        if query.index >= len(paths):
            raise CallFailed(f"holds {len(paths)} images of {topic.id}.", where=str(self.held.root))
        path = paths[query.index]
        try:
            if path.stat().st_size > ImageLimits().content:
                return Reply("too-large")
            return Reply(said(self.store.add(read_bytes(path, ImageLimits().content))))
        except OSError as error:
            raise CallFailed(f"cannot be read: {error.strerror}.", where=str(path)) from error
