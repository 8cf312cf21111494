"""A reply without the passages that it quotes: in quotation marks, between fences, behind `>` or `|`.

Marks may fail to pair: one that the quoted text holds itself, a sign of inches, a possessive, a fence within a fence.
Then nobody can tell what is quoted, and the passage is in doubt: it states nothing, and what it says may contradict.
"""

from __future__ import annotations

import re

from fairgate.replies.citations import BLANK

ALIKE = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u2039\u203a\u300a\u300b\u300c\u300d\u300e\u300f", '"')
    | dict.fromkeys("\u3008\u3009\u301d\u301e\u301f\uff62\uff63", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032`\u00b4", "'")
)  # before they are read, all quotation marks become one of these two

_MARKED = r"^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
_FENCE_LINE = re.compile(rf"{_MARKED}(?P<fence>'{{3,}}|~{{3,}})(?P<info>[^'~\n]*)$", re.MULTILINE)
_QUOTED_LINE = re.compile(rf"{_MARKED}(?:>|\| ).*$", re.MULTILINE)
_WHOLLY_QUOTED = re.compile(r"""(["'])([^"'\n]*)\1""")


def without_fenced(text: str, *, doubtful: bool) -> str:
    """The text without a fenced block between other text; with `doubtful` with what may be such a block, or not.

    A reply that is one block keeps it.
    """
    lines = list(_FENCE_LINE.finditer(text))
    if not lines:
        return text
    begin, end = lines[0].start(), len(text) if len(lines) % 2 else lines[-1].end()
    before, after = text[:begin], text[end:]
    if len(lines) == 2 and not before.strip() and not after.strip():
        return text
    opens, closes = lines[0], lines[-1]
    pair = len(lines) == 2 and closes["fence"].startswith(opens["fence"]) and not closes["info"].strip()
    sure = pair and bool(before.strip()) and bool(after.strip())
    return text if doubtful and not sure else f"{before}\n{after}"


def without_quoted_lines(text: str) -> str:
    """The text without what stands in lines behind `>` or `|`, in a list too."""
    return _QUOTED_LINE.sub("", text)


def without_quoted(text: str, *, doubtful: bool) -> str:
    """The text without passages of several words in quotation marks; with `doubtful` with those that do not pair.

    A reply that is one quotation is its content.
    """
    whole = _WHOLLY_QUOTED.fullmatch(text.strip())
    if whole:
        return whole[2]
    for mark in ('"', "'"):
        text = _without(mark, text, doubtful=doubtful)
    return text


def _without(mark: str, text: str, *, doubtful: bool) -> str:
    kept, done = list[str](), 0
    for start, end, sure in _passages(mark, text):
        if (sure or not doubtful) and len(text[start + 1 : end - 1].split(maxsplit=1)) > 1:
            kept += [text[done:start], BLANK]
            done = end
    return "".join([*kept, text[done:]])


def _passages(mark: str, text: str) -> list[tuple[int, int, bool]]:
    """Begin and end of what stands in such marks, and whether they pair beyond doubt.

    A mark opens behind no letter and before no blank; it closes behind no blank and before no letter. One within a word
    is an apostrophe, if it is a single one.
    """
    found: list[tuple[int, int, bool]] = []
    start, sure = -1, True
    for place in (each.start() for each in re.finditer(mark, text)):
        before, after = text[place - 1 : place] if place else " ", text[place + 1 : place + 2] or " "
        inside = before.isalnum() and after.isalnum()
        if inside and mark == "'":
            continue
        opens = not before.isalnum() and not after.isspace()
        closes = not before.isspace() and not after.isalnum()
        if start < 0:
            if opens or not closes:
                start, sure = place, opens
            elif found:
                found.append((found.pop()[0], place + 1, False))
        elif closes or not opens:
            found.append((start, place + 1, sure and closes))
            start = -1
        else:
            sure = False  # one more that opens
    return found if start < 0 else [*found, (start, len(text), False)]
