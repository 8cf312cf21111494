"""The values that all packages share. Nothing here computes, reads files or sends requests."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Modality(StrEnum):
    """What the model under test produces."""

    TEXT = "text"
    IMAGE = "image"


class Topic(Protocol):
    """What a set of samples is about. Benchmarks have their own: hashable, and a pure function of their data."""

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        ...

    @property
    def modality(self) -> Modality:
        """What the model under test produces."""
        ...

    @property
    def task(self) -> str:
        """One of the benchmark's tasks."""
        ...

    @property
    def id(self) -> str:
        """Stable and unique, e.g. `BENCHMARK/text/TASK/crime-rate-high`."""
        ...


class Role(StrEnum):
    """Who is asked: the language model under test, the same with the sampling that a paper gives it, or the judge;

    the text-to-image model under test, or the detector of the faces in its images.
    """

    MODEL = "model"
    SPEAKER = "speaker"
    JUDGE = "judge"
    IMAGE_MODEL = "painter"
    DETECTOR = "detector"


class Form(StrEnum):
    """What a reply must be to be read: a choice, any text, a yes or no, a mark of 0 to 10, the kind of a reason,

    an image (its hash), the faces in an image (a `Reading` as JSON), or what a vision model says of one person.
    """

    CHOICE = "choice"
    TEXT = "text"
    VERDICT = "verdict"
    MARK = "mark"
    KIND = "kind"
    IMAGE = "image"
    FACES = "faces"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation: `role` is `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One lettered option of a query, and the group that it stands for, by attribute."""

    letter: str
    text: str
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Query:
    """One prompt: a pure function of (data version, seed, topic, index), and in a conversation of what was said before.

    `images` are sent along, by content hash (64 lower-case hex digits of SHA-256); their bytes are in the image store.
    `named` holds the groups that the context names, by attribute, e.g. {"race": "Asian", "gender": "male"}; in a
    conversation the groups and attributes of the instance. `step` tells the queries of one conversation apart, `before`
    are the turns before the prompt. `again`: the plan did not ask for it, an unreadable reply did. `leads_to`: so many
    planned queries rest on its reply, and are spared where that is refused or cannot be used; with `any_text` they are
    asked whatever it says, and spared where it is empty. `languages`: a folder of languages that replies may be in,
    beside ours.
    """

    topic: Topic
    index: int
    prompt: str
    choices: tuple[Choice, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    step: str = ""
    before: tuple[Message, ...] = ()
    to: Role = Role.MODEL
    form: Form = Form.CHOICE
    again: bool = False
    images: tuple[str, ...] = ()
    leads_to: int = 0
    any_text: bool = False
    languages: Path | None = None

    @property
    def id(self) -> str:
        """Stable and unique, e.g. `BENCHMARK/text/TASK/crime-rate-high#17`."""
        return f"{self.topic.id}#{self.index}{self.step and '/'}{self.step}"

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation, the prompt last."""
        return (*self.before, Message("user", self.prompt))

    @property
    def text(self) -> str:
        """All that is sent, as one text: the prompt alone where nothing was said before, and nothing is shown."""
        if not self.before and not self.images:
            return self.prompt
        shown = (f"image\x1f{each}" for each in self.images)
        return "\x1e".join([*(f"{each.role}\x1f{each.content}" for each in self.before), *shown, self.prompt])


class AnswerKind(StrEnum):
    """What a reply turned out to be. Only `chosen` and `said` ever enter a score: an option, or a readable text.

    `truncated`: the server cut the reply at its limit of tokens, and what is there cannot be read; a cut reply that can
    be is what it says. Of an image: `chosen` where it shows a face, `no_face` where it shows none.
    """

    CHOSEN = "chosen"
    SAID = "said"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    TRUNCATED = "truncated"
    NO_FACE = "no_face"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, read. `choice` is the index into the query's choices if, and only if, one was chosen.

    `how` names the form that was recognised (`json`, `letter`, `option-text`, `refusal-phrase`, …).
    """

    kind: AnswerKind
    choice: int | None
    how: str


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply, in UTF-8, and the most probable ones in its place with their probabilities, 0 to 1.

    It is one of them, unless the server does not say how probable it was. A token may hold a part of a character.
    """

    content: bytes
    likely: tuple[tuple[bytes, float], ...]


class ProbabilityState(StrEnum):
    """What came of asking for probabilities with a choice.

    `known`: they are there. `not_given`: the server ignored the question. `other_tokens`: its tokens do not spell the
    reply, or none of them holds the answer. `not_listed`: the letter that was chosen is not among the listed ones.
    `no_choice`: the reply chooses nothing, so no token holds an answer.
    """

    KNOWN = "known"
    NOT_GIVEN = "not_given"
    OTHER_TOKENS = "other_tokens"
    NOT_LISTED = "not_listed"
    NO_CHOICE = "no_choice"


@dataclass(frozen=True, slots=True)
class LetterProbabilities:
    """The probability of each offered letter, 0 to 1, at the token that holds the answer; where `state` is known.

    `letters` are in the order of the choices, None for one that the server did not list. Those that are listed and
    `outside` sum to 1: `outside` is all that is not a listed letter. Within it, `unlisted` is the most that the letters
    which are not listed can have together. `chosen` is the choice that the reply made, as it was read.
    """

    state: ProbabilityState
    chosen: int | None = None
    letters: tuple[float | None, ...] = ()
    outside: float = 0.0
    unlisted: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model sent back for one query.

    `filtered`: the provider's content filter refused, which is an answer, not a failure. `truncated`: the server cut it
    at its limit of tokens. Tokens are None where the
    server does not count them; `latency` in seconds, of the last attempt; `attempts` counts requests, 1 or more. `mark`
    is what a reviewer says that the reply says: it is read in its stead, and the text stays as it was sent. `tokens`
    are those of the text as they came, empty where the server gave none, None where nobody asked for them; what is kept
    of them is `probabilities`.
    """

    text: str
    filtered: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    latency: float = 0.0
    attempts: int = 1
    mark: str | None = None
    truncated: bool = False
    tokens: tuple[Token, ...] | None = None
    probabilities: LetterProbabilities | None = None

    @property
    def said(self) -> str:
        """What a parser is to read: the reviewer's word where there is one."""
        return self.text if self.mark is None else self.mark


@dataclass(frozen=True)
class Identity:
    """What tells one model's replies from another's in the ledger. Holds no secret.

    `address` is the base URL without user info and query; `parameters` the body fields and the system prompt of an
    endpoint, the parameters, version and answer key of a control, the revision of a callable.
    """

    provider: str
    name: str
    address: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """As the user names it: PROVIDER/NAME."""
        return f"{self.provider}/{self.name}"

    @cached_property
    def canonical(self) -> str:
        """As JSON with sorted keys: equal identities give equal texts."""
        whole = {
            "provider": self.provider,
            "name": self.name,
            "address": self.address,
            "parameters": dict(self.parameters),
        }
        return json.dumps(whole, sort_keys=True, separators=(",", ":"))
