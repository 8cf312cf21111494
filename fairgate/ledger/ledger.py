"""The store of samples: one SQLite file that outlives every process that writes to it.

A sample is committed as soon as it is answered (write-ahead log, synchronous=NORMAL: kill -9 loses nothing, a power
cut may lose the last second). Its key is the model's identity, the query's id (topic and repeat index) and the prompt,
so that a second run asks nothing that is here, and repeats of one prompt stay separate samples. In a conversation the
turns before the prompt count as part of it. Prompts and replies
are private: the file is readable by its owner alone.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from fairgate.core.domain import Reply
from fairgate.core.errors import LedgerError
from fairgate.ledger.batches import Batches
from fairgate.ledger.database import Database
from fairgate.ledger.marks import Marks
from fairgate.ledger.rows import (
    FILTERED,
    MOST_TOKENS,
    TRUNCATED,
    ReplyRow,
    decoded,
    probabilities_as,
    probabilities_of,
    storable,
)
from fairgate.ledger.runs import Runs
from fairgate.replies.choices import PARSER_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.core.domain import Answer, Identity, Query

# What scoring reads of a sample.
SCORED = (
    "reply, filtered, prompt_tokens, completion_tokens, served_model, fingerprint, latency, attempts, probabilities"
)


class Ledger(Database):
    """An open ledger: its samples, and beside them its runs, its reviewers' marks and its batches."""

    @cached_property
    def runs(self) -> Runs:
        """The runs that it holds."""
        return Runs(self)

    @cached_property
    def marks(self) -> Marks:
        """What reviewers say that replies say."""
        return Marks(self)

    @cached_property
    def batches(self) -> Batches:
        """What was sent to be answered later."""
        return Batches(self, self.model_of)

    @cached_property
    def _models(self) -> dict[str, int]:
        return {}

    def add(self, run: str, identity: Identity, query: Query, reply: Reply, answer: Answer) -> None:
        """Store an answered sample, durably against the death of any process."""
        row = (
            sample_key(identity, query),
            self.model_of(identity),
            query.id,
            storable(query.text),
            storable(reply.text),
            FILTERED * reply.filtered + TRUNCATED * reply.truncated,
            answer.kind,
            answer.choice,
            answer.how,
            PARSER_VERSION,
            _at_most(reply.prompt_tokens),
            _at_most(reply.completion_tokens),
            reply.served_model,
            reply.fingerprint,
            float(reply.latency),
            reply.attempts,
            time.time(),
            run,
            query.form,
            "".join(choice.letter for choice in query.choices),
        )
        # Of what is stored, in the order in which it is read.
        probabilities = probabilities_as(reply.probabilities)
        checked = row_sum(row[0], (row[4], row[5], *row[10:16], probabilities))
        with self.translated():
            places = ",".join("?" * (len(row) + 2))
            # Held already, in whatever run; anything else that keeps it out is an error.
            put = f"INSERT INTO samples VALUES ({places}) ON CONFLICT (key) DO NOTHING"  # noqa: S608 - only question marks are put in
            self.database.execute(put, (*row, checked, probabilities))

    def add_failure(self, run: str, identity: Identity, query: Query, reason: str) -> None:
        """Store that this run could not have this sample, and why; the next run asks for it again."""
        key = sample_key(identity, query)
        with self.translated():
            self.database.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", (key, run, query.id, storable(reason))
            )

    def holds(self, identity: Identity, query: Query) -> bool:
        """Whether this sample was answered, in whatever run."""
        key = sample_key(identity, query)
        with self.translated():
            return self.database.execute("SELECT 1 FROM samples WHERE key = ?", (key,)).fetchone() is not None

    def reply(self, identity: Identity, query: Query) -> Reply | None:
        """The stored reply to this query, or None where it was never answered."""
        key = sample_key(identity, query)
        with self.translated():
            row = self.database.execute(
                f"SELECT {SCORED}, checked FROM samples WHERE key = ?",  # noqa: S608 - our own words
                (key,),
            ).fetchone()
        if row is None:
            return None
        *held, checked = row
        if checked is not None and checked != row_sum(key, held):
            raise LedgerError(
                f"sample {query.id} (key {key.hex()[:12]}) is damaged: it is not what was stored.",
                where=str(self.path),
                hint="Use a copy of the file from before, or name another ledger.",
            )
        found = decoded(ReplyRow, held, "samples", str(self.path))
        reply = Reply(
            found.reply,
            bool(found.filtered & FILTERED),
            truncated=bool(found.filtered & TRUNCATED),
            prompt_tokens=found.prompt_tokens,
            completion_tokens=found.completion_tokens,
            served_model=found.served_model,
            fingerprint=found.fingerprint,
            latency=found.latency,
            attempts=found.attempts,
            probabilities=probabilities_of(found.probabilities, str(self.path)),
        )
        word = self.marks.of(key)
        return reply if word is None else replace(reply, mark=word)

    def failure(self, run: str, identity: Identity, query: Query) -> str | None:
        """Why this run could not have this sample, or None where it did not try or succeeded."""
        key = sample_key(identity, query)
        with self.translated():
            row = self.database.execute("SELECT reason FROM failures WHERE key = ? AND run = ?", (key, run)).fetchone()
        return None if row is None else str(row[0])

    def failed(self, run: str) -> Counter[str]:
        """How many of this run's requests failed, by topic; samples never requested are not counted."""
        with self.translated():
            rows = self.database.execute("SELECT query FROM failures WHERE run = ?", (run,)).fetchall()
        return Counter(str(query).partition("#")[0] for (query,) in rows)

    def answered_since(self, identity: Identity) -> float | None:
        """When the oldest reply of this very model came, in seconds since 1970; None where the ledger has none."""
        with self.translated():
            row = self.database.execute(
                "SELECT min(asked_at) FROM samples WHERE model IN (SELECT id FROM models WHERE identity = ?)",
                (identity.canonical,),
            ).fetchone()
        return row[0] if isinstance(row[0], int | float) else None

    def mean_latency(self, identity: Identity) -> float | None:
        """Seconds that a call to this model took, whatever its parameters; None where the ledger has no reply of it."""
        with self.translated():
            row = self.database.execute(
                "SELECT avg(latency) FROM samples WHERE latency > 0 AND model IN (SELECT id FROM models WHERE "
                "json_extract(identity, '$.provider') = ? AND json_extract(identity, '$.name') = ? AND "
                "json_extract(identity, '$.address') IS ?)",
                (identity.provider, identity.name, identity.address),
            ).fetchone()
        return None if row[0] is None else float(row[0])

    def mean_reply(self, identity: Identity) -> dict[str, tuple[int, float]]:
        """By the form that was asked for: how many replies of this very model have counted tokens, and their mean."""
        with self.translated():
            rows = self.database.execute(
                "SELECT form, count(*), avg(completion_tokens) FROM samples WHERE completion_tokens >= 0 "
                "AND form IS NOT NULL AND model IN (SELECT id FROM models WHERE identity = ?) GROUP BY form",
                (identity.canonical,),
            ).fetchall()
        return {str(form): (int(n), float(mean)) for form, n, mean in rows}

    def model_of(self, identity: Identity) -> int:
        """The number of a model, which it is given where it has none."""
        text = identity.canonical
        if text not in self._models:
            with self.translated():
                self.database.execute(
                    "INSERT INTO models (identity) VALUES (?) ON CONFLICT (identity) DO NOTHING", (text,)
                )
                row = self.database.execute("SELECT id FROM models WHERE identity = ?", (text,)).fetchone()
            self._models[text] = row[0]
        return self._models[text]


