"""A judge's reply, read: yes or no, or a mark of 0 to 10. What cannot be told is unreadable, never a "no" or a 0.

Rules. A reply states its judgement by being it, by opening or closing with it ("Yes, the …", a last line
"No"), by labelling it ("Final answer: Yes", `{"verdict": "no"}`), or in so many words ("I would say yes"). All of its
statements must agree, those in JSON and in words: none outweighs another, since a judge may cite what it judges, and no
mark tells for certain where a citation ends. Prose from which a judgement could only be inferred is unreadable.

What states nothing: passages of the judged text that a reply repeats, quoted passages, and JSON anywhere but at the
begin or the end of a reply, by itself. What is doubtful (quotation marks that do not pair, thoughts that may be cited)
states nothing either, but may contradict; so may repeated passages, unless the reply opens with a judgement of its own:
a judged text may foresee the judge's words.

Only the ends of a long reply are examined, and no pattern nests unbounded repetitions.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from fairgate.core.domain import Form
from fairgate.replies.citations import begins_cited, without_citations
from fairgate.replies.quotations import ALIKE, without_fenced, without_quoted, without_quoted_lines
from fairgate.replies.thoughts import outside_thoughts

T = TypeVar("T")

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


def read_verdict(text: str, judged: str | None = None) -> YesOrNo:
    """The yes or no of a judge's reply; `judged` is the text that it judges, None where that is not known."""
    how, found = _read(text, judged, _verdicts, _verdict_fields, _OPENINGS)
    if not found:
        return YesOrNo(None, how if how in _WHY else "no-verdict")
    return YesOrNo(found.pop(), how) if len(found) == 1 else YesOrNo(None, "both")


def read_mark(text: str, judged: str | None = None) -> Mark:
    """The mark of a judge's reply; `judged` as for `read_verdict`."""
    how, found = _read(text, judged, _marks, _mark_fields, _HEADS)
    if not found:
        return Mark(None, how if how in _WHY else "no-mark")
    if len(found) > 1:
        return Mark(None, "several")
    value = found.pop()
    return Mark(value, how) if LOWEST <= value <= HIGHEST else Mark(None, "out-of-range")


def own_value(text: str, form: Form, judged: str | None = None) -> float | None:
    """A verdict as 1 for yes and 0 for no, a mark as a share of the highest; None for unreadable."""
    if form is Form.VERDICT:
        yes = read_verdict(text, judged).yes
        return None if yes is None else float(yes)
    value = read_mark(text, judged).value
    return None if value is None else value / HIGHEST


_WHY = frozenset({"unclosed-think", "empty", "refusal"})
_Forms = Callable[[str, bool], Iterator[tuple[str, set[T]]]]


def _read(
    text: str,
    judged: str | None,
    forms: _Forms[T],
    fields: Callable[[object], set[T]],
    openings: tuple[re.Pattern[str], ...],
) -> tuple[str, set[T]]:
    """The first form that states something with all that is stated; or why nothing is."""
    if (whole := _wholly_json(text)) is not None:
        return "json", fields(whole)
    outside = outside_thoughts(text, judged)
    if outside is None:
        return "unclosed-think", set()
    own, every = map(_plain, outside)
    if not own:
        return "empty", set()
    if _broken_json(own) or _broken_json(every):
        return "", set()
    read = without_citations(own, judged or "")
    how, found = _first(forms(read, False))
    if not found:
        return "refusal" if _REFUSAL.search(own) else "", set()
    begin = _bare(read)
    opens = begin[:1].isalnum() and any(pattern.match(begin) for pattern in openings)
    opens = opens and not begins_cited(own, judged or "")
    doubtful = without_citations(every, judged or "") if opens else every
    return how, found | _first(forms(doubtful, True))[1]


def _first(forms: Iterator[tuple[str, set[T]]]) -> tuple[str, set[T]]:
    return next(((how, found) for how, found in forms if found), ("", set()))


# --- Plain text ---------------------------------------------------------------------------------------------------

