"""A judge's reply, read: yes or no, or a mark of 0 to 10. What cannot be told is unreadable, never a "no" or a 0.

Rules. A reply states its judgement by being it, by opening or closing with it ("Yes, the …", a last line
"No"), by labelling it ("Final answer: Yes", `{"verdict": "no"}`), or in so many words ("I would say yes"). A labelled
final answer outweighs what stands before it, unless its sentence says that somebody else states it; otherwise all
statements must agree, JSON and words too. Quoted passages do not count, nor JSON anywhere but at the begin or the end
of a reply, by itself, so that a judge may cite what it judges. Prose from which a judgement could only be inferred is
unreadable.

Only the ends of a long reply are examined, and no pattern nests unbounded repetitions.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.core.domain import Form

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMINED = 4_096  # characters at each end of a reply
LOWEST, HIGHEST = 0.0, 10.0


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """What a yes/no reply says: True, False, or None for unreadable. `how` names the form that was recognised."""

    yes: bool | None
    how: str


@dataclass(frozen=True, slots=True)
class Mark:
    """What a marking reply says, 0 to 10, or None for unreadable. `how` names the form that was recognised."""

    value: float | None
    how: str


def read_verdict(text: str) -> YesOrNo:
    """The yes or no of a judge's reply."""
    plain = _plain(text)
    if plain is None:
        return YesOrNo(None, "unclosed-think")
    if not plain:
        return YesOrNo(None, "empty")
    for how, found in _verdicts(plain):
        if len(found) > 1:
            return YesOrNo(None, "both")
        if found:
            return YesOrNo(found.pop(), how)
    return YesOrNo(None, "refusal" if _REFUSAL.search(plain) else "no-verdict")


def read_mark(text: str) -> Mark:
    """The mark of a judge's reply."""
    plain = _plain(text)
    if plain is None:
        return Mark(None, "unclosed-think")
    if not plain:
        return Mark(None, "empty")
    for how, found in _marks(plain):
        if len(found) > 1:
            return Mark(None, "several")
        if found:
            value = found.pop()
            return Mark(value, how) if LOWEST <= value <= HIGHEST else Mark(None, "out-of-range")
    return Mark(None, "refusal" if _REFUSAL.search(plain) else "no-mark")


def own_value(text: str, form: Form) -> float | None:
    """A verdict as 1 for yes and 0 for no, a mark as a share of the highest; None for unreadable."""
    if form is Form.VERDICT:
        yes = read_verdict(text).yes
        return None if yes is None else float(yes)
    value = read_mark(text).value
    return None if value is None else value / HIGHEST


# --- Plain text ---------------------------------------------------------------------------------------------------

_THINK = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_ALIKE = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u2033", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u2032`\u00b4", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {"\u3002": ". ", "\uff01": "! "}
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_MARKUP = r"\*+|~~|</?(?:b|strong|i|em|p|div|span|code|answer|u|br) ?/?>|<\|[^<>|]{0,40}\|>"
_DRESS = re.compile(rf"{_MARKUP}|\\boxed|[{{}}\\$](?=\w)")
_UNDERLINE = re.compile(r"(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_FENCE = re.compile(r"'''(?:json|text)?|^#{1,6} ", re.MULTILINE)
_QUOTED_LINE = re.compile(r"^ *(?:>|\| ).*$", re.MULTILINE)
# Single ones are apostrophes where a letter stands before the first, or behind the last.
_QUOTED = re.compile(
    r'''"[^"\s]*\s[^"\n]*(?:\n[^"\n]*)?"'''
    r"|(?<!\w)'(?! )(?:[^'\n\s]|(?<=\w)'(?=\w))*[^\S\n](?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)"
)
_WHOLLY_QUOTED = re.compile(r"""(["'])([^"'\n]*)\1""")
_BLOCK = re.compile(r"(?<=\n)'''[\s\S]*?\n'''(?=[\s\S])")  # fenced, between other text
_REFUSAL = re.compile(
    r"\b(?:i'?m sorry|i apologi[sz]e|(?:i|we) (?:cannot|can't|can not|won't|will not|am unable|'m unable|am not able|"
    r"decline|must decline)|unable to|as an ai)\b",
    re.IGNORECASE,
)


