"""A plugin of others that warns, as some do of options that nobody set."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Warn as if from a module that is not of this house."""
    del config
    warnings.warn_explicit("an option is not set", DeprecationWarning, "elsewhere.py", 1, module="elsewhere")
