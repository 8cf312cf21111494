"""What a run asked, and of which models: the closed set of values that a ledger holds of it."""

from __future__ import annotations

import itertools
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - msgspec reads annotations at run time
from typing import Annotated, Any

import msgspec

from fairgate.errors import LedgerError


class Profiles(StrEnum):
    """How the groups of a subjective query's individuals are drawn."""

    RANDOM = "random"
    BALANCED = "balanced"


LONGEST = 100_000  # characters of one value
Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]
Texts = Annotated[tuple[Text, ...], msgspec.Meta(max_length=1000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
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
    per_topic: Count | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0
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


def decode(noted: object, where: str) -> Asked:
    """The values that a ledger holds. Raises LedgerError for every other value, and for unknown names."""
    return _converted(noted, where)


def decode_old(options: object, where: str) -> Asked:
    """The same from the options of a command line, which ledgers held before 0.2. Raises LedgerError likewise."""
    if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        raise _wrong("$.options is no list of texts", where)
    values: dict[str, object] = {}
    lists: dict[str, list[str]] = {}
    for each in options:
        name, given, value = each.partition("=")
        if not given and name in OLD_FLAGS:
            values[OLD_FLAGS[name]] = True
        elif given and name in OLD_LISTS:
            lists.setdefault(OLD_LISTS[name], []).append(value)
        elif given and name in OLD_VALUES:
            values[OLD_VALUES[name]] = int(value) if name in ("--seed", "--per-topic") and value.isdecimal() else value
        else:
            raise _wrong(f"$.options holds {each[:80]!r}, which does not say what a run asked", where)
    return _converted(dict(itertools.chain(values.items(), lists.items())), where)


def _converted(values: object, where: str) -> Asked:
    try:
        return msgspec.convert(values, Asked, dec_hook=_path, strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _wrong(str(error), where) from error


def _path(kind: type, value: object) -> object:
    if isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value:
        return kind(value)
    raise ValueError(f"{str(value)[:80]!r} is not a path")


def _wrong(problem: str, where: str) -> LedgerError:
    return LedgerError(
        f"the note of its run is damaged, or was edited: {problem}.",
        where=where,
        hint="Use a ledger that fairgate wrote, or run pytest on it once more: no stored sample is asked again.",
    )
