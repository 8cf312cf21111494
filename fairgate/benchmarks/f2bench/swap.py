"""The swapped twin of a paragraph: both groups exchanged in one pass, and nothing else touched.

A mention is a group's words at word boundaries, singular or plural, in any letter case, with a possessive ending or
without. Each becomes the other group's words in the same number, case and ending, and an article `a` or `an` directly
before it follows its sound. Of two groups one of which contains the other (`doctor`, `female doctor`) the longer is
looked for first. A paragraph in which either group is not found has no twin: the description of an unchanged text
would count as one of a changed text.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fairgate.benchmarks.f2bench.data import Category, Instance


class NoTwin(StrEnum):
    """Why a paragraph has no twin."""

    FIRST_NOT_FOUND = "group 1 is not in the paragraph"
    SECOND_NOT_FOUND = "group 2 is not in the paragraph"
    NEITHER_FOUND = "neither group is in the paragraph"
    SAME_WORDS = "the two groups are the same words"


@dataclass(frozen=True, slots=True)
class Twin:
    """The twin's text, or None and the reason; `mentions` counts those of group 1 and of group 2."""

    text: str | None
    reason: NoTwin | None
    mentions: tuple[int, int]


def swap(paragraph: str, group1: str, group2: str) -> Twin:
    """The twin of a paragraph that names these two groups."""
    groups = (_Group(group1), _Group(group2))
    meant: dict[str, tuple[int, int]] = {}
    for index, group in enumerate(groups):
        for form, words in enumerate(group.forms):
            if meant.setdefault(_key(words), (index, form))[0] != index:
                return Twin(None, NoTwin.SAME_WORDS, (0, 0))
    pattern = _pattern(meant)
    # Where letter cases are matched that do not fold alike (a dotted capital I), the words are another's.
    mentions = [mention for mention in pattern.finditer(paragraph) if _key(mention["form"]) in meant]
    found = Counter(meant[_key(mention["form"])][0] for mention in mentions)
    counts = (found[0], found[1])
    if not all(counts):
        reason = NoTwin.SECOND_NOT_FOUND if counts[0] else NoTwin.FIRST_NOT_FOUND
        return Twin(None, reason if any(counts) else NoTwin.NEITHER_FOUND, counts)

    for mention in mentions:
        index, form = meant[_key(mention["form"])]
        if not _starts_sentence(paragraph, mention.start("form")) and not _shouted(mention["form"]):
            groups[index].seen(form, mention["form"])

    def exchange(mention: re.Match[str]) -> str:
        if _key(mention["form"]) not in meant:
            return mention[0]
        index, form = meant[_key(mention["form"])]
        other = groups[1 - index].counterpart(form)
        words = _Words(groups[1 - index].spelled(other), plural=other != ONE)
        return _exchanged(mention, groups[index].spelled(form), words)

    return Twin(pattern.sub(exchange, paragraph), None, counts)


def twin(instance: Instance) -> Twin:
    """The twin of an instance's paragraph."""
    return swap(instance.paragraph, instance.group1, instance.group2)


def without_twin(instances: Iterable[Instance]) -> Mapping[Category, Mapping[str, NoTwin]]:
    """The instances that have no twin, by category and id, with the reason of each."""
    found: dict[Category, dict[str, NoTwin]] = {}
    for instance in instances:
        if reason := twin(instance).reason:
            found.setdefault(instance.category, {})[instance.id] = reason
    return found


# --- Words --------------------------------------------------------------------------------------------------------

ONE, MANY, PERSONS = 0, 1, 2  # singular, plural, and the second plural that only `person` has
APOSTROPHES = "'\u2019"
OPENING = "\"'\u201c\u2018"
_ARTICLES = {"a", "an", "the"}
# The noun of a phrase stands before these: students *with* disabilities, people *from* abroad.
_AFTER_NOUN = frozenset(
    {"with", "without", "of", "from", "in", "at", "on", "by", "for", "who", "whose", "that", "which", "under", "over"}
    | {"above", "below", "between", "aged", "living", "born", "using", "wearing", "working", "speaking", "earning"}
)
_IRREGULAR = {"man": "men", "woman": "women", "person": "people", "child": "children", "wife": "wives"}
_SINGULAR = {many: one for one, many in _IRREGULAR.items()} | {"persons": "person"}
_NO_MEN = ("german", "human", "roman", "norman", "ottoman", "shaman", "talisman", "brahman")
_SAME_PLURAL = ("ese", "swiss", "deaf", "series")


@dataclass(frozen=True, slots=True)
class _Words:
    """What takes a mention's place."""

    text: str
    plural: bool


class _Group:
    """One group's words in each form, and how the paragraph spells them."""

    def __init__(self, group: str) -> None:
        words = _plain(group).split()
        while len(words) > 1 and words[0].lower() in _ARTICLES:
            words = words[1:]
        self._seen: dict[int, str] = {}
        self.forms: tuple[str, ...] = ()
        if not words:
            return
        ends = (place for place, word in enumerate(words) if place and word.lower() in _AFTER_NOUN)
        head = next(ends, len(words)) - 1
        one, many = _numbers(words[head])
        nouns = [one, many, "persons"] if one.lower() == "person" else [one] if one == many else [one, many]
        # Where both numbers are the same words, the singular stands for both.
        self.forms = tuple(" ".join([*words[:head], noun, *words[head + 1 :]]) for noun in nouns)

    def seen(self, form: int, spelling: str) -> None:
        """Notes how the paragraph spells a form in mid-sentence; the first spelling counts."""
        self._seen.setdefault(form, spelling)

    def spelled(self, form: int) -> str:
        """A form as the paragraph spells it, else with the first letter of the forms that it does spell."""
        words = self.forms[form]
        if form in self._seen or not self._seen:
            return self._seen.get(form, words)
        first = next(iter(self._seen.values()))[0]
        return (words[0].upper() if first.isupper() else words[0].lower()) + words[1:]

    def counterpart(self, form: int) -> int:
        """This group's form in the place of the other's: `persons` answers to itself alone."""
        if form < len(self.forms):
            return form
        return min(MANY, len(self.forms) - 1)