def _plain(text: str) -> str | None:
    """The text outside thinking blocks, in one alphabet; None where a block stays open."""
    kept: list[str] = []
    thinking, start = False, 0
    for tag in _THINK.finditer(text):
        if tag[1] and not thinking:
            kept.clear()  # the opening tag stood in the prompt, as some chat templates have it
        elif not thinking:
            kept.append(text[start : tag.start()])
        thinking, start = not tag[1], tag.end()
    if thinking:
        return None
    said = _ends("\n".join([*kept, text[start:]]).strip())
    # One character may be several in the other alphabet.
    said = _ends(_INVISIBLE.sub("", unicodedata.normalize("NFKC", said).translate(_ALIKE)))
    return said.strip()


def _ends(text: str) -> str:
    return text if len(text) <= 2 * EXAMINED else f"{text[:EXAMINED]}\n\n{text[-EXAMINED:]}"


def _undressed(plain: str) -> str:
    """Without markup and quoted passages, single blanks, lines kept."""
    text = _QUOTED_LINE.sub("", _bare(_BLOCK.sub("", plain)))
    whole = _WHOLLY_QUOTED.fullmatch(text.strip())
    bare = whole[2] if whole else _QUOTED.sub(" ", text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in bare.splitlines())))


def _bare(plain: str) -> str:
    return _UNDERLINE.sub("", _DRESS.sub("", _FENCE.sub("", plain)))


_AROUND_JSON = re.compile(rf"{_FENCE.pattern}|{_MARKUP}", re.MULTILINE)
_STARTS = re.compile(r"(?:^|: )(?=[\[{])", re.MULTILINE)
_json = json.JSONDecoder()


def _fields(plain: str, keys: frozenset[str]) -> tuple[list[object], str]:
    """What stands under these keys in the JSON with which a reply begins or ends, and the rest of the reply."""
    text = _QUOTED_LINE.sub("", _AROUND_JSON.sub("", plain)).strip()
    found, rest, done = list[object](), list[str](), 0
    for start in (each.end() for each in _STARTS.finditer(text)):
        if start < done or (read := _decoded(text, start)) is None:
            continue
        value, end = read
        after = text[end:].lstrip(" .")
        if not after.strip() or (start == 0 and after.startswith("\n")):
            found += _under(keys, value)
            rest, done = [*rest, text[done:start]], end
    return found, "\n".join([*rest, text[done:]])


def _decoded(text: str, start: int) -> tuple[object, int] | None:
    """The JSON value that begins there, in quotes of either kind, and where it ends."""
    for spelling in (text, text.replace("'", '"')):
        with suppress(ValueError, RecursionError):
            return _json.raw_decode(spelling, start)
    return None


def _under(keys: frozenset[str], value: object) -> Iterator[object]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending += each
        elif isinstance(each, dict):
            pending += (held for held in each.values() if isinstance(held, list | dict))
            yield from (held for key, held in each.items() if str(key).lower().replace(" ", "_") in keys)


_SENTENCE = re.compile(r"[.!?\n]")
_CITING = re.compile(
    r"\b(?:says?|said|claims?|states?|stated|writes?|wrote|ends|reads?|asks?|tells?|instructs?|contains?|includes?|"
    r"demands?|quotes?|declares?|asserts?)\b",
    re.IGNORECASE,
)
_NEAR = 200  # characters in which the begin of a sentence is looked for


def _from_final(pattern: re.Pattern[str], text: str) -> str:
    """The text from the first labelled final answer on that is no citation; empty where there is none."""
    for match in pattern.finditer(text):
        before = _SENTENCE.split(text[max(0, match.start() - _NEAR) : match.start()])[-1]
        if not _CITING.search(before):
            return text[match.start() :]
    return ""


# --- Yes or no ----------------------------------------------------------------------------------------------------

