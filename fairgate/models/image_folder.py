"""`folder/DIR` as a text-to-image model: images that exist, by topic.

Two layouts, below DIR:

    <objective|subjective>/<statistic>/<high|low>/*                       ours; a statistic by its slug or its name
    <objective_test|subjective_test>/Images/<model>/<Statistic>/<high|low>/*   the original program's

Each file is one image of its topic, in the order of its name. Which files there are is looked at once, and what is in
them only when they are read; links and hidden files are left out.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from fairgate.bigbench.topics import Sitting
from fairgate.domain import Reply
from fairgate.errors import CallFailed, ConfigError, DataError, did_you_mean
from fairgate.f2bench.topics import Theme
from fairgate.fact_or_fair.cases import OWN_TASKS, image_topic
from fairgate.fact_or_fair.topics import Level, StatisticTopic
from fairgate.files import read_bytes
from fairgate.models.base import Identity
from fairgate.store.images import Limits, said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fairgate.domain import Query
    from fairgate.fact_or_fair.data import Dataset
    from fairgate.store.images import ImageStore


@dataclass(frozen=True)
class ImageFiles:
    """The files of a folder by topic, and the model that they are of."""

    root: Path
    model: str
    files: Mapping[StatisticTopic, tuple[Path, ...]]

    @property
    def numbers(self) -> dict[str, int]:
        """How many images there are, by a topic's id."""
        return {topic.id: len(paths) for topic, paths in self.files.items()}

    @property
    def state(self) -> str:
        """Another for every other name, size or time of a file: what was read of the old ones is not theirs."""
        digest = blake2b(digest_size=16)
        for topic, paths in sorted(self.files.items(), key=lambda each: each[0].id):
            for path in paths:
                about = path.stat()
                digest.update(f"{topic.id}\0{path.name}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
        return digest.hexdigest()


def find(root: Path, dataset: Dataset) -> ImageFiles:
    """The images below `root`, or below its parent for the model that the last part names (the original layout).

    Raises ConfigError where there is no such folder, or nothing of either layout in it; DataError for a folder that
    names no statistic.
    """
    base, wanted = (root, None) if root.is_dir() else (root.parent, root.name)
    if not base.is_dir():
        raise ConfigError(
            f"there is no folder {root}.", where="--t2i-model", mend="Write folder/DIR, or folder//abs/DIR."
        )
    slugs = {
        _plain(name): statistic.slug for statistic in dataset.statistics for name in (statistic.slug, statistic.name)
    }
    models = sorted(_folders(base / f"{task}_test" / "Images") for task in OWN_TASKS)
    names = sorted({name for found in models for name in found})
    if wanted is not None and wanted not in names:
        raise ConfigError(f"there is no folder {root}.", where="--t2i-model", mend=did_you_mean(wanted, names))
    if wanted is None and len(names) > 1:
        raise ConfigError(
            f"{root} holds the images of several models: {', '.join(names)}.",
            where="--t2i-model",
            mend=f"Name one, as in folder/{root / names[0]}.",
        )
    model = wanted or (names[0] if names else base.name)
    files: dict[StatisticTopic, tuple[Path, ...]] = {}
    for task in OWN_TASKS:
        place = base / f"{task}_test" / "Images" / model if names else base / str(task)
        files |= dict(_topics(place, task, slugs))
    if not files:
        raise ConfigError(
            f"{root} holds no images.",
            where="--t2i-model",
            mend="Put them into <objective|subjective>/<statistic>/<high|low>/.",
        )
    return ImageFiles(base, model, files)


def _topics(place: Path, task: str, slugs: Mapping[str, str]) -> Iterator[tuple[StatisticTopic, tuple[Path, ...]]]:
    for name in _folders(place):
        if _plain(name) not in slugs:
            raise DataError(
                "no statistic has this name.", where=str(place / name), mend=did_you_mean(name, slugs.values())
            )
        for level in Level:
            home = place / name / level
            found = [path for path in home.iterdir() if _is_image(path)] if home.is_dir() else []
            if found:
                yield image_topic(task, slugs[_plain(name)], level), tuple(sorted(found, key=_natural))


def _folders(place: Path) -> tuple[str, ...]:
    if not place.is_dir():
        return ()
    return tuple(sorted(path.name for path in place.iterdir() if path.is_dir() and not path.name.startswith(".")))


def _is_image(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.name.startswith(".")


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip()).casefold()


def _natural(path: Path) -> list[tuple[int, str]]:
    """`image_10` after `image_9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", path.name)]


@dataclass
class FolderPainter:
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
        paths = () if isinstance(topic, Theme | Sitting) else self.held.files.get(topic, ())
        if query.index >= len(paths):
            raise CallFailed(f"holds {len(paths)} images of {topic.id}.", where=str(self.held.root))
        path = paths[query.index]
        try:
            if path.stat().st_size > Limits().content:
                return Reply("too-large")
            return Reply(said(self.store.add(read_bytes(path, Limits().content))))
        except OSError as error:
            raise CallFailed(f"cannot be read: {error.strerror}.", where=str(path)) from error
