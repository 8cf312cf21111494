"""(run, cells of its cases) -> Evidence: what was counted, and a way to the samples behind each."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fairgate.benchmarks.evidence import Evidence
from fairgate.core.errors import LedgerError
from fairgate.ledger.images import ImageStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.case import Case
    from fairgate.benchmarks.evidence import Cell, Shown
    from fairgate.runs.run import Run


def evidence_of(run: Run, cells: Mapping[Case, Cell]) -> Evidence:
    """The cells in their order. Samples are read from the ledger when they are asked for."""
    topics = {
        cell.topic: case.topics for case, cell in cells.items() if case.topic.modality in run.participants.sampled
    }

    def read(topic: str) -> Sequence[Shown]:
        parts = topics.get(topic, ())
        if not parts:
            return ()
        with run.participants.stored() as reply:
            return tuple(each for part in parts for each in run.benchmarks.of(part).shown(part, reply))

    store = ImageStore(run.settings.ledger)

    def content(image: str) -> bytes:
        # A ledger may come here without its images.
        with suppress(LedgerError):
            return store.read(image)
        return b""

    return Evidence(tuple(cells.values()), read, content)
