"""Samples: queries with what was answered, as read from the ledger by the parser of today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.answers import read_reply
from fairgate.domain import Answer, AnswerKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fairgate.domain import Choice, Query, Reply
    from fairgate.ledger import Ledger
    from fairgate.models.base import Identity


@dataclass(frozen=True, slots=True)
class Sample:
    """A query and what came of it: `reply` is None where the model was not asked, or failed to answer."""

    query: Query
    reply: Reply | None
    answer: Answer

    @property
    def chosen(self) -> Choice | None:
        """The option that was chosen, if one was."""
        return None if self.answer.choice is None else self.query.choices[self.answer.choice]


FAILED = Answer(AnswerKind.FAILED, None, "not-answered")


def from_ledger(ledger: Ledger, identity: Identity, queries: Iterable[Query]) -> Iterator[Sample]:
    """The samples of these queries, in their order; a query without a stored reply is a failed one."""
    for query in queries:
        reply = ledger.reply(identity, query)
        yield Sample(query, reply, FAILED if reply is None else read_reply(reply, query.choices))
