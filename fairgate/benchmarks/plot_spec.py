"""A plot that a benchmark asks for, before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Sketch:
    """What is to be drawn, by `draw` on a matplotlib figure of `size` inches; its text stands without it."""

    name: str
    title: str
    alt: str
    size: tuple[float, float]
    draw: Callable[[Any], None]
