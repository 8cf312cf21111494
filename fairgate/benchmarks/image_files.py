"""The images of a folder by topic, as a benchmark finds them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairgate.core.domain import Topic


@dataclass(frozen=True)
class ImageFiles:
    """The files of a folder by topic, and the model that they are of."""

    root: Path
    model: str
    files: Mapping[Topic, tuple[Path, ...]]

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
