"""A plugin for `-p tests.plugin.roll_call`: each worker that has begun a case leaves its process id.

As the name of a file, in the folder that PIDS names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    if hasattr(item.config, "workerinput"):
        (Path(os.environ["PIDS"]) / str(os.getpid())).touch()
