"""Runs the cases from the last to the first, as plugins do that shuffle tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import MutableSequence


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: MutableSequence[pytest.Item]) -> None:
    items.reverse()
