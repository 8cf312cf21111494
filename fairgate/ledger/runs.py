"""The runs that a ledger holds: what each asked, how far it is, and which topics it has sampled."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from fairgate.core.errors import LedgerError
from fairgate.ledger.rows import LONGEST_NOTE, Started, about_of, decoded, storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairgate.ledger.database import Database


class RunState(StrEnum):
    """How far the sampler of a run is."""

    SAMPLING = "sampling"
    DONE = "done"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run as it stands in the ledger: `about` is JSON that says what it asked."""

    id: str
    about: str
    state: RunState
    message: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What some runs asked for: samples that were answered, and that failed for good, and what that took.

    `retried` counts the requests beyond the first of each answered sample; `uncounted` samples came without a count of
    their tokens.
    """

    answered: int
    failed: int
    retried: int
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    last_failure: str


@dataclass(frozen=True, slots=True)
class RunStatus:
    """What a waiting case needs to know: `message` says why a run stopped, `beat` grows while its sampler works."""

    state: RunState
    message: str
    beat: int


class Runs:
    """The runs of an open ledger. Raises LedgerError for whatever SQLite cannot do."""

    def __init__(self, held: Database) -> None:
        self._held, self._db = held, held.database

    def start(self, run: str, about: str = "{}") -> None:
        """Say that a sampler begins; `about` is JSON that says what it asks, for who reads the ledger later."""
        if len(about) > LONGEST_NOTE:
            raise LedgerError(
                f"cannot keep what the run asks: {len(about):,} characters, more than {LONGEST_NOTE:,}.",
                where=str(self._held.path),
                hint="Shorten the system prompt and the models' arguments.",
            )
        with self._held.translated():
            row = (run, about, RunState.SAMPLING, time.time())
            self._db.execute("INSERT INTO runs VALUES (?, ?, ?, '', 0, ?)", row)

    def note(self, run: str, about: str) -> None:
        """Say anew what a run asks: less than it set out to, where it stops early."""
        with self._held.translated():
            self._db.execute("UPDATE runs SET about = ? WHERE id = ?", (about, run))

    def about(self, run: str) -> str:
        """What a run asks, as JSON; `{}` of one that is not known."""
        with self._held.translated():
            row = self._db.execute("SELECT about FROM runs WHERE id = ?", (run,)).fetchone()
        return row[0] if row else "{}"

    def last(self) -> PastRun:
        """The run that began last. Raises LedgerError where there is none."""
        with self._held.translated():
            row = self._db.execute(
                "SELECT id, about, state, message, started_at FROM runs ORDER BY rowid DESC LIMIT 1"
            ).fetchone()
        if row is None:
            raise LedgerError("holds no run.", where=str(self._held.path), hint="Gate a model with it first.")
        return self._past(row)

    def find(self, start: str) -> PastRun:
        """The run whose id begins so. Raises LedgerError where there is none, or more than one."""
        with self._held.translated():
            found = self._db.execute(
                "SELECT id, about, state, message, started_at FROM runs WHERE substr(id, 1, ?) = ?", (len(start), start)
            ).fetchall()
        if len(found) != 1:
            count = "no run" if not found else f"{len(found)} runs"
            hint = "`fairgate ledger LEDGER` lists them."
            raise LedgerError(f"holds {count} whose id begins with {start!r}.", where=str(self._held.path), hint=hint)
        [row] = found
        return self._past(row)

    def _past(self, row: Sequence[object]) -> PastRun:
        found = decoded(Started, row, "runs", str(self._held.path))
        about_of(found.about, str(self._held.path))
        return PastRun(found.id, found.about, RunState(found.state), found.message)

    def put(self, past: PastRun, members: Iterable[str]) -> None:
        """Make several runs known as one, and as the last: what they sampled and failed to get is its own too."""
        ids = json.dumps(sorted({*members} - {past.id}))
        with self._held.whole():
            beat, began = self._db.execute(
                "SELECT max(beat), max(started_at) FROM runs WHERE id IN (SELECT value FROM json_each(?)) OR id = ?",
                (ids, past.id),
            ).fetchone()
            row = (past.id, past.about, past.state, past.message, beat or 0, began or 0.0)
            self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
            self._db.execute(
                "INSERT OR IGNORE INTO sampled SELECT ?, topic FROM sampled"
                " WHERE run IN (SELECT value FROM json_each(?))",
                (past.id, ids),
            )
            self._db.execute(
                "INSERT OR IGNORE INTO failures SELECT key, ?, query, reason FROM failures"
                " WHERE run IN (SELECT value FROM json_each(?)) AND key NOT IN (SELECT key FROM samples)",
                (past.id, ids),
            )

    def spent(self, runs: Iterable[str]) -> Spent:
        """What these runs asked for, together."""
        ids = json.dumps([*runs])
        with self._held.translated():
            answered = self._db.execute(
                "SELECT count(*), sum(attempts - 1), sum(prompt_tokens), sum(completion_tokens),"
                " sum(prompt_tokens IS NULL) FROM samples WHERE run IN (SELECT value FROM json_each(?))",
                (ids,),
            ).fetchone()
            failed = self._db.execute(
                "SELECT count(*), max(reason) FROM failures WHERE run IN (SELECT value FROM json_each(?))", (ids,)
            ).fetchone()
        retried, *tokens, uncounted = (n or 0 for n in answered[1:])
        return Spent(answered[0], failed[0], retried, tokens[0], tokens[1], uncounted, failed[1] or "")

    def beat(self, run: str) -> None:
        """Record that the sampler works. Raises LedgerError where the file is gone: nothing written would be kept."""
        self._held.check_place()
        with self._held.translated():
            self._db.execute("UPDATE runs SET beat = beat + 1 WHERE id = ?", (run,))

    def end(self, run: str, state: RunState, message: str = "") -> None:
        """Say that the sampler ended, and why where it stopped early."""
        with self._held.translated():
            self._db.execute("UPDATE runs SET state = ?, message = ? WHERE id = ?", (state, storable(message), run))

    def status(self, run: str) -> RunStatus | None:
        """How far this run's sampler is, or None where it has not begun."""
        with self._held.translated():
            row = self._db.execute("SELECT state, message, beat FROM runs WHERE id = ?", (run,)).fetchone()
        return None if row is None else RunStatus(RunState(row[0]), row[1], row[2])

    def mark_sampled(self, run: str, topic: str) -> None:
        """Say that this run has asked all that it will ask of a topic."""
        with self._held.translated():
            self._db.execute("INSERT OR IGNORE INTO sampled VALUES (?, ?)", (run, topic))

    def is_sampled(self, run: str, topic: str) -> bool:
        """Whether this run has asked all that it will ask of a topic."""
        with self._held.translated():
            row = self._db.execute("SELECT 1 FROM sampled WHERE run = ? AND topic = ?", (run, topic)).fetchone()
        return row is not None
