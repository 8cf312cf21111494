"""Counts in words: "1 sample", "1,204 samples"."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """The number with its noun, which takes an -s unless `plural` is given.

    >>> counted(1, "gate"), counted(0, "gate"), counted(1204, "reply", "replies")
    ('1 gate', '0 gates', '1,204 replies')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
