"""What was sent to be answered in a day's time, and was not fetched yet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fairgate.core.domain import Identity
    from fairgate.ledger.database import Database


class Batches:
    """The batches of an open ledger; `number` is that of a model. Raises LedgerError for whatever SQLite cannot do."""

    def __init__(self, held: Database, number: Callable[[Identity], int]) -> None:
        self._held, self._db, self._number = held, held.database, number

    def plan(self, batch: str, identity: Identity, keys: Iterable[bytes]) -> None:
        """Say that these samples are about to be sent as one batch."""
        model = self._number(identity)
        with self._held.whole():
            self._db.execute("INSERT INTO batches VALUES (?, ?, NULL, ?)", (batch, model, time.time()))
            rows = ((key, batch) for key in keys)
            self._db.executemany("INSERT OR REPLACE INTO batched VALUES (?, ?)", rows)

    def name(self, batch: str, remote: str) -> None:
        """Say what the provider calls a batch, or the file of which it is about to be made."""
        with self._held.translated():
            self._db.execute("UPDATE batches SET remote = ? WHERE id = ?", (remote, batch))

    def of(self, identity: Identity) -> list[tuple[str, str | None, frozenset[bytes]]]:
        """The batches of a model that were not fetched yet: our name, the provider's, the samples in it."""
        model = self._number(identity)
        with self._held.translated():
            found = self._db.execute("SELECT id, remote FROM batches WHERE model = ? ORDER BY sent_at, id", (model,))
            return [
                (batch, remote, frozenset(key for (key,) in self._keys_in(batch))) for batch, remote in found.fetchall()
            ]

    def _keys_in(self, batch: str) -> list[tuple[bytes]]:
        return self._db.execute("SELECT key FROM batched WHERE batch = ?", (batch,)).fetchall()

    def drop(self, keys: Iterable[bytes]) -> None:
        """Say that no reply to these samples will come from their batch."""
        with self._held.whole():
            self._db.executemany("DELETE FROM batched WHERE key = ?", ((key,) for key in keys))

    def settle(self) -> None:
        """Forget what was answered since, and batches of which nothing is left."""
        with self._held.translated():
            if self._db.execute("SELECT 1 FROM batches LIMIT 1").fetchone() is None:
                return
        with self._held.whole():
            self._db.execute("DELETE FROM batched WHERE key IN (SELECT key FROM samples)")
            self._db.execute("DELETE FROM batches WHERE id NOT IN (SELECT batch FROM batched)")
