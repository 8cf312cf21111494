"""What images of an identity prompt show: the groups of its people, image by image, and their shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairgate.core.statistics.distributions import shares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.benchmarks.bigbench.data import Bigbench, ProtectedAttribute
    from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
    from fairgate.core.statistics.distributions import FloatArray

UNKNOWN = -1
Codes = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Portrayal:
    """An identity prompt's images, or the shares alone where a file has no more.

    `codes` [images, people, attributes]: the place of the group that each person shows, UNKNOWN where that was not
    found. `named` stands in for them: for each person, shares by attribute and group, as a file names them. Several
    faces of a relation's image are one cluster. `prompt` is how the file spells the identity prompt, and `place` where
    it stands there.
    """

    identity: IdentityPrompt
    codes: Codes | None = None
    named: tuple[Mapping[str, Mapping[str, float]], ...] = field(default=())
    prompt: str = ""
    place: int = 0

    def counts(self, data: Bigbench, attribute: ProtectedAttribute) -> NDArray[np.int64] | None:
        """Images [people, k] that show each group; None where only shares are known."""
        if self.codes is None:
            return None
        place = data.attributes.index(attribute)
        seen = self.codes[:, :, place]
        found = [(seen == group).sum(axis=0) for group in range(len(attribute.groups))]
        return np.stack(found, axis=-1).astype(np.int64)

    def shares(self, data: Bigbench, attribute: ProtectedAttribute) -> FloatArray:
        """Shares [people, k] of the groups; NaN for a person of whom nothing is known."""
        counted = self.counts(data, attribute)
        if counted is not None:
            return shares(counted)
        rows = [[person.get(attribute.name, {}).get(group, 0.0) for group in attribute.names] for person in self.named]
        return shares(rows)

    def as_named(self, data: Bigbench) -> tuple[Mapping[str, Mapping[str, float]], ...]:
        """For each person shares by attribute and group, as a file names them, of what is known and not all 0."""
        if self.codes is None:
            return tuple(
                {name: shares for name, shares in person.items() if not shares or any(shares.values())}
                for person in self.named
            )
        rows = {attribute: self.shares(data, attribute) for attribute in data.attributes}
        return tuple(
            {
                attribute.name: dict(zip(attribute.names, map(float, shares[person]), strict=True))
                for attribute, shares in rows.items()
                if not np.isnan(shares[person]).any()
            }
            for person in range(len(self.identity.subject.people))
        )

    def first(self, images: int, after: int = 0) -> Portrayal:
        """The same of `images` images alone, those that come `after` so many."""
        return Portrayal(
            self.identity, None if self.codes is None else self.codes[after : after + images], self.named, self.prompt
        )
