"""`python/pkg.module:callable` as a text-to-image model: the user's own code, in this process.

The callable is given the prompt and returns an image: the bytes of an image file, a Pillow image, an array of RGB
[height, width, 3] (8-bit, or floats in [0, 1]), or what a diffusers pipeline returns (its first image, which is such an
array with `output_type="np"`). None says that it refused. A text is never taken for the path of a file.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairgate.core.domain import Reply
from fairgate.core.errors import CallFailed
from fairgate.ledger.images import ImageStore, said
from fairgate.providers.python.chat import PythonChat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from PIL import Image


class PythonImageModel(PythonChat):
    """A callable from prompt to image, imported once; run as a `PythonChat` is, its images put into `store`."""

    def __init__(
        self,
        target: str,
        store: ImageStore,
        revision: str | None = None,
        max_in_flight: int = 16,
        call: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(target, revision, max_in_flight, call)
        self._store = store

    def _several(self, said: object) -> Sequence[object] | None:
        """The images of one call, each with what the pipeline's safety checker says of it."""
        images, hidden = getattr(said, "images", None), getattr(said, "nsfw_content_detected", None)
        if isinstance(images, list | tuple | np.ndarray):
            flags = hidden if isinstance(hidden, list | tuple) else [False] * len(images)
            return [None if flag is True else image for image, flag in zip(images, flags, strict=False)]
        return list(said) if isinstance(said, list | tuple | np.ndarray) else None

    def _reply(self, made: object, latency: float) -> Reply | CallFailed:
        if _refused(made):
            return Reply("", filtered=True, latency=latency)
        first = _first(made)
        content = png(first)
        if content is None:
            return CallFailed(
                f"it returned {_described(first)}, which is no image.",
                where=f"python/{self._target}",
                hint="Return an image file's bytes, a Pillow image, an array of [height, width, 3] (uint8, or floats"
                " in [0, 1]), or None to refuse.",
            )
        return Reply(said(self._store.add(content)), latency=latency)


def image_model(target: str, ledger: str, revision: str | None, max_in_flight: int) -> PythonImageModel:
    """The callable as a text-to-image model that keeps its images beside this ledger."""
    return PythonImageModel(target, ImageStore(Path(ledger)), revision, max_in_flight)


def _refused(made: object) -> bool:
    """None, or a pipeline whose safety checker hid the first image."""
    flags = getattr(made, "nsfw_content_detected", None)
    return made is None or (isinstance(flags, list | tuple) and bool(flags) and flags[0] is True)


def _first(made: object) -> object:
    """The image itself, or the first of those that a pipeline returns, which may be one array [n, height, width, 3]."""
    images = getattr(made, "images", None)
    found = images if isinstance(images, list | tuple | np.ndarray) else made
    several = isinstance(found, list | tuple) or (isinstance(found, np.ndarray) and found.ndim == 4)
    return found[0] if several and len(found) else found  # type: ignore[arg-type,index]


def png(made: object) -> bytes | None:
    """An image file of these pixels, a Pillow image, or bytes as they are; None where it is no image."""
    if isinstance(made, bytes | bytearray | memoryview):
        return bytes(made)
    from PIL import Image as Images

    try:
        if isinstance(made, Images.Image):
            return _png(made)
        if (pixels := _pixels(made)) is not None:
            return _png(Images.fromarray(pixels))
    except (OSError, ValueError):  # PNG has no such colours, or there is no pixel
        return None
    return None


def _pixels(made: object) -> NDArray[np.uint8] | None:
    """An array of RGB in 8 bits, floats rounded to the nearest of its 256 steps; None for anything else."""
    if not isinstance(made, np.ndarray) or made.ndim != 3 or made.shape[2] != 3:
        return None
    if made.dtype == np.uint8:
        return made
    if not np.issubdtype(made.dtype, np.floating) or _beyond(made) is not None:
        return None
    return np.rint(made.astype(np.float64) * 255).astype(np.uint8)


def _beyond(shares: NDArray[np.floating]) -> float | None:
    """The first value that is no share: below 0, above 1 or not a number; None where all are shares."""
    amiss = shares[~((shares >= 0) & (shares <= 1))]
    return float(amiss[0]) if amiss.size else None


def _described(made: object) -> str:
    if isinstance(made, np.ndarray):
        held = f"an array of {made.dtype} {list(made.shape)}"
        value = _beyond(made) if np.issubdtype(made.dtype, np.floating) else None
        return held if value is None else f"{held} that holds {value:g}"
    mode, size = getattr(made, "mode", None), getattr(made, "size", None)
    return f"{type(made).__name__} of mode {mode} and size {size}" if mode and size else type(made).__name__


def _png(image: Image.Image) -> bytes:
    file = BytesIO()
    # Without loss, and quick: these bytes are read again, and never sent.
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()
