"""The end of a process whose requests went through the extra `fast`."""

from __future__ import annotations

import _thread
import threading
import time

import pytest


def test_an_exit_waits_for_threads_that_python_did_not_start_while_they_run_python() -> None:
    fast = pytest.importorskip("fairgate.providers.http.fast")
    begun, over = threading.Event(), list[float]()

    def last_lines() -> None:
        begun.set()
        time.sleep(0.2)  # as asyncio lets go of the interpreter while it wakes its loop
        over.append(time.monotonic())

    _thread.start_new_thread(last_lines, ())
    begun.wait()
    fast.wait_for_last_lines(longest=5)
    assert over


def test_an_exit_does_not_wait_for_ever() -> None:
    fast = pytest.importorskip("fairgate.providers.http.fast")
    begun, end = threading.Event(), threading.Event()

    def endless() -> None:
        begun.set()
        end.wait()

    _thread.start_new_thread(endless, ())
    begun.wait()
    before = time.monotonic()
    fast.wait_for_last_lines(longest=0.05)
    end.set()
    assert time.monotonic() - before >= 0.05
