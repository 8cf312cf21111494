"""Another ledger of the same schema, taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.ledger.database import Database


def absorb(held: Database, other: Path) -> list[str]:
    """Take over all that another ledger of this schema holds, and name the queries that it answers otherwise.

    Of two replies to one query the one asked first is kept, so that the order of merging plays no part.
    """
    with held.translated():
        held.database.execute("ATTACH ? AS other", (str(other),))
        try:
            with held.whole():
                return _take_over(held)
        finally:
            held.database.execute("DETACH other")


def _take_over(held: Database) -> list[str]:
    run = held.database.execute
    run("INSERT INTO models (identity) SELECT identity FROM other.models WHERE true ON CONFLICT (identity) DO NOTHING")
    # Of a model that is not there nothing can be taken over.
    both = "FROM other.samples o JOIN main.samples s USING (key) JOIN other.models t ON t.id = o.model"
    differing = f"SELECT s.query {both} WHERE o.reply <> s.reply OR o.filtered <> s.filtered ORDER BY s.query"
    conflicts = [row[0] for row in run(differing)]
    run(
        f"DELETE FROM main.samples WHERE key IN (SELECT key {both}"  # noqa: S608 - no word of it is a user's
        " WHERE (o.asked_at, o.reply, o.run) < (s.asked_at, s.reply, s.run))"
    )
    columns = [row[1] for row in run("PRAGMA main.table_info(samples)")]
    # Models are numbered by each ledger for itself.
    mapped = ", ".join("here.id" if column == "model" else f"o.{column}" for column in columns)
    # Identities may be long: they are compared once a model, not once a sample.
    run(
        "WITH numbers AS MATERIALIZED (SELECT there.id AS theirs, here.id AS id FROM other.models there"  # noqa: S608 - as above
        " JOIN main.models here ON here.identity = there.identity)"
        f" INSERT INTO main.samples SELECT {mapped} FROM other.samples o"
        " JOIN numbers here ON here.theirs = o.model WHERE true ON CONFLICT (key) DO NOTHING"
    )
    known = {row[0] for row in run("SELECT name FROM other.sqlite_master WHERE type = 'table'")}
    for (table,) in run("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
        if table in known - {"models", "samples", "marks", "batches", "batched"}:
            run(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM other.{table}")  # noqa: S608 - our own tables
    if "marks" in known:
        marked = "key, word, who, why, made_at"
        run(
            f"INSERT INTO main.marks ({marked}) SELECT {marked} FROM other.marks WHERE (key, who, made_at)"  # noqa: S608 - as above
            " NOT IN (SELECT key, who, made_at FROM main.marks) ORDER BY id"
        )
    return conflicts
