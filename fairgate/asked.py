"""What a run asked, and of which models: the closed set of values that a ledger holds of it."""

from __future__ import annotations

import itertools
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from fairgate.typed import Mistyped, shortened, typed

if TYPE_CHECKING:
    from collections.abc import Sequence


class Profiles(StrEnum):
    """How the groups of a subjective query's individuals are drawn."""

    RANDOM = "random"
    BALANCED = "balanced"


LONGEST = 100_000  # characters of one value
Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]
Texts = Annotated[tuple[Text, ...], msgspec.Meta(max_length=1000)]
MOST_TIMES = 100_000  # as of a plan in the limits file
MOST_SEED = 2**63 - 1
DIGITS = 20
# The options of the command line that ledgers hold which were written before 0.2, and the values that they set.
OLD_VALUES = {
    **{f"--{name}": name.replace("-", "_") for name in ("model", "t2i-model", "base-url", "system-prompt", "plan")},
    **{f"--{name}": name.replace("-", "_") for name in ("per-topic", "seed", "profiles", "data", "scenarios", "key")},
    **{f"--{name}": name.replace("-", "_") for name in ("judge", "judge-base-url", "f2bench", "bigbench")},
    **{f"--{name}": name.replace("-", "_") for name in ("t2i-base-url", "image-size", "detector", "detector-base-url")},
    **{f"--{name}": name.replace("-", "_") for name in ("weights", "calibration", "race-map", "scoring")},
}
OLD_LISTS = {f"--{name}-arg": f"{name}_args" for name in ("model", "judge", "t2i", "detector")}
OLD_FLAGS = {f"--{name}": name.replace("-", "_") for name in ("lenient", "explain", "batch", "stop-early")}


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The values of a run's settings that decide what is asked, and of which models; names are those of `Settings`.

    Limits, outputs and exit codes are not among them: they are given by the user who judges the run.
    """

    model: Text | None = None
    t2i_model: Text | None = None
    base_url: Text | None = None
    system_prompt: Text | None = None
    model_args: Texts = ()
    plan: Text = "quick"
    per_topic: Annotated[int, msgspec.Meta(ge=1, le=MOST_TIMES)] | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=MOST_SEED)] = 0
    profiles: Profiles | None = None
    data: Path | None = None
    scenarios: Path | None = None
    key: Annotated[str, msgspec.Meta(pattern=r"\A(published|measured)\Z")] = "published"
    scoring: Annotated[str, msgspec.Meta(pattern=r"\A(definition|reference)\Z")] = "definition"
    judge: Text | None = None
    judge_base_url: Text | None = None
    judge_args: Texts = ()
    f2bench: Path | None = None
    bigbench: Path | None = None
    t2i_base_url: Text | None = None
    t2i_args: Texts = ()
    image_size: Annotated[str, msgspec.Meta(pattern=r"\A[1-9]\d{1,4}x[1-9]\d{1,4}\Z")] = "1024x1024"
    detector: Text | None = None
    detector_base_url: Text | None = None
    detector_args: Texts = ()
    weights: Path | None = None
    calibration: Path | None = None
    race_map: Text | None = None
    lenient: bool = False
    explain: bool = False
    batch: bool = False
    stop_early: bool = False

    def plain(self) -> dict[str, Any]:
        """The values that are not the defaults, as JSON has them."""
        found: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return found


def decode_old(options: Sequence[str]) -> Asked:
    """The values that the options of a command line say, which ledgers held before 0.2. Raises Mistyped for others."""
    values: dict[str, object] = {}
    lists: dict[str, list[str]] = {}
    for place, each in enumerate(options):
        name, given, value = each.partition("=")
        if not given and name in OLD_FLAGS:
            values[OLD_FLAGS[name]] = True
        elif given and name in OLD_LISTS:
            lists.setdefault(OLD_LISTS[name], []).append(value)
        elif given and name in OLD_VALUES:
            number = name in ("--seed", "--per-topic") and value.isdecimal() and len(value) <= DIGITS
            values[OLD_VALUES[name]] = int(value) if number else value
        else:
            raise Mistyped("it does not say what a run asked", f"options[{place}]", f". It is {shortened(each)}")
    return typed(dict(itertools.chain(values.items(), lists.items())), Asked, path_of)


def path_of(kind: type, value: object) -> object:
    """A path from its text: what msgspec does not read by itself. Raises ValueError for anything else."""
    if kind is Path and isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value:
        return kind(value)
    raise ValueError(f"{shortened(value)} is not a path")
