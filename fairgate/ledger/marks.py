"""What reviewers say that replies say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import msgspec

from fairgate.ledger.rows import decoded, storable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.core.domain import Identity
    from fairgate.ledger.database import Database

LONGEST = 1_000  # characters of a word; the longest that is given has some ten
# Of each sample's marks the last one, where it was not taken back.
MARKS = """
SELECT key, word, who, why FROM
    (SELECT *, row_number() OVER (PARTITION BY key ORDER BY made_at DESC, id DESC) AS place FROM marks)
WHERE place = 1 AND word IS NOT NULL
"""


class MarkRow(msgspec.Struct, array_like=True, frozen=True):
    """A mark that holds, as the file has it."""

    key: bytes
    word: Annotated[str, msgspec.Meta(max_length=LONGEST)]
    who: str
    why: str


class Marks:
    """The marks of an open ledger. Raises LedgerError for whatever SQLite cannot do."""

    def __init__(self, held: Database) -> None:
        self._held, self._db = held, held.database
        self._words: dict[bytes, str] | None = None

    def add(self, key: bytes, word: str | None, who: str, why: str) -> None:
        """Keep what a reviewer says that a reply says, or with None that it says what the parser reads.

        Nothing is overwritten, an earlier mark neither: the last one counts.
        """
        with self._held.translated():
            # The last one counts, whatever became of the clock in between.
            self._db.execute(
                "INSERT INTO marks (key, word, who, why, made_at)"
                " SELECT ?, ?, ?, ?, max(?, coalesce(max(made_at), 0)) FROM marks",
                (key, word, storable(who), storable(why), time.time()),
            )
        self._words = None

    def marked(self, models: Iterable[Identity]) -> list[str]:
        """The ids of these models' queries whose replies bear a reviewer's mark."""
        of = {each.canonical for each in models}
        with self._held.translated():
            rows = self._db.execute(
                f"SELECT query, identity FROM samples JOIN ({MARKS}) USING (key) JOIN models ON model = models.id"  # noqa: S608 - our own words
                " ORDER BY samples.key"
            )
            return [query for query, identity in rows if identity in of]

    def of(self, key: bytes) -> str | None:
        """The word of a reviewer on this sample, None where there is none."""
        # Marks are few and replies many: looked up once for each opened ledger.
        if self._words is None:
            with self._held.translated():
                where = str(self._held.path)
                rows = (decoded(MarkRow, row, "marks", where) for row in self._db.execute(MARKS))
                self._words = {row.key: row.word for row in rows}
        return self._words.get(key)
