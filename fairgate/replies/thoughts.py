"""Where a reply's thoughts end that stand in its text, as some chat templates have it: `<think>…</think>`."""

from __future__ import annotations

import re
import unicodedata

from fairgate.replies.citations import cited

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
# What may be such a tag, in whatever spelling.
_LIKE_A_TAG = re.compile(r"[^\w\s.,:!?'\"()-]\W{0,3}(?:think|thinking|thought|reasoning)\b", re.IGNORECASE)


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


def outside_thoughts(text: str, judged: str | None) -> tuple[str, str] | None:
    """A judge's reply outside of its thoughts, and the same with what may be no thought; None where one stays open.

    An end without a begin closes what stands before it: some templates put the begin into the prompt. Where `judged`,
    the text that is judged (None: not known), may hold a tag, a tag may be a citation; then nothing is sure to be a
    thought but what the reply begins with, and tags in repeated passages are none.
    """
    mine = judged is not None and not _LIKE_A_TAG.search(unicodedata.normalize("NFKC", judged))
    shown = text if mine else _masked(text, judged or "")
    own, every = list[str](), list[str]()
    thinking, begun, start = False, False, 0
    for tag in _TAG.finditer(shown):
        passage = text[start : tag.start()]
        if begun or not thinking:
            every.append(passage)
            begun = begun or bool(passage.strip())
        if tag[1] and not thinking:
            own.clear()
        elif not thinking:
            own.append(passage)
        thinking, start = not tag[1], tag.end()
    if thinking:
        return None
    said = "\n".join([*own, text[start:]])
    return (said, said) if mine else (said, "\n".join([*every, text[start:]]))


def _masked(text: str, judged: str) -> str:
    """The same in length, without what a reply repeats."""
    kept, done = list[str](), 0
    for start, end in cited(text, judged):
        kept += [text[done:start], " " * (end - start)]
        done = end
    return "".join([*kept, text[done:]])
