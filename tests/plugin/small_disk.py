"""A plugin for `-p tests.plugin.small_disk`: no file may grow beyond LARGEST bytes, once samples are asked for."""

from __future__ import annotations

import os
import resource

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    largest = int(os.environ["LARGEST"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