def _numbers(noun: str) -> tuple[str, str]:
    """A noun's singular and plural, whichever of the two is given."""
    low = noun.lower()
    one = _SINGULAR.get(low, low)
    if one in _IRREGULAR:
        return _like(noun, one), _like(noun, _IRREGULAR[one])
    if low.endswith(_SAME_PLURAL):
        return noun, noun
    if low.endswith("men") and len(low) > len("women"):
        return f"{noun[:-2]}an", noun
    if low.endswith("man") and not low.endswith(_NO_MEN):
        return noun, f"{noun[:-2]}en"
    if low.endswith("s") and not low.endswith(("ss", "us", "is")) and len(low) > 3:
        return _singular(noun), noun
    return noun, _plural(noun)


def _plural(noun: str) -> str:
    low = noun.lower()
    if low.endswith("y") and low[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if low.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def _singular(noun: str) -> str:
    low = noun.lower()
    if low.endswith("ies") and len(low) > 4:
        return f"{noun[:-3]}y"
    return noun[:-2] if low.endswith(("sses", "xes", "zzes", "ches", "shes")) else noun[:-1]


def _like(model: str, word: str) -> str:
    return word.capitalize() if model[:1].isupper() else word


# --- Mentions -----------------------------------------------------------------------------------------------------


def _plain(words: str) -> str:
    return words.replace(APOSTROPHES[1], APOSTROPHES[0])


def _key(words: str) -> str:
    return " ".join(_plain(words).split()).casefold()


def _pattern(forms: Iterable[str]) -> re.Pattern[str]:
    """Finds the forms, the longest first, with the article before and the possessive ending after."""
    mark = f"[{APOSTROPHES}]"
    longest_first = sorted(filter(None, forms), key=len, reverse=True)
    words = "|".join(re.escape(form).replace(r"\ ", r"\s+").replace("'", mark) for form in longest_first) or "(?!)"
    return re.compile(
        rf"(?:(?<![\w{APOSTROPHES}-])(?P<article>an?)(?P<gap>\s+))?(?<![\w-])(?P<form>{words})(?!\w|-\w)"
        # An apostrophe alone is an ending only after an s and before a word.
        rf"(?P<own>{mark}s(?!\w)|(?<=s){mark}(?=\s\w))?",
        re.IGNORECASE,
    )


def _starts_sentence(text: str, place: int) -> bool:
    before = text[:place]
    bare = before.rstrip(f" \t\r\n{OPENING}([*_")
    return not bare or bare.endswith((".", "!", "?")) or before.endswith(tuple(OPENING))


def _shouted(words: str) -> bool:
    letters = [letter for letter in words if letter.isalpha()]
    return len(letters) > 1 and all(letter.isupper() for letter in letters)


def _exchanged(mention: re.Match[str], spelled: str, words: _Words) -> str:
    """`words` in the place of a mention: in its case, with its article and its ending."""
    form, article, text = mention["form"], mention["article"], words.text
    shouted = _shouted(form) and not _shouted(spelled)
    # The capital of a sentence rather than of a name: behind an article the sentence has begun already.
    opens = not article and _starts_sentence(mention.string, mention.start("form"))
    if shouted:
        text = text.upper()
    elif form[0].isupper() and (opens or not spelled[0].isupper()):
        text = text[0].upper() + text[1:]
    own = mention["own"] or ""
    quoted = mention.string[: mention.start()].endswith(tuple(OPENING))
    if own and not (quoted and len(own) == 1):  # between quotation marks, one apostrophe is the closing mark
        ending = own[0] if words.plural and text.lower().endswith("s") else f"{own[0]}s"
        own = ending.upper() if shouted else ending
    if not article:
        return f"{text}{own}"
    new = "an" if _sounds_like_vowel(words.text) else "a"
    if article[0].isupper():
        new = new.upper() if shouted else new.capitalize()
    return f"{new}{mention['gap']}{text}{own}"


_SILENT_H = ("heir", "honest", "honor", "honour", "hour")
_LIKE_YOU_OR_ONE = re.compile(r"eu|ewe|one\b|once|uni(?![nm])|us[aeiu]|ut[ei]|uku|ukrain|urug|ugand")
_SPELLED_LIKE_VOWELS = "aefhilmnorsx"  # an FBI agent, an LGBTQ+ person


def _sounds_like_vowel(words: str) -> bool:
    """Whether the spoken words start with a vowel, so that the article is `an`."""
    first = re.split(r"[\s-]", words.lstrip(f"{OPENING}("), maxsplit=1)[0]
    if first[:1].isdigit():
        return first.startswith("8") or first in ("11", "18")
    letters = re.sub(r"[^A-Za-z]", "", first)
    if len(letters) > 1 and letters.isupper():
        return letters[0].lower() in _SPELLED_LIKE_VOWELS
    low = first.lower()
    return low.startswith(_SILENT_H) or (low[:1] in tuple("aeiou") and not _LIKE_YOU_OR_ONE.match(low))
