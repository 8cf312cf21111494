"""What a judge said of a run's own replies, with reviewers' marks, as far as these correct a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec

from fairgate.core.domain import Form
from fairgate.core.statistics.reviews import Review
from fairgate.ledger.marks import MARKS
from fairgate.ledger.rows import decoded, identity_of
from fairgate.replies.judgements import read_verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.ledger.ledger import Ledger


class _Row(msgspec.Struct, array_like=True, frozen=True):
    key: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
    identity: str
    query: str
    prompt: str
    reply: str
    mark: str | None


@dataclass(frozen=True, slots=True)
class Reviewable:
    """A verdict, its key, and the prompt that the judge was given."""

    review: Review
    key: bytes
    prompt: str


def reviewable(ledger: Ledger, score_of: Callable[[str], str | None]) -> dict[tuple[str, str], list[Reviewable]]:
    """The readable verdicts that marks correct a score by, by score and judge.

    `score_of`: the score by a query's id, None where marks correct none.
    """
    with ledger.translated():
        rows = ledger.database.execute(
            "SELECT samples.key, identity, query, prompt, reply, word FROM samples JOIN models ON model = models.id"  # noqa: S608 - our own words
            f" LEFT JOIN ({MARKS}) AS given ON given.key = samples.key WHERE form = ? ORDER BY query",
            (Form.VERDICT,),
        ).fetchall()
    found: dict[tuple[str, str], list[Reviewable]] = {}
    for row in rows:
        held = decoded(_Row, row, "samples", str(ledger.path))
        score, said = score_of(held.query), read_verdict(held.reply).yes
        if score is None or said is None:
            continue
        judge = identity_of(held.identity, str(ledger.path)).label
        right = None if held.mark not in ("yes", "no") else held.mark == "yes"
        each = Reviewable(Review(held.query, said, right), held.key, held.prompt)
        found.setdefault((score, judge), []).append(each)
    return found
