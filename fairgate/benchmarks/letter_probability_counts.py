"""What came of asking for the probabilities of choices: how many are known, and why others are not."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairgate.core.domain import ProbabilityState
from fairgate.replies.probabilities import expected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.ledger.samples import Sample

# Beside the states of `ProbabilityState`.
NOT_ASKED, UNUSABLE = "not_asked", "unusable"
# Why the probabilities of a choice are not known.
LOST = {
    ProbabilityState.NOT_GIVEN: "came without any (the server ignored the question)",
    ProbabilityState.OTHER_TOKENS: "came with those of other tokens than the answer's",
    ProbabilityState.NOT_LISTED: "came without that of the letter that was chosen",
    UNUSABLE: "came with a list that does not hold all letters",
    NOT_ASKED: "were stored before without (they are not asked again; another --ledger asks anew)",
}


def outcome_of(sample: Sample) -> str | None:
    """`known`, or why the probabilities of a choice are not; None where nothing was chosen."""
    if sample.answer.choice is None or sample.reply is None:
        return None
    found = sample.reply.probabilities
    if found is None:
        return NOT_ASKED
    known = found.state is ProbabilityState.KNOWN
    return UNUSABLE if known and expected(found, sample.answer.choice) is None else found.state


@dataclass
class Weighed:
    """Counts of choices by `outcome_of`; `outside` sums up the probability that no offered letter had, of the known."""

    counts: Counter[str] = field(default_factory=Counter)
    outside: float = 0.0

    def add(self, sample: Sample) -> tuple[float, ...] | None:
        """Count one sample; the share of each choice where it is known."""
        outcome = outcome_of(sample)
        if outcome is None or sample.reply is None:
            return None
        self.counts[outcome] += 1
        found = sample.reply.probabilities
        if outcome != ProbabilityState.KNOWN or found is None:
            return None
        self.outside += found.outside
        return expected(found, sample.answer.choice)

    @classmethod
    def of(cls, each: Iterable[Weighed]) -> Weighed:
        """All of these together."""
        every = tuple(each)
        counts = sum((one.counts for one in every), Counter[str]())
        return cls(counts, math.fsum(one.outside for one in every))

    @property
    def asked(self) -> bool:
        """Whether anybody asked for probabilities."""
        return self.counts.total() > self.counts[NOT_ASKED]

    @property
    def known(self) -> int:
        """Choices with probabilities."""
        return self.counts[ProbabilityState.KNOWN]

    @property
    def sentence(self) -> str:
        """How many are known, and what became of the others; empty where nobody asked for them."""
        if not self.asked:
            return ""
        lost = "".join(f"; {self.counts[reason]:,} {said}" for reason, said in LOST.items() if self.counts[reason])
        mean = f"; {100 * self.outside / self.known:.1f} % lie outside the letters" if self.known else ""
        return f"Probabilities: known of {self.known:,} of {self.counts.total():,} choices{mean}{lost}."
