"""Whatever a server says, and however long it is, it is read in time that is linear in its length."""

from __future__ import annotations

from itertools import product
from time import process_time
from typing import TYPE_CHECKING

import pytest

from fairgate.core.domain import Answer, AnswerKind, Choice, Token
from fairgate.core.redaction import Redaction
from fairgate.providers.faces.vision_detector import _object
from fairgate.providers.retries import classify, names_field, read_error, retry_after
from fairgate.replies.choices import read
from fairgate.replies.citations import judged_in
from fairgate.replies.judgements import read_mark, read_verdict
from fairgate.replies.languages import in_english
from fairgate.replies.probabilities import weigh
from fairgate.replies.reasons import read_kind, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

CHOICES = (Choice("A", "Alex Reed, 34", {}), Choice("B", "Robin Vale, 41", {}))


def weigh_tokens(text: str) -> None:
    """As tokens: one of all, one a character, and one of all behind a thought."""
    text = text[:200_000]
    content, answer = text.encode(), Answer(AnswerKind.CHOSEN, 1, "letter")
    every = [bytes([each]) for each in content[:20_000]]
    for contents in ([content], [b"B", content], every, [content, b"</think>", b"B"]):
        tokens = tuple(Token(each, ((each, 1.0),)) for each in contents)
        for reply in ("B", text):
            weigh(tokens, reply, CHOICES, answer)


def read_an_error(text: str) -> None:
    """As a body of JSON and as plain text, by all who look at it."""
    for body in (text.encode(), b'{"error": {"message": "' + text.encode().replace(b'"', b"'") + b'"}}'):
        error = read_error(body)
        for status in (400, 403, 404, 429, 503):
            classify(status, error, {"temperature", "logprobs"})
        names_field(error, {"temperature"})


READERS: dict[str, Callable[[str], object]] = {
    "choice": lambda text: read(text, CHOICES),
    "verdict": read_verdict,
    "mark": read_mark,
    "verdict on itself": lambda text: read_verdict(text, text[:32_768]),
    "mark of a thought": lambda text: read_mark(text[:200_000], f"</think>{text[:32_760]}"),
    "kind of itself": lambda text: read_kind(text[:4_096], text[:32_768]),
    "judged": judged_in,
    "reason": reason_of,
    "kind": read_kind,
    "person": _object,
    "english": in_english,
    "probabilities": weigh_tokens,
    "error": read_an_error,
    "wait": lambda text: (retry_after({"retry-after": text}), retry_after({"retry-after-ms": text})),
}
PIECES = (
    *("B", "1", " ", "\n", "a ", '"', "'", "{", "}", "*", "_", "(", "<", "<think>", "</", "</think", "\\", "\\n", "`"),
    *("not ", "no ", "A. ", "model ", "I'm sorry ", "Answer: ", "> ", "- ", '"a ', "10/", "field ", "\u3000", "\u200b"),
)


@pytest.mark.slow  # a million characters of each kind
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_text_is_read_in_time_linear_in_its_length(reader: Callable[[str], object]) -> None:
    for piece, (before, after) in product(PIECES, (("", ""), ("A ", "x"))):
        text = before + piece * (1_000_000 // len(piece)) + after
        began = process_time()
        reader(text)
        assert process_time() - began < 20, f"{piece!r} between {before!r} and {after!r}"  # a square takes minutes


# Signs that the one alphabet spells with eighteen letters, behind a word of each language that replies are read in.
LIGATURES = "aucun correcta correcta aber \u3042 \u4e2d \u0905 \u0627 " + "\ufdfa" * 16_300


@pytest.mark.parametrize("reader", [READERS["choice"], read_verdict, read_mark], ids=["choice", "verdict", "mark"])
def test_what_one_alphabet_spells_longer_is_cut_again(reader: Callable[[str], object]) -> None:
    for text in (LIGATURES, 'I cannot help "' + "\ufdfa" * 8_100, "I cannot help '" + "\ufdfa" * 8_100):
        began = process_time()
        reader(text)
        assert process_time() - began < 3


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["x", "a ", "%30", "\\u0030", "key=", "Bearer ", "://a:"])
def test_a_text_is_shown_in_time_whatever_its_length(piece: str) -> None:
    redaction = Redaction(["a-key-of-sixteen-letters"])
    began = process_time()
    assert len(redaction.show(piece * (16_000_000 // len(piece)))) <= 300
    assert process_time() - began < 1
