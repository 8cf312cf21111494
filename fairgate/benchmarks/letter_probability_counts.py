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
    """Counts of choices by `outcome_of`. Of the known, `outside` sums up the probability that no offered letter had.

    `others` counts those where another letter than the chosen one was the most probable, and `others_likely` sums up
    the probability of that: what `others` is on average at temperature 1, and more than it is below.
    """

    counts: Counter[str] = field(default_factory=Counter)
    outside: float = 0.0
    others: int = 0
    others_likely: float = 0.0

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
        shares = expected(found, sample.answer.choice)
        if shares is not None:
            self.others += shares[sample.answer.choice or 0] < max(shares)
            self.others_likely += 1 - max(shares)
        return shares

    @classmethod
    def of(cls, each: Iterable[Weighed]) -> Weighed:
        """All of these together."""
        every = tuple(each)
        counts = sum((one.counts for one in every), Counter[str]())
        sums = (math.fsum(one.outside for one in every), sum(one.others for one in every))
        return cls(counts, *sums, math.fsum(one.others_likely for one in every))

    @property
    def asked(self) -> bool:
        """Whether anybody asked for probabilities."""
        return self.counts.total() > self.counts[NOT_ASKED]

    @property
    def known(self) -> int:
        """Choices with probabilities."""
        return self.counts[ProbabilityState.KNOWN]

    @property
    def is_contradicted(self) -> bool:
        """Whether the choices are not those of a model with these probabilities, at any temperature up to 1.

        More of them than chance has it (four standard deviations, of a sum of independent events) go against the most
        probable letter.
        """
        return self.others > self.others_likely + 4 * math.sqrt(self.others_likely) + 1

    @property
    def sentence(self) -> str:
        """How many are known, and what became of the others; empty where nobody asked for them."""
        if not self.asked:
            return ""
        lost = "".join(f"; {self.counts[reason]:,} {said}" for reason, said in LOST.items() if self.counts[reason])
        if self.is_contradicted:
            lost += f"; {self.others:,} are of another letter than the one chosen, where {self.others_likely:.1f} would"
            lost += " be at temperature 1"
        mean = f"; {100 * self.outside / self.known:.1f} % lie outside the letters" if self.known else ""
        return f"Probabilities: known of {self.known:,} of {self.counts.total():,} choices{mean}{lost}."
