"""Looks at a model's first replies: a run whose replies cannot be used ends before it costs more."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from fairgate.benchmarks.letter_probability_counts import NOT_ASKED, UNUSABLE, outcome_of
from fairgate.core.domain import AnswerKind, Form, ProbabilityState, Role
from fairgate.core.errors import RunStopped
from fairgate.core.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.ledger.samples import Sample

LOOKED_AT = 36  # replies of each role
USABLE = 1  # of them: so few are next to none
BARE = 3  # choices without probabilities, of which a run needs them
SERVER = "Ask a server that gives top_logprobs."
# Why they have none, and what to do.
BARE_OF = {
    NOT_ASKED: ("they were stored before, without", "Name another --ledger, which asks anew."),
    UNUSABLE: ("the server lists too few tokens to hold all letters", SERVER),
    ProbabilityState.NOT_GIVEN: ("the server ignored the question", SERVER),
    ProbabilityState.OTHER_TOKENS: (
        "the server gave those of other tokens than the answer's, or no letter was answered",
        "Have the answer be a letter: --answer-format json_schema.",
    ),
    ProbabilityState.NOT_LISTED: ("the letter that was chosen is not listed", SERVER),
}
SHOWN, LENGTH = 3, 160  # replies that are quoted, and characters of each
ROLES = (Role.MODEL, Role.SPEAKER, Role.IMAGE_MODEL)
# By what most of the replies were; a kind that is not here has the general advice.
HINTS = {
    "truncated": "Allow longer replies: --model-arg max_tokens=1024 (max_completion_tokens; of hf/ max_new_tokens).",
    "refused": "Give the model an instruction with --system-prompt, or gate a model that answers.",
    "no_face": "Look at the images; change the requests with --t2i-arg, or read faces with another --detector.",
}
GENERAL = (
    "If they are cut short or empty: --model-arg max_tokens=1024. If they are not in the form that was asked for: "
    "--system-prompt. If they are of no sense: check the chat template of the server."
)


class Canary:
    """The first replies of each model under test. `labels` names the models that are looked at, by role.

    `weighed`: the run rests on the probabilities of choices.
    """

    def __init__(self, labels: Mapping[Role, str], *, weighed: bool = False) -> None:
        self._labels = dict(labels)
        self._weighed, self._bare = weighed, Counter[str]()
        self._kinds: dict[Role, Counter[AnswerKind]] = {role: Counter() for role in labels}
        self._said: dict[Role, deque[str]] = {role: deque(maxlen=SHOWN) for role in labels}

    def look(self, sample: Sample) -> None:
        """Count a reply. Raises RunStopped once so many have come and next to none of them can be used."""
        if self._weighed:
            self._weigh(sample)
        # What an image shows is known when its faces are read.
        role = Role.IMAGE_MODEL if sample.query.form is Form.FACES else sample.query.to
        kinds = self._kinds.get(role)
        if kinds is None or sample.query.form is Form.IMAGE or kinds.total() >= LOOKED_AT:
            return
        kind = sample.answer.kind
        kinds[kind] += 1
        if kind not in (AnswerKind.CHOSEN, AnswerKind.SAID):
            self._said[role].append(_quoted(sample))
        if kinds.total() == LOOKED_AT and kinds[AnswerKind.CHOSEN] + kinds[AnswerKind.SAID] <= USABLE:
            raise self._stopped(role, kinds)

    def _weigh(self, sample: Sample) -> None:
        """Count a choice whose probabilities are not known. Raises RunStopped once the first have none."""
        outcome = outcome_of(sample) if sample.query.form is Form.CHOICE else None
        if outcome is None:
            return
        if outcome == ProbabilityState.KNOWN:
            self._weighed = False
            return
        self._bare[outcome] += 1
        if self._bare.total() >= BARE:
            [(reason, _)] = self._bare.most_common(1)
            what, hint = BARE_OF[reason]
            raise RunStopped(
                f"the first {BARE} choices came without their probabilities: {what}.",
                hint=f"{hint} Plan quick needs none.",
            )

    def _stopped(self, role: Role, kinds: Counter[AnswerKind]) -> RunStopped:
        counted = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in kinds.most_common())
        return RunStopped(
            f"of the first {kinds.total()} replies next to none can be used ({counted}). Three of them: "
            f"{'; '.join(self._said[role])}.",
            where=self._labels[role],
            hint=f"{HINTS.get(kinds.most_common(1)[0][0], GENERAL)} --no-canary runs to the end all the same.",
        )


def _quoted(sample: Sample) -> str:
    """A reply on one line, without what a terminal obeys; of an image what became of it."""
    if sample.query.form is Form.FACES or sample.reply is None:
        return f"{sample.query.id}: {sample.answer.how}"
    text = " ".join(sample.reply.text.split())
    cut = text if len(text) <= LENGTH else f"{text[:LENGTH]}…"
    return f'"{Redaction().show(cut)}"' if cut else "an empty reply"