def sample_key(identity: Identity, query: Query) -> bytes:
    """The ledger's key of a sample: 16 bytes over the model's identity, the query's id and its prompt."""
    return key_ended(key_begun(identity.canonical), query.id, query.text)


def key_begun(identity: str) -> blake2b:
    """What the keys of a model's samples have in common, from what the ledger holds of the model."""
    return blake2b(f"{identity}\0".encode("utf-8", "surrogatepass"), digest_size=16)


def key_ended(begun: blake2b, query: str, prompt: str) -> bytes:
    """The key of one of them."""
    key = begun.copy()
    key.update(f"{query}\0{prompt}".encode("utf-8", "surrogatepass"))
    return key.digest()


def _at_most(tokens: int | None) -> int | None:
    """A count of tokens, as large as one may be: those of several answers may have been added up."""
    return None if tokens is None else min(tokens, MOST_TOKENS)


def row_sum(key: bytes, held: Sequence[object]) -> bytes:
    """The sum of a row, over its key and what scoring reads (`SCORED`): 8 bytes, against damage and not against
    forgery.
    """
    reply, filtered, prompt_tokens, completion_tokens, served, fingerprint, latency, attempts, probabilities = held
    # As it was summed up before there was another ending than to be filtered, and before there were probabilities.
    ending = filtered if filtered not in (0, 1) else bool(filtered)
    later = () if probabilities is None else (probabilities,)
    scored = (reply, ending, prompt_tokens, completion_tokens, served, fingerprint, latency, attempts, *later)
    return blake2b(key + repr(scored).encode("utf-8", "surrogatepass"), digest_size=8).digest()
