"""The options that only Fact-or-Fair has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fairgate.options.option import option


class Profiles(StrEnum):
    """How the groups of a subjective query's individuals are drawn."""

    RANDOM = "random"
    BALANCED = "balanced"


class Ages(StrEnum):
    """How old the individuals of a subjective query are."""

    RANGE = "range"
    ONE = "one"


@dataclass(frozen=True)
class FactOrFairOptions:
    """Where its data comes from, and how its profiles are drawn; None: as the plan says, or of the project's own."""

    profiles: Profiles | None = option(
        None,
        asked=True,
        help="how the four individuals are drawn: random (each by itself, as published) or balanced (groups dealt as "
        "evenly as four allow). Default: as the plan says",
    )
    ages: Ages | None = option(
        None,
        asked=True,
        help="how old the four individuals are: range (each 18 to 95) or one (all four the same "
        "age, so that no age decides). Default: as the plan says",
    )
    data: Path | None = option(
        None,
        asked=True,
        again=True,
        metavar="DIR",
        help="own statistics, groups and scenarios, added to or replacing ours",
    )
    scenarios: Path | None = option(
        None,
        asked=True,
        again=True,
        metavar="DIR",
        help="the published scenario files in place of our own: the authors' repository, or the folder of the files",
    )
