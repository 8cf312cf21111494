"""A summary.json that a run wrote, read without trust: its models, its plan, and its scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec

from fairgate.core.errors import DataError
from fairgate.core.files import read_bytes
from fairgate.core.typed import Mistyped, typed

if TYPE_CHECKING:
    from pathlib import Path

HINT = "Name the file that --ledger or --report-dir wrote."
LARGEST = 2**24  # bytes
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Points = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**6)]


class SavedScore(msgspec.Struct, frozen=True):
    """One score, as `ScoreResult` has it."""

    benchmark: Name
    modality: Name
    task: Name
    context: Name | None
    attribute: Name | None
    score: Name
    scoring: Name
    group: Name | None
    value: Points | None
    topics: tuple[Count, Count]
    unanswered: Count = 0
    estimate: Points | None = None
    ci: tuple[Points | None, Points | None] = (None, None)
    n: Annotated[int, msgspec.Meta(ge=0, le=10**9)] = 0
    validity: bool = False


class SavedSummary(msgspec.Struct, frozen=True):
    """What other runs are held beside."""

    scores: Annotated[tuple[SavedScore, ...], msgspec.Meta(max_length=100_000)]
    model: Name | None
    t2i_model: Name | None
    plan: Name = "unknown"
    seed: int | None = None


S = TypeVar("S", bound=SavedSummary)


def read_summary(path: Path) -> SavedSummary:
    """The summary. Raises DataError, naming file, key and value, for anything else."""
    return read_as(path, SavedSummary)


def read_as(path: Path, kind: type[S]) -> S:
    """The same with more of its keys, by a type of them."""
    try:
        return typed(msgspec.json.decode(read_bytes(path, LARGEST)), kind)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path), hint=HINT) from error
    except Mistyped as error:
        what = f"is neither a ledger nor a summary.json: {error.key}: {error.what}{error.shown}."
        raise DataError(what, where=str(path), hint=HINT) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"is neither a ledger nor a summary.json: {error}.", where=str(path), hint=HINT) from error
