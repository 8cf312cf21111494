"""The tasks and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fairgate.benchmarks.scores import Score, Task

TASKS: tuple[Task, ...] = ()
SCORES: tuple[Score, ...] = ()
MARKERS: dict[str, str] = {}


class Plan(msgspec.Struct, frozen=True):
    """The keys of a plan."""