_VERDICT_KEYS = frozenset(
    {"answer", "verdict", "judgement", "judgment", "result", "final_answer", "decision", "conclusion", "final"}
)
_SAID = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
_LABEL = r"(?:answer|verdict|judge?ment|decision|conclusion|determination|result|assessment|ruling)"
_BE = r"(?: is| would be| should be| must be| has to be| will be)"
_SURELY = r"(?: clearly| therefore| thus| definitely| simply)?"
_YES_NO = r"'?\"?\(?(?P<said>yes|no)\b(?! and no\b| or no\b|/ ?no\b|-?one\b| doubt\b| ?\?)"
_FINAL = re.compile(
    rf"\b(?:final|overall|ultimate) {_LABEL}{_BE}?{_SURELY}[:=]? *-? *\n?{_YES_NO}",
    re.IGNORECASE,
)
_LABELLED = re.compile(rf"\b{_LABEL}(?:{_BE}{_SURELY}:?|[:=]| ?- ?) *\n?{_YES_NO}", re.IGNORECASE)
_SPOKEN = re.compile(
    r"\b(?:i|we)(?: would| will|'d|'ll| must| have to| can)?(?: therefore| thus| clearly| also)? "
    r"(?:say|answer|conclude|judge|respond|reply|vote|go with|choose|lean(?: towards?)?)"
    rf"(?: with| that it is)?:? *{_YES_NO}",
    re.IGNORECASE,
)
_SO = re.compile(
    rf"\b(?:so|therefore|thus|hence|in short|in conclusion|overall)[,:]? *{_YES_NO}(?= *(?:[.,;!:\n]|$))",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:[^\w\n]*)(?P<said>yes|no)\b(?! and no\b| or no\b|/ ?no\b| ?\?)"
    r"(?=$|\n| *[.,;:!)'\"-]| (?:it|the|this|that|because|as|since|there|he|she|they|its|based|while)\b)",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"(?:^|\n|[.!?:;] )[^\w\n]*(?P<said>yes|no)[^\w\n?]*$", re.IGNORECASE)
_WHOLE = re.compile(r"[^\w]*(?P<said>yes|no|y|n|true|false)[^\w?]*", re.IGNORECASE)
_STRAY_YES = re.compile(r"\byes\b", re.IGNORECASE)
_STRAY_NO = re.compile(r"(?:^|\n|[.,;:!?(/-] ?|\b(?:or|and|but|not|say|is) )'?no'?(?=[.,;:!?)/]|$|\n)", re.IGNORECASE)
# What the judged text said, in a reply that has begun: dialogues end in a Yes or No of their own.
_CITED = re.compile(r"(?<=\w )[\"'](?:yes|no)[.,!]?[\"']", re.IGNORECASE)
_BOTH = re.compile(r"\byes(?: and | or | ?/ ?| & )no\b|\bno(?: and | or | ?/ ?)yes\b", re.IGNORECASE)


def _verdicts(plain: str) -> Iterator[tuple[str, set[bool]]]:
    """The forms in the order in which they count, with what each says."""
    held, rest = _fields(plain, _VERDICT_KEYS)
    if fields := {said for each in held if (said := _field_verdict(each)) is not None}:
        yield "json", fields | next((found for _, found in _verdicts_in_words(rest) if found), set())
    yield from _verdicts_in_words(plain)


def _verdicts_in_words(plain: str) -> Iterator[tuple[str, set[bool]]]:
    text = _undressed(plain)
    if whole := _WHOLE.fullmatch(_bare(plain)):
        yield "whole", {_SAID[whole["said"].lower()]}
    if last := _from_final(_FINAL, text):
        yield "final", _all(_FINAL, last) | _stated(last)
    if _BOTH.search(text):
        # "Yes or No" is the question's own wording: an answer must stand apart from it, under a label.
        yield "labelled", _all(_LABELLED, text)
        return
    stated = _stated(text)
    if opening := _OPENING.match(text):
        stated.add(_SAID[opening["said"].lower()])
    if closing := _CLOSING.search(text):
        stated.add(_SAID[closing["said"].lower()])
    spoken = _CITED.sub("", text)
    if stated == {True} and _STRAY_NO.search(spoken):
        stated.add(False)
    if stated == {False} and _STRAY_YES.search(spoken):
        stated.add(True)
    yield "stated", stated


def _stated(text: str) -> set[bool]:
    return _all(_LABELLED, text) | _all(_SPOKEN, text) | _all(_SO, text)


def _all(pattern: re.Pattern[str], text: str) -> set[bool]:
    return {_SAID[match["said"].lower()] for match in pattern.finditer(text)}


