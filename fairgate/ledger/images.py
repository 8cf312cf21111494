"""Images: kept beside the ledger by content hash, and opened as untrusted input.

What a model sent is kept whatever it is; what it is, is found out when it is opened.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import struct
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.errors import LedgerError, MissingDependency
from fairgate.core.files import read_bytes
from fairgate.ledger.paths import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

_LARGEST = 2**28  # bytes of a file of the store: what a server sent is held to less
_HASH = re.compile(r"[0-9a-f]{64}")
_SAID = re.compile(r"sha256:([0-9a-f]{64})")


def said(digest: str) -> str:
    """What an image model's reply says of its image: `sha256:` and the content hash."""
    return f"sha256:{digest}"


def hash_in(text: str) -> str | None:
    """The content hash in an image model's reply, None where it says anything else."""
    found = _SAID.fullmatch(text)
    return found[1] if found else None


class ImageStore:
    """The images of one ledger, in the folder `<ledger>.images/` beside it, readable by its owner alone.

    Files are named by content hash and nothing else, and appear whole or not at all: any number of threads and
    processes may add at once. Raises LedgerError, naming the file, for whatever the disk cannot do.
    """

    def __init__(self, ledger: Path) -> None:
        place = place_of(ledger)
        self.folder = place.with_name(f"{place.name}.images")

    def add(self, content: bytes) -> str:
        """Keep these bytes; their hash, 64 lower-case hex digits of SHA-256. What is there already stays."""
        digest = hashlib.sha256(content).hexdigest()
        path = self.path(digest)
        with self._translated(path):
            if not path.exists():
                self._own(path)
                for folder in (self.folder, path.parent):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _write_whole(path, content)
        return digest

    def read(self, digest: str) -> bytes:
        """The bytes of this hash. Raises LedgerError where they are gone, or are no longer what they were."""
        path = self.path(digest)
        with self._translated(path):
            self._own(path)
            content = read_bytes(path, _LARGEST)
        if hashlib.sha256(content).hexdigest() != digest:
            raise LedgerError(
                "the image is not what it was: its content has another hash.",
                where=str(path),
                hint="Remove the file, and name another ledger to generate it again.",
            )
        return content

    def kept(self) -> Iterator[Path]:
        """The files of its images, sorted. Links, and what else lies in the folder, are none of them."""
        if self.folder.is_symlink():
            return
        for path in sorted(self.folder.glob("??/*")):
            is_image = _HASH.fullmatch(path.name) is not None and path.parent.name == path.name[:2]
            if is_image and not path.parent.is_symlink() and not path.is_symlink() and path.is_file():
                yield path

    def path(self, digest: str) -> Path:
        """Where the image of this hash is, or would be. Raises LedgerError for anything that is no hash."""
        if not _HASH.fullmatch(digest):
            raise LedgerError(f"{digest[:80]!r} is no hash of an image.", where=str(self.folder))
        return self.folder / digest[:2] / digest

    def _own(self, path: Path) -> None:
        """Raise OSError where a link leads out of the store: what lies elsewhere is none of its images."""
        for each in (self.folder, path.parent, path):
            if each.is_symlink():
                raise OSError(errno.ELOOP, "a link, which is not followed", str(each))

    @contextmanager
    def _translated(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerError(
                f"{error.strerror or type(error).__name__}.",
                where=str(path),
                hint="Images lie beside the ledger, in a folder that goes wherever the ledger goes.",
            ) from error


def _write_whole(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")  # only its owner may read it
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            # The ledger may say that the image is here as soon as we return.
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


class Problem(StrEnum):
    """Why bytes are no picture that a face can be looked for in."""

    EMPTY = "empty"
    NOT_AN_IMAGE = "not-an-image"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    TOO_LARGE = "too-large"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """What is opened at all: at most this many bytes, and this many pixels when decoded."""

    content: int = 64 * 2**20
    pixels: int = 24_000_000


@dataclass(frozen=True, slots=True)
class Picture:
    """An opened image: `pixels` [height, width, 3], uint8, RGB, upright. `notes` say what had to be done for that.

    Notes: `animated` (the first frame), `turned` (as its EXIF orientation says), `alpha` (laid on white), `16-bit`,
    and the colour space where it was none of grey, palette and RGB (`cmyk`).
    """

    pixels: NDArray[np.uint8]
    format: str
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, in pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]


# Raster formats alone, each decoded by Pillow itself: others start programs (EPS) or read further files.
# AVIF and HEIF are not among them: their headers may name another size than that of the frames that are decoded.
_FORMATS = ("PNG", "JPEG", "MPO", "GIF", "WEBP", "BMP", "TIFF")
_SEVERAL_PICTURES = ("GIF", "PNG", "WEBP")
_OTHER_FORMATS = (b"ftypavif", b"ftypavis", b"ftypheic", b"ftypheix", b"ftypmif1")

# What takes time for each time that it stands in a JPEG, with how often it may. A scan is a pass over all pixels, and
# encoders make about ten; each part of EXIF is laid behind a copy of all before it, and few files have a second.
# Scans themselves cannot hold these bytes.
# Tags of a TIFF: sizes, places and lengths of tiles; the places of strips, of which a picture has no more than rows.
_TILES, _STRIPS, _MOST_STRIPS = (322, 323, 324, 325), 273, 65_536
_JPEG = b"\xff\xd8\xff"
_MOST_IN_JPEG = {b"\xff\xda": 200, b"Exif\0\0": 100}
# Reads of a file: Pillow takes each marker, chunk, block and fill byte by one or more, about 1 µs and 100 bytes each.
# Encoders put 255 bytes into a block of a GIF, 4 KiB and more into a chunk of a PNG.
_FEW_READS, _BYTES_A_READ = 20_000, 64


def open_picture(content: bytes, *, limits: ImageLimits | None = None) -> Picture | Problem:
    """The picture in these bytes, or what is wrong with them. Never raises for bad bytes.

    The format is told by the content, whatever name the image had. The header is held against the limits before
    anything is decoded. Raises MissingDependency where Pillow is not installed.
    """
    limits = limits or ImageLimits()
    if not content:
        return Problem.EMPTY
    if len(content) > limits.content or _takes_long(content):
        return Problem.TOO_LARGE
    pillow = _pillow()
    try:
        with pillow.open(_Pieces(content), formats=_known_here(pillow)) as image:
            if image.width * image.height > limits.pixels:
                return Problem.TOO_LARGE
            return _opened(image)
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning, _TooManyPieces):
        return Problem.TOO_LARGE
    except _UnknownColours:
        return Problem.UNSUPPORTED
    except Exception:  # noqa: BLE001 - decoders of a dozen formats raise nearly anything on hostile bytes
        return _what_is_wrong(content)


