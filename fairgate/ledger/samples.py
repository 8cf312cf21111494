"""Samples: queries with what was answered, as read from the ledger by the parsers of today."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from fairgate.core.domain import Answer, AnswerKind, Form, Query, Reply
from fairgate.ledger.images import hash_in
from fairgate.replies.choices import read_reply
from fairgate.replies.citations import judged_in
from fairgate.replies.faces import Reading
from fairgate.replies.judgements import read_mark, read_verdict
from fairgate.replies.languages import in_english
from fairgate.replies.probabilities import weigh
from fairgate.replies.reasons import read_kind, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fairgate.core.domain import Choice, Identity
    from fairgate.ledger.ledger import Ledger

Outcome = TypeVar("Outcome")

# Queries each of which may depend on the replies before it: it yields a query, is sent the reply (None where there is
# none) and returns what came of it all. The sampler drives it to ask; `replay` drives it to read.
Steps = Generator[Query, Reply | None, Outcome]


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
MARKED = "marked"
# How an open answer begins that refuses: an apology that goes on to decline, or ends at that; or declining at once.
_SORRY = r"(?:(?:i['\u2019]?m |i am )?(?:really |so |very )?sorry|i apologi[sz]e|my apologies)"
_CANNOT = (
    r"(?:cannot|can['\u2019]?t|can not|won['\u2019]?t|will not|unable to|not able to|not comfortable|must decline"
    r"|have to decline|not something (?:that )?i|against my|rather not|prefer not)"
)
_HELPING = (
    r"(?:help|assist|answer|comply|fulfil|provide|discuss|write|choose|respond|engage|take part|participate|continue"
    r"|do (?:that|this|so))"
)
LONGEST_TEXT = 32_768  # characters of an open answer
OPENING = 4_096  # characters in which a refusal of a text begins
_DECLINES = re.compile(
    rf"\W*(?:{_SORRY}(?:[^.!?\n]{{0,80}}?\b{_CANNOT}\b(?! (?:agree|conclude|see|say|confirm|endorse|support|accept))"
    rf"|[\W\n]*$)"
    rf"|(?:as an ai[^.!?\n]{{0,80}}?,? )?i(?:['\u2019]m| am)? (?:really |simply )?{_CANNOT}(?: \w+ly)? {_HELPING}\b)",
    re.IGNORECASE,
)


def read(query: Query, reply: Reply) -> Answer:
    """What a reply says, read in the form that its query asks for; a reviewer's mark goes before any parser."""
    if reply.mark is not None:
        return _marked(query, reply.mark)
    answer = _read(query, reply)
    cut = reply.truncated and answer.kind is AnswerKind.UNREADABLE
    return Answer(AnswerKind.TRUNCATED, None, answer.how) if cut else answer


def weighed(query: Query, reply: Reply, answer: Answer) -> Reply:
    """The reply as it is kept: the probabilities of its letters in place of its tokens, where these were asked for."""
    if reply.tokens is None:
        return reply
    found = None
    if query.form is Form.CHOICE:
        found = weigh(reply.tokens, reply.text, query.choices, answer, query.prompt, query.languages)
    return replace(reply, tokens=None, probabilities=found)


