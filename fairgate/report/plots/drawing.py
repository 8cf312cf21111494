"""How plots are drawn: the palette, a canvas without a screen, and pictures that are the same on every run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plot:
    """A picture by its file's name, and the text that says the same for whoever does not see it."""

    name: str
    title: str
    alt: str
    svg: bytes
    png: bytes
