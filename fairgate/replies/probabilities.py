"""A reply's tokens -> the probability of each offered letter at the token that holds the answer.

The answer stands where our own reader (`choices.py`) would have read another letter as another answer: at the letter
of the JSON field, not at one in a sentence before it. The tokens are laid against the reply byte by byte; what a server
adds to them (thoughts before the reply, a token that ends it) is left out.

Tokenizers cut a text in many ways, so each token that may stand there counts for a letter where it holds that letter
and else nothing but signs: `B`, ` B`, `"B`, `B"`, `b`. Where signs before the letter are tokens of their own, a token
that has sign and letter in one is an alternative to the first of them: it counts there, and what follows counts by
the chance of having come so far. All else is outside the letters, words that begin with one too.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from fairgate.core.domain import AnswerKind, LetterProbabilities, ProbabilityState
from fairgate.replies.choices import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fairgate.core.domain import Answer, Choice, Token

# Servers round; what is further above 1 is no probability.
ROUNDING = 1e-3
# Shares in which letters that are not listed may be off by more are not used.
MOST_UNLISTED = 0.002
VARIANTS = 4  # tokens that one letter which is not listed may have: plain, after a blank, after a quote, lower case
PLACES = 6  # in which the answer is looked for, from the end

# Vocabularies spell a blank, and a new line, with these signs; some servers send them as they are.
_SPELLED = {"\u2581": " ", "\u0120": " ", "\u010a": "\n"}
# Bytes of a reply whose tokens are looked at, and those within which what servers add behind it, or the end of what
# they add before it, is looked for.
LONGEST_REPLY = 2**20
NEAR = 512
# What may stand before a reply among its tokens: blanks, or thoughts; and behind it: blanks, or a token that ends it.
_BEFORE = (
    *("</think>", "</thinking>", "</thought>", "</reasoning>", "[/THINK]"),
    *("<|message|>", "<|end_header_id|>", "<|im_start|>"),
)
_AFTER = re.compile(r"\s*(?:(?:<[^<>\s]{1,40}>|\[[^\[\]\s]{1,40}\]|<\uff5c[^<>]{1,60}\uff5c>)\s*){0,3}")
_SIGNS = re.compile(r"""[\s"'`*_(\[{<\u201c\u2018\u00ab]+""")
_LONE = re.compile(r"[\W_]*([^\W\d_])[\W_]*")


def weigh(
    tokens: Sequence[Token],
    text: str,
    choices: Sequence[Choice],
    answer: Answer,
    asked: str = "",
    languages: Path | None = None,
) -> LetterProbabilities:
    """The probabilities of the letters of these choices in a reply that was read as this answer.

    `asked` and `languages` as for the reader.
    """
    if answer.kind is not AnswerKind.CHOSEN or answer.choice is None:
        return LetterProbabilities(ProbabilityState.NO_CHOICE)
    if not tokens:
        return LetterProbabilities(ProbabilityState.NOT_GIVEN, answer.choice)
    # A longer one is not laid against its tokens, see `_starts`.
    short = len(text.strip()) <= LONGEST_REPLY
    place = place_of(text, choices, answer.choice, asked, languages) if short else None
    found = None if place is None else _covering(tokens, text, place)
    if found is None or any(_mass(each) > 1 + ROUNDING for each in tokens):
        return LetterProbabilities(ProbabilityState.OTHER_TOKENS, answer.choice)
    return _weighed(tokens, found, [each.letter.casefold() for each in choices], answer.choice)


def expected(found: LetterProbabilities | None, chosen: int | None) -> tuple[float, ...] | None:
    """The share of each choice, renormalised over the offered letters; None where it is not known.

    What a reviewer or a later reader takes for another choice has no shares. Letters that are not listed have half of
    what they can have at most; where that is more than a thousandth or so, nothing is known.
    """
    if found is None or found.state is not ProbabilityState.KNOWN or chosen is None or found.chosen != chosen:
        return None
    listed = sum(each for each in found.letters if each is not None)
    if listed <= 0 or found.unlisted > MOST_UNLISTED * listed:
        return None
    missing = sum(each is None for each in found.letters)
    share = found.unlisted / 2 / missing if missing else 0.0
    filled = [share if each is None else each for each in found.letters]
    return tuple(each / sum(filled) for each in filled)


# --- Where the answer stands ------------------------------------------------------------------------------------------


def place_of(
    text: str, choices: Sequence[Choice], chosen: int, asked: str = "", languages: Path | None = None
) -> int | None:
    """The place in the reply of the letter that decides its answer; None where none does, as in an answer in words."""
    letter, other = choices[chosen].letter, 0 if chosen else 1
    lone = deque(re.finditer(rf"(?<![^\W_]){re.escape(letter)}(?![^\W_])", text, re.IGNORECASE), maxlen=PLACES)
    if len(choices) < 2:
        return None

    def changed(place: re.Match[str]) -> str:
        instead = choices[other].letter
        return text[: place.start()] + (instead.lower() if place[0].islower() else instead)

    def is_other(reply: str) -> bool:
        return read(reply, choices, asked, languages).choice == other

    for each in reversed(lone):
        if is_other(changed(each) + text[each.end() :]):
            return each.start()
    # Later words say the same again: the answer was given where the reply, ended there, would have been one.
    for each in lone:
        if is_other(changed(each)) or is_other(f'{changed(each)}"}}'):
            return each.start()
    return None


