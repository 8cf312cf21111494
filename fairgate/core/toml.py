"""TOML that somebody else wrote, read in bounded time."""

from __future__ import annotations

import re
import tomllib
from typing import Any

LONGEST = 2**20  # characters: the library reads about one in a second
PARTS = 20  # of a dotted key: the library's time grows with the square of their number
_WORD = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
_LONG = re.compile(rf"(?<![\w-]){_WORD}(?:[ \t]*+\.[ \t]*+{_WORD}){{{PARTS},}}")


def parsed(text: str) -> dict[str, Any]:
    """The tables of a text. Raises RecursionError, and TOMLDecodeError: of 2**20 characters and keys of 20 parts, too.

    >>> parsed("a.b = 1")
    {'a': {'b': 1}}
    """
    if len(text) > LONGEST:
        raise tomllib.TOMLDecodeError(f"it has {len(text):,} characters, more than {LONGEST:,}")
    if (found := _LONG.search(text)) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise tomllib.TOMLDecodeError(f"a key of more than {PARTS} parts (at line {line})")
    return tomllib.loads(text)