def _field_verdict(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return _SAID.get(value.strip().strip(".!*").lower()) if isinstance(value, str) else None


# --- Marks --------------------------------------------------------------------------------------------------------

_MARK_KEYS = frozenset({"score", "mark", "rating", "answer", "final_score", "factuality", "value", "grade", "result"})
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = r"(?P<number>-?\d{1,6}(?:[.,]\d{1,3})?)(?![\d%]| ?%| ?percent)"
# A second number behind a dash is a range, one behind a slash a scale; only tens are the scale asked for.
_SCALE = r"(?P<scale> ?(?:/|out of|of) ?\d{1,4}(?:\.\d+)?)?(?! ?- ?\d|\d| ?(?:to|or) \d|\.\d|,\d|\+)"
_MARK_LABEL = r"(?:score|rating|mark|grade|points?)"
_FINAL_MARK = re.compile(
    rf"\b(?:final|overall|total) {_MARK_LABEL}(?: is| would be)?[:=]? *-? *\n?{_NUMBER}{_SCALE}", re.IGNORECASE
)
_LABELLED_MARK = re.compile(
    rf"\b(?:{_MARK_LABEL}|answer|verdict)(?: is| of| would be|:|=| ?-(?= )| here is)* *\n?{_NUMBER}{_SCALE}",
    re.IGNORECASE,
)
_SPOKEN_MARK = re.compile(
    r"\b(?:i|we)(?: would| will| must|'d|'ll)? (?:rate|give|score|assign|award|mark|grade|say)"
    r"(?: (?:it|this|the|response|description|text|a|an|that|score|mark|rating|of|at|as|with)){0,5}"
    rf" {_NUMBER}{_SCALE}",
    re.IGNORECASE,
)
_SCALED = re.compile(rf"(?<![\d.,/-]){_NUMBER}(?P<scale> ?(?:/|out of) ?10(?:\.0)?)(?![\d.]\d|\d)", re.IGNORECASE)
_LINE = re.compile(rf"^[^\w\n-]*{_NUMBER}{_SCALE}[^\w\n]*$", re.MULTILINE)
_HEAD = re.compile(rf"[^\w\n-]*{_NUMBER}{_SCALE}(?= *[.,;:)-](?: |\n|$)|\n)")
_LIST = re.compile(r"[^\w\n]*1[.)] .*(?:\n.*)*?\n[^\w\n]*2[.)] ")  # whose first number is no mark


def _marks(plain: str) -> Iterator[tuple[str, set[float]]]:
    """The forms in the order in which they count, with what each says."""
    held, rest = _fields(plain, _MARK_KEYS)
    if fields := {mark for each in held if (mark := _field_mark(each)) is not None}:
        yield "json", fields | next((found for _, found in _marks_in_words(rest) if found), set())
    yield from _marks_in_words(plain)


def _marks_in_words(plain: str) -> Iterator[tuple[str, set[float]]]:
    text = _undressed(plain)
    word = text.strip(" .!").lower().removesuffix(" out of ten")
    if word in _WORDS:
        yield "word", {float(_WORDS.index(word))}
    if last := _from_final(_FINAL_MARK, text):
        yield "final", _numbers(_FINAL_MARK, last) | _labelled_marks(last)
    yield "labelled", _labelled_marks(text)
    yield "scaled", _numbers(_SCALED, text)
    lines = _numbers(_LINE, text)
    if (head := _HEAD.match(text)) and not _LIST.match(text):
        lines |= _valued(head)
    yield "line", lines


def _labelled_marks(text: str) -> set[float]:
    return _numbers(_LABELLED_MARK, text) | _numbers(_SPOKEN_MARK, text)


def _numbers(pattern: re.Pattern[str], text: str) -> set[float]:
    return {value for match in pattern.finditer(text) for value in _valued(match)}


def _valued(match: re.Match[str]) -> set[float]:
    """The number, or one out of range where it stands on another scale than ten."""
    scale = re.sub(r"\D", "", (match["scale"] or "").split(".")[0])
    if scale not in ("", "10"):
        return {math.inf}
    return {float(match["number"].replace(",", "."))}


def _field_mark(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value) if abs(value) <= HIGHEST else math.inf
    if isinstance(value, str) and (match := re.fullmatch(rf" *{_NUMBER}{_SCALE} *", value)):
        return _valued(match).pop()
    return None
