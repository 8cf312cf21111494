"""A loaded model as the process of a model serves it: calls come together, and one batch runs at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.core.domain import Reply
from fairgate.core.errors import CallFailed, FairgateError
from fairgate.providers.python.batching import CallBatches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch

    from fairgate.core.domain import Query


class Served:
    """Answers queries by `answer`, which takes at most `size` of them; None: as many as are in flight, `places`."""

    source = None  # the code is fairgate's

    def __init__(
        self, label: str, answer: Callable[[Sequence[Query]], Sequence[Reply]], size: int | None, places: int
    ) -> None:
        self._label, self.places = label, places
        self.turns = size or places
        self._batches: CallBatches[Query, Reply] = CallBatches(answer, self.turns)

    async def ask(self, query: Query) -> Reply:
        """The reply to one query, whichever batch it is answered in. Raises CallFailed where there is none."""
        told = await self._batches.ask(query)
        if isinstance(told, Reply):
            return told
        if isinstance(told, FairgateError):
            raise told
        hint = "Lower --model-arg batch=… or --max-in-flight." if "Memory" in type(told).__name__ else None
        raise CallFailed(f"{type(told).__name__}: {told}", where=self._label, hint=hint)


def device_of(wanted: str) -> str:
    """`cuda` where there is one and nothing else is wanted, else `cpu`."""
    import torch

    return wanted if wanted != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def dtype_of(wanted: str) -> torch.dtype | str:
    """A type of torch by its name; `auto` is left to the model."""
    import torch

    found: torch.dtype | str = wanted if wanted == "auto" else getattr(torch, wanted)
    return found
