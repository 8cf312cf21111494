"""What a small file can make of the memory when it is opened."""

from __future__ import annotations

import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from tests.running import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

OPENED = """
import resource, sys
from pathlib import Path
import numpy, PIL.Image
from fairgate.ledger.images import open_picture
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
picture = open_picture(Path(sys.argv[1]).read_bytes())
print(picture.size, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
MOST = 320  # MiB


def opened(path: Path) -> tuple[str, int]:
    """The size of the picture in a file, opened in a process of its own, and the mebibytes that it took."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", OPENED, path], cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=True
    )
    size, mebibytes = done.stdout.rsplit(maxsplit=1)
    return size, int(mebibytes)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_the_largest_picture_takes_no_more_than_this(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "large.png"
    Image.new(mode, (4_898, 4_898)).save(path)
    assert path.stat().st_size < 2**20
    size, mebibytes = opened(path)
    assert size == "(4898, 4898)"
    assert mebibytes < MOST


def test_exif_whose_tags_share_their_bytes_takes_them_once(tmp_path: Path) -> None:
    tags, shared = 400, 2**20
    first = 8 + 2 + 12 * tags + 4
    entries = b"".join(struct.pack("<HHII", 0x8000 + tag, 1, shared, first) for tag in range(tags))
    exif = b"II*\0" + struct.pack("<IH", 8, tags) + entries + bytes(4 + shared)
    path = tmp_path / "tags.png"
    Image.new("L", (1, 1)).save(path, exif=exif)
    size, mebibytes = opened(path)
    assert size == "(1, 1)"
    assert mebibytes < 100
