"""What a small file can make of the memory when it is opened."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_the_largest_picture_takes_no_more_than_this(tmp_path: Path, mode: str) -> None:
    from PIL import Image

    path = tmp_path / "large.png"
    Image.new(mode, (4_898, 4_898)).save(path)
    assert path.stat().st_size < 2**20
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", OPENED, path], cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=True
    )
    size, mebibytes = done.stdout.rsplit(maxsplit=1)
    assert size == "(4898, 4898)"
    assert int(mebibytes) < MOST
