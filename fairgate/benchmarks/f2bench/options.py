"""The options that only F²Bench has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairgate.core.errors import ConfigError
from fairgate.options.option import option


@dataclass(frozen=True)
class F2BenchOptions:
    """Where its instances come from: the published workbooks, or the project's own."""

    f2bench: Path | None = option(
        None,
        asked=True,
        again=True,
        metavar="DIR",
        help="F²Bench's published workbooks in place of our own instances: the authors' repository or a folder of them",
    )
    f2bench_prompts: Path | None = option(
        None,
        asked=True,
        again=True,
        metavar="FILE",
        help="a TOML file with the released program's texts, which --scoring reference then asks in place of the "
        "paper's (docs/f2bench.md)",
    )
    lenient: bool = option(False, asked=True, help="use the rest where rows of --f2bench cannot be used")

    def __post_init__(self) -> None:
        if self.lenient and self.f2bench is None:
            hint = "Give --f2bench DIR too, or remove it."
            raise ConfigError("there are no rows that could be left out.", where="--lenient", hint=hint)