_DASHES = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-") | {"\u3002": ". ", "\uff01": "! "}
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_MARKUP = r"\*+|~~|</?(?:b|strong|i|em|p|div|span|code|answer|u|br) ?/?>|<\|[^<>|]{0,40}\|>"
_DRESS = re.compile(rf"{_MARKUP}|\\boxed|[{{}}\\$](?=\w)")
_UNDERLINE = re.compile(r"(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_FENCE = re.compile(r"'''(?:json|text)?|^#{1,6} ", re.MULTILINE)
_REFUSAL = re.compile(
    r"\b(?:i'?m sorry|i apologi[sz]e|(?:i|we) (?:cannot|can't|can not|won't|will not|am unable|'m unable|am not able|"
    r"decline|must decline)|unable to|as an ai)\b",
    re.IGNORECASE,
)


def _plain(text: str) -> str:
    """The text in one alphabet."""
    said = _ends(text.strip())
    # One character may be several in the other alphabet.
    said = unicodedata.normalize("NFKC", said).translate(ALIKE).translate(_DASHES).replace("\r\n", "\n")
    return _ends(_INVISIBLE.sub("", said)).strip()


def _ends(text: str) -> str:
    return text if len(text) <= 2 * EXAMINED else f"{text[:EXAMINED]}\n\n{text[-EXAMINED:]}"


def _undressed(plain: str, doubtful: bool) -> str:
    """Without markup and quoted passages, single blanks, lines kept."""
    text = without_quoted_lines(_bare(without_fenced(plain, doubtful=doubtful)))
    text = without_quoted(text, doubtful=doubtful)
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def _bare(plain: str) -> str:
    return _UNDERLINE.sub("", _DRESS.sub("", _FENCE.sub("", plain)))


_AROUND_JSON = re.compile(rf"{_FENCE.pattern}|{_MARKUP}", re.MULTILINE)
_FENCED_JSON = re.compile(r"```(?:json)?\s*([\[{].*)```", re.IGNORECASE | re.DOTALL)
_BEGINS_JSON = re.compile(r"\{\s*[\"'{\[]|\[\s*\{")
_STARTS = re.compile(r"(?:^|: )(?=[\[{])", re.MULTILINE)
# A key that stands twice counts twice.
_json = json.JSONDecoder(strict=False, object_pairs_hook=lambda pairs: [{key: value} for key, value in pairs])


def _fields(plain: str) -> tuple[list[object], str]:
    """The JSON with which a reply begins or ends, and the rest of the reply."""
    text = without_quoted_lines(_AROUND_JSON.sub("", plain)).strip()
    found, rest, done = list[object](), list[str](), 0
    for start in (each.end() for each in _STARTS.finditer(text)):
        if start < done or (read := _decoded(text, start)) is None:
            continue
        value, end = read
        after = text[end:].lstrip(" .")
        if not after.strip() or (start == 0 and after.startswith("\n")):
            found.append(value)
            rest, done = [*rest, text[done:start]], end
    return found, "\n".join([*rest, text[done:]])


def _decoded(text: str, start: int) -> tuple[object, int] | None:
    """The JSON value that begins there, in quotes of either kind, and where it ends."""
    for spelling in (text, text.replace("'", '"')):
        with suppress(ValueError, RecursionError):
            return _json.raw_decode(spelling, start)
    return None


def _wholly_json(text: str) -> object | None:
    """An object or a list that is all of a reply, fenced or not; what its strings hold is no part of the reply."""
    fence = _FENCED_JSON.fullmatch(text.strip())
    bare = (fence[1] if fence else text).strip()
    if not _BEGINS_JSON.match(bare):
        return None
    with suppress(ValueError, RecursionError):
        value, end = _json.raw_decode(bare)
        return value if end == len(bare) else None
    return None


def _broken_json(plain: str) -> bool:
    """Whether a reply begins as JSON that is none, so that nobody can tell what is a string of it."""
    text = _AROUND_JSON.sub("", plain).strip()
    return _BEGINS_JSON.match(text) is not None and _decoded(text, 0) is None


def _under(keys: frozenset[str], value: object) -> Iterator[object]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending += each
        elif isinstance(each, dict):
            pending += (held for held in each.values() if isinstance(held, list | dict))
            yield from (held for key, held in each.items() if str(key).lower().replace(" ", "_") in keys)


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
_OPENINGS = (_OPENING, _FINAL, _LABELLED, _SPOKEN)
_FIRST = re.compile(r"[^\w\n]*(?P<said>yes|no)\b(?! doubt\b|[- ]?one\b| ?\?)", re.IGNORECASE)
_CLOSING = re.compile(r"(?:^|\n|[.!?:;)\]}>\"'] )[^\w\n]*(?P<said>yes|no)[^\w\n?]*$", re.IGNORECASE)
_WHOLE = re.compile(r"[^\w]*(?P<said>yes|no|y|n|true|false)[^\w?]*", re.IGNORECASE)
_STRAY_YES = re.compile(r"\byes\b", re.IGNORECASE)
_STRAY_NO = re.compile(
    r"(?:^|\n|[.,;:!?(/)\]}>-] ?|\b(?:or|and|but|not|say|is) )'?no'?(?=[.,;:!?)/]|$|\n)|\bno\W*$", re.IGNORECASE
)
# What the judged text said, in a reply that has begun: dialogues end in a Yes or No of their own.
_CITED = re.compile(r"(?<=\w )[\"'](?:yes|no)[.,!]?[\"']", re.IGNORECASE)
_BOTH = re.compile(r"\byes(?: and | or | ?/ ?| & )no\b|\bno(?: and | or | ?/ ?)yes\b", re.IGNORECASE)


def _verdicts(plain: str, doubtful: bool) -> Iterator[tuple[str, set[bool]]]:
    """The forms in the order in which they count, with what each says."""
    held, rest = _fields(plain)
    if fields := _verdict_fields(held):
        yield "json", fields | _first(_verdicts_in_words(rest, doubtful))[1]
    yield from _verdicts_in_words(plain, doubtful)


def _verdicts_in_words(plain: str, doubtful: bool) -> Iterator[tuple[str, set[bool]]]:
    if whole := _WHOLE.fullmatch(_bare(plain)):
        yield "whole", {_SAID[whole["said"].lower()]}
    text = _undressed(plain, doubtful)
    without = _BOTH.sub(" ", text)
    stated = _stated(without)
    if without == text:
        yield "stated", stated
    elif doubtful or _all(_LABELLED, without):
        # "Yes or No" is the question's own wording: an answer must stand apart from it, under a label.
        yield "labelled", stated


def _stated(text: str) -> set[bool]:
    stated = _all(_FINAL, text) | _all(_LABELLED, text) | _all(_SPOKEN, text) | _all(_SO, text)
    stated |= {_SAID[end["said"].lower()] for end in (_OPENING.match(text), _CLOSING.search(text)) if end}
    spoken = _CITED.sub("", text)
    first = _FIRST.match(text)
    if stated == {True} and (_STRAY_NO.search(spoken) or (first and first["said"].lower() == "no")):
        stated.add(False)
    if stated == {False} and _STRAY_YES.search(spoken):
        stated.add(True)
    return stated


def _all(pattern: re.Pattern[str], text: str) -> set[bool]:
    return {_SAID[match["said"].lower()] for match in pattern.finditer(text)}


def _verdict_fields(value: object) -> set[bool]:
    return {said for each in _under(_VERDICT_KEYS, value) if (said := _field_verdict(each)) is not None}


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
_HEAD = re.compile(rf"[^\w\n-]*{_NUMBER}{_SCALE}(?= *[.,;:)-](?: |\n|$)|\n| (?:because|since|as|for)\b)", re.IGNORECASE)
# What a reply opens with, and may be its own mark: it is none by itself, but contradicts another that follows.
_FIRST_NUMBER = re.compile(
    rf"[^\w\n-]*(?:{_MARK_LABEL}(?: is|:)? *)?(?:{_NUMBER}{_SCALE}|(?P<word>zero|one|two|three|four|five|six|seven"
    r"|eight|nine|ten)\b)(?= points?\b| *[.,;:)!-]| (?:it|the|this|that|there|he|she)\b|\n|$)",
    re.IGNORECASE,
)
_HEADS = (_HEAD, _FINAL_MARK, _LABELLED_MARK, _SPOKEN_MARK, _SCALED)
_LIST = re.compile(r"[^\w\n]*1[.)] .*(?:\n.*)*?\n[^\w\n]*2[.)] ")  # whose first number is no mark


def _marks(plain: str, doubtful: bool) -> Iterator[tuple[str, set[float]]]:
    """The forms in the order in which they count, with what each says."""
    held, rest = _fields(plain)
    if fields := _mark_fields(held):
        yield "json", fields | _first(_marks_in_words(rest, doubtful))[1]
    yield from _marks_in_words(plain, doubtful)


def _marks_in_words(plain: str, doubtful: bool) -> Iterator[tuple[str, set[float]]]:
    text = _undressed(plain, doubtful)
    word = text.strip(" .!").lower().removesuffix(" out of ten")
    if word in _WORDS:
        yield "word", {float(_WORDS.index(word))}
    head = None if _LIST.match(text) else _HEAD.match(text)
    forms = {
        "labelled": _labelled_marks(text),
        "scaled": _numbers(_SCALED, text),
        "line": _numbers(_LINE, text) | (_valued(head) if head else set()),
    }
    found = set[float]().union(*forms.values())
    first = None if _LIST.match(text) else _FIRST_NUMBER.match(text)
    if found and first:
        found |= {float(_WORDS.index(first["word"].lower()))} if first["word"] else _valued(first)
    yield next((how for how, each in forms.items() if each), ""), found


def _labelled_marks(text: str) -> set[float]:
    return _numbers(_FINAL_MARK, text) | _numbers(_LABELLED_MARK, text) | _numbers(_SPOKEN_MARK, text)


def _numbers(pattern: re.Pattern[str], text: str) -> set[float]:
    return {value for match in pattern.finditer(text) for value in _valued(match)}


def _valued(match: re.Match[str]) -> set[float]:
    """The number, or one out of range where it stands on another scale than ten."""
    scale = re.sub(r"\D", "", (match["scale"] or "").split(".")[0])
    if scale not in ("", "10"):
        return {math.inf}
    return {float(match["number"].replace(",", "."))}


def _mark_fields(value: object) -> set[float]:
    return {mark for each in _under(_MARK_KEYS, value) if (mark := _field_mark(each)) is not None}


def _field_mark(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value) if abs(value) <= HIGHEST else math.inf
    if isinstance(value, str) and (match := re.fullmatch(rf" *{_NUMBER}{_SCALE} *", value)):
        return _valued(match).pop()
    return None
