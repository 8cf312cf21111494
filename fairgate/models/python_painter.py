"""`python/pkg.module:callable` as a text-to-image model: the user's own code, in this process.

The callable is given the prompt and returns an image: the bytes of an image file, a Pillow image, an array of 8-bit RGB
[height, width, 3], or what a diffusers pipeline returns (its first image). None says that it refused. A text is never
taken for the path of a file.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from fairgate.domain import Reply
from fairgate.errors import CallFailed
from fairgate.models.python import PythonChat
from fairgate.store.images import said

if TYPE_CHECKING:
    from PIL import Image

    from fairgate.store.images import ImageStore


class PythonPainter(PythonChat):
    """A callable from prompt to image, imported once; run as a `PythonChat` is, its images put into `store`."""

    def __init__(self, target: str, store: ImageStore, revision: str | None = None, max_in_flight: int = 16) -> None:
        super().__init__(target, revision, max_in_flight)
        self._store = store

    def _reply(self, made: object, latency: float) -> Reply | CallFailed:
        if _refused(made):
            return Reply("", filtered=True, latency=latency)
        first = _first(made)
        content = _content(first)
        if content is None:
            return CallFailed(
                f"it returned {_described(first)}, which is no image.",
                where=f"python/{self._target}",
                mend="Return an image file's bytes, a Pillow image, uint8 of [height, width, 3], or None to refuse.",
            )
        return Reply(said(self._store.add(content)), latency=latency)


def _refused(made: object) -> bool:
    """None, or a pipeline whose safety checker hid the first image."""
    flags = getattr(made, "nsfw_content_detected", None)
    return made is None or (isinstance(flags, list | tuple) and bool(flags) and flags[0] is True)


def _first(made: object) -> object:
    """The image itself, or the first of those that a pipeline returns."""
    images = getattr(made, "images", None)
    found = images if isinstance(images, list | tuple) else made
    return found[0] if isinstance(found, list | tuple) and found else found


def _content(made: object) -> bytes | None:
    if isinstance(made, bytes | bytearray | memoryview):
        return bytes(made)
    from PIL import Image as Images

    try:
        if isinstance(made, Images.Image):
            return _png(made)
        if isinstance(made, np.ndarray) and made.ndim == 3 and made.shape[2] == 3 and made.dtype == np.uint8:
            return _png(Images.fromarray(made))
    except (OSError, ValueError):  # PNG has no such colours, or there is no pixel
        return None
    return None


def _described(made: object) -> str:
    if isinstance(made, np.ndarray):
        return f"an array of {made.dtype} {list(made.shape)}"
    mode, size = getattr(made, "mode", None), getattr(made, "size", None)
    return f"{type(made).__name__} of mode {mode} and size {size}" if mode and size else type(made).__name__


def _png(image: Image.Image) -> bytes:
    file = BytesIO()
    # Without loss, and quick: these bytes are read again, and never sent.
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()
