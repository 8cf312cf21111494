"""Selection rates: how often people of each group were chosen, of those who were on offer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupRate:
    """One group: people `offered`, counted once for each choice that they were on offer in, and `chosen` of them."""

    group: str
    offered: int
    chosen: int

    @property
    def rate(self) -> float | None:
        """Chosen over offered, 0 to 1; None where the group was not on offer."""
        return self.chosen / self.offered if self.offered else None


@dataclass(frozen=True)
class SelectionRates:
    """The groups of one attribute, or of several together, in one set of choices.

    `choices` says which in words, e.g. "base, all"; `by` names the attributes, e.g. ("gender", "race"); `n` choices.
    """

    benchmark: str
    choices: str
    by: tuple[str, ...]
    n: int
    groups: tuple[GroupRate, ...]

    def impact_ratio(self, group: GroupRate) -> float | None:
        """The group's selection rate over that of the group with the highest rate: 0 to 1, best at 1.

        None where the group was not on offer, or no one was chosen. New York City, 6 RCNY § 5-300.
        """
        highest = max((each.rate for each in self.groups if each.rate is not None), default=0.0)
        return group.rate / highest if group.rate is not None and highest > 0.0 else None
