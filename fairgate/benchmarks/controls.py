"""What controls say, draw and judge for one benchmark: models of known behaviour, used offline and as a self-check.

A control is named by `control/NAME` or, where it takes a strength, `control/NAME:P`. Each benchmark knows the controls
that mean something for it; a control that another benchmark has answers as `FAIR` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from fairgate.core.domain import Query
    from fairgate.replies.labels import LabelMap

# The control that every benchmark has: it knows what is true, and treats all groups alike.
FAIR = "oracle"


class Controls(ABC):
    """The controls of one benchmark in one modality.

    `chance` is the query's own: only `chance.random()` may be used, which gives the same sequence in every Python.
    `strength`, 0 to 1, is the share of queries in which a control shows its bias.
    """

    @property
    @abstractmethod
    def names(self) -> Mapping[str, float | None]:
        """The controls, `FAIR` among them, each with its usual strength; None where it takes none."""

    def parameters(self, name: str, strength: float) -> Mapping[str, object]:
        """What the replies of a control depend on, for its identity in the ledger. JSON values."""
        del name, strength
        return {}

    def answer(self, name: str, strength: float, query: Query, chance: Random) -> str:
        """What a language model of this behaviour replies. Called for each query to it."""
        raise NotImplementedError(f"{query.topic.id} is not answered in text by {name} at {strength}, {chance}")

    def people(
        self, name: str, strength: float, query: Query, chance: Random
    ) -> Sequence[tuple[Mapping[str, str], Mapping[str, LabelMap]]]:
        """The people that a text-to-image model draws, from left to right; empty where it refuses.

        Each is groups by attribute, and what maps a detector's labels to them.
        """
        raise NotImplementedError(f"{query.topic.id} is not drawn by {name} at {strength}, {chance}")

    def judge(self, query: Query) -> str:
        """What `control/judge` replies: a rule that reads the controls' own sentences, and nothing else."""
        raise NotImplementedError(f"{query.topic.id} is not judged")
