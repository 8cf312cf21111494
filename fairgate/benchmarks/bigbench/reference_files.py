"""What the authors' released program reads, in the order of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Shares = Mapping[str, float]
Person = Mapping[str, Shares]
# Identity prompt -> its person, or the left and the right one, in the order of the alignment file.
Aligned = Mapping[str, tuple[Person, ...]]


@dataclass(frozen=True, eq=False)
class Files:
    """What the program reads beside the alignment: by identity prompt truth and weights, families, and pairs.

    `categories`: family -> the names that are looked up in prompts. `pairs`: the name of advantage, of disadvantage,
    and the pair's weight. All in the order of the files.
    """

    truth: Aligned
    weights: Mapping[str, float]
    categories: Mapping[str, tuple[str, ...]]
    pairs: tuple[tuple[str, str, float], ...]