# --- Which token that is ----------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """The token that holds the answer, by its number; the first of the tokens of signs before it; and what stands in
    the token before the letter and behind it.
    """

    number: int
    first: int
    before: bytes
    behind: bytes


def _covering(tokens: Sequence[Token], text: str, place: int) -> _Place | None:
    """The token that holds the reply's character at this place; None where the tokens do not spell the reply."""
    spelled = _spelled(tokens, text)
    if spelled is None:
        return None
    contents, start = spelled
    target = start + len(text[:place].encode("utf-8", "replace"))
    width = len(text[place].encode("utf-8", "replace"))
    at = 0
    for number, content in enumerate(contents):
        if at <= target < at + len(content):
            before, behind = content[: target - at], content[target - at + width :]
            first = number
            while first > 0 and at > start and _is_signs(contents[first - 1]) and (not before or _is_signs(before)):
                first -= 1
                at -= len(contents[first])
            return _Place(number, first, before, behind)
        at += len(content)
    return None


def _is_signs(content: bytes) -> bool:
    return bool(_SIGNS.fullmatch(content.decode("utf-8", "replace")))


def _spelled(tokens: Sequence[Token], text: str) -> tuple[list[bytes], int] | None:
    """The bytes of the tokens, and where among them the reply begins."""
    for contents in ([each.content for each in tokens], [_plain(each.content) for each in tokens]):
        whole = b"".join(contents)
        for start in _starts(whole, text.encode("utf-8", "replace")):
            return contents, start
    return None


def _starts(whole: bytes, reply: bytes) -> Iterator[int]:
    """Where the reply may begin. What a provider stripped of it is not looked for."""
    said = reply.strip()
    if not 0 < len(said) <= LONGEST_REPLY:
        return
    first = max(len(whole) - len(said) - NEAR, 0)
    start = whole.rfind(said, first)
    while start >= 0:
        before = whole[max(start - NEAR, 0) : start].decode("utf-8", "replace").rstrip()
        after = whole[start + len(said) :].decode("utf-8", "replace")
        if (before.endswith(_BEFORE) or (not before and start <= NEAR)) and _AFTER.fullmatch(after):
            yield start - (len(reply) - len(reply.lstrip()))
        start = whole.rfind(said, first, start + len(said) - 1)


def _plain(content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    for spelled, sign in _SPELLED.items():
        text = text.replace(spelled, sign)
    return text.encode()


# --- What stands beside it --------------------------------------------------------------------------------------------


def _weighed(tokens: Sequence[Token], at: _Place, letters: Sequence[str], chosen: int) -> LetterProbabilities:
    """The letters at this token, and at those of signs before it in whose place one with a letter may stand."""
    masses: list[float | None] = [None] * len(letters)
    unlisted, way, own = 0.0, 1.0, False
    for place in range(at.first, at.number + 1):
        token = tokens[place]
        for content, chance in token.likely:
            around = (at.before, at.behind) if place == at.number else (b"", b"")
            index = _letter(content, letters, *around)
            if index is not None:
                masses[index] = (masses[index] or 0.0) + way * chance
            own |= place == at.number and index == chosen and content == token.content
        unlisted += way * _unlisted(token)
        way *= next((chance for content, chance in token.likely if content == token.content), 0.0)
    if not own:
        return LetterProbabilities(ProbabilityState.NOT_LISTED, chosen)
    listed = [each for each in masses if each is not None]
    if sum(listed) <= 0:
        return LetterProbabilities(ProbabilityState.NOT_LISTED, chosen)
    scale = max(sum(listed), 1.0)  # servers round
    kept = tuple(None if each is None else each / scale for each in masses)
    outside = max(1.0 - sum(listed) / scale, 0.0)
    missing = len(masses) - len(listed)
    return LetterProbabilities(ProbabilityState.KNOWN, chosen, kept, outside, min(missing * unlisted, outside))


def _letter(content: bytes, letters: Sequence[str], before: bytes, behind: bytes) -> int | None:
    """The offered letter that a token holds: with signs alone beside it, or with what stands beside the answer."""
    plain = _plain(content)
    found = _LONE.fullmatch(plain.decode("utf-8", "replace"))
    if found:
        letter = found[1]
    elif plain.startswith(before) and plain.endswith(behind):
        letter = plain[len(before) : len(plain) - len(behind)].decode("utf-8", "replace")
    else:
        return None
    return letters.index(letter.casefold()) if letter.casefold() in letters else None


def _mass(token: Token) -> float:
    return sum(probability for _, probability in token.likely)


def _unlisted(token: Token) -> float:
    """The most that a letter which is not listed can have here: the list is of the most probable tokens."""
    least = min((probability for _, probability in token.likely), default=1.0)
    return max(min(VARIANTS * least, 1.0 - _mass(token)), 0.0)
