"""The options that only BIGbench has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairgate.options.option import option


@dataclass(frozen=True)
class BigBenchOptions:
    """Where its prompts and its truth come from: the published files, or the project's own."""

    bigbench: Path | None = option(
        None,
        asked=True,
        metavar="DIR",
        help="BIGbench's published prompts, truth and weights in place of ours: the authors' repository, its folder "
        "data, or one folder with all of them",
    )
