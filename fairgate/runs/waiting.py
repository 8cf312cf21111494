"""A case's wait for its samples: until they are there, or whoever asks for them has stopped, or fallen silent."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from fairgate.ledger.runs import RunState

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.core.domain import Topic
    from fairgate.core.errors import FairgateError
    from fairgate.ledger.ledger import Ledger

SILENCE = 60.0  # seconds without a sign of the sampler, after which all waiting cases give up
SILENT = f"nothing was heard of the sampler for {SILENCE:g} seconds"
ORPHANED = "the controlling process is gone"
POLL = (0.01, 0.2)  # seconds between two looks at the ledger, at first and at most


class Waiting:
    """Backoff for topics of one run. `controller`: in a worker, the process that started it, and fills the ledger.

    `error` tells what ended the sampler of this very process, which may not even have been able to write that.
    """

    def __init__(self, run: str, controller: int | None, error: Callable[[], FairgateError | None]) -> None:
        self._run, self._controller, self._error = run, controller, error
        self._silent = False

    def until_sampled(self, topic: Topic, ledger: Ledger) -> str | None:
        """None once the topic is sampled, or why the run stopped before. Raises LedgerError where the file is gone."""
        pause, heard, beat = POLL[0], time.monotonic(), -1
        while not ledger.runs.is_sampled(self._run, topic.id):
            if (error := self._error()) is not None:
                return str(error)
            if self._controller is not None and os.getppid() != self._controller:
                return ORPHANED
            if self._silent:
                return SILENT
            ledger.check_place()
            status = ledger.runs.status(self._run)
            if status is not None and status.state is not RunState.SAMPLING:
                # The topic may have been finished between the two looks.
                return None if ledger.runs.is_sampled(self._run, topic.id) else status.message or "the run ended"
            if status is not None and status.beat != beat:
                heard, beat = time.monotonic(), status.beat
            if time.monotonic() - heard > SILENCE:
                self._silent = True
            time.sleep(pause)
            pause = min(pause * 1.5, POLL[1])
        return None