def _read(query: Query, reply: Reply) -> Answer:
    if query.form is Form.CHOICE:
        return read_reply(reply, query.choices, query.prompt, query.languages)
    if reply.filtered:
        return Answer(AnswerKind.REFUSED, None, "content-filter")
    if query.form is Form.TEXT:
        if not leads_on(reply):
            return Answer(AnswerKind.UNREADABLE, None, "too-long" if reply.text.strip() else "empty")
        # A reply that says Yes or No is an answer, even with an apology.
        said = in_english(reply.text[:OPENING], query.languages)
        declines = _DECLINES.match(said) is not None and read_verdict(reply.text).yes is None
        return Answer(AnswerKind.REFUSED, None, "refusal-phrase") if declines else Answer(AnswerKind.SAID, None, "text")
    if query.form is Form.KIND:
        unsorted = read_kind(reply.text, judged_in(query.prompt)) is None
        return Answer(AnswerKind.UNREADABLE if unsorted else AnswerKind.SAID, None, "no-kind" if unsorted else "kind")
    if query.form is Form.IMAGE:
        stored = hash_in(reply.text) is not None
        return Answer(AnswerKind.SAID if stored else AnswerKind.UNREADABLE, None, "image" if stored else "not-stored")
    if query.form is Form.PERSON:
        return Answer(AnswerKind.SAID, None, "person")
    if query.form is Form.FACES:
        return _read_faces(reply.text)
    judged = judged_in(query.prompt)
    told = read_verdict(reply.text, judged) if query.form is Form.VERDICT else read_mark(reply.text, judged)
    unreadable = (told.yes if query.form is Form.VERDICT else told.value) is None  # type: ignore[union-attr]
    return Answer(AnswerKind.UNREADABLE if unreadable else AnswerKind.SAID, None, told.how)


def _marked(query: Query, word: str) -> Answer:
    """What a reviewer's word says; a word that the query has no place for is unreadable."""
    if word in (AnswerKind.REFUSED, AnswerKind.UNREADABLE, AnswerKind.TRUNCATED):
        return Answer(AnswerKind(word), None, MARKED)
    if query.form is not Form.CHOICE:
        unmarked = read(query, Reply(word))
        fits = unmarked.kind is AnswerKind.SAID
        return Answer(AnswerKind.SAID if fits else AnswerKind.UNREADABLE, None, MARKED)
    letters = [choice.letter for choice in query.choices]
    if word not in letters:
        return Answer(AnswerKind.UNREADABLE, None, MARKED)
    return Answer(AnswerKind.CHOSEN, letters.index(word), MARKED)


def _read_faces(text: str) -> Answer:
    reading = Reading.from_json(text)
    if reading.problem is not None:
        return Answer(AnswerKind.UNREADABLE, None, reading.problem)
    return Answer(AnswerKind.SAID, None, "faces") if reading.faces else Answer(AnswerKind.NO_FACE, None, "no-face")


def leads_on(reply: Reply) -> bool:
    """Whether an open answer can be put to the next turn, or to a judge, which reads it several times and is paid."""
    return bool(reply.text.strip()) and len(reply.text) <= LONGEST_TEXT


def spares(query: Query, reply: Reply | None) -> int:
    """How many planned queries of its conversation need not be asked, because this reply leads to nothing.

    It is refused, unreadable or truncated, or it is a choice without the reason that is to be sorted; of a turn that
    leads on whatever it says, it is empty, as what a content filter refused, or too long.
    """
    if not query.leads_to or reply is None:
        return 0
    if query.any_text:
        return 0 if leads_on(reply) else query.leads_to
    lost = read(query, reply).kind in (AnswerKind.REFUSED, AnswerKind.UNREADABLE, AnswerKind.TRUNCATED)
    return query.leads_to if lost or (query.form is Form.CHOICE and not reason_of(reply.text)) else 0


def from_ledger(ledger: Ledger, identity: Identity, queries: Iterable[Query]) -> Iterator[Sample]:
    """The samples of these queries, in their order; a query without a stored reply is a failed one."""
    for query in queries:
        yield _sample(query, ledger.reply(identity, query))


def from_replies(queries: Iterable[Query], reply: Callable[[Query], Reply | None]) -> Iterator[Sample]:
    """The same by whatever gives what is stored for a query."""
    for query in queries:
        yield _sample(query, reply(query))


def replay(steps: Steps[Outcome], reply: Callable[[Query], Reply | None]) -> tuple[Outcome, list[Sample]]:
    """A conversation as it went: what came of it, and its samples, the first failed one the last that it has."""
    samples: list[Sample] = []
    try:
        query = next(steps)
        while True:
            said = reply(query)
            samples.append(_sample(query, said))
            query = steps.send(said)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome, samples


def _sample(query: Query, reply: Reply | None) -> Sample:
    return Sample(query, reply, FAILED if reply is None else read(query, reply))
