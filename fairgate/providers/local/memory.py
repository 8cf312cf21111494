"""A limit on the memory that a step of a model's process takes."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STATUS = Path("/proc/self/statm")


@contextmanager
def room(most: int) -> Iterator[None]:
    """So many bytes of address space beside those that this process has: more is a MemoryError. Linux alone has it."""
    if not STATUS.exists():
        yield
        return
    import resource

    pages = int(STATUS.read_text(encoding="ascii").split()[0])
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [
        pages * resource.getpagesize() + most,
        *(each for each in (before, hard) if each != resource.RLIM_INFINITY),
    ]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))
