"""The published data files, which are not ours to carry: tests on them run where somebody has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def published_data() -> Path:
    """The folder that FAIRGATE_PUBLISHED_DATA names; skips the test where it names none."""
    folder = os.environ.get("FAIRGATE_PUBLISHED_DATA")
    if not folder:
        pytest.skip("FAIRGATE_PUBLISHED_DATA does not name the folder of the published data files")
    return Path(folder)
