"""What a judge said of a run's own replies, with reviewers' marks, as far as these correct a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec

from fairgate.core.domain import Form
from fairgate.core.statistics.prediction_powered import Corrects, Review
from fairgate.ledger.marks import MARKS
from fairgate.ledger.rows import decoded, identity_of
from fairgate.replies.citations import judged_in
from fairgate.replies.judgements import own_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.ledger.ledger import Ledger


class _Row(msgspec.Struct, array_like=True, frozen=True):
    key: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
    identity: str
    query: str
    prompt: str
    reply: str
    form: str
    mark: str | None


@dataclass(frozen=True, slots=True)
class Reviewable:
    """A verdict or mark, its key, and the prompt that the judge was given."""

    review: Review
    key: bytes
    prompt: str


def reviewable(
    ledger: Ledger, score_of: Callable[[str], tuple[str, Corrects] | None]
) -> dict[tuple[str, Corrects, str], list[Reviewable]]:
    """The judge's readable replies that marks correct a score by, by score, its kind and judge.

    `score_of`: the score by a query's id, None where marks correct none.
    """
    with ledger.translated():
        rows = ledger.database.execute(
            "SELECT samples.key, identity, query, prompt, reply, form, word FROM samples"  # noqa: S608 - our own words
            " JOIN models ON model = models.id"
            f" LEFT JOIN ({MARKS}) AS given ON given.key = samples.key WHERE form IN (?, ?) ORDER BY query",
            (Form.VERDICT, Form.MARK),
        ).fetchall()
    found: dict[tuple[str, Corrects, str], list[Reviewable]] = {}
    for row in rows:
        held = decoded(_Row, row, "samples", str(ledger.path))
        reviewed = score_of(held.query)
        if reviewed is None:
            continue
        form = Form(held.form)
        said = own_value(held.reply, form, judged_in(held.prompt))
        if said is None:
            continue
        judge = identity_of(held.identity, str(ledger.path)).label
        right = None if held.mark is None else own_value(held.mark, form)
        each = Reviewable(Review(held.query, said, right), held.key, held.prompt)
        found.setdefault((*reviewed, judge), []).append(each)
    return found
