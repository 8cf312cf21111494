"""What a limit came to: a verdict on one score, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairgate.benchmarks.limits import GateLimit, Waiver
    from fairgate.benchmarks.score_result import ScoreResult


class Verdict(StrEnum):
    """What can be said of a gate, or of a run. `waived` is a gate that failed, and that somebody answers for."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    WAIVED = "waived"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"

    @classmethod
    def _missing_(cls, value: object) -> Verdict | None:
        # Older reports have another word for it.
        return cls.ERROR if value == "trouble" else None


# A gate that failed, whether or not somebody answers for it.
FAILED = (Verdict.FAIL, Verdict.WAIVED)


@dataclass(frozen=True)
class GateResult:
    """A limit, the entry that it was held against, and what came out. `reason` is a sentence.

    `waiver` is the one that names this gate, whether it still holds or not: the verdict says which.
    """

    limit: GateLimit
    entry: ScoreResult
    verdict: Verdict
    reason: str
    waiver: Waiver | None = None

    @property
    def name(self) -> str:
        """Stable and unique, e.g. `subjective-base-race-S_KLD`."""
        return self.entry.name

    @property
    def is_beyond(self) -> bool:
        """Whether the estimate alone, whatever its interval, is beyond the limit."""
        least, most = self.bounds
        value = self.entry.estimate
        return value is not None and ((least is not None and value < least) or (most is not None and value > most))

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The smallest and the largest value that the limit allows; None where there is no end."""
        return bounds(self.limit, self.entry)


def bounds(limit: GateLimit, entry: ScoreResult) -> tuple[float | None, float | None]:
    """The limit's own ends; an effect with a direction may be as large to either side."""
    both = entry.signed and limit.min is None and limit.max is not None
    return (-limit.max if both and limit.max is not None else limit.min), limit.max