class _TooManyPieces(Exception):
    """More parts than any encoder makes."""


class _Pieces(BytesIO):
    """A file that may be read so many times as its size calls for. Raises _TooManyPieces at the next one."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._left = _FEW_READS + len(content) // _BYTES_A_READ

    def read(self, size: int | None = -1, /) -> bytes:
        """As of any file."""
        self._left -= 1
        if self._left < 0:
            raise _TooManyPieces
        return super().read(size)


def _takes_long(content: bytes) -> bool:
    """Whether a small file may hold hours of work, by what may be told before it is opened."""
    if content.startswith((b"II+\0", b"MM\0+")):
        return True  # a TIFF above 4 GiB
    if content.startswith((b"II*\0", b"MM\0*")):
        return _has_tiles(content)
    return content.startswith(_JPEG) and any(content.count(each) > most for each, most in _MOST_IN_JPEG.items())


def _has_tiles(content: bytes) -> bool:
    """Whether a TIFF is laid out in tiles, which may be far larger than the picture, or in more strips than rows."""
    order = "<" if content.startswith(b"II") else ">"
    start = int.from_bytes(content[4:8], "little" if order == "<" else "big")
    number = int.from_bytes(content[start : start + 2], "little" if order == "<" else "big")
    table = content[start + 2 : start + 2 + 12 * number]
    tags = struct.iter_unpack(f"{order}HHI4x", table[: len(table) // 12 * 12])
    return any(tag in _TILES or (tag == _STRIPS and count > _MOST_STRIPS) for tag, _, count in tags)


_SHOWN = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


def as_shown(content: bytes) -> tuple[str, bytes] | Problem:
    """An image as any vision model takes it: media type and bytes; what is unusual becomes PNG."""
    opened = open_picture(content)
    if isinstance(opened, Problem):
        return opened
    if opened.format in _SHOWN and set(opened.notes) <= {"alpha"}:
        return _SHOWN[opened.format], content
    file = BytesIO()
    _pillow().fromarray(opened.pixels).save(file, "PNG", compress_level=1)
    return "image/png", file.getvalue()


class _UnknownColours(Exception):
    """A mode for which there is no agreed way to RGB."""


def _opened(image: Image.Image) -> Picture:
    import numpy as np
    from PIL import Image as Images

    notes = []
    # `n_frames` would walk through them all.
    if getattr(image, "is_animated", False) and image.format in _SEVERAL_PICTURES:
        notes.append("animated")
    image.load()
    turned = _upright(image)
    if turned is not image:
        notes.append("turned")
    rgb = turned
    if turned.mode.startswith("I"):  # grey of 16 bits, in one of several layouts
        notes.append("16-bit")
        grey = np.asarray(turned)
        rgb = Images.fromarray((grey.clip(0, 65_535) // 257).astype(np.uint8)).convert("RGB")
        del grey
    elif turned.has_transparency_data:
        notes.append("alpha")
        rgba = turned.convert("RGBA")
        rgb = Images.new("RGB", turned.size, "white")
        rgb.paste(rgba, mask=rgba)
        del rgba
    elif turned.mode != "RGB":
        if turned.mode in ("CMYK", "YCbCr", "HSV"):
            notes.append(turned.mode.lower())
        elif turned.mode not in ("1", "L", "P", "RGBX"):
            raise _UnknownColours(turned.mode)
        rgb = turned.convert("RGB")
    return Picture(np.asarray(rgb), image.format or "", tuple(notes))


def _upright(image: Image.Image) -> Image.Image:
    """Turned as EXIF says. Pillow's own exif_transpose also writes the EXIF anew, and fails where that is broken."""
    from PIL import ExifTags
    from PIL.Image import Transpose

    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation)
    except Exception:  # noqa: BLE001 - broken EXIF says nothing, and takes nothing from the pixels
        return image
    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


def _what_is_wrong(content: bytes) -> Problem:
    """Of bytes that Pillow does not read: whether they begin as an image does, and whether they end as one does."""
    tail = content[-64:]
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        whole = b"IEND" in tail
    elif content.startswith(_JPEG):
        whole = b"\xff\xd9" in tail
    elif content.startswith((b"GIF87a", b"GIF89a")):
        whole = content.endswith(b"\0;")
    elif content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        whole = len(content) >= int.from_bytes(content[4:8], "little") + 8
    elif content.startswith(b"BM"):
        whole = len(content) >= max(26, int.from_bytes(content[2:6], "little"))
    elif content[4:12] in _OTHER_FORMATS:
        return Problem.UNSUPPORTED
    elif content.startswith((b"II*\0", b"MM\0*")):
        whole = False  # nothing at their end says so; most that are broken were cut
    else:
        return Problem.NOT_AN_IMAGE
    return Problem.DAMAGED if whole else Problem.TRUNCATED


def _known_here(pillow: ModuleType) -> list[str]:
    pillow.init()
    return [name for name in _FORMATS if name in pillow.OPEN]


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependency(
            "images are opened by Pillow, which is not installed.", hint="pip install 'fairgate[images]'"
        ) from error
    return Image
