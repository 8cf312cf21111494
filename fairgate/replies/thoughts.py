"""Where a reply's thoughts end that stand in its text, as some chat templates have it: `<think>…</think>`."""

from __future__ import annotations

import re

_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def after_thoughts(text: str) -> str:
    """What stands behind the last end of a thought; the whole text where none ends in it.

    In time linear in the text's length, whatever stands there.

    >>> after_thoughts("Is it A? No. </think> B")
    ' B'
    """
    end = 0
    for tag in _END.finditer(text):
        end = tag.end()
    return text[end:]
