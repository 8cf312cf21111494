"""Settings as a command line gives them, read by pytest's own parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.registry import registry

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.options.settings import Settings


def settings_of(here: Path, *given: str) -> Settings:
    """The settings of a run that was started in this folder with these options."""
    parser = pytest.Parser(_ispytest=True)
    registry().options.add(parser)
    namespace = parser.parse_known_args(list(given))
    return registry().options.read(lambda name: getattr(namespace, name), here)
