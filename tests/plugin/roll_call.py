"""A plugin for `-p tests.plugin.roll_call`: each worker leaves its process id as a file in the folder named in PIDS."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_sessionstart(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        (Path(os.environ["PIDS"]) / str(os.getpid())).touch()
