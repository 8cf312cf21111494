"""Text under judgement: how a prompt fences it off as data, and what a judge's reply repeats of it, word for word.

A judge that cites what it judges says nothing by that. Whatever marks it cites in, what it repeats is known, since the
text is: so a repeated passage is blanked before a reply is read. It is compared without case, punctuation and white
space, in time linear in both texts.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

SHORTEST = 16  # letters and digits of a passage, about four words: a judge's own words may be those of a text
BLANK = "cited"  # a word, so that what stands before it and behind it does not come together

_FENCED = re.compile(r"^(=== [0-9a-f]{12} ===)\n((?:\| .*\n)+)\1$", re.MULTILINE)
_FIRST_WORD = re.compile(r"[\W_]*[^\W_]+[\W_]*")
_ESCAPED = re.compile(r"\\[nrt]")  # line ends and tabs within strings of JSON


def fenced(text: str) -> tuple[str, str]:
    """A line that stands above and below a text, and its own lines, each behind a bar.

    The line is made from the text, so that whoever wrote the text could not write it.
    """
    mark = f"=== {hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]} ==="
    # One kind of line end, and no other characters that a reader might take for one.
    return mark, "\n".join(f"| {line}" for line in text.splitlines() or [""])


def judged_in(prompt: str) -> str | None:
    """The text that a prompt has fenced off; None where there is none."""
    found = _FENCED.search(prompt)
    return None if found is None else "\n".join(line[2:] for line in found[2].splitlines())


def cited(reply: str, judged: str) -> list[tuple[int, int]]:
    """Where a reply repeats the text that it judges: begin and end of each passage of whole words."""
    if len(reply) < SHORTEST or len(judged) < SHORTEST:
        return []
    letters, places = _letters(reply)
    known = _all_letters(judged)
    pieces = {known[start : start + SHORTEST] for start in range(len(known) - SHORTEST + 1)}
    runs: list[tuple[int, int]] = []
    for start in range(len(letters) - SHORTEST + 1):
        if letters[start : start + SHORTEST] in pieces:
            began = runs.pop()[0] if runs and start <= runs[-1][1] else start
            runs.append((began, start + SHORTEST))
    whole = (_whole_words(reply, places, start, end) for start, end in runs)
    return [(places[start], places[end - 1] + 1) for start, end in whole if start < end]


def without_citations(reply: str, judged: str) -> str:
    """A reply with a blank in place of each passage that it repeats; its first word stays, as may be its own."""
    kept, done = list[str](), 0
    word = _FIRST_WORD.match(reply)
    first = word.end() if word else 0
    for start, end in cited(reply, judged):
        if end > first:
            kept += [reply[done : max(start, first)], BLANK]
            done = end
    return "".join([*kept, reply[done:]])


def begins_cited(reply: str, judged: str) -> bool:
    """Whether the first word of a reply may be of the text that it judges."""
    passages, first = cited(reply, judged), _FIRST_WORD.match(reply)
    return bool(passages) and first is not None and passages[0][0] < first.end()


def _whole_words(reply: str, places: list[int], start: int, end: int) -> tuple[int, int]:
    while start < end and not _parts(reply, places, start):
        start += 1
    while start < end and not (end == len(places) or _parts(reply, places, end)):
        end -= 1
    return start, end


def _parts(reply: str, places: list[int], at: int) -> bool:
    """Whether a word begins with this letter."""
    return at == 0 or (places[at] > places[at - 1] + 1) or (places[at] > places[at - 1] and _alone(reply[places[at]]))


def _alone(letter: str) -> bool:
    """Whether words of this letter's script stand without white space between them."""
    return "\u3040" <= letter <= "\u9fff"


def _letters(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text in one alphabet and case, and where each stands in it."""
    told = [
        (letter, place)
        for place, each in enumerate(_ESCAPED.sub("  ", text))
        for letter in (each.lower() if each.isascii() else unicodedata.normalize("NFKD", each).casefold())
        if letter.isalnum()
    ]
    return "".join(letter for letter, _ in told), [place for _, place in told]


def _all_letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", _ESCAPED.sub("  ", text)).casefold()))
